"""The logical algebra: frozen nodes that compute their schema and refuse to be built wrong.

SNEE's algebra (papers: SNEE section 4.3, Table 1) with what the other papers add. Every node has

- `collection`: STREAM (tagged tuples), WINDOWS (a sequence of evaluations, each a tick and a bag) or TABLE;
- `schema`: its visible columns, named `alias.column` below the top projection;
- `inputs`: the nodes below it.

Besides its schema, a row of a STREAM has a tick, an event time, a source id and a position; a row of WINDOWS belongs
to an evaluation, which has a tick. These are never columns of the schema; expressions reach the tick as `Now`.
"""

from __future__ import annotations

from dataclasses import dataclass

from nilometer.algebra import Collection, Completeness, JoinKind, Lagged, Relation, ShedPolicy, Shift
from nilometer.algebra.table_function import FunctionCall
from nilometer.catalog.extents import Stream, Table
from nilometer.expressions import Aggregate as AggregateExpression
from nilometer.expressions import Expression, columns_of, type_of, walk
from nilometer.plan.node import OverOne, OverStreams, OverTwo, PlanNode
from nilometer.plan.node import require as require
from nilometer.plan.node import transform_plan as transform_plan
from nilometer.plan.node import walk_plan as walk_plan
from nilometer.types import FLOAT, Column, Kind, Schema, qualified


@dataclass(frozen=True)
class Node(PlanNode["Node"]):
    """The base of all logical nodes."""


@dataclass(frozen=True)
class _Single(Node, OverOne[Node]):
    pass


@dataclass(frozen=True)
class _Double(Node, OverTwo[Node]):
    pass


def _check_expression(expression: Expression, schema: Schema, what: str) -> None:
    missing = columns_of(expression) - set(schema.names)
    require(not missing, f"{what} reads {sorted(missing)}, which its input ({schema}) does not have")
    require(
        not any(isinstance(e, AggregateExpression) for e in walk(expression)), f"an aggregate inside {what}"
    )


def _check_predicate(predicate: Expression, schema: Schema, what: str) -> None:
    _check_expression(predicate, schema, what)
    require(type_of(predicate).kind in (Kind.BOOLEAN, Kind.NULL), f"{what} is not a condition")


# ---- leaves ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Acquire(Node):
    """The tuples of a stream, under an alias. The optimizer may push work into it (SNEE's SP_ACQUIRE).

    `columns` are the bare names wanted, of the stream or static attributes of its sensors (STEAM section 3.3), with
    their types; `sensors` None is all of them, else the ids of those that run; `predicate` reads qualified names, and
    may read columns that `columns` leaves out: `reads` are those.
    """

    stream: Stream
    alias: str
    columns: tuple[Column, ...]
    reads: tuple[Column, ...] = ()
    predicate: Expression | None = None
    sensors: frozenset[int | str] | None = None

    def __post_init__(self) -> None:
        if self.predicate is not None:
            _check_predicate(self.predicate, self.wide_schema, "an acquisition's predicate")

    @property
    def wide_schema(self) -> Schema:
        """What the predicate sees: `columns` and then `reads`, qualified."""
        return qualified(self.alias, self.columns + self.reads)

    @property
    def schema(self) -> Schema:
        return qualified(self.alias, self.columns)

    @property
    def collection(self) -> Collection:
        return Collection.STREAM


@dataclass(frozen=True)
class Stored(Node):
    """The rows of a stored extent, under an alias: the snapshot that the query sees."""

    table: Table
    alias: str
    columns: tuple[Column, ...]

    @property
    def schema(self) -> Schema:
        return qualified(self.alias, self.columns)

    @property
    def collection(self) -> Collection:
        return Collection.TABLE


# ---- any to the same -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Select(_Single):
    """The rows for which the predicate is true (not NULL)."""

    predicate: Expression

    def __post_init__(self) -> None:
        _check_predicate(self.predicate, self.input.schema, "a selection")


@dataclass(frozen=True)
class Projection:
    """One output column and the expression that gives it."""

    name: str
    expression: Expression
    unit: str | None = None


@dataclass(frozen=True)
class Project(_Single):
    """One row for each row, of the given expressions."""

    items: tuple[Projection, ...]

    def __post_init__(self) -> None:
        for item in self.items:
            _check_expression(item.expression, self.input.schema, f"the projection of {item.name}")
        _ = self.schema

    @property
    def schema(self) -> Schema:
        return Schema(tuple(Column(i.name, type_of(i.expression), i.unit) for i in self.items))


@dataclass(frozen=True)
class Rename(_Single):
    """A subquery under an alias: every column `name` becomes `alias.name`. Rows are untouched."""

    alias: str

    @property
    def schema(self) -> Schema:
        return qualified(self.alias, self.input.schema)


