"""Names, literals, operators and calls."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from nilometer.language.ast.node import Node

if TYPE_CHECKING:
    from nilometer.language.ast.queries import QueryNode, SortKey
    from nilometer.language.ast.windows import Amount


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
    """`*`, `R.*` or `* EXCLUDE (a, b)` in a select list."""

    qualifier: str | None = None
    excluded: tuple[str, ...] = ()


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
class GroupingSets(Expression):
    """`GROUPING SETS ((a, b), (a), ())`, the one key of a GROUP BY; ROLLUP and CUBE are written as such."""

    sets: tuple[tuple[Expression, ...], ...]


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
