"""Every operator, with parameters and inputs that bring out what it does. One entry is all an operator needs to be held to the
contract (test_contract.py); one that has none is found (discovery.py), and a test fails."""

from __future__ import annotations

from dataclasses import dataclass

from contract.rounds import STREAM, TABLE, WINDOWS, Input
from contract.windowed_streams import OverWindows
from nilometer.algebra import Lagged, Shift
from nilometer.expressions import Aggregate as AggregateExpression
from nilometer.expressions import Call, ColumnReference, Expression
from nilometer.operators.aggregate import Aggregate
from nilometer.operators.asof_join import AsofJoin
from nilometer.operators.join import WindowsJoin, WindowsTableJoin
from nilometer.operators.join_aggregate.join_aggregate import Item, JoinAggregate, Pairing
from nilometer.operators.join_changes import Edge, JoinChanges, Side
from nilometer.operators.lag import Lag
from nilometer.operators.logic import TICK, TIME, Spec
from nilometer.operators.row_window import RowWindow
from nilometer.operators.row_window_aggregate import RowWindowAggregate
from nilometer.operators.sample import Sample
from nilometer.operators.shedding.shedding import Shedding
from nilometer.operators.silent import Silent
from nilometer.operators.similar.similar import Similar
from nilometer.operators.table_join import StreamTableJoin, TableJoin
from nilometer.operators.time_window import TimeWindow
from nilometer.operators.to_stream import ToStream
from nilometer.operators.union import Union
from nilometer.operators.window_aggregate.window_aggregate import WindowAggregate
from nilometer.operators.window_join.plan import Form
from nilometer.operators.window_join.window_join import WindowJoin
from nilometer.operators.window_scope import Scope
from nilometer.operators.zipper_join import ZipperJoin
from nilometer.types import BOOLEAN, FLOAT, INT, POINT, STRING, Column, OwnWindow, Schema, Type

NOTHING = Schema(())
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
BY_KIND = (("kind", reference("R.kind")),)

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
        for k in ("INNER", "LEFT", "SEMI", "ANTI")
    ),
    Case("windows join, nested loop", WindowsJoin(R, S, "LEFT", (), LESS), (windows_of_r, windows_of_s)),
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
    Case("table with table", TableJoin(R, S, "LEFT", KEYS), (Input(TABLE, R), table_of_s), None),
    Case("as-of join", AsofJoin(R, S, KEYS), (stream_of_r, stream_of_s)),
    Case("as-of join, within", AsofJoin(R, S, KEYS, 3), (stream_of_r, stream_of_s)),
    Case(
        "as-of join, sensed and named",
        AsofJoin(R, S, (), 2, STRING),
        (Input(STREAM, R, STRING, 4), stream_of_s),
    ),
    Case("lag", Lag(R, ITEMS), (stream_of_r,)),
    Case("lag, sensed", Lag(R, ITEMS), (sensed,)),
    Case("lag, named", Lag(R, ITEMS[:1], STRING), (named,)),
    Case("sample", Sample(R, 7), (stream_of_r,)),
    Case("sample, sensed", Sample(R, 3), (sensed,)),
    Case("silent", Silent(6, "Q", INT, frozenset({1, 2, 9})), (stream_of_r,), TIME),
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
    Case("zipper join", ZipperJoin(R, S, 4), (stream_of_r, stream_of_s)),
    Case("zipper join, keys", ZipperJoin(R, S, 4, KEYS), (stream_of_r, stream_of_s)),
    Case("RSTREAM", ToStream(R, "RSTREAM"), (windows_of_r,)),
    Case("ISTREAM", ToStream(S, "ISTREAM"), (windows_of_s,)),
    Case("DSTREAM", ToStream(S, "DSTREAM"), (windows_of_s,)),
    Case("union of streams", Union(R, R, "STREAM"), (stream_of_r, sensed), None),
    Case(
        "union of streams, ids of two types", Union(R, R, "STREAM", (INT, STRING)), (stream_of_r, named), None
    ),
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