@dataclass(frozen=True)
class Union(_Double):
    """The bag union; columns by position, named as on the left; of windows, at the union of their ticks, each side with
    its latest window at or before. INT columns have been widened by projections below."""

    def __post_init__(self) -> None:
        require(self.left.collection is self.right.collection, "a union of unlike collections")
        left, right = self.left.schema, self.right.schema
        require(
            [c.type.plain for c in left] == [c.type.plain for c in right],
            f"a union of ({left}) and ({right})",
        )

    @property
    def schema(self) -> Schema:
        return self.left.schema

    @property
    def collection(self) -> Collection:
        return self.left.collection


# ---- stream to stream ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Sample(_Single):
    """Per source the first tuple, by (time, position), of each interval `every` of time since the epoch."""

    every: int

    def __post_init__(self) -> None:
        require(self.input.collection is Collection.STREAM, "SAMPLE of what is not a stream")
        require(self.every > 0, "SAMPLE EVERY nothing")


@dataclass(frozen=True)
class Lag(_Single):
    """Adds columns computed from the source's earlier tuples, in the order (time, position)."""

    items: tuple[Lagged, ...]

    def __post_init__(self) -> None:
        require(self.input.collection is Collection.STREAM, "LAG of what is not a stream")
        for item in self.items:
            _check_expression(item.expression, self.input.schema, item.function)
            require(item.offset >= 1, "LAG by less than one tuple")
            require(item.offset == 1 or item.function is Shift.LAG, "only LAG has an offset")

    @property
    def schema(self) -> Schema:
        return self.input.schema + Schema(tuple(Column(i.name, i.type) for i in self.items))


@dataclass(frozen=True)
class TableFunction(_Single):
    """SIMILAR, SILENT and the other functions of FROM: what each means is said where it is declared (algebra/table_functions)."""

    call: FunctionCall

    def __post_init__(self) -> None:
        require(self.input.collection is Collection.STREAM, f"{self.call.name} of what is not a stream")
        for name in self.call.reads:
            require(name in self.input.schema, f"{self.call.name} of {name}, which is not there")
        wrong = self.call.wrong
        require(wrong is None, f"{self.call.name} with {wrong}")

    @property
    def schema(self) -> Schema:
        return self.call.schema(self.input.schema)

    @property
    def collection(self) -> Collection:
        return self.call.function.collection


@dataclass(frozen=True)
class AsofJoin(_Double):
    """Per left tuple the right tuple of equal keys with the greatest time <= its own (ties: last by (id, position)), not
    older than `within`, else NULLs. Keys that are NULL match nothing. The row keeps the left's time, id and position."""

    keys: tuple[tuple[Expression, Expression], ...]
    within: int | None

    def __post_init__(self) -> None:
        for side in self.inputs:
            require(side.collection is Collection.STREAM, "ASOF JOIN of what is not a stream")
        for left, right in self.keys:
            _check_expression(left, self.left.schema, "an ASOF key")
            _check_expression(right, self.right.schema, "an ASOF key")

    @property
    def schema(self) -> Schema:
        return self.left.schema + self.right.schema

    @property
    def collection(self) -> Collection:
        return Collection.STREAM


@dataclass(frozen=True)
class WindowBound:
    """|time of input `left` - time of input `right`| <= width."""

    left: int
    right: int
    width: int


@dataclass(frozen=True)
class Memory:
    """The most rows that a join keeps of each input (None: what the windows ask for), and what goes when there are more."""

    rows: tuple[int | None, ...]
    policy: ShedPolicy = ShedPolicy.RANDOM


@dataclass(frozen=True)
class WindowJoin(Node, OverStreams[Node]):
    """STEAM's W-join over N streams: the N-tuples that satisfy the predicate and every bound. A stream of tuples whose
    time (and tick) is the latest member's; it has neither id nor position."""

    bounds: tuple[WindowBound, ...]
    predicate: Expression | None = None
    memory: Memory | None = None

    def __post_init__(self) -> None:
        require(len(self.streams) >= 2, "a WINDOW join of fewer than two streams")
        for node in self.streams:
            require(node.collection is Collection.STREAM, "a WINDOW join of what is not a stream")
        reached = {0}
        for _ in self.streams:
            for bound in self.bounds:
                if bound.left in reached or bound.right in reached:
                    reached |= {bound.left, bound.right}
        require(len(reached) == len(self.streams), "windows that do not connect all streams")
        require(
            self.memory is None or len(self.memory.rows) == len(self.streams),
            "bounds of memory for other streams than there are",
        )
        if self.predicate is not None:
            _check_predicate(self.predicate, self.schema, "a WINDOW join's predicate")


# ---- stream to windows -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class TimeWindow(_Single):
    """`T - start <= tick <= T - end`, both included; with `open_start` (RANGE) `T - start < tick`. `start` None is
    UNBOUNDED. `slide` None: evaluated at every acquisition tick of a sensed input, else at every tick with a tuple."""

    start: int | None
    end: int
    slide: int | None
    open_start: bool

    def __post_init__(self) -> None:
        require(self.input.collection is Collection.STREAM, "a window over what is not a stream")
        require(
            self.end >= 0 and (self.start is None or self.start >= self.end),
            "a window that ends before it starts",
        )
        require(self.slide is None or self.slide > 0, "a window that does not slide")

    @property
    def collection(self) -> Collection:
        return Collection.WINDOWS


