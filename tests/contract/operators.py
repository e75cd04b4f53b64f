"""Every operator, with parameters and inputs that bring out what it does. One entry is all an operator needs to be held to the
contract (test_contract.py); one that has none is found (discovery.py), and a test fails."""

from __future__ import annotations

from dataclasses import dataclass

from contract.in_two_steps import InTwoSteps
from contract.rounds import STREAM, TABLE, WINDOWS, Input
from contract.windowed_streams import OverWindows
from nilometer.algebra import Lagged, Shift, SortKey
from nilometer.algebra.analytic import (
    TO_CURRENT,
    WHOLE,
    AnalyticFunction,
    AnalyticItem,
    Frame,
    FrameUnit,
)
from nilometer.algebra.grid import Grid, GridUnit
from nilometer.algebra.table_function import Frame as FunctionFrame
from nilometer.algebra.table_function import FunctionCall, OptionValue, TableFunction
from nilometer.algebra.table_functions import (
    CLUSTERS,
    DISCORDS,
    MOTIFS,
    OUTLIERS,
    PATTERNS,
    PERIODS,
    SIMILAR_TO,
    SUBSEQUENCES,
    UNIT,
)
from nilometer.algebra.table_functions.phenomena import (
    ARRIVALS,
    CANDIDATES,
    CURRENT,
    MEMBERSHIP,
    PHENOMENA,
    PREDICT,
    SUMMARY,
    TOTALS,
)
from nilometer.expressions import Aggregate as AggregateExpression
from nilometer.expressions import Call, ColumnReference, Expression, Literal, Now
from nilometer.mining.clusters import ClusterCentres, Clusters
from nilometer.mining.discords import Discords, TopDiscords
from nilometer.mining.motifs import Motifs
from nilometer.mining.occurrences import Occurrences
from nilometer.mining.outliers import Outliers
from nilometer.mining.patterns import Patterns
from nilometer.mining.periods import Periods
from nilometer.mining.similar_to import NearestTo, SimilarTo
from nilometer.mining.subsequences import Subsequences
from nilometer.operators.aggregate import Aggregate
from nilometer.operators.analytic.analytic import Analytic
from nilometer.operators.analytic.running import RunningAnalytic
from nilometer.operators.asof_join import AsofJoin
from nilometer.operators.bag_operation import BagOperation
from nilometer.operators.fill import Fill
from nilometer.operators.join import WindowsJoin, WindowsTableJoin
from nilometer.operators.join_aggregate.join_aggregate import Item, JoinAggregate, Pairing
from nilometer.operators.join_changes import Edge, JoinChanges, Side
from nilometer.operators.keyed_row_window import KeyedRowWindow
from nilometer.operators.lag import Lag
from nilometer.operators.last_of_each.latest import Latest
from nilometer.operators.last_of_each.resample import Resample
from nilometer.operators.limit import Limit
from nilometer.operators.logic import TICK, TIME, Spec
from nilometer.operators.row_window import RowWindow
from nilometer.operators.row_window_aggregate import RowWindowAggregate
from nilometer.operators.sample import Sample
from nilometer.operators.session import Session
from nilometer.operators.session_aggregate.session_aggregate import SessionAggregate
from nilometer.operators.shedding.shedding import Shedding
from nilometer.operators.silent import Silent
from nilometer.operators.similar.similar import Similar
from nilometer.operators.sort import Sort
from nilometer.operators.table_join import StreamTableJoin, TableJoin
from nilometer.operators.table_outer_join import TableOuterJoin
from nilometer.operators.time_window import TimeWindow
from nilometer.operators.to_stream import ToStream
from nilometer.operators.union import Union
from nilometer.operators.unit import Unit
from nilometer.operators.window_aggregate.window_aggregate import WindowAggregate
from nilometer.operators.window_join.outer import OuterWindowJoin
from nilometer.operators.window_join.plan import Form
from nilometer.operators.window_join.window_join import WindowJoin
from nilometer.operators.window_scope import Scope
from nilometer.phenomena.candidates import Candidates
from nilometer.phenomena.totals import Totals
from nilometer.phenomena.track import Track
from nilometer.types import BOOLEAN, FLOAT, INT, POINT, STRING, Column, OwnWindow, Schema, Type, list_of
from nilometer.types import TIME as TIME_TYPE

NOTHING = Schema(())
HOPS = Grid(GridUnit.TIME, 2, 1, early=3)
R = Schema((Column("R.depth", INT), Column("R.rain", FLOAT), Column("R.kind", STRING)))
S = Schema((Column("S.depth", INT), Column("S.rain", FLOAT), Column("S.place", POINT)))
T = Schema((Column("T.depth", INT), Column("T.rain", FLOAT)))


