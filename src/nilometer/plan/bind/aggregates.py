"""Binds the calls of aggregate functions: arguments, DISTINCT, ORDER BY, WITHIN GROUP and FILTER.

- `agg(x) FILTER (WHERE c)` becomes `agg(CASE WHEN c THEN x END)`: every aggregate leaves NULLs out.
- An aggregate that depends on the order of rows gets the columns that order them as further arguments:
  `FIRST(depth)` becomes `FIRST(R.depth, R.time, R.id)`. A window is a bag, so its rows have no other order.
- Some aggregates are others in disguise: BOOL_AND is MIN, VAR_POP comes from VARIANCE and COUNT.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from nilometer.catalog import functions
from nilometer.catalog.functions.arguments import RANKED
from nilometer.expressions import (
    Aggregate,
    Call,
    Case,
    ColumnReference,
    Expression,
    Literal,
    conjunction,
    type_of,
)
from nilometer.language import ast
from nilometer.types import BOOLEAN, FLOAT, INT, STRING, Kind

if TYPE_CHECKING:
    from nilometer.plan.bind.expressions import ExpressionBinder

DESCENDING = Literal("DESC", STRING)
"""Stands behind an ordering column whose order is descending."""

_LISTS = ("array_agg", "string_agg")
_ENDS = ("first", "last")
_EXTREMES = ("arg_max", "arg_min")
_OVER_TIME = ("twa", "integral")
_PERCENTILES = ("percentile_cont", "percentile_disc", "approx_percentile")
_DISTINCT = ("count", "sum", "avg", "stdev", "variance", "stddev_pop", "var_pop", "median", *_LISTS)
_NEVER_MATTERS = ("min", "max", "bool_and", "bool_or", "approx_count_distinct")
"""DISTINCT changes nothing in these."""
_METHODS = {"twa": "STEP", "integral": "LINEAR"}


def bind_aggregate(
    binder: ExpressionBinder, node: ast.FunctionCall, signature: functions.FunctionSignature
) -> Expression:
    """The bound call: one Aggregate, or an expression over several."""
    name, context = signature.name, binder.context
    condition = None if node.condition is None else binder.condition(node.condition)
    if len(node.arguments) == 1 and isinstance(node.arguments[0], ast.Star):
        return _count_rows(binder, node, signature, condition)
    node = _within_group(binder, node, signature)
    if node.distinct and name not in (*_DISTINCT, *_NEVER_MATTERS):
        context.fail(f"DISTINCT makes no sense in {name.upper()}()", node)
    arguments = _arguments(binder, node, signature)
    if node.distinct and type_of(arguments[0]).kind is Kind.VECTOR:
        context.fail(f"{name.upper()}(DISTINCT ...) is not for vectors", node, hint="leave DISTINCT out")
    try:
        result = signature.result(tuple(map(type_of, arguments)))
    except ValueError as error:
        context.fail(str(error), node, hint=f"for example {signature.example}")
    if name == "count_if":
        condition = conjunction([*([] if condition is None else [condition]), arguments[0]])
        return Aggregate("count", _where(condition, Literal(1, INT)), False, INT)
    order = _order(binder, node, name)
    if condition is not None:
        # The aggregate leaves out a row whose deciding argument is NULL.
        place = 1 if name in _EXTREMES else 0
        if type_of(arguments[place]).kind in (Kind.LIST, Kind.STRUCT):
            present = Call("not", (Call("is_null", (arguments[place],), BOOLEAN),), BOOLEAN)
            arguments[place] = _where(conjunction([condition, present]), Literal(1, INT))
        else:
            arguments[place] = _where(condition, arguments[place])
    distinct = node.distinct and name not in _NEVER_MATTERS
    aggregate = Aggregate(name, arguments[0], distinct, result, (*arguments[1:], *order))
    return _in_other_words(aggregate)


def _count_rows(
    binder: ExpressionBinder,
    node: ast.FunctionCall,
    signature: functions.FunctionSignature,
    condition: Expression | None,
) -> Expression:
    if signature.name != "count" or node.distinct:
        binder.context.fail(
            "'*' can only be counted, as COUNT(*)",
            node,
            hint=f"name a column, such as {signature.example}"
            if signature.name != "count"
            else "leave DISTINCT out, or name a column",
        )
    if condition is None:
        return Aggregate("count", None, False, INT)
    return Aggregate("count", _where(condition, Literal(1, INT)), False, INT)


def _where(condition: Expression | None, value: Expression) -> Expression:
    """The value where the condition holds, else NULL."""
    assert condition is not None
    kind = type_of(value).plain
    return Case((condition,), (value,), Literal(None, kind), kind)


def _within_group(
    binder: ExpressionBinder, node: ast.FunctionCall, signature: functions.FunctionSignature
) -> ast.FunctionCall:
    """`PERCENTILE_CONT(p) WITHIN GROUP (ORDER BY x)` as `PERCENTILE_CONT(x, p)`."""
    if not node.within:
        return node
    name = signature.name
    if name in _LISTS:
        return replace(node, within=False)
    if name not in (*_PERCENTILES, "mode"):
        binder.context.fail(
            f"{name.upper()}() takes no WITHIN GROUP",
            node,
            hint="it belongs to PERCENTILE_CONT, PERCENTILE_DISC, MODE and STRING_AGG",
        )
    if len(node.order) > 1 or node.order[0].descending:
        binder.context.fail(
            "WITHIN GROUP orders by one value, ascending",
            node.order[-1],
            hint="of a descending order the share p is 1 - p" if node.order[0].descending else None,
        )
    return replace(node, arguments=(node.order[0].expression, *node.arguments), order=(), within=False)


def _arguments(
    binder: ExpressionBinder, node: ast.FunctionCall, signature: functions.FunctionSignature
) -> list[Expression]:
    name, context = signature.name, binder.context
    # The second argument of Fjords' AVG(s.speed, w) is the window; the binding of FROM handles it.
    most = max(2, signature.most)
    least = max(1, len(signature.arguments))
    if not least <= len(node.arguments) <= most:
        context.fail(
            f"{name.upper()}() takes {'two arguments' if least == 2 else 'one argument'}, "
            f"and {'one was' if len(node.arguments) == 1 else f'{len(node.arguments)} were'} given",
            node,
            hint=f"for example {signature.example}",
        )
    arguments = [binder.bind(argument) for argument in node.arguments[: signature.most]]
    for place, (argument, takes) in enumerate(zip(arguments, signature.arguments or (RANKED,), strict=False)):
        if type_of(argument).kind is Kind.NULL:
            arguments[place] = Literal(None, next(t for t in (INT, BOOLEAN, STRING) if t.kind in takes.kinds))
    if name in _PERCENTILES:
        arguments[1] = _share(binder, node, arguments[1])
    elif name == "string_agg":
        separator = arguments[1]
        if not isinstance(separator, Literal) or not isinstance(separator.value, str):
            context.fail(
                "the separator of STRING_AGG must be constant text", node.arguments[1], hint="such as ', '"
            )
    elif name in _OVER_TIME:
        arguments[1:] = [_method(binder, node, name, arguments)]
    return arguments


def _share(binder: ExpressionBinder, node: ast.FunctionCall, share: Expression) -> Expression:
    value = share.value if isinstance(share, Literal) else None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        binder.context.fail(
            f"the share of {node.name.upper()} must be a constant between 0 and 1",
            node.arguments[1],
            hint=f"such as {node.name.upper()}(depth, 0.9)",
        )
    return Literal(float(value), FLOAT)


def _method(
    binder: ExpressionBinder, node: ast.FunctionCall, name: str, arguments: list[Expression]
) -> Expression:
    if len(arguments) == 1:
        return Literal(_METHODS[name], STRING)
    method = arguments[1]
    value = method.value.upper() if isinstance(method, Literal) and isinstance(method.value, str) else None
    if value not in ("STEP", "LINEAR"):
        binder.context.fail(
            f"the method of {name.upper()} must be 'STEP' or 'LINEAR'",
            node.arguments[1],
            detail="STEP holds each value until the next one; LINEAR draws a straight line between them",
        )
    return Literal(value, STRING)


# ---- the order of rows -----------------------------------------------------------------------------------------------


def _order(binder: ExpressionBinder, node: ast.FunctionCall, name: str) -> tuple[Expression, ...]:
    """The columns that order the rows of an aggregate that depends on their order."""
    context = binder.context
    if name in _OVER_TIME:
        if node.order:
            context.fail(f"the order of {name.upper()} is time", node.order[0], hint="leave ORDER BY out")
        return _time_and_source(binder, node, name)
    if name not in (*_LISTS, *_ENDS, *_EXTREMES):
        if node.order:
            context.fail(
                f"{name.upper()}() does not depend on the order of its rows",
                node.order[0],
                hint="leave ORDER BY out; ARRAY_AGG, STRING_AGG, FIRST and LAST take it",
            )
        return ()
    if not node.order:
        return () if node.distinct else _by_time(binder, node, name)
    if node.distinct:
        context.fail(
            f"{name.upper()}(DISTINCT ...) is in the order of its values",
            node.order[0],
            hint="leave ORDER BY out",
        )
    order = tuple(binder.bind(entry.expression) for entry in node.order)
    for bound, entry in zip(order, node.order, strict=True):
        if type_of(bound).kind not in RANKED.kinds:
            context.fail(f"values of type {type_of(bound)} have no order", entry)
    if any(isinstance(bound, Literal) for bound in order):
        context.fail("ORDER BY a constant orders nothing", node.order[0], hint="name a column")
    marks = [(DESCENDING,) if entry.descending else () for entry in node.order]
    return tuple(part for bound, mark in zip(order, marks, strict=True) for part in (bound, *mark))


def _by_time(binder: ExpressionBinder, node: ast.FunctionCall, name: str) -> tuple[Expression, ...]:
    """(time, id) of the one stream that has them. Other rows are ordered by their values."""
    found = _relations_with(binder, "time")
    if len(found) == 1:
        id_column = _column(binder, found[0], "id")
        time_column = _column(binder, found[0], "time")
        assert time_column is not None
        return (time_column,) if id_column is None else (time_column, id_column)
    if name in _ENDS:
        binder.context.fail(
            f"{name.upper()}() does not know the order of these rows",
            node,
            detail="several inputs have a time" if found else "no input has a column 'time'",
            hint=f"say it: {name.upper()}(x ORDER BY t)",
        )
    return ()


def _time_and_source(binder: ExpressionBinder, node: ast.FunctionCall, name: str) -> tuple[Expression, ...]:
    """(time, id) for TWA and INTEGRAL, which weigh by time and treat each source by itself."""
    found = [
        place
        for place in _relations_with(binder, "time")
        if type_of(_column(binder, place, "time") or Literal(None, INT)).kind is Kind.TIME
    ]
    if len(found) != 1:
        binder.context.fail(
            f"{name.upper()}() needs one input with a column 'time' of type TIME",
            node,
            detail=f"there are {len(found)} here" if found else "there is none here",
            hint="compute it in a subquery over one stream",
        )
    columns = [_column(binder, found[0], column) for column in ("time", "id")]
    return tuple(column for column in columns if column is not None)


def _relations_with(binder: ExpressionBinder, column: str) -> list[int]:
    relations = binder.scope.relations
    return [place for place, relation in enumerate(relations) if relation.find(column) is not None]


def _column(binder: ExpressionBinder, place: int, name: str) -> ColumnReference | None:
    column = binder.scope.relations[place].find(name)
    if column is None or column.type.kind not in RANKED.kinds:
        return None
    return ColumnReference(column.name, column.type.plain)


# ---- aggregates in other words ---------------------------------------------------------------------------------------


def _in_other_words(aggregate: Aggregate) -> Expression:
    """An aggregate that others express, in terms of these; any other as it is."""
    match aggregate.function:
        case "bool_and":
            return replace(aggregate, function="min")
        case "bool_or":
            return replace(aggregate, function="max")
        case "var_pop":
            return _of_the_whole(aggregate)
        case "stddev_pop":
            return Call("sqrt", (_of_the_whole(aggregate),), FLOAT)
        case "avg" if aggregate.type.kind is Kind.DURATION:
            total = replace(aggregate, function="sum")
            return Call("/", (total, _count(aggregate)), aggregate.type)
        case _:
            return aggregate


def _of_the_whole(aggregate: Aggregate) -> Expression:
    """The variance of the whole group: (n - 1) / n of the sample variance, and 0 of a single value."""
    return variance_of_all(replace(aggregate, function="variance"), _count(aggregate))


def variance_of_all(variance: Expression, count: Expression) -> Expression:
    """The variance of all values, from that of a sample and their number."""
    sample = Call("coalesce", (variance, Literal(0.0, FLOAT)), FLOAT)
    less = Call("float", (Call("-", (count, Literal(1, INT)), INT),), FLOAT)
    return Call("/", (Call("*", (sample, less), FLOAT), Call("float", (count,), FLOAT)), FLOAT)


def _count(aggregate: Aggregate) -> Aggregate:
    return Aggregate("count", aggregate.argument, aggregate.distinct, INT)