@dataclass(frozen=True)
class RowWindow(_Single):
    """At every `slide`-th row, in the order (time, id, position): the rows from `start` back to `end` back, included.
    RANGE n is start n - 1, end 0. Its tick is that of the row it is evaluated at. `start` None is UNBOUNDED."""

    start: int | None
    end: int
    slide: int

    def __post_init__(self) -> None:
        require(self.input.collection is Collection.STREAM, "a window over what is not a stream")
        require(
            self.end >= 0 and (self.start is None or self.start >= self.end),
            "a window that ends before it starts",
        )
        require(self.slide > 0, "a window that does not slide")

    @property
    def collection(self) -> Collection:
        return Collection.WINDOWS


# ---- windows to windows, tables to tables ----------------------------------------------------------------------------


@dataclass(frozen=True)
class Join(_Double):
    """Windows with windows at the union of their ticks, each side with its latest window at or before (empty before its
    first); windows with a table at the windows' ticks; a stream's tuples with a table; two tables."""

    kind: JoinKind
    predicate: Expression | None = None

    def __post_init__(self) -> None:
        kinds = (self.left.collection, self.right.collection)
        streams, tables = kinds.count(Collection.STREAM), kinds.count(Collection.TABLE)
        require(streams == 0 or (streams == 1 and tables == 1), "a join of an unwindowed stream")
        if self.kind is not JoinKind.INNER:
            require(
                self.right.collection is Collection.TABLE or self.left.collection is not Collection.TABLE,
                f"a {self.kind} join whose left side is a table",
            )
        if self.predicate is not None:
            _check_predicate(self.predicate, self.left.schema + self.right.schema, "a join's predicate")
        _ = self.schema

    @property
    def schema(self) -> Schema:
        if self.kind in (JoinKind.SEMI, JoinKind.ANTI):
            return self.left.schema
        return self.left.schema + self.right.schema

    @property
    def collection(self) -> Collection:
        if self.left.collection is Collection.TABLE:
            return self.right.collection
        return self.left.collection


@dataclass(frozen=True)
class AggregateItem:
    """One output column and the aggregate that gives it."""

    name: str
    aggregate: AggregateExpression
    unit: str | None = None


@dataclass(frozen=True)
class Aggregate(_Single):
    """One row per group and evaluation; without keys one row per evaluation, also of an empty window.

    Keys are grouped with NULL = NULL. `completeness` is allowed only directly above a TimeWindow.
    """

    keys: tuple[Projection, ...]
    items: tuple[AggregateItem, ...]
    completeness: Completeness | None = None

    def __post_init__(self) -> None:
        require(self.input.collection is not Collection.STREAM, "an aggregate of an unwindowed stream")
        for key in self.keys:
            _check_expression(key.expression, self.input.schema, "a grouping key")
        for item in self.items:
            if item.aggregate.argument is not None:
                _check_expression(item.aggregate.argument, self.input.schema, "an aggregate's argument")
        require(
            self.completeness is None or isinstance(self.input, TimeWindow),
            "COMPLETENESS of what is not a time window",
        )

    @property
    def schema(self) -> Schema:
        keys = tuple(Column(k.name, type_of(k.expression), k.unit) for k in self.keys)
        items = tuple(Column(i.name, i.aggregate.type, i.unit) for i in self.items)
        extra = (Column(self.completeness.name, FLOAT),) if self.completeness is not None else ()
        return Schema(keys + items + extra)


# ---- windows to stream -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ToStream(_Single):
    """RSTREAM: all rows of each evaluation; ISTREAM / DSTREAM: the multiset difference to the previous evaluation, over
    the values of the schema (NULL = NULL, the tick left out). Tuples have time = tick = T, no id, no position."""

    relation: Relation

    def __post_init__(self) -> None:
        require(self.input.collection is Collection.WINDOWS, f"{self.relation} of what is not windows")

    @property
    def collection(self) -> Collection:
        return Collection.STREAM


@dataclass(frozen=True)
class Deliver(_Single):
    """The query's answer. `tick` says that the rows carry the tick of their evaluation as a first column `tick`."""

    tick: bool
    within: int | None = None


# ---- walking ---------------------------------------------------------------------------------------------------------


def refreshes(node: Node) -> bool:
    """Whether it reads a stored extent that is read anew: then what it gives depends on the tick."""
    return any(isinstance(one, Stored) and one.table.refresh is not None for one in walk_plan(node))


def acquisition_interval(node: Node) -> int | None:
    """The interval of a stream that is sensed: a sensed extent, or one that was only filtered, projected or lagged."""
    match node:
        case Acquire(stream=stream):
            return stream.every
        case Select() | Project() | Rename() | Lag() | Sample():
            return acquisition_interval(node.inputs[0])
        case Join(left=left, right=right) if node.collection is Collection.STREAM:
            return acquisition_interval(left if left.collection is Collection.STREAM else right)
        case _:
            return None
