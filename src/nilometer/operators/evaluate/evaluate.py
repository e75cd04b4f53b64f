"""Bound expression -> Polars expression, compiled once; expression + frame -> column. No Python per row.

The law: for every row, `evaluate(expression, frame)` equals `nilometer.plan.scalar.evaluate` for that row
(language.md, "Types"). NULL in, NULL out. Comparisons are three-valued; AND, OR, NOT are Kleene's. INT/INT
truncates toward zero, and `%` takes the dividend's sign. x/0 and every FLOAT that is not finite are NULL. An
INT overflow is a DataError. `NOW` is the frame's `@tick`.

>>> from nilometer.expressions import Call, ColumnReference, Literal
>>> from nilometer.types import INT
>>> half = Call("/", (ColumnReference("depth", INT), Literal(2, INT)), INT)
>>> evaluate(half, pl.DataFrame({"depth": [7, -7, None]})).to_list()
[3, -3, None]
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from nilometer.errors import DataError, InternalError
from nilometer.expressions import (
    COMPARISONS,
    MIRROR,
    Call,
    Case,
    ColumnReference,
    Expression,
    InList,
    Literal,
    Now,
    columns_of,
    conjuncts,
    type_of,
)
from nilometer.operators.evaluate.casts import CASTS
from nilometer.operators.evaluate.classification import CLASSIFICATION, Unfit, unfit
from nilometer.operators.evaluate.failures import Failure, failure_of
from nilometer.operators.evaluate.functions import FUNCTIONS as BASIC
from nilometer.operators.evaluate.functions import NUMERIC, Builder, comparison, finite, full_length
from nilometer.operators.evaluate.numbers import NUMBERS
from nilometer.operators.evaluate.overflow import Overflow, overflowing
from nilometer.operators.evaluate.python_calls import PYTHON, PythonFailure, python_failure
from nilometer.operators.evaluate.texts import TEXTS
from nilometer.operators.evaluate.times import TIMES
from nilometer.operators.evaluate.vectors import VECTORS, elementwise
from nilometer.operators.frames import dtype
from nilometer.operators.logic import TICK
from nilometer.operators.set_aside import failing_rows
from nilometer.types import BOOLEAN, Kind

FUNCTIONS: dict[str, Builder] = {
    **BASIC,
    **NUMBERS,
    **TEXTS,
    **TIMES,
    **CASTS,
    **VECTORS,
    **CLASSIFICATION,
    **PYTHON,
}
"""Every scalar function except the comparisons and those that are compiled here."""

STRICT = (frozenset(FUNCTIONS) | frozenset(COMPARISONS)) - {"least", "greatest"}
"""The functions that give NULL for a NULL operand."""

Check = Overflow | Failure | PythonFailure | Unfit


def written_out(frame: pl.DataFrame) -> pl.DataFrame:
    """Returns the same frame with every column stored value by value.

    Polars stores a constant column as a single value (after a join without a match, for example). An
    expression over such columns only, such as a CASE, then has length one.
    """
    return pl.DataFrame(frame.get_columns()) if frame.width else frame


@dataclass(frozen=True)
class Evaluator:
    """A compiled expression. `value` is its Polars form; `overflows` are the checks that must pass before
    `value` is valid.
    """

    expression: Expression
    value: pl.Expr
    overflows: tuple[Check, ...]

    def __call__(self, frame: pl.DataFrame) -> pl.Series:
        """Returns the expression's value in every row. Raises DataError for an INT overflow in any of
        them.
        """
        if isinstance(self.expression, ColumnReference):  # a lazy plan would cost more than the look-up
            column, wanted = frame.get_column(self.expression.name), dtype(self.expression.type)
            return (column if column.dtype == wanted else column.cast(wanted)).alias("@value")
        frame = written_out(frame)
        _refuse(self.overflows, frame)
        name = "@value"
        return frame.with_columns(self.value.alias(name)).get_column(name)


def _failing(checks: Sequence[Check], frame: pl.DataFrame) -> Iterator[tuple[pl.Series, DataError]]:
    """The rows that need a value and have none, by check."""
    yield from overflowing([check for check in checks if isinstance(check, Overflow)], frame)
    for check in checks:
        if not isinstance(check, Overflow):
            yield from check.failing(frame)


def _refuse(checks: Sequence[Check], frame: pl.DataFrame) -> None:
    """Raise DataError if a row that needs a value has none."""
    for _, error in _failing(checks, frame):
        raise error


@dataclass(frozen=True)
class Sieve:
    """Sets the rows aside that need a value and have none (set_aside.py). False if no row ever is."""

    checks: tuple[Check, ...]

    def __bool__(self) -> bool:
        return bool(self.checks)

    def __call__(self, frame: pl.DataFrame) -> pl.DataFrame:
        """The rows that have all their values."""
        failing = self.failing(frame) if self.checks else None
        return frame if failing is None else frame.filter(~failing)

    def failing(self, frame: pl.DataFrame) -> pl.Series | None:
        """The rows that were set aside; None if there are none."""
        return failing_rows(frame, _failing(self.checks, written_out(frame)))


def compile_sieve(expressions: Iterable[Expression], predicate: Expression | None = None) -> Sieve:
    """Compile the checks of these expressions. Only rows for which the predicate is true need them."""
    checks: list[Check] = []
    guards: _Guards = ()
    if predicate is not None:
        guards = (_condition(predicate, checks, ()).fill_null(False),)
        checks = []  # those of the predicate itself are made where it is applied
    for expression in expressions:
        _compile(expression, checks, guards)
    return Sieve(tuple(checks))


def compile_expression(expression: Expression) -> Evaluator:
    """Compile once, at build time, for many frames."""
    overflows: list[Check] = []
    value = finite(expression, _compile(expression, overflows, ()))
    return Evaluator(expression, value.cast(dtype(type_of(expression))), tuple(overflows))


def evaluate(expression: Expression, frame: pl.DataFrame) -> pl.Series:
    """The expression's value in every row of the frame."""
    return compile_expression(expression)(frame)