@dataclass(frozen=True)
class Case:
    """An operator under test.

    `gate` is the output column that must be below the watermark when a row is emitted; None where rows are emitted at
    once. `bounded` says that the state does not grow with the length of the stream. `disorder` bounds how late rows come.
    """

    name: str
    spec: Spec
    inputs: tuple[Input, ...]
    gate: str | None = TICK
    bounded: bool = True

    def __str__(self) -> str:
        return self.name


def reference(name: str) -> ColumnReference:
    """A column of R, S or T."""
    schema = {"R": R, "S": S, "T": T}[name[0]]
    return ColumnReference(name, schema[name].type)


def compare(function: str, left: str, right: str) -> Expression:
    """A comparison of two columns."""
    return Call(function, (reference(left), reference(right)), BOOLEAN)


def of(
    function: str, column: str | None, type_: Type, *, distinct: bool = False
) -> tuple[str, AggregateExpression]:
    """A named aggregate of a column of R."""
    argument = None if column is None else reference(column)
    return function, AggregateExpression(function, argument, distinct, type_)


SUM, MEAN, LEAST = of("sum", "R.depth", INT), of("avg", "R.rain", FLOAT), of("min", "R.rain", FLOAT)
COUNT, SPREAD, MEDIAN = of("count", None, INT), of("stdev", "R.rain", FLOAT), of("median", "R.rain", FLOAT)
KINDS = of("count", "R.kind", INT, distinct=True)
DEPTH, RAIN = reference("R.depth"), reference("R.rain")
NEWEST = "newest", AggregateExpression("last", RAIN, False, FLOAT, (DEPTH,))
TOGETHER = "together", AggregateExpression("corr", RAIN, False, FLOAT, (DEPTH,))
LISTED = "listed", AggregateExpression("array_agg", RAIN, False, list_of(FLOAT), (DEPTH,))
SKETCHED = "sketched", AggregateExpression("approx_percentile", RAIN, False, FLOAT, (Literal(0.9, FLOAT),))
DIFFERENT = AggregateExpression("approx_count_distinct", reference("R.kind"), False, INT)
OVER_TIME = "area", AggregateExpression("integral", RAIN, False, FLOAT, (Literal("STEP", STRING), DEPTH))
BY_KIND = (("kind", reference("R.kind")),)
START = (("start", ColumnReference("Q.window_start", TIME_TYPE)),)
AREA = (
    "area",
    AggregateExpression(
        "twa", RAIN, False, FLOAT, (Literal("STEP", STRING), ColumnReference("@time", TIME_TYPE), DEPTH)
    ),
)
LESS_THAN_HALF = Call("<", (reference("R.rain"), Literal(0.5, FLOAT)), BOOLEAN)

KEYS = ((reference("R.depth"), reference("S.depth")),)
LESS = compare("<", "R.rain", "S.rain")
stream_of_r = Input(STREAM, R)
stream_of_s = Input(STREAM, S)
windows_of_r = Input(WINDOWS, R)
windows_of_s = Input(WINDOWS, S)
table_of_s = Input(TABLE, S)
sensed = Input(STREAM, R, every=4)
named = Input(STREAM, R, STRING)

ITEMS = (
    Lagged("before", Shift.LAG, reference("R.kind")),
    Lagged("third", Shift.LAG, reference("R.depth"), 3),
    Lagged("change", Shift.DELTA, reference("R.rain")),
    Lagged("speed", Shift.RATE, reference("R.depth")),
)


def framed(function: AnalyticFunction, column: str, type_: Type, frame: Frame) -> AnalyticItem:
    """A function over a frame."""
    return AnalyticItem(f"{function} {frame}", function, type_, reference(column), frame=frame)


