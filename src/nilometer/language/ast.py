"""The syntax tree: the content of a text before any name is looked up.

Every node is frozen and carries the `span` of text from which it was parsed. Spans do not count for equality,
so that `parse(print_statement(tree)) == tree`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from nilometer.errors import NOWHERE, Span


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """The base of all syntax nodes."""

    span: Span = field(default=NOWHERE, compare=False, repr=False)


# ---- names, literals, expressions ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Expression(Node):
    """The base of all expressions."""


@dataclass(frozen=True, slots=True)
class Name(Expression):
    """`depth`, `R.depth`, `S.SensorValue.temperature`: 1 to 3 parts, as written."""

    parts: tuple[str, ...]

    @property
    def text(self) -> str:
        """The name with its dots."""
        return ".".join(self.parts)


@dataclass(frozen=True, slots=True)
class Constant(Expression):
    """An int, float, str or bool; None is NULL."""

    value: int | float | str | bool | None

    def __eq__(self, other: object) -> bool:
        """1, 1.0 and TRUE are different constants."""
        return (
            isinstance(other, Constant)
            and type(self.value) is type(other.value)
            and self.value == other.value
        )

    def __hash__(self) -> int:
        return hash((type(self.value), self.value))


@dataclass(frozen=True, slots=True)
class TimeConstant(Expression):
    """`TIME '2026-11-15T00:00:00Z'`, kept as microseconds since the epoch."""

    microseconds: int


@dataclass(frozen=True, slots=True)
class PointConstant(Expression):
    """`POINT(120.0, 44.5)`."""

    x: float
    y: float


@dataclass(frozen=True, slots=True)
class DurationConstant(Expression):
    """`15 MINUTES` inside an expression; units are upper-case plural: MILLISECONDS ... DAYS, ROWS."""

    count: int | float
    unit: str


@dataclass(frozen=True, slots=True)
class NowConstant(Expression):
    """`now`: the evaluation tick."""


@dataclass(frozen=True, slots=True)
class Star(Expression):
    """`*` or `R.*` in a select list."""

    qualifier: str | None = None


@dataclass(frozen=True, slots=True)
class Unary(Expression):
    """`-x`, `NOT p`: operator is '-' or 'NOT'."""

    operator: str
    operand: Expression


@dataclass(frozen=True, slots=True)
class Binary(Expression):
    """Arithmetic, '||', comparison (`!=` for both spellings), 'IS [NOT] DISTINCT FROM', 'AND', 'OR'. A chain
    a = b = c is an AND of two comparisons."""

    operator: str
    left: Expression
    right: Expression


@dataclass(frozen=True, slots=True)
class IsNull(Expression):
    """`x IS [NOT] NULL`."""

    operand: Expression
    negated: bool = False


@dataclass(frozen=True, slots=True)
class Between(Expression):
    """`x [NOT] BETWEEN low AND high`."""

    operand: Expression
    low: Expression
    high: Expression
    negated: bool = False


@dataclass(frozen=True, slots=True)
class Like(Expression):
    """`x [NOT] LIKE pattern`; `any_case` is ILIKE."""

    operand: Expression
    pattern: Expression
    negated: bool = False
    any_case: bool = False


@dataclass(frozen=True, slots=True)
class Cast(Expression):
    """`CAST(x AS INT)`, `x::INT`, `TRY_CAST(x AS INT)` (`safe`); `size` is 2 in DECIMAL(10, 2), 20 in
    VARCHAR(20)."""

    operand: Expression
    type: str
    size: int | None = None
    safe: bool = False


@dataclass(frozen=True, slots=True)
class In(Expression):
    """`x [NOT] IN (a, b)`, `x IN {a, b}`, `x IN parameter`, `x ∈ ...`. Items are expressions; a lone Name may
    be a list parameter."""

    operand: Expression
    items: tuple[Expression, ...]
    negated: bool = False


@dataclass(frozen=True, slots=True)
class InQuery(Expression):
    """`x [NOT] IN (SELECT ...)`."""

    operand: Expression
    query: QueryNode
    negated: bool = False


@dataclass(frozen=True, slots=True)
class Exists(Expression):
    """`EXISTS (SELECT ...)`; NOT EXISTS is a Unary NOT over it."""

    query: QueryNode


@dataclass(frozen=True, slots=True)
class Nearest(Expression):
    """`operand [NOT] IN NEAREST 3 TO POINT(x, y)`: the ids of the sensors that are nearest to a point."""

    operand: Expression
    count: int
    x: float
    y: float
    negated: bool = False


@dataclass(frozen=True, slots=True)
class ScalarQuery(Expression):
    """`(SELECT ...)` used as a value."""

    query: QueryNode


@dataclass(frozen=True, slots=True)
class Case(Expression):
    """`CASE [operand] WHEN a THEN b ... [ELSE c] END`."""

    operand: Expression | None
    whens: tuple[tuple[Expression, Expression], ...]
    otherwise: Expression | None


@dataclass(frozen=True, slots=True)
class ArgumentOrder(Node):
    """One entry of the ORDER BY inside a call: `ARRAY_AGG(x ORDER BY y DESC)`."""

    expression: Expression
    descending: bool = False


@dataclass(frozen=True, slots=True)
class FunctionCall(Expression):
    """`f(a, b)`, `COUNT(*)` (a lone Star), `COUNT(DISTINCT x)`, `AVG(s.speed, w)`, `LAG(x, 2)`; the name as written.

    `order` is the ORDER BY behind the arguments; with `within` it is that of WITHIN GROUP. `condition` is that of
    FILTER (WHERE ...).
    """

    name: str
    arguments: tuple[Expression, ...]
    distinct: bool = False
    order: tuple[ArgumentOrder, ...] = ()
    within: bool = False
    condition: Expression | None = None


@dataclass(frozen=True, slots=True)
class FrameBound(Node):
    """`3 PRECEDING`, `UNBOUNDED FOLLOWING` (amount None) or `CURRENT ROW`, by the word in `side`."""

    side: str
    amount: Amount | None = None


@dataclass(frozen=True, slots=True)
class Frame(Node):
    """`ROWS | RANGE BETWEEN start AND end`."""

    unit: str
    start: FrameBound
    end: FrameBound


@dataclass(frozen=True, slots=True)
class Over(Expression):
    """`SUM(x) OVER (PARTITION BY a ORDER BY b ROWS BETWEEN 3 PRECEDING AND CURRENT ROW)`. It holds the parts of
    its call (`condition` is that of FILTER), and no FunctionCall: an aggregate with OVER is no aggregate of its
    query."""

    name: str
    arguments: tuple[Expression, ...]
    distinct: bool = False
    condition: Expression | None = None
    partition: tuple[Expression, ...] = ()
    order: tuple[SortKey, ...] = ()
    frame: Frame | None = None
    ignore_nulls: bool = False


# ---- windows ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Amount(Node):
    """A length of time or a number of rows: a number or a parameter's name, and a unit (None if the text has
    none)."""

    count: int | float | str
    unit: str | None = None


@dataclass(frozen=True, slots=True)
class Window(Node):
    """The base of window specifications; all offsets count back from now."""


@dataclass(frozen=True, slots=True)
class NowWindow(Window):
    """`[NOW]`, `[NOW SLIDE 5 SECONDS]`."""

    slide: Amount | None = None


@dataclass(frozen=True, slots=True)
class AtWindow(Window):
    """`[AT NOW - 15 MINUTES]`; offset None is AT NOW."""

    offset: Amount | None
    slide: Amount | None = None


@dataclass(frozen=True, slots=True)
class FromToWindow(Window):
    """`[FROM NOW - 2 HOURS TO NOW]`, in either order; None is NOW. A future end is negative; the binder
    refuses it."""

    start: Amount | None
    end: Amount | None
    slide: Amount | None = None


@dataclass(frozen=True, slots=True)
class RangeWindow(Window):
    """`[RANGE 10 MINUTES]`, `[RANGE 10 ROWS SLIDE 10 ROWS]`, and `[NOW - 7 DAYS]`, which means the same.

    `[RANGE 10 ROWS PER id]` counts the rows of each key; `OFFSET` and `TIMEZONE` move the edges of a slide.
    """

    length: Amount
    slide: Amount | None = None
    per: tuple[Name, ...] = ()
    offset: Amount | None = None
    zone: str | None = None


@dataclass(frozen=True, slots=True)
class UnboundedWindow(Window):
    """`[UNBOUNDED]`: all tuples since the query's start."""

    slide: Amount | None = None