@dataclass(frozen=True)
class Predicate:
    """A compiled condition. It keeps the rows for which it is true and drops those for which it is false or
    NULL.

    The conjuncts form one filter, so that Polars may run them together.
    """

    parts: tuple[Evaluator, ...]

    def __call__(self, frame: pl.DataFrame) -> pl.DataFrame:
        """The rows for which the condition is true. Those for which it has no value are set aside."""
        frame = self._sieved(frame)
        return frame.filter(*(part.value for part in self.parts)) if self.parts else frame

    def mask(self, frame: pl.DataFrame) -> pl.Series:
        """For every row whether the condition is true (never NULL). Those for which it has no value are set aside."""
        frame = written_out(frame)
        failing = failing_rows(frame, (one for part in self.parts for one in _failing(part.overflows, frame)))
        truth = pl.all_horizontal([part.value for part in self.parts]) if self.parts else pl.lit(True)
        mask = frame.with_columns(truth.fill_null(False).alias("@mask")).get_column("@mask")
        return mask if failing is None else mask & ~failing

    def _sieved(self, frame: pl.DataFrame) -> pl.DataFrame:
        frame = written_out(frame)
        for part in self.parts:
            if (
                part.overflows
                and (failing := failing_rows(frame, _failing(part.overflows, frame))) is not None
            ):
                frame = frame.filter(~failing)
        return frame


def compile_predicate(predicate: Expression | None) -> Predicate:
    """Compiles a condition; None is true. An overflow in a conjunct counts only in rows where no earlier
    conjunct is false.
    """
    if predicate is None:
        return Predicate(())
    if type_of(predicate).kind is Kind.NULL:
        predicate = Literal(None, BOOLEAN)
    whole = compile_expression(predicate)
    if whole.overflows:
        return Predicate((whole,))
    return Predicate(tuple(compile_expression(part) for part in conjuncts(predicate)))