NUMBERS = tuple(
    AnalyticItem(str(function), function, INT)
    for function in (AnalyticFunction.ROW_NUMBER, AnalyticFunction.RANK, AnalyticFunction.DENSE_RANK)
)
BACK = AnalyticItem("back", AnalyticFunction.LAG, STRING, reference("R.kind"), 2)
THREE = Frame(FrameUnit.ROWS, -2, 0)
FRAMES = (
    framed(AnalyticFunction.SUM, "R.depth", INT, THREE),
    framed(AnalyticFunction.MIN, "R.kind", STRING, THREE),
    framed(AnalyticFunction.AVG, "R.rain", FLOAT, Frame(FrameUnit.RANGE, -4, 0)),
    framed(AnalyticFunction.FIRST_VALUE, "R.depth", INT, Frame(FrameUnit.RANGE, -4, -1)),
    framed(AnalyticFunction.MEDIAN, "R.depth", FLOAT, THREE),
    framed(AnalyticFunction.STDEV, "R.rain", FLOAT, Frame(FrameUnit.RANGE, -4, 0)),
)
SO_FAR = (
    AnalyticItem("rows", AnalyticFunction.COUNT, INT, frame=TO_CURRENT),
    framed(AnalyticFunction.SUM, "R.rain", FLOAT, TO_CURRENT),
    framed(AnalyticFunction.SUM, "R.depth", INT, Frame(FrameUnit.ROWS, None, 0)),
    framed(AnalyticFunction.AVG, "R.depth", FLOAT, TO_CURRENT),
    framed(AnalyticFunction.VARIANCE, "R.depth", FLOAT, TO_CURRENT),
    framed(AnalyticFunction.MAX, "R.kind", STRING, TO_CURRENT),
    framed(AnalyticFunction.FIRST_VALUE, "R.kind", STRING, TO_CURRENT),
    framed(AnalyticFunction.LAST_VALUE, "R.depth", INT, TO_CURRENT),
    AnalyticItem("fifth", AnalyticFunction.NTH_VALUE, INT, reference("R.depth"), 5, frame=TO_CURRENT),
)
ALL_NAMES = tuple(R.names)

EQUAL = ((0, KEYS[0][0], 1, KEYS[0][1]),)
TRIANGLE = WindowJoin((R, S, T), ((0, 1, 4), (1, 2, 3), (0, 2, 5)), EQUAL, LESS)

SLIDING, AT_TICKS = Scope(5, 0, 2, True), Scope(4, 1, None, False)
BOTH_WINDOWS = ((R, SLIDING), (S, AT_TICKS))


def side_of_r(*keys: str) -> WindowAggregate:
    """R's window, by these keys, for an aggregate over a join."""
    named_keys = tuple((f"0.key{number}", reference(key)) for number, key in enumerate(keys))
    return WindowAggregate(5, 0, 2, True, keys=named_keys, items=(SUM, MEAN, LEAST, SPREAD))


SIDE_OF_S = WindowAggregate(4, 1, None, False, keys=(("1.key0", reference("S.depth")),))
PAIRED = (("0.key0", "1.key0"),)
OF_R = tuple(
    Item(name, aggregate, 0, place) for place, (name, aggregate) in enumerate((SUM, MEAN, LEAST, SPREAD))
)

KIND = Schema((Column("R.kind", STRING),))
"""Few enough values that rows are equal."""

AIR = Schema((Column("A.v", FLOAT), Column("A.at", POINT)))
ALIKE: tuple[dict[str, OptionValue], ...] = (
    {"ABOVE": 1 / 64, "NEIGHBOURS WITHIN": 1.5},
    {"EQUAL": True},
    {"BUCKET": 2 / 64, "NEIGHBOURS WITHIN": 2.0, "CONTINUE WITHIN": 2.0, "MEMBERS": 1},
    {"RISING": (1 / 64, 1_000_000), "MEMBERS": 1},
    {"WITHIN": 1 / 64, "NEIGHBOURS WITHIN": 2.0},
)


def phenomenon(function: TableFunction, options: dict[str, OptionValue], slide: int = 2) -> FunctionCall:
    """A call of a function of phenomena over AIR, evaluated every so many ticks."""
    settled = function.settle({"STRENGTH": 1, "NAMED": "p"} | options)
    return FunctionCall(function, "P", INT, ("A.v", "A.at"), settled, FunctionFrame(5, 0, slide, True))


def tracked(
    function: TableFunction, options: dict[str, OptionValue], beside: Schema | None = None
) -> InTwoSteps:
    """The operator of such a call over its candidates."""
    call = phenomenon(function, options).lower
    first = Totals(call, AIR) if function is SUMMARY else Candidates(call, AIR, function is ARRIVALS)
    return InTwoSteps(Track(phenomenon(function, options), first.schema, beside), first)


def mined(
    function: TableFunction,
    column: str,
    window: int | FunctionFrame | None = FunctionFrame(12, 0, 6, True),  # noqa: B008 - frozen
    id_type: Type = INT,
    **options: OptionValue,
) -> FunctionCall:
    """A call of a mining function over R, by slots of one tick unless the options say otherwise."""
    words = {word.replace("_", " "): value for word, value in options.items()}
    slots = {"EVERY": 1} if any(each.name == "EVERY" for each in function.options) else {}
    return FunctionCall(function, "Q", id_type, (column,), function.settle(slots | words), window)