@dataclass(frozen=True, slots=True)
class RescanWindow(Window):
    """SNEEql's `[RESCAN 5 MINUTES]` behind a stored table: how often it is read again."""

    every: Amount


# ---- queries ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class SelectItem(Node):
    """`expression [AS name]`."""

    expression: Expression
    alias: str | None = None


@dataclass(frozen=True, slots=True)
class Source(Node):
    """The base of the sources in FROM."""


@dataclass(frozen=True, slots=True)
class ExtentSource(Source):
    """`river [NOW] R`, `river R [NOW]`, `river AS R`: the window may stand before or after the alias."""

    name: str
    window: Window | None = None
    alias: str | None = None


@dataclass(frozen=True, slots=True)
class QuerySource(Source):
    """`( query ) [window] [alias [(columns)]]`."""

    query: QueryNode
    window: Window | None = None
    alias: str | None = None
    columns: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class UnnestSource(Source):
    """`UNNEST(list) [alias [(column)]]`: a row for each element of a list of the relations before it."""

    expression: Expression
    alias: str | None = None
    columns: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class AsofSource(Source):
    """`a ASOF JOIN b ON a.id = b.id [WITHIN d]`; `inner` is ASOF INNER JOIN, which drops what has no match."""

    left: Source
    right: Source
    condition: Expression
    within: Amount | None = None
    inner: bool = False


