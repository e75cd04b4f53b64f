"""SIMILAR's clauses -> how far apart values may be, how far apart times may be, and how many matches a sample has."""

from __future__ import annotations

from collections.abc import Iterator

from nilometer.language import ast
from nilometer.language.walk import walk
from nilometer.plan.bind.scope import Context, Relation
from nilometer.plan.bind.windows import amount_length
from nilometer.types import MICROSECOND, UNITS, Column, Kind, OwnWindow

LARGEST_SAMPLE = 1_000_000


def sample(context: Context, source: ast.SimilarSource) -> int:
    """How many matches a SAMPLE gives; 0 where none is asked for."""
    if source.sample is None:
        return 0
    value = _given(context, source, source.sample, "3")
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= LARGEST_SAMPLE:
        context.fail(
            "SAMPLE needs a whole number of matches",
            source,
            detail=f"found {value!r}",
            hint=f"such as SAMPLE 3; from 1 to {LARGEST_SAMPLE:,}",
        )
    return value


def _given(context: Context, source: ast.SimilarSource, written: object, example: str) -> object:
    """What stands there, or the value of the parameter that does."""
    if not isinstance(written, str):
        return written
    known, value = context.parameter(written)
    if not known:
        context.fail(
            f"no value for the parameter '{written}'",
            source,
            hint=f"give it one: --set {written}={example}, or db.sql(query, {written}={example})",
        )
    return value


def epsilon(context: Context, source: ast.SimilarSource) -> float:
    """How far apart similar values may be; 0 where they must be equal."""
    value = _given(context, source, source.epsilon, "0.5")
    if value is None:
        return 0.0
    if isinstance(value, bool) or not isinstance(value, int | float) or value < 0:
        context.fail(
            "WITHIN needs a number that is not negative",
            source,
            detail=f"found {value!r}",
            hint="such as WITHIN 0.5: how far apart similar values may be",
        )
    return float(value)


def window(context: Context, source: ast.SimilarSource, inner: Relation) -> int | OwnWindow:
    """How far apart in time similar readings may be: so long, or as long as a column of each says."""
    hint = "write SIMILAR(...) [RANGE 10 SECONDS]: how far apart in time similar readings may be"
    match source.window:
        case None:
            context.fail("SIMILAR needs a window", source, hint=hint)
        case ast.RangeWindow(length=amount, slide=None):
            pass
        case (
            ast.FromToWindow(start=amount, end=None, slide=None)
            | ast.FromToWindow(start=None, end=amount, slide=None)
        ) if amount is not None:
            pass
        case _:
            context.fail("SIMILAR takes a plain range of time", source.window, hint=hint)
    if isinstance(amount.count, str) and (column := inner.find(amount.count)) is not None:
        return _own_window(context, amount, column)
    length = amount_length(context, amount)
    if length.rows or length.value < 0:
        context.fail("SIMILAR takes a plain range of time", source.window, hint=hint)
    return length.value


def _own_window(context: Context, amount: ast.Amount, column: Column) -> OwnWindow:
    """A window for each sensor (SNJoin section 4.2.1): what its tuples have in a column."""
    if column.type.kind is Kind.DURATION and amount.unit is None:
        return OwnWindow(column.name, MICROSECOND)
    if column.type.kind not in (Kind.INT, Kind.FLOAT):
        context.fail(
            f"a window of its own is a number, and '{amount.count}' is {column.type}",
            amount,
            hint="name a column of numbers and its unit: [RANGE patience SECONDS]",
        )
    if amount.unit is None or amount.unit == "ROWS":
        context.fail(
            f"the column '{amount.count}' needs a unit of time to be a window",
            amount,
            hint=f"write [RANGE {amount.count} SECONDS]",
        )
    return OwnWindow(column.name, UNITS[amount.unit])


def names_of_windows(select: ast.Select) -> Iterator[str]:
    """The names that stand for the windows of SIMILAR: columns, if there are such, else parameters."""
    for source in walk(select):
        if isinstance(source, ast.SimilarSource) and source.window is not None:
            for amount in walk(source.window):
                if isinstance(amount, ast.Amount) and isinstance(amount.count, str):
                    yield amount.count.lower()
