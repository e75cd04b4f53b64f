"""Binds `f(...) OVER (PARTITION BY ... ORDER BY ... frame)` to columns of Analytic nodes.

The nodes stand above WHERE, GROUP BY and HAVING, and below the select list. Functions with the same PARTITION
BY and ORDER BY share a node.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from nilometer import algebra
from nilometer.algebra import SortKey
from nilometer.algebra.analytic import (
    AGGREGATES,
    FRAMED,
    OF_NUMBERS,
    SHIFTS,
    TO_CURRENT,
    VALUES,
    WHOLE,
    AnalyticFunction,
    AnalyticItem,
    Frame,
    FrameUnit,
)
from nilometer.catalog import functions
from nilometer.expressions import Call, Case, ColumnReference, Expression, Literal, type_of
from nilometer.language import ast
from nilometer.language.parse_over import CURRENT_ROW
from nilometer.plan import logical
from nilometer.plan.bind.aggregates import variance_of_all
from nilometer.plan.bind.expressions import ORDERED, ExpressionBinder, as_float
from nilometer.plan.bind.places import keep_coordinates
from nilometer.plan.bind.scope import nearest
from nilometer.plan.bind.whole import is_whole
from nilometer.plan.bind.windows import amount_length
from nilometer.plan.event_time import WindowTime, is_event_time, window_time
from nilometer.plan.explain.analytic import type_of_item
from nilometer.types import DURATION, FLOAT, INT, NESTED, SECOND, Kind

if TYPE_CHECKING:
    from nilometer.plan.bind.select import SelectBinder

Window = tuple[tuple[Expression, ...], tuple[SortKey, ...]]
"""PARTITION BY and ORDER BY."""

_COLLECTION = algebra.Collection
_PLACES = (AnalyticFunction.ROW_NUMBER, AnalyticFunction.RANK, AnalyticFunction.DENSE_RANK)
SHARES = ("PERCENT_RANK", "CUME_DIST")
_NEEDS_ORDER = (AnalyticFunction.RANK, AnalyticFunction.DENSE_RANK, *SHIFTS)


class OverCalls:
    """The calls with OVER of one SELECT, by PARTITION BY and ORDER BY."""

    def __init__(self, query: SelectBinder) -> None:
        self._query = query
        self._context = query.context
        self._windows: dict[Window, dict[AnalyticItem, AnalyticItem]] = {}

    def __bool__(self) -> bool:
        return bool(self._windows)

    @property
    def _over_stream(self) -> bool:
        """Whether the rows are those of a stream, which has no end."""
        return self._query.node.collection is _COLLECTION.STREAM

    # ---- binding one call --------------------------------------------------------------------------------------------

    def bind(self, node: ast.Over, binder: ExpressionBinder) -> Expression:
        """The column of a call; `binder` binds the expressions inside it."""
        if node.distinct:
            self._context.fail(f"{node.name.upper()}(DISTINCT ...) has no OVER", node)
        window = self._window(node, binder)
        if self._goes_through_evaluations(window):
            return self._query.previous.of_order(node, window)
        return self.bind_in(node, window, binder)

    def _goes_through_evaluations(self, window: Window) -> bool:
        """Whether ORDER BY is the time of the windows: it then means the rows of all windows, not of one."""
        partition, order = window
        if self._query.node.collection is not _COLLECTION.WINDOWS or is_whole(self._query.node) or not order:
            return False
        return self._window_time(order[0].expression) is not None and not any(
            map(self._window_time, partition)
        )

    def _window_time(self, expression: Expression) -> WindowTime | None:
        query = self._query
        if query.aggregated and isinstance(expression, ColumnReference):
            keys = {key.name: key.expression for key in query.keys}
            expression = keys.get(expression.name, expression)
        return window_time(query.node, expression)

    def bind_in(self, node: ast.Over, window: Window, binder: ExpressionBinder) -> Expression:
        """The column of a call over these partitions, in this order."""
        name = node.name.upper()
        if name in ("DELTA", "RATE"):
            return self._change(name, node, window, binder)
        if name in SHARES:
            return self._share(name, node, window)
        if name not in set(AnalyticFunction):
            meant = _in_other_words(node)
            if meant is not None:
                return self._of_other_words(meant, window, binder)
            self._refuse_function(name, node)
        function = AnalyticFunction(name)
        argument, offset, default = self._arguments(function, node, binder)
        if node.condition is not None:
            argument = self._filtered(function, node, node.condition, argument, binder)
        if argument is not None and type_of(argument).kind is Kind.VECTOR and function in AGGREGATES:
            self._context.fail(
                f"{function}() OVER is not for vectors",
                node,
                hint=f"{function}(v) with a window or GROUP BY is",
            )
        if function in OF_NUMBERS and argument is not None and not type_of(argument).numeric:
            self._context.fail(
                f"{function}() OVER needs a number, not a value of type {type_of(argument)}", node
            )
        try:
            type_ = type_of_item(function, argument)
        except ValueError as error:
            self._context.fail(str(error), node)
        frame = self._frame(function, node, window[1])
        if node.ignore_nulls and function not in (*SHIFTS, *VALUES):
            self._context.fail(
                f"{function}() takes no IGNORE NULLS",
                node,
                hint="aggregates leave NULLs out; for ranks, filter them out in WHERE"
                if function in AGGREGATES
                else f"it is for {', '.join((*SHIFTS, *VALUES))}",
            )
        item = AnalyticItem("", function, type_, argument, offset, default, frame, node.ignore_nulls)
        if self._over_stream:
            self._check_stream(item, node)
        return self._column(window, item)

    def _of_other_words(self, node: ast.Over, window: Window, binder: ExpressionBinder) -> Expression:
        signature = functions.resolve(node.name)
        assert signature is not None
        if signature.name not in ("var_pop", "stddev_pop"):
            return self.bind_in(node, window, binder)
        count = self.bind_in(replace(node, name="COUNT"), window, binder)
        sample = self.bind_in(replace(node, name="VARIANCE"), window, binder)
        variance = variance_of_all(sample, count)
        return Call("sqrt", (variance,), FLOAT) if signature.name == "stddev_pop" else variance

    def _column(self, window: Window, item: AnalyticItem) -> ColumnReference:
        items = self._windows.setdefault(window, {})
        if item not in items:
            name = self._context.fresh(item.function.lower())
            items[item] = replace(item, name=name)
        column = ColumnReference(items[item].name, item.type)
        if item.argument is not None and item.type.kind is Kind.POINT:
            keep_coordinates(self._context, self._query.scope.relations, item.argument, column)
        return column

    def _refuse_function(self, name: str, node: ast.Over) -> None:
        signature = functions.resolve(name)
        known = [*(each.value for each in AnalyticFunction), *SHARES]
        if signature is None:
            self._context.fail(
                f"no function '{node.name}'",
                node,
                hint=nearest(name, known) or f"OVER takes {', '.join(known)}",
            )
        self._context.fail(f"{name}() has no OVER", node, hint=f"OVER takes {', '.join(known)}")

    def _change(self, name: str, node: ast.Over, window: Window, binder: ExpressionBinder) -> Expression:
        """DELTA(x) is x - LAG(x); RATE(x) is that, divided by the seconds between the two rows."""
        if len(node.arguments) != 1:
            self._context.fail(f"{name}() takes one argument", node)
        if node.ignore_nulls:
            self._context.fail(
                f"{name}() takes no IGNORE NULLS", node, hint="x - LAG(x IGNORE NULLS) OVER (...)"
            )
        value = self._value(binder, node.arguments[0])
        if type_of(value).kind not in (Kind.INT, Kind.FLOAT):
            self._context.fail(f"{name}() needs a number, not a value of type {type_of(value)}", node)
        plain = type_of(value).plain
        change: Expression = Call("-", (value, self._before(window, value)), plain)
        if name == "DELTA":
            return change
        moment = window[1][0].expression if len(window[1]) == 1 else None
        if moment is None or type_of(moment).kind is not Kind.TIME:
            self._context.fail("RATE() needs an ORDER BY of one time", node, hint="ORDER BY time")
        passed = Call("-", (moment, self._before(window, moment)), DURATION)
        seconds = Call("/", (Call("float", (passed,), FLOAT), Literal(float(SECOND), FLOAT)), FLOAT)
        return Call("/", (as_float(change), seconds), FLOAT)

    def _share(self, name: str, node: ast.Over, window: Window) -> Expression:
        """PERCENT_RANK is (RANK - 1) / (rows - 1), and 0 of one row; CUME_DIST is the share of the rows up to this one
        and its peers."""
        if node.arguments:
            self._context.fail(f"{name}() takes no argument", node.arguments[0])
        if not window[1]:
            self._context.fail(f"{name}() OVER needs an ORDER BY", node, hint="OVER (ORDER BY ...)")
        if self._over_stream:
            self._context.fail(
                f"{name}() needs all rows, and a stream has no end", node, hint="give the stream a window"
            )
        if node.frame is not None:
            self._context.fail(f"{name}() looks at the whole partition and takes no frame", node.frame)
        count = AnalyticItem("", AnalyticFunction.COUNT, INT, frame=WHOLE)
        rows: Expression = self._column(window, count)
        if name == "CUME_DIST":
            share: Expression = self._column(window, replace(count, frame=TO_CURRENT))
        else:
            one = Literal(1, INT)
            share = Call("-", (self._column(window, AnalyticItem("", AnalyticFunction.RANK, INT)), one), INT)
            rows = Call("greatest", (Call("-", (rows, one), INT), one), INT)
        return Call("/", (as_float(share), as_float(rows)), FLOAT)

    def _before(self, window: Window, value: Expression) -> ColumnReference:
        return self._column(window, AnalyticItem("", AnalyticFunction.LAG, type_of(value).plain, value))

    # ---- the parts of a call -----------------------------------------------------------------------------------------

    def _value(self, binder: ExpressionBinder, node: ast.Expression) -> Expression:
        bound = self._query.settled(binder.bind(node), node)
        return Literal(None, INT) if type_of(bound).kind is Kind.NULL else bound

    def _arguments(
        self, function: AnalyticFunction, node: ast.Over, binder: ExpressionBinder
    ) -> tuple[Expression | None, int, Expression | None]:
        given = node.arguments
        if function in _PLACES:
            if given:
                self._context.fail(f"{function}() takes no argument", given[0])
            return None, 1, None
        if function is AnalyticFunction.COUNT and len(given) == 1 and isinstance(given[0], ast.Star):
            return None, 1, None
        most = 3 if function in SHIFTS else 2 if function is AnalyticFunction.NTH_VALUE else 1
        least = 2 if function is AnalyticFunction.NTH_VALUE else 1
        if not least <= len(given) <= most:
            takes = (
                f"{least} argument{'s' if least > 1 else ''}" if least == most else f"one to {most} arguments"
            )
            self._context.fail(f"{function}() takes {takes}, and {len(given)} were given", node)
        if function is AnalyticFunction.NTILE:
            return None, self._whole(binder, given[0], "NTILE makes a whole number of tiles"), None
        argument = self._value(binder, given[0])
        if function in AGGREGATES:
            return argument, 1, None
        offset = 1
        if len(given) > 1:
            what = f"{function} counts a whole number of rows"
            offset = self._whole(binder, given[1], what, least=0 if function in SHIFTS else 1)
        default = None
        if len(given) > 2:
            argument, default = binder.unify([argument, self._value(binder, given[2])], list(given[::2]))
        return argument, offset, default

    def _filtered(
        self,
        function: AnalyticFunction,
        node: ast.Over,
        condition: ast.Expression,
        argument: Expression | None,
        binder: ExpressionBinder,
    ) -> Expression:
        """FILTER: where the condition does not hold, the value is NULL, which aggregates leave out."""
        if function not in AGGREGATES:
            self._context.fail(f"{function}() is no aggregate, and takes no FILTER", node)
        bound = self._query.settled(binder.condition(condition), condition)
        value = Literal(1, INT) if argument is None else argument
        plain = type_of(value).plain
        return Case((bound,), (value,), Literal(None, plain), plain)

    def _whole(self, binder: ExpressionBinder, node: ast.Expression, what: str, least: int = 1) -> int:
        number = binder.bind(node)
        value = number.value if isinstance(number, Literal) else None
        if not isinstance(value, int) or isinstance(value, bool) or value < least:
            self._context.fail(what, node, hint=f"a constant from {least} on")
        return value

    def _window(self, node: ast.Over, binder: ExpressionBinder) -> Window:
        partition: list[Expression] = []
        for each in node.partition:
            key = self._value(binder, each)
            if type_of(key).kind in NESTED:
                self._context.fail(f"a {type_of(key)} cannot be partitioned by", each)
            if key not in partition:
                partition.append(key)
        order = tuple(self._ordering(each, binder) for each in node.order)
        if self._query.node.collection is _COLLECTION.STREAM:
            order = (self._time_order(node, order),)
        if not order and node.name.upper() in (*_NEEDS_ORDER, "DELTA", "RATE"):
            self._context.fail(
                f"{node.name.upper()}() OVER needs an ORDER BY",
                node,
                hint="OVER (PARTITION BY ... ORDER BY ...)",
            )
        return tuple(partition), order

    def _ordering(self, node: ast.SortKey, binder: ExpressionBinder) -> SortKey:
        value = self._value(binder, node.expression)
        if type_of(value).kind not in ORDERED:
            self._context.fail(f"a {type_of(value)} has no order", node.expression)
        return SortKey(value, node.descending, node.nulls_first)

    def _frame(self, function: AnalyticFunction, node: ast.Over, order: tuple[SortKey, ...]) -> Frame | None:
        if function not in FRAMED:
            if node.frame is not None:
                self._context.fail(
                    f"{function}() looks at the whole partition and takes no frame",
                    node.frame,
                    hint="leave the frame out",
                )
            return None
        if node.frame is None:
            return TO_CURRENT if order else WHOLE
        unit = FrameUnit(node.frame.unit)
        start, end = (self._end(unit, bound, order) for bound in (node.frame.start, node.frame.end))
        if (node.frame.start.side == "FOLLOWING" and start is None) or (
            node.frame.end.side == "PRECEDING" and end is None
        ):
            self._context.fail("a frame that ends before it starts", node.frame)
        if start is not None and end is not None and start > end:
            self._context.fail("a frame that ends before it starts", node.frame)
        if not order and (start, end) != (None, None):
            self._context.fail("a frame needs an ORDER BY", node.frame, hint="OVER (ORDER BY time ROWS ...)")
        return Frame(unit, start, end)

    def _end(self, unit: FrameUnit, bound: ast.FrameBound, order: tuple[SortKey, ...]) -> int | float | None:
        """The end of a frame as a signed distance; None is UNBOUNDED."""
        amount = bound.amount
        if bound.side == CURRENT_ROW:
            return 0
        if amount is None:
            return None
        sign = -1 if bound.side == "PRECEDING" else 1
        if unit is FrameUnit.ROWS:
            return sign * self._rows(amount)
        kind = type_of(order[0].expression).kind if len(order) == 1 else None
        if kind in (Kind.TIME, Kind.DURATION):
            length = amount_length(self._context, amount)
            if length.rows:
                self._context.fail("a RANGE of time is a length of time", amount, hint="such as 10 MINUTES")
            return sign * length.value
        if kind not in (Kind.INT, Kind.FLOAT):
            self._context.fail(
                "a RANGE with a distance needs an ORDER BY of one number or time", bound, hint="or use ROWS"
            )
        number = self._number(amount)
        if kind is Kind.INT and not isinstance(number, int):
            self._context.fail("a RANGE of INT is a whole number", amount)
        return sign * (float(number) if kind is Kind.FLOAT else number)

    def _rows(self, amount: ast.Amount) -> int:
        number = self._number(amount)
        if not isinstance(number, int):
            self._context.fail("ROWS counts whole rows", amount, hint="such as ROWS 3 PRECEDING")
        return number

    def _number(self, amount: ast.Amount) -> int | float:
        value: object = amount.count
        if isinstance(value, str):
            known, value = self._context.parameter(value)
            if not known:
                self._context.fail(f"no value for the parameter '{amount.count}'", amount)
        if (
            isinstance(value, bool)
            or not isinstance(value, int | float)
            or value < 0
            or amount.unit is not None
        ):
            self._context.fail(
                "a frame counts rows or values here",
                amount,
                detail=f"found {value!r}",
                hint="such as 3 PRECEDING",
            )
        return value

    # ---- streams -----------------------------------------------------------------------------------------------------

    def _time_order(self, node: ast.Over, order: tuple[SortKey, ...]) -> SortKey:
        """ORDER BY over a stream is its time: the only order in which a stream without end can be answered."""
        given = order[0] if len(order) == 1 else None
        if given is None or given.descending or not is_event_time(self._query.node, given.expression):
            self._context.fail(
                "OVER a stream goes by time: ORDER BY time",
                node.order[0] if node.order else node,
                detail="a stream has no end, so it can be ordered by nothing else",
                hint="give the stream a window for any other order: [RANGE 10 MINUTES]",
            )
        return given

    def _check_stream(self, item: AnalyticItem, node: ast.Over) -> None:
        function, frame = item.function, item.frame
        if function is AnalyticFunction.LEAD:
            self._context.fail(
                "LEAD() over a stream waits for a tuple that may never come",
                node,
                hint="look back with LAG(), or give the stream a window: [RANGE 10 MINUTES]",
            )
        if function is AnalyticFunction.NTILE:
            self._context.fail(
                "NTILE() needs all rows, and a stream has no end", node, hint="give the stream a window"
            )
        if frame is None:
            return
        if frame.end is None or frame.end > 0:
            self._context.fail(
                "a frame over a stream ends at the current row or before it",
                node.frame or node,
                hint="BETWEEN 3 PRECEDING AND CURRENT ROW",
            )
        if frame.start is None and function is AnalyticFunction.MEDIAN:
            self._context.fail(
                "MEDIAN() of all tuples of a stream would keep them all",
                node.frame or node,
                hint="give it a frame: ROWS BETWEEN 10 PRECEDING AND CURRENT ROW, or a RANGE of time",
            )
        if frame.start is None and frame.end != 0:
            self._context.fail(
                "a frame without a start ends at the current row, over a stream",
                node.frame or node,
                hint="BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW",
            )

    # ---- the nodes ---------------------------------------------------------------------------------------------------

    def over(self, node: logical.Node) -> logical.Node:
        """The node with the columns of all calls."""
        ties = () if node.collection is _COLLECTION.STREAM else _ties(node)
        for (partition, order), items in self._windows.items():
            named = tuple(items.values())
            breaks = any(item.breaks_ties for item in named)
            if breaks and node.collection is not _COLLECTION.STREAM:
                self._check_ties(node, named)
            node = logical.Analytic(node, partition, order, ties if breaks else (), named)
        return node

    def _check_ties(self, node: logical.Node, items: tuple[AnalyticItem, ...]) -> None:
        unordered = [c.name for c in node.schema if c.type.kind in NESTED]
        if unordered:
            self._context.fail(
                f"{items[0].function}() decides ties by all columns, and the list '{unordered[0]}' has no order",
                self._query.select,
                hint="select the other columns in a subquery in FROM",
            )


def _in_other_words(node: ast.Over) -> ast.Over | None:
    """The call by a function that OVER knows: `BOOL_OR(x)` is `MAX(x)`, `STDDEV(x)` is `STDEV(x)`."""
    signature = functions.resolve(node.name)
    if signature is None:
        return None
    match signature.name:
        case "stdev" | "variance" | "median" | "avg" | "min" | "max" as name:
            return replace(node, name=name.upper())
        case "bool_and" | "bool_or" as name:
            return replace(node, name="MIN" if name == "bool_and" else "MAX")
        case "count_if" if len(node.arguments) == 1 and node.condition is None:
            star = ast.Star(span=node.span)
            return replace(node, name="COUNT", arguments=(star,), condition=node.arguments[0])
        case "var_pop" | "stddev_pop":
            return node
        case _:
            return None


def needs_all_rows(node: ast.Node) -> bool:
    """Whether a call with OVER cannot be answered tuple by tuple: it looks ahead, or goes by another order than time."""
    if not isinstance(node, ast.Over):
        return False
    ahead = (AnalyticFunction.LEAD, AnalyticFunction.NTILE, *SHARES)
    if node.name.upper() in ahead or len(node.order) != 1:
        return True
    if node.frame is not None and node.frame.end.side == "FOLLOWING":
        return True
    unbounded = node.frame is None or (
        node.frame.start.amount is None and node.frame.start.side != CURRENT_ROW
    )
    if node.name.upper() == "MEDIAN" and unbounded:
        return True
    (key,) = node.order
    by_time = isinstance(key.expression, ast.Name) and key.expression.parts[-1].lower() in ("time", "tick")
    return key.descending or not by_time


def _ties(node: logical.Node) -> tuple[str, ...]:
    """All columns: times first, then ids, then the others."""
    rank = {"time": 0, "id": 1}
    names = node.schema.names
    return tuple(
        sorted(names, key=lambda name: (rank.get(name.rsplit(".", 1)[-1].lower(), 2), names.index(name)))
    )