@dataclass(frozen=True, slots=True)
class JoinSource(Source):
    """`a LEFT JOIN b ON a.id = b.id`, `a JOIN b USING (id)`; kind is 'INNER', 'LEFT', 'RIGHT' or 'FULL'. With
    neither condition nor columns it is CROSS JOIN."""

    left: Source
    right: Source
    kind: str
    condition: Expression | None = None
    using: tuple[Name, ...] = ()


@dataclass(frozen=True, slots=True)
class Amounts(Node):
    """`(1, 2.5, x)`: numbers in parentheses."""

    items: tuple[Amount, ...]


@dataclass(frozen=True, slots=True)
class Word(Node):
    """A word between an option's values, in capitals: the BETWEEN of `LEVELS 8 BETWEEN 15 AND 35`."""

    text: str


@dataclass(frozen=True, slots=True)
class Setting(Node):
    """An option of a table function: its word, then its values with any words between them.

    A flag has no values. The word of a `positional` option is not written.
    """

    word: str
    values: tuple[Amount | Amounts | Name | Word, ...] = ()
    positional: bool = False


@dataclass(frozen=True, slots=True)
class FunctionSource(Source):
    """`SIMILAR(s, column WITHIN 0.5 PAIRS) [window] [alias]`; settings are in the order of the function's
    declaration."""

    name: str
    source: Source
    columns: tuple[Name, ...] = ()
    settings: tuple[Setting, ...] = ()
    window: Window | None = None
    alias: str | None = None


@dataclass(frozen=True, slots=True)
class GroupWindowSource(Source):
    """`TUMBLE(s, size)`, `HOP(s, slide, size)` or `CUMULATE(s, step, size)`, each with `OFFSET d` and `TIMEZONE
    'z'`. `time` is what DESCRIPTOR names, if that is not `time`. SESSION is a FunctionSource."""

    kind: str
    source: Source
    size: Amount
    slide: Amount | None = None
    offset: Amount | None = None
    zone: str | None = None
    alias: str | None = None
    time: Name | None = None


@dataclass(frozen=True, slots=True)
class WindowBound(Node):
    """`WINDOW(a, b) = w`; left and right None is the uniform `WINDOW = w`."""

    left: str | None
    right: str | None
    width: Amount


@dataclass(frozen=True, slots=True)
class MemoryBound(Node):
    """`MEMORY(a) = 1000 ROWS`; stream None is the uniform `MEMORY = 1000 ROWS`, for every stream."""

    stream: str | None
    rows: Amount


@dataclass(frozen=True, slots=True)
class QueryNode(Node):
    """The base of queries."""