@dataclass(frozen=True)
class Projector:
    """Compiled output columns, one row for each input row, after the system columns that are kept."""

    items: tuple[tuple[str, Evaluator], ...]

    def of_sound(self, frame: pl.DataFrame, keep: Sequence[str] = ()) -> pl.DataFrame:
        """The same without the rows that have no value for an item: they are set aside."""
        checks = tuple(check for _, item in self.items for check in item.overflows)
        return self._projected(Sieve(checks)(frame), keep) if checks else self(frame, keep)

    def __call__(self, frame: pl.DataFrame, keep: Sequence[str] = ()) -> pl.DataFrame:
        """Returns a frame of the columns `keep` and then the items. Raises DataError for an item without a value."""
        if self.items and all(isinstance(item.expression, ColumnReference) for _, item in self.items):
            columns = [item(frame).alias(name) for name, item in self.items]
            return pl.DataFrame([*(frame.get_column(name) for name in keep), *columns])
        for _, item in self.items:
            _refuse(item.overflows, written_out(frame))
        return self._projected(frame, keep)

    def _projected(self, frame: pl.DataFrame, keep: Sequence[str]) -> pl.DataFrame:
        frame = written_out(frame)
        names = [name for name, _ in self.items]
        return frame.with_columns(item.value.alias(name) for name, item in self.items).select(*keep, *names)


def compile_projection(items: Iterable[tuple[str, Expression]]) -> Projector:
    """Compile (name, expression) pairs."""
    return Projector(tuple((name, compile_expression(expression)) for name, expression in items))


def apply_predicate(frame: pl.DataFrame, predicate: Expression | None) -> pl.DataFrame:
    """The rows for which the predicate is true (logical.Select)."""
    return compile_predicate(predicate)(frame)


# ---- the compiler ----------------------------------------------------------------------------------------------------

_FEW = 8
"""Up to this many constants, IN is a chain of comparisons, which is faster than a hash table."""

_Guards = tuple[pl.Expr, ...]
"""The conditions under which a row needs the value. An overflow in other rows is no error (CASE, AND, OR,
COALESCE).
"""


def _compile(expression: Expression, overflows: list[Check], guards: _Guards) -> pl.Expr:
    match expression:
        case Literal(value, type_):
            return pl.lit(_literal(value, type_.kind), dtype=dtype(type_))
        case ColumnReference(name, _):
            return pl.col(name)
        case Now():
            return pl.col(TICK)
        case InList(operand, items):
            return _in_list(_operand(operand, overflows, guards), operand, items)
        case Case():
            return _case(expression, overflows, guards)
        case Call("and" | "or"):
            return _connective(expression, overflows, guards)
        case Call("coalesce"):
            return _coalesce(expression, overflows, guards)
        case Call():
            return _call(expression, overflows, guards)
    raise InternalError(f"no columnar form of {expression}")


def _operand(expression: Expression, overflows: list[Check], guards: _Guards) -> pl.Expr:
    """An operand whose value is examined: infinities have become NULL."""
    return finite(expression, _compile(expression, overflows, guards))


def _literal(value: Any, kind: Kind) -> Any:
    if kind is Kind.POINT and value is not None:
        return {"x": float(value[0]), "y": float(value[1])}
    if kind is Kind.FLOAT and value is not None:
        return float(value)
    return value


def _call(call: Call, overflows: list[Check], guards: _Guards) -> pl.Expr:
    function, type_ = call.function, call.type
    if function == "is_null":
        return _operand(call.arguments[0], overflows, guards).is_null()
    if function == "is_distinct":
        return _is_distinct(call, overflows, guards)
    if function == "not":
        return _condition(call.arguments[0], overflows, guards).not_()
    if function not in FUNCTIONS and function not in COMPARISONS:
        raise InternalError(f"no columnar form of the function {function!r}")
    # An infinity stays one through + - * and negation: only the last of them turns it into NULL.
    raw = function in ("+", "-", "*", "negative")
    operands = [(_compile if raw else _operand)(argument, overflows, guards) for argument in call.arguments]
    if function in STRICT and any(_is_null(argument) for argument in call.arguments):
        return pl.lit(None, dtype=dtype(type_))  # a constant: Polars' column + NULL is at times of length one
    if type_.kind is Kind.FLOAT and function in NUMERIC:
        operands = [operand.cast(pl.Float64) for operand in operands]
    overflow = Overflow.of(call, operands, guards)
    if overflow is not None:
        overflows.append(overflow)
    if function in COMPARISONS:
        left, right = operands
        if not columns_of(call.arguments[0]):
            # Polars makes a column of length one from a constant and a column of NULLs, but not the other way
            # round.
            function, left, right = MIRROR[function], right, left
        return comparison(function, left, right, type_of(call.arguments[0]).kind)
    value = (elementwise(call) or FUNCTIONS[function])(call, operands)
    failure: Check | None
    if function == "python":
        failure = python_failure(call, operands, guards)
    elif function == "classify":
        failure = unfit(call, operands, guards)
    else:
        failure = failure_of(call, operands, value, guards)
    if failure is not None:
        overflows.append(failure)
    return value


