"""The logical algebra: frozen nodes that compute their schema and refuse to be built wrong.

It is SNEE's algebra (papers: SNEE section 4.3, Table 1) with the operators that the other papers add. Every
node has

- `collection`: STREAM (tagged tuples), WINDOWS (a sequence of evaluations, each a tick and a bag) or TABLE;
- `schema`: its visible columns, named `alias.column` below the top projection;
- `inputs`: the nodes below it.

Besides its schema, a row of a STREAM has a tick, an event time, a source id and a position; a row of WINDOWS
belongs to an evaluation, which has a tick. These are never columns of the schema; expressions reach the tick
as `Now`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from nilometer.algebra import (
    BagOperator,
    Collection,
    Completeness,
    JoinKind,
    Lagged,
    Relation,
    Shift,
    SortKey,
)
from nilometer.algebra.analytic import FRAMED, AnalyticItem
from nilometer.algebra.grid import Grid
from nilometer.algebra.table_function import FunctionCall
from nilometer.catalog.extents import Stream, Table
from nilometer.expressions import Aggregate as AggregateExpression
from nilometer.expressions import ColumnReference, Expression, columns_of, type_of, walk
from nilometer.plan.node import OverOne, OverStreams, OverTwo, PlanNode
from nilometer.plan.node import preserves_table as preserves_table
from nilometer.plan.node import require as require
from nilometer.plan.node import transform_plan as transform_plan
from nilometer.plan.node import walk_plan as walk_plan
from nilometer.plan.window_join_parts import Memory, WindowBound, kept_for
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

    `columns` are the bare names and types of the columns to return: columns of the stream, or static
    attributes of its sensors (STEAM section 3.3). `sensors` are the ids of the sensors to read; None is all
    of them. `predicate` reads qualified names. `reads` are the columns that only the predicate reads. `of`: only
    sensors at this phenomenon, and so many hops around, have to be asked; which these are changes as it moves.
    """

    stream: Stream
    alias: str
    columns: tuple[Column, ...]
    reads: tuple[Column, ...] = ()
    predicate: Expression | None = None
    sensors: frozenset[int | str] | None = None
    of: tuple[str, int] | None = None

    def __post_init__(self) -> None:
        if self.predicate is not None:
            _check_predicate(self.predicate, self.wide_schema, "an acquisition's predicate")

    @property
    def wide_schema(self) -> Schema:
        """The columns that the predicate sees: `columns` and then `reads`, qualified."""
        return qualified(self.alias, self.columns + self.reads)

    @cached_property
    def schema(self) -> Schema:
        return qualified(self.alias, self.columns)

    @property
    def collection(self) -> Collection:
        return Collection.STREAM


@dataclass(frozen=True)
class Stored(Node):
    """The rows of a stored extent, under an alias, as the snapshot that the query sees."""

    table: Table
    alias: str
    columns: tuple[Column, ...]

    @cached_property
    def schema(self) -> Schema:
        return qualified(self.alias, self.columns)

    @property
    def collection(self) -> Collection:
        return Collection.TABLE


@dataclass(frozen=True)
class Values(Node):
    """Constant rows: VALUES, and the one row without columns of a SELECT without FROM."""

    columns: tuple[Column, ...]
    rows: tuple[tuple[Any, ...], ...]

    def __post_init__(self) -> None:
        require(bool(self.rows), "VALUES without rows")
        require(all(len(row) == len(self.columns) for row in self.rows), "rows of VALUES of unequal length")

    @cached_property
    def schema(self) -> Schema:
        return Schema(self.columns)

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
    """One output column and the expression that computes it."""

    name: str
    expression: Expression
    unit: str | None = None


@dataclass(frozen=True)
class Project(_Single):
    """Computes the given expressions for each row."""

    items: tuple[Projection, ...]

    def __post_init__(self) -> None:
        for item in self.items:
            _check_expression(item.expression, self.input.schema, f"the projection of {item.name}")
        _ = self.schema

    @cached_property
    def schema(self) -> Schema:
        return Schema(tuple(Column(i.name, type_of(i.expression), i.unit) for i in self.items))


