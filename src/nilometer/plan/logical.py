"""The logical algebra: frozen nodes that compute their schema and refuse to be built wrong.

SNEE's algebra (papers: SNEE section 4.3, Table 1) with what the other papers add. Every node has

- `collection`: STREAM (tagged tuples), WINDOWS (a sequence of evaluations, each a tick and a bag) or TABLE;
- `schema`: its visible columns, named `alias.column` below the top projection;
- `inputs`: the nodes below it.

Besides its schema, a row of a STREAM has a tick, an event time, a source id and a position; a row of WINDOWS belongs
to an evaluation, which has a tick. These are never columns of the schema; expressions reach the tick as `Now`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Self

from nilometer.algebra import (
    Collection,
    Completeness,
    JoinKind,
    Lagged,
    Relation,
    ShedPolicy,
    Shift,
    SimilarForm,
)
from nilometer.catalog.extents import Stream, Table
from nilometer.errors import InternalError
from nilometer.expressions import Aggregate as AggregateExpression
from nilometer.expressions import Expression, columns_of, type_of, walk
from nilometer.types import (
    FLOAT,
    INT,
    STRING,
    TIME,
    Column,
    Kind,
    OwnWindow,
    Schema,
    Type,
    list_of,
    struct_of,
)


def require(condition: bool, message: str) -> None:
    """A wrong plan cannot be built: that is a bug of the binder or of a rule, never the user's."""
    if not condition:
        raise InternalError(f"wrong plan: {message}")


@dataclass(frozen=True)
class Node:
    """The base of all logical nodes."""

    @property
    def inputs(self) -> tuple[Node, ...]:
        """The nodes below."""
        return ()

    def with_inputs(self, inputs: tuple[Node, ...]) -> Self:
        """The same node over other inputs."""
        require(not inputs, f"{type(self).__name__} takes no input")
        return self

    @property
    def schema(self) -> Schema:
        """The visible columns."""
        raise InternalError(f"{type(self).__name__} has no schema")

    @property
    def collection(self) -> Collection:
        """STREAM, WINDOWS or TABLE."""
        raise InternalError(f"{type(self).__name__} has no collection")


@dataclass(frozen=True)
class _Single(Node):
    input: Node

    @property
    def inputs(self) -> tuple[Node, ...]:
        return (self.input,)

    def with_inputs(self, inputs: tuple[Node, ...]) -> Self:
        require(len(inputs) == 1, f"{type(self).__name__} takes one input")
        return replace(self, input=inputs[0])

    @property
    def schema(self) -> Schema:
        return self.input.schema

    @property
    def collection(self) -> Collection:
        return self.input.collection


@dataclass(frozen=True)
class _Double(Node):
    left: Node
    right: Node

    @property
    def inputs(self) -> tuple[Node, ...]:
        return (self.left, self.right)

    def with_inputs(self, inputs: tuple[Node, ...]) -> Self:
        require(len(inputs) == 2, f"{type(self).__name__} takes two inputs")
        return replace(self, left=inputs[0], right=inputs[1])


def _qualified(alias: str, columns: tuple[Column, ...]) -> Schema:
    return Schema(tuple(Column(f"{alias}.{c.name}", c.type, c.unit) for c in columns))


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
        return Schema(
            tuple(Column(f"{self.alias}.{c.name}", c.type, c.unit) for c in self.columns + self.reads)
        )

    @property
    def schema(self) -> Schema:
        return Schema(tuple(Column(f"{self.alias}.{c.name}", c.type, c.unit) for c in self.columns))

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
        return Schema(tuple(Column(f"{self.alias}.{c.name}", c.type, c.unit) for c in self.columns))

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
        return Schema(tuple(Column(f"{self.alias}.{c.name}", c.type, c.unit) for c in self.input.schema))


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
class Silent(_Single):
    """`(time, id, state, last_time)`: state 'silent' at last_time + duration, 'returned' when the sensor is heard again.

    `sensors` are the declared ones: one never heard is silent `duration` after the stream's first tuple, last_time NULL.
    """

    duration: int
    alias: str
    id_type: Type
    sensors: frozenset[int | str] = frozenset()

    def __post_init__(self) -> None:
        require(self.input.collection is Collection.STREAM, "SILENT of what is not a stream")
        require(self.duration > 0, "SILENT for no time")

    @property
    def schema(self) -> Schema:
        return _qualified(self.alias, silent_columns(self.id_type))


def silent_columns(id_type: Type) -> tuple[Column, ...]:
    """The columns of SILENT's rows."""
    return (Column("time", TIME), Column("id", id_type), Column("state", STRING), Column("last_time", TIME))


