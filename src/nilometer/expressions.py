"""Bound scalar and aggregate expressions: typed, frozen, and the same for every host. Standard library only.

The binder builds them; the reference evaluator, the columnar operators, Spark and the mote compiler read
them. language.md defines their meaning: NULL in, NULL out; comparisons are three-valued; INT/INT truncates
toward zero; x/0 is NULL; INT overflow is an error. The binder has brought operands to one type, so no host
coerces anything.

>>> from nilometer.types import INT
>>> depth = ColumnReference("R.depth", INT)
>>> str(Call(">", (depth, Literal(10, INT)), BOOLEAN))
'R.depth > 10'
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from nilometer.types import BOOLEAN, TIME, Kind, Type, format_duration, format_time, vector_of

ARITHMETIC = ("+", "-", "*", "/", "%", "^")
COMPARISONS = ("=", "!=", "<", "<=", ">", ">=")
LOGICAL = ("and", "or", "not")

CASTS = {"cast_int": "INT", "cast_float": "FLOAT", "cast_boolean": "BOOLEAN", "cast_time": "TIME"}
"""The casts that fail where the value has no meaning in the type; with `try_` before the name they give NULL."""

_CAST_TEXT = (
    {name: ("CAST", type_) for name, type_ in CASTS.items()}
    | {f"try_{name}": ("TRY_CAST", type_) for name, type_ in CASTS.items()}
    | {"string": ("CAST", "STRING")}
)

_FAILING = frozenset((*CASTS, "to_timestamp", "classify", "python"))

_WHOLE = (Kind.INT, Kind.TIME, Kind.DURATION)
_FITTING = (
    *("sign", "length", "strpos", "date_part", "least", "greatest", "coalesce", "ceil", "floor", "trunc"),
    "try_cast_int",
)
"""Functions whose integers always fit: they count, or choose among their arguments."""

MIRROR = {"=": "=", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}


@dataclass(frozen=True, slots=True)
class Expression:
    """The base of all bound expressions; every subclass has a `type`."""

    def children(self) -> tuple[Expression, ...]:
        """The direct operands."""
        return ()

    def with_children(self, children: tuple[Expression, ...]) -> Expression:
        """The same node over other operands."""
        assert not children
        return self


@dataclass(frozen=True, slots=True)
class Literal(Expression):
    """A constant. TIME and DURATION are int microseconds, POINT is (x, y), NULL is None."""

    value: Any
    type: Type

    def __str__(self) -> str:
        match self.value, self.type.kind:
            case None, _:
                return "NULL"
            case value, Kind.STRING:
                return "'" + str(value).replace("'", "''") + "'"
            case value, Kind.BOOLEAN:
                return "TRUE" if value else "FALSE"
            case value, Kind.DURATION:
                return format_duration(value)
            case value, Kind.TIME:
                return f"TIME '{format_time(value)}'"
            case (x, y), Kind.POINT:
                return f"POINT({x!r}, {y!r})"
            case value, Kind.LIST:
                return "(" + ", ".join(map(str, value)) + ")"
            case value, _:
                return repr(value)
        raise AssertionError(self)


@dataclass(frozen=True, slots=True)
class ColumnReference(Expression):
    """A column of the operator's input, by its unique name (`alias.column`)."""

    name: str
    type: Type

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class Now(Expression):
    """The tick of the evaluation whose window holds the row (for a stream: the tuple's own tick)."""

    type: Type = TIME

    def __str__(self) -> str:
        return "NOW"