@dataclass(frozen=True)
class Rename(_Single):
    """A subquery under an alias: every column `name` becomes `alias.name`. Rows stay the same."""

    alias: str

    @cached_property
    def schema(self) -> Schema:
        return qualified(self.alias, self.input.schema)


@dataclass(frozen=True)
class Analytic(_Single):
    """Adds columns computed over the rows of each partition: of an evaluation, of a table, or of a stream.

    The rows are ordered by `order`, and then by the columns `ties`; rows that are equal in all of them may be
    exchanged. A stream's order is (time, id, position), so `order` is its time and `ties` is empty; a tuple
    sees only tuples up to its own time. NULL keys form one partition.
    """

    partition: tuple[Expression, ...]
    order: tuple[SortKey, ...]
    ties: tuple[str, ...]
    items: tuple[AnalyticItem, ...]

    def __post_init__(self) -> None:
        for expression in (*self.partition, *(item.expression for item in self.order)):
            _check_expression(expression, self.input.schema, "OVER")
        missing = set(self.ties) - set(self.input.schema.names)
        require(not missing, f"ties by {sorted(missing)}, which are not there")
        for item in self.items:
            for expression in item.expressions:
                _check_expression(expression, self.input.schema, item.function)
            require((item.frame is not None) == (item.function in FRAMED), f"the frame of {item.function}")

    @cached_property
    def schema(self) -> Schema:
        return self.input.schema + Schema(tuple(Column(i.name, i.type) for i in self.items))


def unnested_schema(schema: Schema, name: str, expression: Expression, dropped: bool) -> Schema:
    """The columns of an UNNEST: those of its input, perhaps without the list, and the element."""
    element = type_of(expression).element
    assert element is not None
    gone = columns_of(expression) if dropped else frozenset()
    kept = tuple(column for column in schema if column.name not in gone)
    return Schema((*kept, Column(name, element)))


@dataclass(frozen=True)
class Unnest(_Single):
    """One row for each element of a list, with the element as the last column `name`; none for NULL or an empty list.

    The rows of a stream keep their tick, time and source. They have no position: several come from one tuple.
    `dropped`: the column of the list itself ends here, because a copy of it in each row would be as long as the
    square of the list.
    """

    name: str
    expression: Expression
    dropped: bool = False

    def __post_init__(self) -> None:
        _check_expression(self.expression, self.input.schema, "UNNEST")
        require(type_of(self.expression).kind is Kind.LIST, "UNNEST of what is not a list")
        require(not self.dropped or isinstance(self.expression, ColumnReference), "UNNEST drops no column")

    @cached_property
    def schema(self) -> Schema:
        return unnested_schema(self.input.schema, self.name, self.expression, self.dropped)


@dataclass(frozen=True)
class Union(_Double):
    """The bag union. Columns are matched by position and named as on the left. Windows are united at the
    union of their ticks, each side with its latest window at or before the tick. Projections below have
    widened INT columns."""

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