def _is_distinct(call: Call, overflows: list[Check], guards: _Guards) -> pl.Expr:
    """Whether the values differ, where NULL is a value like any other."""
    left, right = (_operand(argument, overflows, guards) for argument in call.arguments)
    kind = type_of(call.arguments[0]).kind
    differ = comparison("!=", left, right, kind).fill_null(True)
    return pl.when(left.is_null() & right.is_null()).then(False).otherwise(differ)


def _is_null(expression: Expression) -> bool:
    return type_of(expression).kind is Kind.NULL or (
        isinstance(expression, Literal) and expression.value is None
    )


def _condition(expression: Expression, overflows: list[Check], guards: _Guards) -> pl.Expr:
    value = _compile(expression, overflows, guards)
    return value.cast(pl.Boolean) if type_of(expression).kind is Kind.NULL else value


def _connective(call: Call, overflows: list[Check], guards: _Guards) -> pl.Expr:
    """Kleene's AND and OR. An operand after a deciding one (FALSE of AND, TRUE of OR) cannot fail."""
    conjunction = call.function == "and"
    operands: list[pl.Expr] = []
    for argument in call.arguments:
        value = _condition(argument, overflows, guards)
        operands.append(value)
        guards = (*guards, (value if conjunction else value.not_()).fill_null(True))
    return pl.all_horizontal(operands) if conjunction else pl.any_horizontal(operands)


def _case(case: Case, overflows: list[Check], guards: _Guards) -> pl.Expr:
    target = dtype(case.type)
    conditions: list[pl.Expr] = []
    values: list[pl.Expr] = []
    for condition, value in zip(case.conditions, case.values, strict=True):
        truth = _condition(condition, overflows, guards).fill_null(False)
        values.append(_operand(value, overflows, (*guards, truth)).cast(target))
        conditions.append(truth)
        guards = (*guards, truth.not_())
    result = _operand(case.otherwise, overflows, guards).cast(target)
    for truth, chosen in zip(reversed(conditions), reversed(values), strict=True):
        result = pl.when(truth).then(chosen).otherwise(result)
    return result


def _coalesce(call: Call, overflows: list[Check], guards: _Guards) -> pl.Expr:
    target = dtype(call.type)
    operands: list[pl.Expr] = []
    for argument in call.arguments:
        if not _is_null(argument):
            value = _operand(argument, overflows, guards).cast(target)
            operands.append(value)
            guards = (*guards, value.is_null())
    # Not Polars' coalesce: for points and a constant it sometimes has length one.
    result = operands[-1] if operands else pl.lit(None, dtype=target)
    for value in reversed(operands[:-1]):
        result = pl.when(value.is_not_null()).then(value).otherwise(result)
    return result


def _in_list(operand: pl.Expr, expression: Expression, items: tuple[Literal, ...]) -> pl.Expr:
    """SQL's IN: a match is TRUE; otherwise a NULL operand or a NULL in the list gives NULL; an empty list
    contains nothing.
    """
    if not items:
        return pl.lit(False)
    if type_of(expression).kind is Kind.NULL:
        return pl.lit(None, dtype=pl.Boolean)
    target = dtype(type_of(expression))
    values = [_literal(item.value, item.type.kind) for item in items if item.value is not None]
    unmatched = pl.lit(None if len(values) < len(items) else False, dtype=pl.Boolean)
    if len(values) <= _FEW or target.is_nested():
        kind = type_of(expression).kind
        equal = [comparison("=", operand, pl.lit(value, dtype=target), kind) for value in values]
        found = pl.any_horizontal(equal) if equal else pl.lit(False)
    else:
        found = full_length(expression, operand).is_in(pl.Series(values, dtype=target).implode())
    return pl.when(operand.is_null()).then(None).when(found).then(True).otherwise(unmatched)