@dataclass(frozen=True, slots=True)
class Call(Expression):
    """An operator or scalar function, by its lower-case name: '+', '=', 'and', 'is_null', 'abs', 'float' (INT
    to FLOAT) ..."""

    function: str
    arguments: tuple[Expression, ...]
    type: Type

    def children(self) -> tuple[Expression, ...]:
        return self.arguments

    def with_children(self, children: tuple[Expression, ...]) -> Expression:
        return replace(self, arguments=children)

    def __str__(self) -> str:
        arguments = [_operand(argument, self) for argument in self.arguments]
        match self.function:
            case "and" | "or" as word:
                return f" {word.upper()} ".join(arguments)
            case "not":
                return f"NOT {arguments[0]}"
            case "is_null":
                return f"{arguments[0]} IS NULL"
            case "negative":
                return f"-{arguments[0]}"
            case "like":
                return f"{arguments[0]} LIKE {arguments[1]}"
            case "is_distinct":
                return f"{arguments[0]} IS DISTINCT FROM {arguments[1]}"
            case cast if cast in _CAST_TEXT:
                verb, target = _CAST_TEXT[cast]
                return f"{verb}({self.arguments[0]} AS {target})"
            case symbol if symbol in ARITHMETIC or symbol in COMPARISONS:
                return f"{arguments[0]} {symbol} {arguments[1]}"
            case name:
                return f"{name}({', '.join(map(str, self.arguments))})"


@dataclass(frozen=True, slots=True)
class InList(Expression):
    """`operand IN (constants)`, with SQL's NULLs: no match and a NULL in the list gives NULL."""

    operand: Expression
    items: tuple[Literal, ...]
    type: Type = BOOLEAN

    def children(self) -> tuple[Expression, ...]:
        return (self.operand,)

    def with_children(self, children: tuple[Expression, ...]) -> Expression:
        return replace(self, operand=children[0])

    def __str__(self) -> str:
        return f"{_operand(self.operand, self)} IN ({', '.join(map(str, self.items))})"


@dataclass(frozen=True, slots=True)
class Case(Expression):
    """`CASE WHEN condition THEN value ... ELSE otherwise END`; the binder rewrites the simple form to this
    one."""

    conditions: tuple[Expression, ...]
    values: tuple[Expression, ...]
    otherwise: Expression
    type: Type

    def children(self) -> tuple[Expression, ...]:
        return (*self.conditions, *self.values, self.otherwise)

    def with_children(self, children: tuple[Expression, ...]) -> Expression:
        count = len(self.conditions)
        return replace(self, conditions=children[:count], values=children[count:-1], otherwise=children[-1])

    def __str__(self) -> str:
        arms = " ".join(f"WHEN {c} THEN {v}" for c, v in zip(self.conditions, self.values, strict=True))
        return f"CASE {arms} ELSE {self.otherwise} END"


@dataclass(frozen=True, slots=True)
class Aggregate(Expression):
    """An aggregate call: count, sum, avg, min, max, stdev, variance, median ...; `argument` None is COUNT(*).

    `rest` are the further arguments (`corr` has one, `percentile_cont` its constant share), and then the
    columns that give the order of rows to an aggregate that has one (`first`, `array_agg`, `twa`).
    `completeness` divides the rows of a window by those expected; its parameters are in the window's node.
    """

    function: str
    argument: Expression | None
    distinct: bool
    type: Type
    rest: tuple[Expression, ...] = ()

    def children(self) -> tuple[Expression, ...]:
        return () if self.argument is None else (self.argument, *self.rest)

    def with_children(self, children: tuple[Expression, ...]) -> Expression:
        return replace(self, argument=children[0] if children else None, rest=children[1:])

    def __str__(self) -> str:
        inner = ", ".join(map(str, self.children())) or "*"
        return f"{self.function.upper()}({'DISTINCT ' if self.distinct else ''}{inner})"


ALGEBRAIC = ("count", "sum", "avg", "min", "max", "stdev", "variance")
"""Aggregates with a constant-size partial result (SNEE's AGGR_INIT/MERGE/EVAL), unless DISTINCT."""

COUNTING = ("count", "approx_count_distinct")
"""Aggregates that are 0 of nothing; every other one is NULL."""

_SUMMED = (Kind.INT, Kind.FLOAT, Kind.TIME, Kind.DURATION)