@dataclass(frozen=True, slots=True)
class Select(QueryNode):
    """One SELECT; without FROM it has no sources. `stream` is None, 'RSTREAM', 'ISTREAM' or 'DSTREAM'; `shed` says
    which tuples to drop if memory is short. `fill` is NULL or PREVIOUS. `qualify` is the condition on OVER."""

    items: tuple[SelectItem, ...]
    sources: tuple[Source, ...]
    stream: str | None = None
    bounds: tuple[WindowBound, ...] = ()
    where: Expression | None = None
    group_by: tuple[Expression, ...] = ()
    having: Expression | None = None
    sample: Amount | None = None
    deliver: Amount | None = None
    memory: tuple[MemoryBound, ...] = ()
    shed: str | None = None
    distinct: bool = False
    fill: str | None = None
    qualify: Expression | None = None


@dataclass(frozen=True, slots=True)
class Union(QueryNode):
    """`query UNION [DISTINCT] query`, left-associative; UNION ALL is UNION."""

    left: QueryNode
    right: QueryNode
    distinct: bool = False


@dataclass(frozen=True, slots=True)
class SetOperation(QueryNode):
    """`query EXCEPT [ALL] query`, `query INTERSECT [ALL] query`; INTERSECT binds more tightly."""

    operator: str
    left: QueryNode
    right: QueryNode
    all: bool = False


@dataclass(frozen=True, slots=True)
class Values(QueryNode):
    """`VALUES (1, 'a'), (2, 'b')`: all rows have equally many columns."""

    rows: tuple[tuple[Expression, ...], ...]


@dataclass(frozen=True, slots=True)
class CommonTable(Node):
    """`name [(columns)] AS ( query )` in WITH."""

    name: str
    columns: tuple[str, ...]
    query: QueryNode


@dataclass(frozen=True, slots=True)
class With(QueryNode):
    """`WITH name AS (query), ... query`; a query sees the names before it."""

    tables: tuple[CommonTable, ...]
    query: QueryNode


@dataclass(frozen=True, slots=True)
class SortKey(Node):
    """`expression [ASC | DESC] [NULLS FIRST | LAST]`; NULLs come last unless the text says otherwise."""

    expression: Expression
    descending: bool = False
    nulls_first: bool = False


@dataclass(frozen=True, slots=True)
class Ordered(QueryNode):
    """`query [ORDER BY keys] [LIMIT n] [OFFSET m]`; a number may be a parameter's name."""

    query: QueryNode
    order_by: tuple[SortKey, ...] = ()
    limit: Constant | Name | None = None
    offset: Constant | Name | None = None


# ---- declarations ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Statement(Node):
    """The base of declarations and commands; a QueryNode is a statement too."""


@dataclass(frozen=True, slots=True)
class Origin(Node):
    """`FROM ts_utc`, `FROM '$.a.b'`, `EACH '$.obs'`: a field's name, or a JSON path, which begins with `$`."""

    text: str


@dataclass(frozen=True, slots=True)
class ColumnDefinition(Node):
    """`pm25 FLOAT UNIT 'ug/m3'`, `depth INT(16)`, `time FROM ts_utc`; the type's name upper-case, or None."""

    name: str
    type: str | None
    width: int | None = None
    unit: str | None = None
    origin: Origin | None = None


@dataclass(frozen=True, slots=True)
class FormatOption(Node):
    """`DELIMITER ';'`, `HEADER OFF` (False), `SKIP 3`, `NULL ('NA', '-')`, `TIME FORMAT '%d/%m/%Y'`."""

    word: str
    value: str | int | bool | tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Format(Node):
    """`FORMAT CSV (options)`, `FORMAT JSON (options)`; the kind upper-case."""

    kind: str
    options: tuple[FormatOption, ...] = ()


@dataclass(frozen=True, slots=True)
class CreateStream(Statement):
    """`CREATE STREAM name (columns) {SENSED EVERY d | PUSHED} [FROM 'url'] [DELAY d] [KEY (..)] [EXPECT EVERY d] [FUTURE d]
    [EACH 'path'] [FORMAT ...] [COORDINATES WGS84 | 'unit']`."""

    name: str
    columns: tuple[ColumnDefinition, ...]
    every: Amount | None = None
    url: str | None = None
    delay: Amount | None = None
    key: tuple[str, ...] = ()
    expect: Amount | None = None
    future: Amount | None = None
    each: Origin | None = None
    format: Format | None = None
    coordinates: str | None = None


