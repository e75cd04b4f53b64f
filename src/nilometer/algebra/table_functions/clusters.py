"""CLUSTERS: micro-clusters of points (n, LS, SS, time), as BIRCH and CluStream keep them, in one pass.

A point is the values of the named columns; one with a NULL, a NaN or an infinity is no point. In the order (time, id,
position), each point joins the cluster of the nearest centre if the radius after that is at most RADIUS, else it begins
one. Radius = the root of the mean squared distance from the centre. Beyond MOST clusters, the two nearest are merged, into
the older. With HALF LIFE d, the weight of a point halves with every d. Clusters are numbered as they begin.

    CLUSTERS           a stream: (time, id, cluster, distance, new) for each point; distance to the centre before it joined,
                       0 if it began the cluster
    CLUSTERS ... CENTRES windows of (cluster, weight, centre LIST<FLOAT>, radius), all points so far
    ... CENTRES GROUPS k the same with the group of each cluster, by k-means over the centres

A point is the numbers of its columns, and the elements of those that are vectors, one after the other.
"""

from __future__ import annotations

from dataclasses import replace

from nilometer.algebra.table_function import (
    REQUIRED,
    Frame,
    FunctionCall,
    Kept,
    Option,
    OptionKind,
    Output,
    Refusal,
    TableFunction,
    Undivided,
    Windowing,
)
from nilometer.algebra.table_functions.kept import CELL, waiting
from nilometer.types import BOOLEAN, FLOAT, INT, TIME, Column, Kind, Schema, list_of


def _assigned(call: FunctionCall, _input: Schema) -> tuple[Column, ...]:
    return (
        Column("time", TIME),
        Column("id", call.id_type),
        Column("cluster", INT),
        Column("distance", FLOAT),
        Column("new", BOOLEAN),
    )


def _centres(call: FunctionCall, _input: Schema) -> tuple[Column, ...]:
    own = (
        Column("cluster", INT),
        Column("weight", FLOAT),
        Column("centre", list_of(FLOAT)),
        Column("radius", FLOAT),
    )
    return own if call["GROUPS"] is None else (*own, Column("group", INT))


def width_of(call: FunctionCall, input: Schema) -> int:
    """How many numbers a point has, before PROJECT."""
    return sum(input[name].type.plain.size or 1 for name in call.columns)


def _refuses(call: FunctionCall, input: Schema) -> Refusal | None:
    for number, name in enumerate(call.columns):
        type_ = input[name].type
        if type_.kind not in (Kind.INT, Kind.FLOAT, Kind.VECTOR):
            return Refusal(
                f"CLUSTERS needs numbers, and '{{column}}' is {type_}",
                "name columns of numbers or vectors",
                number,
            )
    project, width = call["PROJECT"], width_of(call, input)
    if isinstance(project, int) and project >= width:
        return Refusal(
            f"PROJECT {project} does not make points of {width} numbers shorter",
            "leave PROJECT out, or use a smaller number",
        )
    if call["GROUPS"] is not None and not call["CENTRES"]:
        return Refusal(
            "GROUPS are groups of clusters: they need CENTRES", f"write CENTRES GROUPS {call['GROUPS']}"
        )
    if isinstance(call.window, Frame) and (call.window.start is not None or call.window.end):
        return Refusal(
            "CLUSTERS ... CENTRES counts all points so far",
            "write [UNBOUNDED SLIDE 1 HOUR], and let old points fade with HALF LIFE 1 DAY",
        )
    return None


def _keeps(call: FunctionCall, input: Schema) -> tuple[Kept, ...]:
    """A cluster has its number, weight, sum of squares and time, and its sums and its centre."""
    most, project = call["MOST"], call["PROJECT"]
    assert isinstance(most, int)
    width = project if isinstance(project, int) else width_of(call, input)
    return Kept((most + 1) * CELL * (4 + 2 * width)), waiting(call, input)


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
        Option(
            "PROJECT",
            OptionKind.WHOLE,
            least=1,
            most=10_000,
            example="50",
            meaning="the points are first projected to so many numbers, with nearly the same distances",
        ),
        Option("CENTRES", emission_only=True, meaning="windows of all clusters, instead of the points"),
        Option(
            "GROUPS",
            OptionKind.WHOLE,
            least=1,
            most=1_000,
            emission_only=True,
            example="5",
            meaning="with CENTRES: the clusters are put into so many groups",
        ),
    ),
    least_columns=1,
    most_columns=None,
    windows_if="CENTRES",
    wants="the columns of a point",
    refuses=_refuses,
    keeps=_keeps,
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