def constant_size(aggregate: Aggregate) -> bool:
    """Whether an aggregate has a partial result of constant size, of numbers (DISTINCT changes no MIN and no MAX)."""
    if aggregate.function not in ALGEBRAIC:
        return False
    if aggregate.distinct and aggregate.function not in ("min", "max"):
        return False
    argument = None if aggregate.function == "count" else aggregate.argument
    return argument is None or type_of(argument).kind in _SUMMED


def type_of(expression: Expression) -> Type:
    """The type of any expression."""
    return expression.type  # type: ignore[attr-defined,no-any-return]


def _operand(operand: Expression, parent: Expression) -> str:
    """The text of an operand, in parentheses unless it is atomic: plan text is read more often than
    written."""
    atomic = isinstance(operand, Literal | ColumnReference | Now | Aggregate)
    if isinstance(operand, Call):
        symbolic = operand.function in (
            *ARITHMETIC,
            *COMPARISONS,
            *LOGICAL,
            "is_null",
            "is_distinct",
            "negative",
            "like",
        )
        loose = isinstance(parent, Call) and parent.function in ("and", "or", "not")
        tight = operand.function in (*COMPARISONS, "is_null", "is_distinct", "like") and loose
        atomic = not symbolic or tight
    if (
        isinstance(operand, Literal)
        and operand.value is not None
        and operand.type.kind in (Kind.INT, Kind.FLOAT)
    ):
        atomic = operand.value >= 0
    return str(operand) if atomic else f"({operand})"


def walk(expression: Expression) -> Iterator[Expression]:
    """The expression and all below it, parents first."""
    waiting = [expression]
    while waiting:
        node = waiting.pop()
        yield node
        waiting.extend(reversed(node.children()))


def transform(expression: Expression, change: Callable[[Expression], Expression]) -> Expression:
    """Rebuild from the leaves up, replacing each node by `change(node)`."""
    children = expression.children()
    rebuilt = tuple(transform(child, change) for child in children)
    return change(expression if rebuilt == children else expression.with_children(rebuilt))


def columns_of(expression: Expression) -> frozenset[str]:
    """The names of all columns the expression reads."""
    return frozenset(node.name for node in walk(expression) if isinstance(node, ColumnReference))


def uses_now(expression: Expression) -> bool:
    """Whether the value depends on the evaluation tick."""
    return any(isinstance(node, Now) for node in walk(expression))


def may_fail(expression: Expression) -> bool:
    """Whether there may be no value, which is an error: of a conversion, a model or a function in Python."""
    return any(isinstance(node, Call) and node.function in _FAILING for node in walk(expression))


def never_fails(expression: Expression) -> bool:
    """Whether there is a value for every row: nothing may fail, and no integer may overflow."""
    return not may_fail(expression) and not any(map(_may_overflow, walk(expression)))


def _may_overflow(node: Expression) -> bool:
    if not isinstance(node, Call):
        return False
    if node.function == "round":
        return len(node.arguments) > 1 and node.type.kind in _WHOLE
    return node.type.kind in _WHOLE and node.function not in _FITTING


def python_type(text: str) -> Type:
    """The type that a function in Python gives, which is the second argument of its call.

    >>> str(python_type("FLOAT[16]"))
    'FLOAT[16]'
    """
    element, bracket, size = text.partition("[")
    type_ = Type(Kind(element))
    return vector_of(type_, int(size.removesuffix("]"))) if bracket else type_


def conjuncts(predicate: Expression | None) -> tuple[Expression, ...]:
    """The conditions that AND connects, left to right; none for no predicate."""
    match predicate:
        case None:
            return ()
        case Call("and", arguments):
            return tuple(part for argument in arguments for part in conjuncts(argument))
        case _:
            return (predicate,)


def conjunction(parts: Sequence[Expression]) -> Expression | None:
    """The AND of the parts, None for no parts. It is one flat AND, however the parts were nested, as plan
    text reads it."""
    parts = tuple(part for nested in parts for part in conjuncts(nested))
    if not parts:
        return None
    return parts[0] if len(parts) == 1 else Call("and", parts, BOOLEAN)


TRUE = Literal(True, BOOLEAN)