FREQUENT = mined(SUBSEQUENCES, "R.kind", LENGTH=(1, 2), SUPPORT=2)
NEAR_BY = Schema((Column("near.from_id", INT), Column("near.to_id", INT)))


ORDER = (
    SortKey(reference("R.rain"), descending=True),
    SortKey(reference("R.depth"), nulls_first=True),
    SortKey(reference("R.kind")),
)

CASES: list[Case] = [
    Case(
        "aggregate over a join",
        OverWindows(
            JoinAggregate(
                (side_of_r("R.depth"), SIDE_OF_S), (Pairing(0, 1, PAIRED, ()),), (), (*OF_R, Item(*COUNT))
            ),
            BOTH_WINDOWS,
        ),
        (stream_of_r, stream_of_s),
    ),
    Case(
        "aggregate over a join, grouped",
        OverWindows(
            JoinAggregate(
                (side_of_r("R.depth", "R.kind"), SIDE_OF_S),
                (Pairing(0, 1, PAIRED, ("0.key1",)),),
                (("kind", "0.key1"),),
                (*OF_R, Item(*COUNT)),
            ),
            BOTH_WINDOWS,
        ),
        (stream_of_r, stream_of_s),
    ),
    *(
        Case(
            f"changes of a join, {relation}",
            OverWindows(
                JoinChanges(
                    (Side(R, SLIDING), Side(S, AT_TICKS)),
                    (Edge(0, KEYS[0][0], 1, KEYS[0][1]),),
                    relation,
                    R + S,
                ),
                BOTH_WINDOWS,
            ),
            (stream_of_r, stream_of_s),
        )
        for relation in ("ISTREAM", "DSTREAM")
    ),
    Case(
        "changes of a product",
        OverWindows(JoinChanges((Side(R, SLIDING), Side(S, AT_TICKS)), (), "ISTREAM", R + S), BOTH_WINDOWS),
        (stream_of_r, stream_of_s),
    ),
    *(
        Case(f"windows join, hash, {k}", WindowsJoin(R, S, k, KEYS, LESS), (windows_of_r, windows_of_s))
        for k in ("INNER", "LEFT", "FULL", "SEMI", "ANTI")
    ),
    Case("windows join, nested loop", WindowsJoin(R, S, "LEFT", (), LESS), (windows_of_r, windows_of_s)),
    Case("windows join, all rows", WindowsJoin(R, S, "FULL", (), LESS), (windows_of_r, windows_of_s)),
    Case("table outer join", TableOuterJoin(S, R, "LEFT", (KEYS[0][::-1],)), (table_of_s, windows_of_r)),
    Case("table outer join, residual", TableOuterJoin(S, R, "FULL", (), LESS), (table_of_s, windows_of_r)),
    Case("table outer join, right", TableOuterJoin(R, S, "FULL", KEYS, table=1), (windows_of_r, table_of_s)),
    Case("windows join, product", WindowsJoin(R, S), (windows_of_r, windows_of_s)),
    Case("windows with table", WindowsTableJoin(R, S, "LEFT", KEYS), (windows_of_r, table_of_s)),
    Case(
        "table with windows",
        WindowsTableJoin(S, R, "INNER", (KEYS[0][::-1],), table=0),
        (table_of_s, windows_of_r),
    ),
    *(
        Case(f"stream with table, {k}", StreamTableJoin(R, S, k, KEYS, LESS), (stream_of_r, table_of_s), None)
        for k in ("INNER", "LEFT", "SEMI", "ANTI")
    ),
    Case(
        "table with stream",
        StreamTableJoin(S, R, "INNER", (), LESS, table=0),
        (table_of_s, stream_of_r),
        None,
    ),
    *(
        Case(f"table with table, {k}", TableJoin(R, S, k, KEYS), (Input(TABLE, R), table_of_s), None)
        for k in ("LEFT", "FULL")
    ),
    Case("as-of join", AsofJoin(R, S, KEYS), (stream_of_r, stream_of_s)),
    Case("as-of join, within", AsofJoin(R, S, KEYS, 3), (stream_of_r, stream_of_s)),
    Case("as-of join, before", AsofJoin(R, S, KEYS, None, before=True), (stream_of_r, stream_of_s)),
    Case(
        "as-of join, sensed and named, before",
        AsofJoin(R, S, (), None, STRING, before=True),
        (Input(STREAM, R, STRING, 4), stream_of_s),
    ),
    Case(
        "as-of join, sensed and named",
        AsofJoin(R, S, (), 2, STRING),
        (Input(STREAM, R, STRING, 4), stream_of_s),
    ),
    Case("lag", Lag(R, ITEMS), (stream_of_r,)),
    Case("lag, sensed", Lag(R, ITEMS), (sensed,)),
    Case("lag, named", Lag(R, ITEMS[:1], STRING), (named,)),
    Case("analytic, numbers", RunningAnalytic(R, (reference("R.kind"),), NUMBERS), (stream_of_r,)),
    Case("analytic, frames", RunningAnalytic(R, (reference("R.kind"),), (*FRAMES, BACK)), (stream_of_r,)),
    Case("analytic, so far", RunningAnalytic(R, (), (*SO_FAR, *NUMBERS)), (sensed,)),
    Case("analytic, named", RunningAnalytic(R, (reference("R.depth"),), SO_FAR, STRING), (named,)),
    Case("analytic, a length of time", RunningAnalytic(R, (), FRAMES[2:]), (stream_of_r,)),
    Case(
        "analytic of windows",
        Analytic(
            R,
            (reference("R.kind"),),
            (SortKey(reference("R.depth"), True, False),),
            ALL_NAMES,
            (*NUMBERS, *FRAMES, *SO_FAR, BACK),
        ),
        (windows_of_r,),
    ),
    Case(
        "analytic of windows, whole",
        Analytic(S, (), (), (), (AnalyticItem("n", AnalyticFunction.COUNT, INT, frame=WHOLE),)),
        (windows_of_s,),
    ),
    Case(
        "analytic of a table",
        Analytic(R, (), (SortKey(reference("R.rain")),), ALL_NAMES, NUMBERS, windows=False),
        (Input(TABLE, R),),
        None,
    ),
    Case("sample", Sample(R, 7), (stream_of_r,)),
    Case("sample, sensed", Sample(R, 3), (sensed,)),
    Case("fill, previous", Fill(R, ("R.kind",), "PREVIOUS"), (windows_of_r,)),
    Case("fill, NULL", Fill(R, ("R.depth", "R.kind"), "NULL"), (windows_of_r,)),
    Case("fill, linear", Fill(R, ("R.kind",), "LINEAR"), (windows_of_r,), bounded=False),
    Case("fill, windows", Fill(R, (), "LINEAR", (("R.depth", Now()),)), (windows_of_r,), bounded=False),
    Case("latest", Latest(R, ("R.kind",), Scope(None, 0, 1_000, False), "Q"), (stream_of_r,)),
    Case("latest, before now", Latest(R, ("R.depth", "R.kind"), Scope(7, 2, 2, True), "Q"), (sensed,)),
    Case("latest, named", Latest(R, (), Scope(5, 0, 2, False), "Q", STRING), (named,)),
    *(
        Case(f"resample, {fill}", Resample(R, ("R.depth", "R.rain"), 3, fill, "Q", INT, 8), (source,))
        for fill, source in (
            ("FILL NULL", stream_of_r),
            ("FILL PREVIOUS", sensed),
            ("FILL LINEAR", stream_of_r),
        )
    ),
    *(
        Case(
            f"candidates, {next(iter(options))}",
            Candidates(phenomenon(CANDIDATES, options), AIR),
            (Input(STREAM, AIR),),
        )
        for options in ALIKE
    ),
    *(
        Case(f"{function.operator}, {next(iter(options))}", tracked(function, options), (Input(STREAM, AIR),))
        for function in (PHENOMENA, CURRENT)
        for options in ALIKE
    ),
    *(
        Case(
            f"membership, {', '.join(more)}",
            tracked(MEMBERSHIP, ALIKE[0] | more),
            (Input(STREAM, AIR),),
        )
        for more in ({"HOPS": 2}, {"HOPS": 1, "HORIZON": 6})
    ),
    Case(
        "candidates, SHARE",
        Candidates(phenomenon(CANDIDATES, ALIKE[0] | {"SHARE": 60.0}), AIR),
        (Input(STREAM, AIR),),
    ),
    Case("phenomena, SHARE", tracked(PHENOMENA, {"WITHIN": 1.0, "SHARE": 60.0}), (Input(STREAM, AIR),)),
    Case("predictions", tracked(PREDICT, ALIKE[0] | {"HORIZON": 6}), (Input(STREAM, AIR),)),
    Case(
        "arrivals",
        tracked(ARRIVALS, ALIKE[0] | {"HORIZON": 10, "MEMBERS": 1, "BUFFER": 0.5, "NEIGHBOURS WITHIN": 0.5}),
        (Input(STREAM, AIR),),
    ),
    Case("summaries", tracked(SUMMARY, ALIKE[0] | {"CELLS": 2}), (Input(STREAM, AIR),)),
    Case("totals", Totals(phenomenon(TOTALS, ALIKE[0]), AIR), (Input(STREAM, AIR),)),
    Case(
        "candidates and places",
        Candidates(phenomenon(CANDIDATES, ALIKE[0]), AIR, places=True),
        (Input(STREAM, AIR),),
    ),
    Case(
        "phenomena, neighbours by a table",
        tracked(PHENOMENA, {"ABOVE": 0.0, "NEIGHBOURS BY": "near"}, NEAR_BY),
        (Input(STREAM, AIR), Input(TABLE, NEAR_BY)),
    ),
    Case("silent", Silent(6, "Q", INT, frozenset({1, 2, 9})), (stream_of_r,), TIME),
    Case("periods", Periods(mined(PERIODS, "R.kind", UP_TO=4, CONFIDENCE=0.0, FILL=3), R), (stream_of_r,)),
    Case(
        "periods, segments",
        Periods(
            mined(
                PERIODS,
                "R.rain",
                id_type=STRING,
                UP_TO=3,
                SEGMENTS=True,
                CONFIDENCE=0.0,
                FILL=2,
                BREAKS=(0.05,),
            ),
            R,
        ),
        (named,),
    ),
    Case("discords", Discords(mined(DISCORDS, "R.rain", 12, LENGTH=3, FILL=3), R), (stream_of_r,), TIME),
    Case(
        "discords, the greatest",
        TopDiscords(mined(DISCORDS.meant(["TOP"]), "R.depth", LENGTH=2, TOP=2, RAW=True, FILL=2), R),
        (stream_of_r,),
    ),
    Case("motifs", Motifs(mined(MOTIFS, "R.rain", LENGTH=2, TOP=2, FILL=2), R), (stream_of_r,)),
    Case("patterns", Patterns(mined(PATTERNS, "R.kind", PERIOD=3, CONFIDENCE=0.2), R), (stream_of_r,)),
    Case(
        "patterns, all so far",
        Patterns(
            mined(
                PATTERNS,
                "R.rain",
                FunctionFrame(None, 0, 20, False),
                PERIOD=4,
                CONFIDENCE=0.3,
                LEVELS=(2, 0.0, 0.1),
            ),
            R,
        ),
        (stream_of_r,),
    ),
    Case("occurrences", Occurrences(FREQUENT.lower, R), (stream_of_r,)),
    Case(
        "subsequences",
        InTwoSteps(Subsequences(FREQUENT, FREQUENT.lower.schema(R)), Occurrences(FREQUENT.lower, R)),
        (stream_of_r,),
    ),
    Case(
        "like an example",
        SimilarTo(mined(SIMILAR_TO, "R.rain", None, EXAMPLE=(1.0, 3.0), WITHIN=1.5, FILL=2), R),
        (stream_of_r,),
        TIME,
    ),
    Case(
        "most like an example",
        NearestTo(mined(SIMILAR_TO.meant(["NEAREST"]), "R.rain", EXAMPLE=(1.0, 3.0), NEAREST=2, FILL=2), R),
        (stream_of_r,),
    ),
    Case(
        "clusters",
        Clusters(mined(CLUSTERS, "R.rain", None, RADIUS=0.02, HALF_LIFE=9, MOST=3), R),
        (stream_of_r,),
        TIME,
    ),
    Case(
        "centres of clusters",
        ClusterCentres(
            mined(
                CLUSTERS.meant(["CENTRES"]),
                "R.rain",
                FunctionFrame(None, 0, 20, False),
                RADIUS=0.02,
                CENTRES=True,
                GROUPS=2,
            ),
            R,
        ),
        (stream_of_r,),
    ),
    Case("outliers", Outliers(mined(OUTLIERS, "R.rain", 9, AFTER=1, DEVIATIONS=1.0), R), (stream_of_r,)),
    Case(
        "unit",
        Unit(
            mined(
                UNIT,
                "R.rain",
                None,
                USING="nilometer.workers.example_unit:Differences",
                WITH=(0.0,),
                GIVES="change FLOAT, travelled FLOAT",
                EACH=True,
            ),
            R,
        ),
        (stream_of_r,),
    ),
    Case("session", Session(R, 1, "Q", INT), (stream_of_r,)),
    Case("session of a key", Session(R, 2, "Q", INT, ("R.kind",)), (stream_of_r,)),
    *(
        Case(
            f"aggregates of sessions, {name}",
            SessionAggregate(R, 2, "Q", INT, of_, (*START, *more), items, LESS_THAN_HALF, "@time"),
            (stream_of_r,),
        )
        for name, of_, more, items in (
            ("sums", (), BY_KIND, (SUM, MEAN, SPREAD, COUNT, TOGETHER)),
            ("of a key", ("R.kind",), (), (SUM, LEAST)),
            ("areas", (), (), (AREA,)),
            ("sketches", (), (), (SKETCHED, COUNT)),
            ("ends", (), (), (NEWEST,)),
            ("together", (), BY_KIND, (NEWEST, SUM, SKETCHED)),
        )
    ),
    Case("row window per key", KeyedRowWindow(R, 3, 1, 2, ("R.kind",)), (stream_of_r,)),
    Case("silent, named", Silent(4, "Q", STRING, frozenset({"source 1", "nobody"})), (named,), TIME),
    *(
        Case(f"similar, {f}", Similar(R, "R.rain", 1 / 64, 5, f, "Q"), (stream_of_r,))
        for f in ("LIST", "PAIRS", "FLATTEN", "COUNTS")
    ),
    Case("similar, SAMPLE", Similar(R, "R.rain", 1 / 64, 5, "SAMPLE", "Q", sample=3), (stream_of_r,)),
    Case("similar, counts", Similar(R, "R.depth", 0, 5, "COUNTS", "Q"), (stream_of_r,)),
    Case(
        "similar, own windows",
        Similar(R, "R.rain", 1 / 64, OwnWindow("R.depth", 2), "LIST", "Q"),
        (stream_of_r,),
    ),
    Case(
        "similar, equal, own windows",
        Similar(R, "R.kind", 0, OwnWindow("R.depth", 2), "COUNTS", "Q"),
        (stream_of_r,),
    ),
    Case("similar, equal text", Similar(R, "R.kind", 0, 6, "LIST", "Q"), (sensed,)),
    Case("similar, equal numbers", Similar(R, "R.depth", 0, 6, "PAIRS", "Q", STRING), (named,)),
    Case("window join, product", WindowJoin((R, S), ((0, 1, 2),)), (stream_of_r, stream_of_s), None),
    Case("window join, triangle", TRIANGLE, (stream_of_r, stream_of_s, Input(STREAM, T)), None),
    Case(
        "window join, merge",
        WindowJoin((R, S), ((0, 1, 3),), (), LESS, form=Form.MW),
        (stream_of_r, stream_of_s),
        None,
    ),
    *(
        Case(
            f"window join, {form}, a table",
            WindowJoin((R, S), ((0, 1, 3),), EQUAL, form=form),
            (stream_of_r, stream_of_s),
            None,
        )
        for form in (Form.NLW, Form.HW)
    ),
    Case(
        "window join, bounded memory",
        WindowJoin(
            (R, S), ((0, 1, 3),), ((0, KEYS[0][0], 1, KEYS[0][1]),), shedding=Shedding((99, 99), "LIFE")
        ),
        (stream_of_r, stream_of_s),
        None,
    ),
    *(
        Case(
            f"outer window join, {kind}, {form}",
            OuterWindowJoin(WindowJoin((R, S), ((0, 1, 3),), EQUAL[:1], LESS, form=form), kind),
            (stream_of_r, stream_of_s),
            None,
        )
        for kind in ("LEFT", "FULL")
        for form in (Form.HW, Form.MW)
    ),
    Case(
        "outer window join, without columns",
        OuterWindowJoin(WindowJoin((NOTHING,) * 2, ((0, 1, 1),)), "FULL"),
        (Input(STREAM, NOTHING), Input(STREAM, NOTHING)),
        None,
    ),
    Case("RSTREAM", ToStream(R, "RSTREAM"), (windows_of_r,)),
    Case("ISTREAM", ToStream(S, "ISTREAM"), (windows_of_s,)),
    Case("DSTREAM", ToStream(S, "DSTREAM"), (windows_of_s,)),
    Case("union of streams", Union(R, R, "STREAM"), (stream_of_r, sensed), None),
    Case(
        "union of streams, ids of two types", Union(R, R, "STREAM", (INT, STRING)), (stream_of_r, named), None
    ),
    *(
        Case(f"{operator} of windows", BagOperation(KIND, KIND, operator), (Input(WINDOWS, KIND),) * 2)
        for operator in ("EXCEPT", "INTERSECT")
    ),
    Case("EXCEPT of tables", BagOperation(R, R, "EXCEPT", False), (Input(TABLE, R), Input(TABLE, R)), None),
    Case("sort of windows", Sort(R, ORDER), (windows_of_r,)),
    Case("sort of windows, no column left", Sort(NOTHING, (), 1), (Input(WINDOWS, NOTHING),)),
    Case("top-k of windows", Sort(R, ORDER, 2, 1), (windows_of_r,)),
    Case("top-k of a table", Sort(R, ORDER, 3, windows=False), (Input(TABLE, R),), None),
    Case("limit", Limit(R, 20, 3), (stream_of_r,)),
    Case("limit, sensed and named", Limit(R, 30, 0, STRING), (Input(STREAM, R, STRING, 4),)),
    Case("limit, only an offset", Limit(R, None, 5), (stream_of_r,)),
    Case("union of windows", Union(R, R, "WINDOWS"), (windows_of_r, windows_of_r)),
    Case("union of tables", Union(R, R, "TABLE"), (Input(TABLE, R), Input(TABLE, R)), None),
    Case("windows join, no column left", WindowsJoin(NOTHING, NOTHING), (Input(WINDOWS, NOTHING),) * 2),
    Case(
        "stream with table, no column left",
        StreamTableJoin(NOTHING, NOTHING),
        (Input(STREAM, NOTHING), Input(TABLE, NOTHING)),
        None,
    ),
    Case(
        "window join, no column left",
        WindowJoin((NOTHING,) * 2, ((0, 1, 1),)),
        (Input(STREAM, NOTHING),) * 2,
        None,
    ),
    Case("as-of join, no column left", AsofJoin(NOTHING, NOTHING), (Input(STREAM, NOTHING),) * 2),
    Case("ISTREAM, no column left", ToStream(NOTHING, "ISTREAM"), (Input(WINDOWS, NOTHING),)),
    Case(
        "union of windows, no column left", Union(NOTHING, NOTHING, "WINDOWS"), (Input(WINDOWS, NOTHING),) * 2
    ),
    Case("time window, sliding", TimeWindow(R, 5, 1, 2, False), (stream_of_r,)),
    Case("time window, at every tick", TimeWindow(R, 4, 0, None, True), (stream_of_r,)),
    Case("time window, acquisition ticks", TimeWindow(R, 4, 2, None, False, 2), (sensed,)),
    Case("time window, hop", TimeWindow(R, 5, 1, 2, False, None, HOPS), (stream_of_r,)),
    Case(
        "window aggregate, hop",
        WindowAggregate(5, 1, 2, False, None, BY_KIND, (SUM, COUNT, LEAST), grid=HOPS),
        (stream_of_r,),
    ),
    Case("row window", RowWindow(R, 3, 1, 2), (stream_of_r,)),
    Case(
        "row window aggregate", RowWindowAggregate(R, 4, 0, 3, BY_KIND, (SUM, COUNT, LEAST)), (stream_of_r,)
    ),
    Case(
        "row window aggregate, before now",
        RowWindowAggregate(R, 5, 2, 2, (), (SUM, SPREAD)),
        (stream_of_r,),
    ),
    Case("aggregate of windows", Aggregate(BY_KIND, (SUM, COUNT, MEDIAN)), (windows_of_r,)),
    Case("aggregate of windows, ungrouped", Aggregate((), (SUM, COUNT, MEDIAN)), (windows_of_r,)),
    Case(
        "window aggregate, sliding",
        WindowAggregate(5, 0, 2, True, keys=BY_KIND, items=(SUM, MEAN, LEAST)),
        (stream_of_r,),
    ),
    Case(
        "window aggregate, every tick",
        WindowAggregate(4, 1, None, False, items=(SUM, COUNT, SPREAD)),
        (stream_of_r,),
    ),
    Case(
        "window aggregate, holistic",
        WindowAggregate(6, 0, 3, True, keys=BY_KIND, items=(MEDIAN, KINDS)),
        (stream_of_r,),
    ),
    Case(
        "window aggregate, sketched",
        WindowAggregate(6, 0, 3, True, keys=BY_KIND, items=(SKETCHED, COUNT)),
        (stream_of_r,),
    ),
    Case(
        "window aggregate, sketched, ungrouped",
        WindowAggregate(6, 1, 2, False, items=(("different", DIFFERENT), COUNT)),
        (stream_of_r,),
    ),
    Case(
        "window aggregate of several arguments",
        WindowAggregate(6, 0, 3, True, keys=BY_KIND, items=(NEWEST, TOGETHER, LISTED, SKETCHED, OVER_TIME)),
        (stream_of_r,),
    ),
    Case(
        "window aggregate, filtered",
        WindowAggregate(
            6,
            0,
            2,
            True,
            2,
            BY_KIND,
            (SUM, COUNT),
            Call("not", (Call("is_null", (reference("R.rain"),), BOOLEAN),), BOOLEAN),
        ),
        (sensed,),
    ),
]
