"""Prints the clauses of ANALYTIC as plan text, and reads them back.

ANALYTIC [BY s.site; ORDER BY s.v DESC; TIES s.time, s.id; ROW_NUMBER() AS row_number_1]
"""

from __future__ import annotations

from nilometer.algebra import SortKey
from nilometer.algebra.analytic import (
    AGGREGATES,
    FRAMED,
    SHIFTS,
    AnalyticFunction,
    AnalyticItem,
    Frame,
    FrameUnit,
)
from nilometer.catalog import functions
from nilometer.expressions import Expression, type_of
from nilometer.language import ast
from nilometer.language.parse_expressions import parse_expression
from nilometer.language.parse_over import CURRENT_ROW, parse_frame
from nilometer.plan import logical, physical
from nilometer.plan.explain.expressions import (
    PlanTextError,
    print_expression,
    print_name,
    print_sort_key,
    read_expression,
)
from nilometer.plan.explain.readers import Parameters, Reading, read_sort_keys
from nilometer.types import INT, UNITS, Kind, Type, format_duration

_OF_PLACE = (AnalyticFunction.ROW_NUMBER, AnalyticFunction.RANK, AnalyticFunction.DENSE_RANK)


def type_of_item(function: AnalyticFunction, argument: Expression | None) -> Type:
    """The type of a function's value; raises ValueError if it does not take such an argument."""
    if function in AGGREGATES and argument is not None:
        signature = functions.resolve(function)
        assert signature is not None
        return signature.result((type_of(argument),))
    if argument is None or function is AnalyticFunction.NTILE:
        return INT
    return type_of(argument).plain


# ---- out -------------------------------------------------------------------------------------------------------------


def print_analytic(node: logical.Analytic | physical.Analytic) -> list[str]:
    """The clauses of one node."""
    clauses = []
    if node.partition:
        clauses.append("BY " + ", ".join(map(print_expression, node.partition)))
    if node.order:
        clauses.append("ORDER BY " + ", ".join(map(print_sort_key, node.order)))
    if node.ties:
        clauses.append("TIES " + ", ".join(map(print_name, node.ties)))
    over_time = bool(node.order) and type_of(node.order[0].expression).kind in (Kind.TIME, Kind.DURATION)
    return [*clauses, ", ".join(_item(item, over_time) for item in node.items)]


def _item(item: AnalyticItem, over_time: bool) -> str:
    arguments = [] if item.argument is None else [print_expression(item.argument)]
    if item.function is AnalyticFunction.NTILE:
        arguments = [str(item.offset)]
    elif item.function is AnalyticFunction.COUNT and not arguments:
        arguments = ["*"]
    elif item.default is not None or item.offset != 1:
        arguments.append(str(item.offset))
        arguments += [] if item.default is None else [print_expression(item.default)]
    frame = "" if item.frame is None else " " + _frame(item.frame, over_time)
    nulls = " IGNORE NULLS" if item.ignore_nulls else ""
    return f"{item.function}({', '.join(arguments)}){nulls}{frame} AS {print_name(item.name)}"


def _frame(frame: Frame, over_time: bool) -> str:
    start, end = (_bound(frame, end, over_time) for end in (frame.start, frame.end))
    first = start if frame.start is not None else "UNBOUNDED PRECEDING"
    last = end if frame.end is not None else "UNBOUNDED FOLLOWING"
    return f"{frame.unit} BETWEEN {first} AND {last}"


def _bound(frame: Frame, end: int | float | None, over_time: bool) -> str:
    if not end:
        return CURRENT_ROW
    length = abs(end)
    text = (
        format_duration(length)
        if over_time and frame.unit is FrameUnit.RANGE and isinstance(length, int)
        else repr(length)
    )
    return f"{text} {'PRECEDING' if end < 0 else 'FOLLOWING'}"


# ---- in --------------------------------------------------------------------------------------------------------------


def read_analytic(reading: Reading) -> Parameters:
    """Reads the clauses in the order in which they are printed."""
    cursor = reading.cursor
    partition: list[Expression] = []
    order: tuple[SortKey, ...] = ()
    ties: list[str] = []
    if cursor.accept("BY"):
        partition.append(reading.expression())
        while cursor.accept(","):
            partition.append(reading.expression())
        cursor.expect(";")
    if cursor.accept("ORDER"):
        cursor.expect("BY")
        order = read_sort_keys(reading)
        cursor.expect(";")
    if cursor.at("TIES") and cursor.peek().key != "(":
        cursor.advance()
        ties.append(reading.name())
        while cursor.accept(","):
            ties.append(reading.name())
        cursor.expect(";")
    items = [_read_item(reading)]
    while cursor.accept(","):
        items.append(_read_item(reading))
    return {"partition": tuple(partition), "order": order, "ties": tuple(ties), "items": tuple(items)}


def _read_item(reading: Reading) -> AnalyticItem:
    tree = parse_expression(reading.cursor)
    if not isinstance(tree, ast.FunctionCall) or tree.name.upper() not in set(AnalyticFunction):
        raise PlanTextError("an analytic function was expected")
    function = AnalyticFunction(tree.name.upper())
    ignore = reading.cursor.accept("IGNORE")
    if ignore:
        reading.cursor.expect("NULLS")
    frame = parse_frame(reading.cursor)
    if (frame is not None) != (function in FRAMED):
        raise PlanTextError(f"the frame of {function}")
    reading.cursor.expect("AS")
    name = reading.name()
    argument, offset, default = _read_arguments(reading, function, tree.arguments)
    bound = None
    if frame is not None:
        bound = Frame(FrameUnit(frame.unit), _end(frame.start), _end(frame.end))
    type_ = type_of_item(function, argument)
    return AnalyticItem(name, function, type_, argument, offset, default, bound, ignore)


def _read_arguments(
    reading: Reading, function: AnalyticFunction, trees: tuple[ast.Expression, ...]
) -> tuple[Expression | None, int, Expression | None]:
    match trees:
        case () if function in _OF_PLACE:
            return None, 1, None
        case (ast.Star(),) if function is AnalyticFunction.COUNT:
            return None, 1, None
        case (ast.Constant(int() as tiles),) if function is AnalyticFunction.NTILE:
            return None, tiles, None
        case (tree,):
            return read_expression(tree, reading.schema), 1, None
        case (tree, ast.Constant(int() as offset)):
            return read_expression(tree, reading.schema), offset, None
        case (tree, ast.Constant(int() as offset), other) if function in SHIFTS:
            return read_expression(tree, reading.schema), offset, read_expression(other, reading.schema)
        case _:
            raise PlanTextError(f"the arguments of {function}")


def _end(bound: ast.FrameBound) -> int | float | None:
    if bound.side == CURRENT_ROW:
        return 0
    amount = bound.amount
    if amount is None:
        return None
    if isinstance(amount.count, str):
        raise PlanTextError("a number was expected")
    length = amount.count if amount.unit is None else round(amount.count * UNITS[amount.unit])
    return -length if bound.side == "PRECEDING" else length
