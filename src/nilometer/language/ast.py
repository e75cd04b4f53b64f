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
    """Arithmetic, comparison (`!=` for both spellings), 'AND', 'OR'. A chain a = b = c is an AND of two
    comparisons."""

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
    """`x [NOT] LIKE pattern`."""

    operand: Expression
    pattern: Expression
    negated: bool = False


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
class FunctionCall(Expression):
    """`f(a, b)`, `COUNT(*)` (a lone Star), `COUNT(DISTINCT x)`, `AVG(s.speed, w)`, `LAG(x, 2)`; the name as written."""

    name: str
    arguments: tuple[Expression, ...]
    distinct: bool = False


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
    """`[RANGE 10 MINUTES]`, `[RANGE 10 ROWS SLIDE 10 ROWS]`, and `[NOW - 7 DAYS]`, which means the same."""

    length: Amount
    slide: Amount | None = None


@dataclass(frozen=True, slots=True)
class UnboundedWindow(Window):
    """`[UNBOUNDED]`: all tuples since the query's start."""

    slide: Amount | None = None


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
    """`( query ) [window] [alias]`."""

    query: QueryNode
    window: Window | None = None
    alias: str | None = None


@dataclass(frozen=True, slots=True)
class AsofSource(Source):
    """`a ASOF JOIN b ON a.id = b.id [WITHIN d]`."""

    left: Source
    right: Source
    condition: Expression
    within: Amount | None = None


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
    """One SELECT; `stream` is None, 'RSTREAM', 'ISTREAM' or 'DSTREAM'; `shed` says which tuples to drop if
    memory is short."""

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


@dataclass(frozen=True, slots=True)
class Union(QueryNode):
    """`query UNION query`, left-associative."""

    left: QueryNode
    right: QueryNode


# ---- declarations ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Statement(Node):
    """The base of declarations and commands; a QueryNode is a statement too."""


@dataclass(frozen=True, slots=True)
class ColumnDefinition(Node):
    """`pm25 FLOAT UNIT 'ug/m3'`, `depth INT(16)`; the type's name upper-case."""

    name: str
    type: str
    width: int | None = None
    unit: str | None = None


@dataclass(frozen=True, slots=True)
class CreateStream(Statement):
    """`CREATE STREAM name (columns) {SENSED EVERY d | PUSHED} [FROM 'url'] [DELAY d] [KEY (..)] [EXPECT EVERY d] [FUTURE d]`."""

    name: str
    columns: tuple[ColumnDefinition, ...]
    every: Amount | None = None
    url: str | None = None
    delay: Amount | None = None
    key: tuple[str, ...] = ()
    expect: Amount | None = None
    future: Amount | None = None


@dataclass(frozen=True, slots=True)
class CreateTable(Statement):
    """`CREATE TABLE name [(columns)] STORED AT 'url' [AS table] [REFRESH EVERY d]`."""

    name: str
    columns: tuple[ColumnDefinition, ...]
    url: str
    table: str | None = None
    refresh: Amount | None = None


@dataclass(frozen=True, slots=True)
class CreateSensor(Statement):
    """`CREATE SENSOR 5 OF river [AT (x, y)] [WITH kind = 'gauge', height = 3]`."""

    identifier: int | str
    stream: str
    location: tuple[float, float] | None = None
    attributes: tuple[tuple[str, Any], ...] = ()


@dataclass(frozen=True, slots=True)
class CopySensors(Statement):
    """`COPY SENSORS [OF river] FROM 'sensors.csv'`."""

    path: str
    stream: str | None = None


@dataclass(frozen=True, slots=True)
class CreateNetwork(Statement):
    """`CREATE NETWORK name FROM 'file.toml' [SINK 0] [RETRIES 3]`: nodes, links, resources, profiles (TOML, CSV or GeoJSON)."""

    name: str
    path: str
    sink: int | str | None = None
    retries: int | None = None


@dataclass(frozen=True, slots=True)
class CreateQuery(Statement):
    """`CREATE QUERY wet [STARTING AT BEGINNING | AT 'time'] AS SELECT ...`; `starting` is None, 'BEGINNING'
    or microseconds."""

    name: str
    query: QueryNode
    starting: str | int | None = None


@dataclass(frozen=True, slots=True)
class Drop(Statement):
    """`DROP QUERY | STREAM | TABLE | NETWORK | SENSOR [IF EXISTS] name [OF stream]`; kind upper-case."""

    kind: str
    name: str | int
    if_exists: bool = False
    stream: str | None = None


@dataclass(frozen=True, slots=True)
class Show(Statement):
    """`SHOW QUERIES | STREAMS | TABLES | SENSORS | NETWORKS`; kind upper-case."""

    kind: str


@dataclass(frozen=True, slots=True)
class Explain(Statement):
    """`EXPLAIN [stage] [VERBOSE] query`; the stage lower-case."""

    query: QueryNode
    stage: str | None = None
    verbose: bool = False
