"""The physical algebra: frozen nodes that name the algorithm (SNEE section 4.4, Table 1, and other papers).

They mirror the logical nodes, with the same three properties (`collection`, `schema`, `inputs`), and carry

- `operator`: the name as EXPLAIN prints it;
- `location_sensitive` (Table 1's LocSen): the deployment decides where it runs, and the planner has no
  choice;
- `attribute_sensitive` (AttrSen): it must see all tuples of the extent (or of one key), wherever they were
  acquired.

`optimizer.choose` builds them from a logical plan, placement cuts them into fragments, and hosts run them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

from nilometer.algebra import BagOperator, Collection, Completeness, JoinKind, Lagged, Relation, SortKey
from nilometer.algebra.analytic import AnalyticItem
from nilometer.algebra.grid import Grid
from nilometer.algebra.table_function import FunctionCall
from nilometer.catalog.extents import Stream, Table
from nilometer.errors import InternalError
from nilometer.expressions import ALGEBRAIC, Expression, type_of
from nilometer.plan.logical import AggregateItem, Projection, unnested_schema
from nilometer.plan.node import OverOne, OverStreams, OverTwo, PlanNode, preserves_table, require
from nilometer.plan.node import transform_plan as transform_plan
from nilometer.plan.node import walk_plan as walk_plan
from nilometer.plan.window_join_parts import KeyPair, Memory, WindowBound, kept_for, tied
from nilometer.types import FLOAT, INT, Column, Schema, qualified


@dataclass(frozen=True)
class Node(PlanNode["Node"]):
    """The base of all physical nodes."""

    operator: ClassVar[str] = ""
    location_sensitive: ClassVar[bool] = False
    attribute_sensitive: ClassVar[bool] = False


@dataclass(frozen=True)
class Single(Node, OverOne[Node]):
    """The base of nodes over one input."""


@dataclass(frozen=True)
class Double(Node, OverTwo[Node]):
    """The base of nodes over two inputs."""


# ---- leaves ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class SpAcquire(Node):
    """SNEE's SP_ACQUIRE: takes (or receives) readings of `columns` and `reads` from `sensors` (None: all),
    keeps those that satisfy `predicate`, and passes on `columns`. `of`: as for `logical.Acquire`."""

    operator = "SP_ACQUIRE"
    location_sensitive = True

    stream: Stream
    alias: str
    columns: tuple[Column, ...]
    reads: tuple[Column, ...] = ()
    predicate: Expression | None = None
    sensors: frozenset[int | str] | None = None
    of: tuple[str, int] | None = None

    @property
    def every(self) -> int | None:
        """The acquisition interval (Table 1's AcqInt); None for a pushed stream."""
        return self.stream.every

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
class StoredScan(Node):
    """The snapshot of a stored extent."""

    operator = "STORED_SCAN"
    location_sensitive = True

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
    """Constant rows."""

    operator = "VALUES"

    columns: tuple[Column, ...]
    rows: tuple[tuple[Any, ...], ...]

    @cached_property
    def schema(self) -> Schema:
        return Schema(self.columns)

    @property
    def collection(self) -> Collection:
        return Collection.TABLE


# ---- any to the same -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Select(Single):
    """The rows for which the predicate is true."""

    operator = "SELECT"

    predicate: Expression


@dataclass(frozen=True)
class Project(Single):
    """Computes the given expressions for each row."""

    operator = "PROJECT"

    items: tuple[Projection, ...]

    @cached_property
    def schema(self) -> Schema:
        return Schema(tuple(Column(i.name, type_of(i.expression), i.unit) for i in self.items))


@dataclass(frozen=True)
class Rename(Single):
    """Renames every column `name` to `alias.name`; costs nothing."""

    operator = "RENAME"

    alias: str

    @cached_property
    def schema(self) -> Schema:
        return qualified(self.alias, self.input.schema)


@dataclass(frozen=True)
class Analytic(Single):
    """Adds columns computed over the ordered rows of each partition."""

    operator = "ANALYTIC"
    attribute_sensitive = True

    partition: tuple[Expression, ...]
    order: tuple[SortKey, ...]
    ties: tuple[str, ...]
    items: tuple[AnalyticItem, ...]

    @cached_property
    def schema(self) -> Schema:
        return self.input.schema + Schema(tuple(Column(i.name, i.type) for i in self.items))


@dataclass(frozen=True)
class Unnest(Single):
    """One row for each element of a list."""

    operator = "UNNEST"

    name: str
    expression: Expression
    dropped: bool = False

    @cached_property
    def schema(self) -> Schema:
        return unnested_schema(self.input.schema, self.name, self.expression, self.dropped)


@dataclass(frozen=True)
class Union(Double):
    """The bag union, columns by position; windows are united at the union of their ticks."""

    operator = "UNION"

    @property
    def schema(self) -> Schema:
        return self.left.schema

    @property
    def collection(self) -> Collection:
        return self.left.collection


@dataclass(frozen=True)
class BagOperation(Double):
    """The difference or intersection of two bags; each row meets its equals by hash."""

    attribute_sensitive = True

    bag_operator: BagOperator

    @property
    def operator(self) -> str:  # type: ignore[override]
        """EXCEPT or INTERSECT."""
        return str(self.bag_operator)

    @property
    def schema(self) -> Schema:
        return self.left.schema

    @property
    def collection(self) -> Collection:
        return self.left.collection


@dataclass(frozen=True)
class Exchange(Single):
    """The cut between two fragments: a radio hop, a queue or a shuffle. Placement inserts it.

    Rows are partitioned by the values of `keys`; without keys all rows go to one bucket. In a fragment,
    `producer` is the number of the fragment that sends the rows.
    """

    operator = "EXCHANGE"

    keys: tuple[Expression, ...] = ()
    producer: int | None = None


# ---- stream to stream ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Sample(Single):
    """The first tuple of each source in each interval `every`."""

    operator = "SAMPLE"

    every: int


@dataclass(frozen=True)
class Limit(Single):
    """The first tuples of a stream by (time, id, position)."""

    operator = "LIMIT"
    attribute_sensitive = True

    limit: int | None
    offset: int = 0


@dataclass(frozen=True)
class Lag(Single):
    """Adds columns computed from the source's earlier tuples."""

    operator = "LAG"

    items: tuple[Lagged, ...]

    @cached_property
    def schema(self) -> Schema:
        return self.input.schema + Schema(tuple(Column(i.name, i.type) for i in self.items))


@dataclass(frozen=True)
class TableFunction(Single):
    """A function of FROM, run by the algorithm that its declaration names: SN_JOIN for SIMILAR."""

    attribute_sensitive = True

    call: FunctionCall
    beside: Node | None = None
    """A table that it reads as well: the neighbours of a phenomenon's sensors."""

    @property
    def inputs(self) -> tuple[Node, ...]:
        return (self.input,) if self.beside is None else (self.input, self.beside)

    def with_inputs(self, inputs: tuple[Node, ...]) -> TableFunction:
        require(len(inputs) == len(self.inputs), f"{self.call.name} takes {len(self.inputs)} inputs")
        return replace(self, input=inputs[0], beside=inputs[1] if len(inputs) > 1 else None)

    @property
    def operator(self) -> str:  # type: ignore[override]
        """The name of the algorithm."""
        return self.call.function.operator

    @cached_property
    def schema(self) -> Schema:
        return self.call.schema(self.input.schema)

    @property
    def collection(self) -> Collection:
        return self.call.function.collection


@dataclass(frozen=True)
class AsofJoin(Double):
    """Joins each left tuple with the latest right tuple of equal keys at or before it; with `before`, of a tick
    strictly before it."""

    operator = "ASOF_JOIN"
    attribute_sensitive = True

    keys: tuple[tuple[Expression, Expression], ...]
    within: int | None
    before: bool = False

    @cached_property
    def schema(self) -> Schema:
        return self.left.schema + self.right.schema

    @property
    def collection(self) -> Collection:
        return Collection.STREAM


@dataclass(frozen=True)
class WindowJoin(Node, OverStreams[Node]):
    """STEAM's window join (section 6.2): the N-tuples that satisfy all bounds, all key pairs and `predicate`.

    `predicate` is the rest of the condition, without the pairs. All forms of the join find the same tuples by
    different algorithms. LEFT and FULL joins of two streams also give the tuples without a partner.
    """

    attribute_sensitive = True

    bounds: tuple[WindowBound, ...]
    keys: tuple[KeyPair, ...] = ()
    predicate: Expression | None = None
    memory: Memory | None = None
    kind: JoinKind = JoinKind.INNER

    def kept(self, port: int) -> int | None:
        """How long the tuples of an input wait for a partner before they come without one; None if never."""
        return kept_for(self.kind, self.bounds, port)


@dataclass(frozen=True)
class NlwJoin(WindowJoin):
    """Nested loops over time-ordered buffers, stream after stream in the order of FROM."""

    operator = "NLW_JOIN"


@dataclass(frozen=True)
class HwJoin(WindowJoin):
    """Hash lookup of the values that must be equal, in time-ordered buckets."""

    operator = "HW_JOIN"

    def __post_init__(self) -> None:
        require(
            tied(len(self.streams), self.keys), f"{self.operator} whose keys do not tie all streams together"
        )


@dataclass(frozen=True)
class MwJoin(WindowJoin):
    """A merge. The streams come in the order of their windows and conditions, and each is searched by hash,
    by the sorted values of a band, or by time."""

    operator = "MW_JOIN"


# ---- stream to windows -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class TimeWindow(Single):
    """The tuples with `T - start <= tick <= T - end` (`open_start`: `T - start <`), every `slide` or tick, or at
    the edges of the `grid` (logical.TimeWindow).

    `elided` marks a [NOW] over a sensed stream. The tuples acquired at a tick are the window at that tick, so
    a host that works tick by tick (a mote) needs neither buffer nor operator for it. EXPLAIN then prints it
    as a mark on its input's line (SNEE Fig. 8). The meaning stays the same: a host may run it like any other
    window.
    """

    operator = "TIME_WINDOW"

    start: int | None
    end: int
    slide: int | None
    open_start: bool
    elided: bool = False
    grid: Grid | None = None

    @property
    def collection(self) -> Collection:
        return Collection.WINDOWS


@dataclass(frozen=True)
class RowWindow(Single):
    """At every `slide`-th row the rows from `start` back to `end` back, counted over all sources or, with
    `keys`, for each key."""

    operator = "ROW_WINDOW"
    attribute_sensitive = True

    start: int | None
    end: int
    slide: int
    keys: tuple[str, ...] = ()

    @property
    def collection(self) -> Collection:
        return Collection.WINDOWS


# ---- windows to windows ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Join(Double):
    attribute_sensitive = True

    kind: JoinKind

    @property
    def preserves_table(self) -> bool:
        """Whether every row of a table is in every evaluation, with NULLs if it has no partner there."""
        return preserves_table(self.kind, self.left, self.right)

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
class NlJoin(_Join):
    """Tries every left row with every right row; without a predicate it is the product."""

    operator = "NL_JOIN"

    predicate: Expression | None = None


@dataclass(frozen=True)
class HashJoin(_Join):
    """Looks up rows with equal `keys` (left, right) by hash, and keeps those that satisfy `residual`. NULL
    keys match nothing."""

    operator = "HASH_JOIN"

    keys: tuple[tuple[Expression, Expression], ...]
    residual: Expression | None = None

    def __post_init__(self) -> None:
        require(bool(self.keys), "a hash join without keys")


def partial_columns(item: AggregateItem) -> tuple[Column, ...]:
    """The columns of an algebraic aggregate's partial result, which AGGR_INIT makes and AGGR_MERGE merges.

    count: the number of rows counted; sum, min, max: the value (NULL of no rows); avg: sum and count; stdev
    and variance: count, mean and the sum of squared deviations from the mean (merged by Chan's formula).
    """
    aggregate, name = item.aggregate, item.name
    count = Column(f"{name}#count", INT)
    match aggregate.function:
        case "count":
            return (count,)
        case "sum" | "min" | "max" as function:
            return (Column(f"{name}#{function}", aggregate.type, item.unit),)
        case "avg":
            return (Column(f"{name}#sum", FLOAT, item.unit), count)
        case "stdev" | "variance":
            return (count, Column(f"{name}#mean", FLOAT), Column(f"{name}#deviations", FLOAT))
        case function:
            raise InternalError(f"{function} has no partial result")


@dataclass(frozen=True)
class _Aggregate(Single):
    keys: tuple[Projection, ...]
    items: tuple[AggregateItem, ...]
    completeness: Completeness | None = None

    @property
    def _final_schema(self) -> Schema:
        items = tuple(Column(i.name, i.aggregate.type, i.unit) for i in self.items)
        extra = (Column(self.completeness.name, FLOAT),) if self.completeness is not None else ()
        return Schema(self._key_columns + items + extra)

    @property
    def _partial_schema(self) -> Schema:
        items = tuple(column for item in self.items for column in partial_columns(item))
        extra = (Column(f"{self.completeness.name}#count", INT),) if self.completeness is not None else ()
        return Schema(self._key_columns + items + extra)

    @property
    def _key_columns(self) -> tuple[Column, ...]:
        return tuple(Column(k.name, type_of(k.expression), k.unit) for k in self.keys)


@dataclass(frozen=True)
class Aggregate(_Aggregate):
    """The whole aggregate in one step, for MEDIAN and DISTINCT, whose partial results have no constant
    size."""

    operator = "AGGR"
    attribute_sensitive = True

    @cached_property
    def schema(self) -> Schema:
        return self._final_schema


@dataclass(frozen=True)
class AggregateInit(_Aggregate):
    """Aggregates rows to partial results, one row per group and evaluation, wherever the rows are.

    At every step of the chain, `keys` and `items` are those of the whole aggregate, in terms of INIT's input.
    MERGE and EVAL find the values in the columns `key.name` and `partial_columns(item)`.
    """

    operator = "AGGR_INIT"

    def __post_init__(self) -> None:
        for item in self.items:
            require(
                item.aggregate.function in ALGEBRAIC and not item.aggregate.distinct,
                f"partial {item.aggregate}",
            )

    @cached_property
    def schema(self) -> Schema:
        return self._partial_schema


@dataclass(frozen=True)
class AggregateMerge(_Aggregate):
    """Merges the partial results of one group and evaluation to one."""

    operator = "AGGR_MERGE"
    attribute_sensitive = True

    @cached_property
    def schema(self) -> Schema:
        return self._partial_schema


@dataclass(frozen=True)
class AggregateEvaluate(_Aggregate):
    """Computes the answer from merged partial results."""

    operator = "AGGR_EVAL"
    attribute_sensitive = True

    @cached_property
    def schema(self) -> Schema:
        return self._final_schema


@dataclass(frozen=True)
class Fill(Single):
    """Adds to each evaluation a row for every group that only earlier ones had."""

    operator = "FILL"
    attribute_sensitive = True

    keys: tuple[str, ...]
    method: str
    windows: tuple[Projection, ...] = ()


@dataclass(frozen=True)
class Sort(Single):
    """All rows of each evaluation, or of a table, in the order of `keys`."""

    operator = "SORT"
    attribute_sensitive = True

    keys: tuple[SortKey, ...]
    limit: int | None = None
    offset: int = 0


@dataclass(frozen=True)
class TopK(Sort):
    """The first `limit` rows after `offset`, chosen before they are sorted."""

    operator = "TOP_K"

    def __post_init__(self) -> None:
        require(self.limit is not None, "TOP_K without a limit")


# ---- windows to stream -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _ToStream(Single):
    relation: ClassVar[Relation]

    @property
    def collection(self) -> Collection:
        return Collection.STREAM


@dataclass(frozen=True)
class RStream(_ToStream):
    """All rows of each evaluation."""

    operator = "RSTREAM"
    relation = Relation.RSTREAM


@dataclass(frozen=True)
class IStream(_ToStream):
    """The rows that are new since the previous evaluation."""

    operator = "ISTREAM"
    relation = Relation.ISTREAM
    # Table 1 differs here. But a value that leaves one site's window and enters another's has not changed the
    # answer.
    attribute_sensitive = True


@dataclass(frozen=True)
class DStream(_ToStream):
    """The rows that have disappeared since the previous evaluation."""

    operator = "DSTREAM"
    relation = Relation.DSTREAM
    attribute_sensitive = True


@dataclass(frozen=True)
class Deliver(Single):
    """The query's answer. Over windows it delivers all rows of each evaluation, because RSTREAM has been
    merged into it (SNEE section 4.4, footnote 4). With `tick`, each row begins with a column `tick`: the tick
    of its evaluation."""

    operator = "DELIVER"
    location_sensitive = True

    tick: bool
    within: int | None = None


# ---- walking ---------------------------------------------------------------------------------------------------------


def streams_of(plan: Node) -> dict[str, Stream]:
    """The streams that a plan reads, by their lower-case names."""
    return {node.stream.name.lower(): node.stream for node in walk_plan(plan) if isinstance(node, SpAcquire)}


def tables_of(plan: Node) -> dict[str, Table]:
    """The stored extents that a plan reads, by their lower-case names."""
    return {node.table.name.lower(): node.table for node in walk_plan(plan) if isinstance(node, StoredScan)}


def most_rows(plan: Node) -> int | None:
    """The number of rows after which the answer of a LIMIT over a stream is complete; None if it has no end."""
    while isinstance(plan, Deliver | Project | Rename):
        plan = plan.input
    return plan.limit if isinstance(plan, Limit) else None