@dataclass(frozen=True)
class Similar(_Single):
    """SNJoin's variable-arity join (Definition 1): each tuple, in the order (time, id, position), with the strictly
    earlier tuples of other sources, |value - value'| <= epsilon and time difference <= window: one for all, or the
    earlier tuple's own (section 4.2.1). Tuples without a match give no row. arity = 1 + the number of other sources.

    LIST: (time, id, value, arity, members LIST<STRUCT<id, times LIST<TIME>>>), members by id, times ascending.
    PAIRS: (time, id, value, other_time, other_id, other_value), one row a match.
    FLATTEN: (time, id, value, arity, members LIST<STRUCT<id, time>>), one row a combination of one tuple per member.
    COUNTS: (time, id, value, arity, matches), of how many sources and how many tuples, none of which is written out.
    SAMPLE: (time, id, value, arity, matches, members as LIST has them), of n = `sample` of the m matches: in the order of the stream those numbered
        floor((i + u) m / n) for i = 0 ... n - 1, where u = (time * 0x9E3779B97F4A7C15 mod 2^64) // 2^48 / 2^16; all of them if m <= n.
    """

    column: str
    epsilon: float
    window: int | OwnWindow
    form: SimilarForm
    alias: str
    id_type: Type
    sample: int = 0

    def __post_init__(self) -> None:
        require(
            (self.form is SimilarForm.SAMPLE) == (self.sample > 0), f"{self.form} of {self.sample} matches"
        )
        require(self.input.collection is Collection.STREAM, "SIMILAR of what is not a stream")
        for name in self.reads:
            require(name in self.input.schema, f"SIMILAR on {name}, which is not there")
        require(
            self.epsilon >= 0 and (isinstance(self.window, OwnWindow) or self.window >= 0),
            "SIMILAR within a negative distance",
        )

    @property
    def reads(self) -> frozenset[str]:
        """The columns that it looks at."""
        own = {self.window.column} if isinstance(self.window, OwnWindow) else set()
        return frozenset({self.column} | own)

    @property
    def schema(self) -> Schema:
        value = self.input.schema[self.column].type.plain
        return _qualified(self.alias, similar_columns(self.form, self.id_type, value))


def similar_columns(form: SimilarForm, id_type: Type, value: Type) -> tuple[Column, ...]:
    """The columns of SIMILAR's rows, in each of its forms."""
    head = (Column("time", TIME), Column("id", id_type), Column("value", value))
    match form:
        case SimilarForm.LIST:
            member = struct_of(Column("id", id_type), Column("times", list_of(TIME)))
            return (*head, Column("arity", INT), Column("members", list_of(member)))
        case SimilarForm.PAIRS:
            return (
                *head,
                Column("other_time", TIME),
                Column("other_id", id_type),
                Column("other_value", value),
            )
        case SimilarForm.FLATTEN:
            member = struct_of(Column("id", id_type), Column("time", TIME))
            return (*head, Column("arity", INT), Column("members", list_of(member)))
        case SimilarForm.COUNTS:
            return (*head, Column("arity", INT), Column("matches", INT))
        case SimilarForm.SAMPLE:
            member = struct_of(Column("id", id_type), Column("times", list_of(TIME)))
            return (*head, Column("arity", INT), Column("matches", INT), Column("members", list_of(member)))


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
class WindowJoin(Node):
    """STEAM's W-join over N streams: the N-tuples that satisfy the predicate and every bound. A stream of tuples whose
    time (and tick) is the latest member's; it has neither id nor position."""

    streams: tuple[Node, ...]
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

    @property
    def inputs(self) -> tuple[Node, ...]:
        return self.streams

    def with_inputs(self, inputs: tuple[Node, ...]) -> Self:
        return replace(self, streams=inputs)

    @property
    def schema(self) -> Schema:
        return Schema(tuple(column for node in self.streams for column in node.schema))

    @property
    def collection(self) -> Collection:
        return Collection.STREAM


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


def walk_plan(node: Node) -> Iterator[Node]:
    """The node and all below it, parents first."""
    yield node
    for child in node.inputs:
        yield from walk_plan(child)


def refreshes(node: Node) -> bool:
    """Whether it reads a stored extent that is read anew: then what it gives depends on the tick."""
    return any(isinstance(one, Stored) and one.table.refresh is not None for one in walk_plan(node))


def transform_plan(node: Node, change: Callable[[Node], Node]) -> Node:
    """Rebuild from the leaves up, replacing each node by `change(node)`."""
    inputs = tuple(transform_plan(child, change) for child in node.inputs)
    same = all(new is old for new, old in zip(inputs, node.inputs, strict=True))
    return change(node if same else node.with_inputs(inputs))


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