@dataclass(frozen=True)
class BagOperation(_Double):
    """The difference or the intersection of two bags of rows: of a row that is m times on the left and n times on the
    right, EXCEPT keeps max(m - n, 0) and INTERSECT min(m, n). NULL equals NULL. Columns are matched, and windows
    combined, as in a Union. Below it, DISTINCT makes sets of bags."""

    bag_operator: BagOperator

    def __post_init__(self) -> None:
        require(self.left.collection is self.right.collection, f"{self.bag_operator} of unlike collections")
        require(self.left.collection is not Collection.STREAM, f"{self.bag_operator} of streams")
        left, right = self.left.schema, self.right.schema
        require(
            [c.type.plain for c in left] == [c.type.plain for c in right],
            f"{self.bag_operator} of ({left}) and ({right})",
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
    """The first tuple of each source, by (time, position), in each interval `every` since the epoch."""

    every: int

    def __post_init__(self) -> None:
        require(self.input.collection is Collection.STREAM, "SAMPLE of what is not a stream")
        require(self.every > 0, "SAMPLE EVERY nothing")


@dataclass(frozen=True)
class Limit(_Single):
    """The tuples of a stream from number `offset` on, at most `limit` of them, in the order of (time, id,
    position), and of their values where they have no position."""

    limit: int | None
    offset: int = 0

    def __post_init__(self) -> None:
        require(self.input.collection is Collection.STREAM, "LIMIT of what is not a stream")
        require(self.limit is None or self.limit >= 0, "a negative LIMIT")
        require(self.offset >= 0, "a negative OFFSET")


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

    @cached_property
    def schema(self) -> Schema:
        return self.input.schema + Schema(tuple(Column(i.name, i.type) for i in self.items))


@dataclass(frozen=True)
class TableFunction(_Single):
    """SIMILAR, SILENT and the other functions of FROM; algebra/table_functions declares their meaning."""

    call: FunctionCall
    beside: Node | None = None
    """A table that it reads as well: the neighbours of a phenomenon's sensors."""

    @property
    def inputs(self) -> tuple[Node, ...]:
        return (self.input,) if self.beside is None else (self.input, self.beside)

    def with_inputs(self, inputs: tuple[Node, ...]) -> TableFunction:
        require(len(inputs) == len(self.inputs), f"{self.call.name} takes {len(self.inputs)} inputs")
        return replace(self, input=inputs[0], beside=inputs[1] if len(inputs) > 1 else None)

    def __post_init__(self) -> None:
        require(self.input.collection is Collection.STREAM, f"{self.call.name} of what is not a stream")
        for name in self.call.reads:
            require(name in self.input.schema, f"{self.call.name} of {name}, which is not there")
        wrong = self.call.wrong
        require(wrong is None, f"{self.call.name} with {wrong}")

    @cached_property
    def schema(self) -> Schema:
        return self.call.schema(self.input.schema)

    @property
    def collection(self) -> Collection:
        return self.call.function.collection


@dataclass(frozen=True)
class AsofJoin(_Double):
    """Joins each left tuple with the right tuple of equal keys that has the greatest time <= its own.

    Ties go to the last by (id, position). A right tuple older than `within` is no match; without a match the
    right columns are NULL. NULL keys match nothing. The row keeps the left tuple's time, id and position.
    `before`: the right tuple is the last of a tick strictly before the left one's, which keeps its tick, too.
    """

    keys: tuple[tuple[Expression, Expression], ...]
    within: int | None
    before: bool = False

    def __post_init__(self) -> None:
        for side in self.inputs:
            require(side.collection is Collection.STREAM, "ASOF JOIN of what is not a stream")
        require(self.within is None or not self.before, "ASOF JOIN by ticks within a time")
        for left, right in self.keys:
            _check_expression(left, self.left.schema, "an ASOF key")
            _check_expression(right, self.right.schema, "an ASOF key")

    @cached_property
    def schema(self) -> Schema:
        return self.left.schema + self.right.schema

    @property
    def collection(self) -> Collection:
        return Collection.STREAM


@dataclass(frozen=True)
class WindowJoin(Node, OverStreams[Node]):
    """STEAM's W-join over N streams: the N-tuples that satisfy the predicate and every bound. The result is a
    stream; the time and tick of a tuple are its latest member's, and it has neither id nor position.

    LEFT and FULL join two streams. A tuple of a kept side without a partner gives one row, with NULLs for the
    other side, whose time and tick are the tuple's time plus the window: no partner can come after that.
    """

    bounds: tuple[WindowBound, ...]
    predicate: Expression | None = None
    memory: Memory | None = None
    kind: JoinKind = JoinKind.INNER

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
        if self.kind is not JoinKind.INNER:
            require(self.kind.pairs, f"a {self.kind} WINDOW join")
            require(len(self.streams) == 2, f"a {self.kind} WINDOW join of more than two streams")
            require(self.memory is None, f"a {self.kind} WINDOW join with bounded memory")

    def kept(self, port: int) -> int | None:
        """How long the tuples of an input wait for a partner before they come without one; None if never."""
        return kept_for(self.kind, self.bounds, port)


# ---- stream to windows -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class TimeWindow(_Single):
    """The tuples with `T - start <= tick <= T - end`; with `open_start` (RANGE) `T - start < tick`. `start`
    None is UNBOUNDED. `slide` None evaluates at every acquisition tick of a sensed input, else at every tick
    with a tuple.

    With a `grid`, T are its edges; `slide` is its step. By the calendar, `start` is
    a number of steps, and the window holds what is after the edge so many steps before T, less `end`.
    """

    start: int | None
    end: int
    slide: int | None
    open_start: bool
    grid: Grid | None = None

    def __post_init__(self) -> None:
        require(self.input.collection is Collection.STREAM, "a window over what is not a stream")
        require(
            self.end >= 0 and (self.start is None or self.start >= self.end),
            "a window that ends before it starts",
        )
        require(self.slide is None or self.slide > 0, "a window that does not slide")
        require(self.grid is None or self.slide == self.grid.nominal, "a window beside its grid")

    @property
    def collection(self) -> Collection:
        return Collection.WINDOWS


@dataclass(frozen=True)
class RowWindow(_Single):
    """At every `slide`-th row, by (time, id, position), the rows from `start` back to `end` back, inclusive.

    RANGE n is start n - 1, end 0. The tick is that of the row at which the window is evaluated. `start` None
    is UNBOUNDED. With `keys`, each key counts rows of its own, and its window holds only these.
    """

    start: int | None
    end: int
    slide: int
    keys: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        require(self.input.collection is Collection.STREAM, "a window over what is not a stream")
        require(
            self.end >= 0 and (self.start is None or self.start >= self.end),
            "a window that ends before it starts",
        )
        require(self.slide > 0, "a window that does not slide")
        require(set(self.keys) <= set(self.input.schema.names), "a row window per a column that is not there")
        require(not self.keys or self.start is not None, "an endless row window per key")

    @property
    def collection(self) -> Collection:
        return Collection.WINDOWS


# ---- windows to windows, tables to tables ----------------------------------------------------------------------------


@dataclass(frozen=True)
class Join(_Double):
    """Joins windows with windows, windows with a table, a stream's tuples with a table, or two tables.

    Two windows are joined at the union of their ticks, each side with its latest window at or before the
    tick, which is empty before its first. Windows are joined with a table at the windows' ticks. LEFT keeps
    the left rows without a partner, FULL those of both sides; a stream's tuples can only be the left side of
    a LEFT join, because the rows of a table without a partner in an endless stream are never known.
    """

    kind: JoinKind
    predicate: Expression | None = None

    def __post_init__(self) -> None:
        kinds = (self.left.collection, self.right.collection)
        streams, tables = kinds.count(Collection.STREAM), kinds.count(Collection.TABLE)
        require(streams == 0 or (streams == 1 and tables == 1), "a join of an unwindowed stream")
        if self.kind is not JoinKind.INNER and streams:
            require(
                self.left.collection is Collection.STREAM and self.kind is not JoinKind.FULL,
                f"a {self.kind} join that keeps the rows of a table beside a stream",
            )
        if not self.kind.pairs:
            require(
                self.right.collection is Collection.TABLE or self.left.collection is not Collection.TABLE,
                f"a {self.kind} join whose left side is a table",
            )
        if self.predicate is not None:
            _check_predicate(self.predicate, self.left.schema + self.right.schema, "a join's predicate")
        _ = self.schema

    @cached_property
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
    """One output column and the aggregate that computes it."""

    name: str
    aggregate: AggregateExpression
    unit: str | None = None


@dataclass(frozen=True)
class Aggregate(_Single):
    """One row per group and evaluation; without keys one row per evaluation, even of an empty window.

    NULL keys form one group. `completeness` is allowed only directly above a TimeWindow.
    """

    keys: tuple[Projection, ...]
    items: tuple[AggregateItem, ...]
    completeness: Completeness | None = None

    def __post_init__(self) -> None:
        require(self.input.collection is not Collection.STREAM, "an aggregate of an unwindowed stream")
        for key in self.keys:
            _check_expression(key.expression, self.input.schema, "a grouping key")
        for item in self.items:
            for argument in item.aggregate.children():
                _check_expression(argument, self.input.schema, "an aggregate's argument")
        require(
            self.completeness is None or isinstance(self.input, TimeWindow),
            "COMPLETENESS of what is not a time window",
        )

    @cached_property
    def schema(self) -> Schema:
        keys = tuple(Column(k.name, type_of(k.expression), k.unit) for k in self.keys)
        items = tuple(Column(i.name, i.aggregate.type, i.unit) for i in self.items)
        extra = (Column(self.completeness.name, FLOAT),) if self.completeness is not None else ()
        return Schema(keys + items + extra)


@dataclass(frozen=True)
class Fill(_Single):
    """Adds a row for every group that an earlier evaluation had and a later one has not.

    The row holds the group's keys, and in the other columns the values of its last row (PREVIOUS) or NULLs. With LINEAR
    it comes when the group returns, with the values between its two rows. `windows` are the columns that the tick of an
    evaluation gives; a row has those of the evaluation for which it stands.
    """

    keys: tuple[str, ...]
    method: str
    windows: tuple[Projection, ...] = ()

    def __post_init__(self) -> None:
        require(self.input.collection is Collection.WINDOWS, "FILL of what is not windows")
        named = (*self.keys, *(item.name for item in self.windows))
        require(bool(named) and set(named) <= set(self.schema.names), "FILL without its keys")


@dataclass(frozen=True)
class Sort(_Single):
    """The rows of each evaluation, or of a table, in the order of `keys`; of them `limit` rows after the first
    `offset`. The binder adds every column of the select list to the keys, so rows that tie in all keys are equal.
    """

    keys: tuple[SortKey, ...]
    limit: int | None = None
    offset: int = 0

    def __post_init__(self) -> None:
        require(self.input.collection is not Collection.STREAM, "ORDER BY of an unwindowed stream")
        require(self.limit is None or self.limit >= 0, "a negative LIMIT")
        require(self.offset >= 0, "a negative OFFSET")
        for key in self.keys:
            _check_expression(key.expression, self.input.schema, "a key of ORDER BY")


# ---- windows to stream -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ToStream(_Single):
    """RSTREAM returns all rows of each evaluation; ISTREAM and DSTREAM return the difference to the previous.

    It is a multiset difference over the values of the schema (NULL = NULL), without the tick. Tuples have
    time = tick = T, and neither id nor position.
    """

    relation: Relation

    def __post_init__(self) -> None:
        require(self.input.collection is Collection.WINDOWS, f"{self.relation} of what is not windows")

    @property
    def collection(self) -> Collection:
        return Collection.STREAM


@dataclass(frozen=True)
class Deliver(_Single):
    """The query's answer. With `tick`, each row begins with a column `tick`: the tick of its evaluation."""

    tick: bool
    within: int | None = None


# ---- walking ---------------------------------------------------------------------------------------------------------


def refreshes(node: Node) -> bool:
    """Whether the plan reads a stored extent with REFRESH, so that its result depends on the tick."""
    return any(isinstance(one, Stored) and one.table.refresh is not None for one in walk_plan(node))


def passed_on(node: Node) -> Node | None:
    """The input whose tuples a node passes on with their ticks; None for other nodes."""
    match node:
        case Select() | Project() | Rename() | Unnest() | Lag() | Sample() | Limit() | Analytic():
            return node.inputs[0]
        case Join(left=left, right=right) if node.collection is Collection.STREAM:
            return left if left.collection is Collection.STREAM else right
        case _:
            return None


def acquisition_interval(node: Node) -> int | None:
    """The interval of a sensed extent, also after nodes that pass its tuples on; None for other streams."""
    if isinstance(node, Acquire):
        return node.stream.every
    below = passed_on(node)
    return None if below is None else acquisition_interval(below)
