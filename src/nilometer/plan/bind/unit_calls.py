"""Binds calls of UNIT: the unit's name becomes that of its code, and the unit says which columns it takes and gives."""

from __future__ import annotations

from collections.abc import Sequence

from nilometer.algebra.table_function import OptionValue
from nilometer.algebra.table_functions.unit import UNIT
from nilometer.errors import NilometerError
from nilometer.language import ast
from nilometer.plan.bind.scope import Context
from nilometer.types import Column

Options = tuple[tuple[str, OptionValue], ...]


def described_unit(
    context: Context, source: ast.FunctionSource, columns: Sequence[Column], options: Options
) -> Options:
    """The options of a call of a unit over these columns, with all that the unit says of itself."""
    from nilometer.workers.units import describe, find_unit  # not at the top: it needs numpy

    said = dict(options)
    numbers = said["WITH"]
    assert isinstance(numbers, tuple)
    try:
        found = describe(find_unit(str(said["USING"])), tuple(float(one) for one in numbers))  # type: ignore[arg-type]
    except NilometerError as error:
        raise error.at(context.text, source.span) from None
    name = str(said["USING"])
    if len(found.inputs) != len(columns):
        context.fail(
            f"the unit {name} takes {len(found.inputs)} columns, not {len(columns)}",
            source,
            hint=f"it takes {', '.join(map(str, found.inputs))}",
        )
    for place, column, wanted in zip(source.columns, columns, found.inputs, strict=True):
        if column.type.plain != wanted:
            context.fail(
                f"the unit {name} takes {wanted} here, not {column.type.plain}",
                place,
                hint="compute a column of that type in a query in parentheses",
            )
    gives = ", ".join(f"{column.name} {column.type}" for column in found.columns)
    return UNIT.settle({"USING": found.reference, "WITH": numbers, "GIVES": gives, "EACH": found.each})
