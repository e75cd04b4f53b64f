"""CLUSTERS: micro-clusters of points (n, LS, SS, time), as BIRCH and CluStream keep them, in one pass.

A point is the values of the named columns; one with a NULL, a NaN or an infinity is no point. In the order (time, id,
position), each point joins the cluster of the nearest centre if the radius after that is at most RADIUS, else it begins
one. Radius = the root of the mean squared distance from the centre. Beyond MOST clusters, the two nearest are merged, into
the older. With HALF LIFE d, the weight of a point halves with every d. Clusters are numbered as they begin.

    CLUSTERS           a stream: (time, id, cluster, distance, new) for each point; distance to the centre before it joined,
                       0 if it began the cluster
    CLUSTERS ... CENTRES windows of (cluster, weight, centre LIST<FLOAT>, radius), all points so far
"""

from __future__ import annotations

from dataclasses import replace

from nilometer.algebra.table_function import (
    REQUIRED,
    Frame,
    FunctionCall,
    Option,
    OptionKind,
    Output,
    Refusal,
    TableFunction,
    Undivided,
    Windowing,
)
from nilometer.types import BOOLEAN, FLOAT, INT, TIME, Column, Kind, Schema, list_of


def _assigned(call: FunctionCall, _input: Schema) -> tuple[Column, ...]:
    return (
        Column("time", TIME),
        Column("id", call.id_type),
        Column("cluster", INT),
        Column("distance", FLOAT),
        Column("new", BOOLEAN),
    )


def _centres(_call: FunctionCall, _input: Schema) -> tuple[Column, ...]:
    return (
        Column("cluster", INT),
        Column("weight", FLOAT),
        Column("centre", list_of(FLOAT)),
        Column("radius", FLOAT),
    )


def _refuses(call: FunctionCall, input: Schema) -> Refusal | None:
    for number, name in enumerate(call.columns):
        type_ = input[name].type
        if type_.kind not in (Kind.INT, Kind.FLOAT):
            return Refusal(
                f"CLUSTERS needs numbers, and '{{column}}' is {type_}", "name columns of numbers", number
            )
    if isinstance(call.window, Frame) and (call.window.start is not None or call.window.end):
        return Refusal(
            "CLUSTERS ... CENTRES counts all points so far",
            "write [UNBOUNDED SLIDE 1 HOUR], and let old points fade with HALF LIFE 1 DAY",
        )
    return None


CLUSTERS = TableFunction(
    name="CLUSTERS",
    description="the cluster of each point, made in one pass",
    example="CLUSTERS(air, pm25, humidity RADIUS 5)",
    gives=_assigned,
    output=Output.EVENTS,
    divides=Undivided("compares the points of all sources"),
    options=(
        Option(
            "RADIUS",
            OptionKind.NUMBER,
            default=REQUIRED,
            least=0,
            example="5",
            meaning="the largest radius of a cluster that takes a point in",
        ),
        Option(
            "HALF LIFE", OptionKind.DURATION, least=1, example="1 DAY", meaning="when a point counts half"
        ),
        Option(
            "MOST",
            OptionKind.WHOLE,
            default=1_000,
            least=1,
            most=100_000,
            example="100",
            meaning="how many clusters there are at most; beyond it the two nearest are merged",
        ),
        Option("CENTRES", emission_only=True, meaning="windows of all clusters, instead of the points"),
    ),
    least_columns=1,
    most_columns=None,
    windows_if="CENTRES",
    wants="the columns of a point",
    refuses=_refuses,
)
CLUSTERS = replace(
    CLUSTERS,
    windows=replace(
        CLUSTERS,
        description="the clusters so far",
        example="CLUSTERS(air, pm25, humidity RADIUS 5 CENTRES) [UNBOUNDED SLIDE 1 HOUR]",
        gives=_centres,
        output=Output.WINDOWS,
        windowing=Windowing.FRAME,
        unbounded=True,
        algorithm="CLUSTER_CENTRES",
        window_hint="[UNBOUNDED SLIDE 1 HOUR]: how often",
        windows_if="",
    ),
)