@dataclass(frozen=True, slots=True)
class CreateTable(Statement):
    """`CREATE TABLE name [(columns)] STORED AT 'url' [AS table] [REFRESH EVERY d] [EACH 'path'] [FORMAT ...]`."""

    name: str
    columns: tuple[ColumnDefinition, ...]
    url: str
    table: str | None = None
    refresh: Amount | None = None
    each: Origin | None = None
    format: Format | None = None


@dataclass(frozen=True, slots=True)
class CreateSensor(Statement):
    """`CREATE SENSOR 5 OF river [AT (x, y)] [WITH kind = 'gauge', height = 3]`."""

    identifier: int | str
    stream: str
    location: tuple[float, float] | None = None
    attributes: tuple[tuple[str, Any], ...] = ()


@dataclass(frozen=True, slots=True)
class CopySensors(Statement):
    """`COPY SENSORS [OF river] FROM 'sensors.csv' [(id FROM station, location FROM (lon, lat))]`.

    `origins` are (name, the file's columns for it), in the order of the statement."""

    path: str
    stream: str | None = None
    origins: tuple[tuple[str, tuple[str, ...]], ...] = ()


@dataclass(frozen=True, slots=True)
class CreateNetwork(Statement):
    """`CREATE NETWORK name FROM 'file.toml' [SINK 0] [RETRIES 3]`: nodes, links, resources, profiles (TOML, CSV or GeoJSON).
    Topologies of SNEE's (`.nss`, `.xml`) may have `SCHEMA 'schema.xml'` and `RESOURCES 'motes.xml'` beside them."""

    name: str
    path: str
    sink: int | str | None = None
    retries: int | None = None
    schema: str | None = None
    resources: str | None = None


@dataclass(frozen=True, slots=True)
class CopyStreams(Statement):
    """`COPY STREAMS FROM 'schema.xml' [SENSED EVERY d]`: declares the streams of a logical schema of SNEE's."""

    path: str
    every: Amount | None = None


@dataclass(frozen=True, slots=True)
class CreateQuery(Statement):
    """`CREATE QUERY wet [STARTING AT BEGINNING | AT 'time'] AS SELECT ...`; `starting` is None, 'BEGINNING'
    or microseconds."""

    name: str
    query: QueryNode
    starting: str | int | None = None


@dataclass(frozen=True, slots=True)
class CreateView(Statement):
    """`CREATE VIEW name [(columns)] AS query`."""

    name: str
    columns: tuple[str, ...]
    query: QueryNode


@dataclass(frozen=True, slots=True)
class Replace(Statement):
    """`REPLACE QUERY name [KEEP STATE | BACKFILL | EMPTY STATE] AS SELECT ...`, `REPLACE STREAM | TABLE | VIEW ...`, or
    CREATE OR REPLACE. `state` says where the state of the new query comes from; None: the best there is."""

    created: CreateQuery | CreateView | CreateStream | CreateTable
    state: str | None = None


@dataclass(frozen=True, slots=True)
class Pause(Statement):
    """`PAUSE QUERY name`: it stops where it is, until it is resumed."""

    name: str


@dataclass(frozen=True, slots=True)
class Resume(Statement):
    """`RESUME QUERY name`: it goes on where it stopped."""

    name: str


@dataclass(frozen=True, slots=True)
class Drop(Statement):
    """`DROP QUERY | STREAM | TABLE | VIEW | NETWORK | SENSOR [IF EXISTS] name [OF stream]`; kind upper-case."""

    kind: str
    name: str | int
    if_exists: bool = False
    stream: str | None = None


@dataclass(frozen=True, slots=True)
class Show(Statement):
    """`SHOW QUERIES | STREAMS | TABLES | VIEWS | SENSORS | NETWORKS`; kind upper-case."""

    kind: str


@dataclass(frozen=True, slots=True)
class Explain(Statement):
    """`EXPLAIN [stage] [VERBOSE] query`; the stage lower-case."""

    query: QueryNode
    stage: str | None = None
    verbose: bool = False
