"""Binds group windows: TUMBLE and HOP in FROM to time windows over a grid, with the columns that name them.

    TUMBLE(air, 10 MINUTES)        [T - 10 min, T)  at T = 00:10, 00:20, ...       window_end is T
    CUMULATE(air, 1 HOUR, 1 DAY)   [midnight, T)    at T = 01:00, 02:00, ...       a HOP without the day before

GROUP BY TUMBLE(time, 10 MINUTES), the older spelling, is turned into the one in FROM first. SESSION is a table
function (algebra/table_functions/session.py), read at the ends of its sessions.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

from nilometer import time_zones
from nilometer.algebra import Collection
from nilometer.algebra.grid import Grid, GridUnit
from nilometer.algebra.table_functions.session import WINDOW_COLUMNS
from nilometer.catalog.near_misses import near_misses
from nilometer.expressions import Call, ColumnReference, Expression, Literal, Now, columns_of, transform
from nilometer.language import ast
from nilometer.language.parse_group_windows import EXAMPLES
from nilometer.plan import logical
from nilometer.plan.bind.scope import Context, Relation, nearest
from nilometer.plan.bind.windows import duration
from nilometer.types import BOOLEAN, DAY, DURATION, INT, MILLISECOND, STRING, TIME, format_duration

if TYPE_CHECKING:
    from nilometer.plan.bind.sources import SourceBinder

_CALENDAR = {
    "WEEKS": (GridUnit.WEEK, 1),
    "MONTHS": (GridUnit.MONTH, 1),
    "QUARTERS": (GridUnit.MONTH, 3),
    "YEARS": (GridUnit.MONTH, 12),
}


# ---- in FROM ---------------------------------------------------------------------------------------------------------


def group_window(binder: SourceBinder, source: ast.GroupWindowSource) -> Relation:
    """The relation of a TUMBLE, HOP or CUMULATE: the stream's columns and those of the window."""
    context = binder.context
    inner = binder._stream(under_alias(context, source), source.kind)
    if source.time is not None:
        check_time(context, inner, source.time)
    if source.kind == "CUMULATE":
        return _cumulate(context, inner, source)
    grid, size = bind_grid(context, source.size, source.slide, source.offset, source.zone, source)
    window = logical.TimeWindow(inner.node, size, 1, grid.nominal, False, grid)
    node, added = _with_columns(context, window, inner, window_start(window), source)
    return Relation(inner.alias, node, inner.visible + added, source, fields=inner.fields)


def check_time(context: Context, inner: Relation, name: ast.Name) -> None:
    """DESCRIPTOR names the stream's time, perhaps as the data call it."""
    column = inner.find(name.parts[-1])
    if column is None:
        known = [bare for bare, _ in inner.columns()]
        context.fail(
            f"no column '{name.parts[-1]}' in '{inner.alias}'",
            name,
            hint=nearest(name.parts[-1], known) or "DESCRIPTOR(time)",
        )
    if column.name.rsplit(".", 1)[-1].lower() != "time":
        context.fail(
            f"windows are cut from a stream's time, not from '{name.text}'",
            name,
            detail="the watermark follows the stream's time, so it says nothing about when a window of another"
            " column is complete",
            hint=f"write DESCRIPTOR(time), or declare the stream by it: CREATE STREAM ... (time FROM {name.parts[-1]})",
        )


def _cumulate(context: Context, inner: Relation, source: ast.GroupWindowSource) -> Relation:
    """A window grows by the step until it has its size, and then begins anew: the rows of a HOP that are not
    before the last multiple of the size."""
    assert source.slide is not None
    if source.zone is not None or source.size.unit in _CALENDAR or source.slide.unit in _CALENDAR:
        context.fail(
            "CUMULATE counts lengths of time, not days of a TIMEZONE", source, hint=EXAMPLES[source.kind]
        )
    size = duration(context, source.size, "the size of a window")
    step = duration(context, source.slide, "the step of a window")
    if size % step:
        context.fail(
            "the size of CUMULATE is a multiple of its step", source.size, hint=EXAMPLES[source.kind]
        )
    offset = 0 if source.offset is None else duration(context, source.offset, "OFFSET", positive=False)
    grid = Grid(GridUnit.TIME, step, offset % step)
    window = logical.TimeWindow(inner.node, size, 1, grid.nominal, False, grid)
    width, origin = Literal(size, DURATION), Literal(offset % size, TIME)
    inside = Call("-", (Now(), Literal(1, DURATION)), TIME)
    start = Call("date_bin", (width, inside, origin), TIME)
    time = inner.find("time")
    if time is None:
        context.fail(
            f"CUMULATE needs the column time of '{inner.alias}'", source, hint="select it in the subquery"
        )
    moment: Expression = ColumnReference(time.name, time.type.plain)
    every = logical.acquisition_interval(inner.node)
    if every is not None:  # a sensed tuple counts by its tick
        moment = Call("date_bin", (Literal(every, DURATION), moment, Literal(0, TIME)), TIME)
    growing = logical.Select(window, Call(">=", (moment, start), BOOLEAN))
    node, added = _with_columns(context, growing, inner, start, source)
    return Relation(inner.alias, node, inner.visible + added, source, fields=inner.fields)


def under_alias(context: Context, source: ast.GroupWindowSource) -> ast.Source:
    """The source of a group window under the alias that follows the window."""
    inner = source.source
    if isinstance(inner, ast.AsofSource | ast.GroupWindowSource):
        context.fail(
            f"{source.kind} takes one stream",
            inner,
            hint=f"put it into a query of its own: {source.kind}((SELECT ...), ...)",
        )
    if source.alias is None:
        return inner
    assert isinstance(inner, ast.ExtentSource | ast.QuerySource | ast.FunctionSource)
    return replace(inner, alias=source.alias)


def _with_columns(
    context: Context, window: logical.Node, inner: Relation, start: Expression, place: ast.Node
) -> tuple[logical.Node, tuple[str, ...]]:
    names = tuple(f"{inner.alias}.{name}" for name in WINDOW_COLUMNS)
    taken = [name for name in WINDOW_COLUMNS if inner.find(name) is not None]
    if taken:
        context.fail(
            f"'{inner.alias}' has a column '{taken[0]}' already", place, hint="rename it in a subquery"
        )
    last = Call("-", (Now(), Literal(MILLISECOND, DURATION)), TIME)
    added = tuple(
        logical.Projection(name, value) for name, value in zip(names, (start, Now(), last), strict=True)
    )
    kept = tuple(
        logical.Projection(column.name, ColumnReference(column.name, column.type.plain), column.unit)
        for column in window.schema
    )
    return logical.Project(window, kept + added), names


def window_start(window: logical.TimeWindow) -> Expression:
    """The first moment of a window, from its tick."""
    grid = window.grid
    assert grid is not None
    assert window.start is not None
    if not grid.by_calendar:
        return Call("-", (Now(), Literal(window.start, DURATION)), TIME)
    described = (
        Literal(window.start // grid.nominal, INT),
        Literal(str(grid.unit), STRING),
        Literal(grid.count, INT),
        Literal(grid.offset, INT),
        Literal(grid.zone, STRING),
    )
    return Call("grid_back", (Now(), *described), TIME)


def bind_grid(
    context: Context,
    size: ast.Amount,
    slide: ast.Amount | None,
    offset: ast.Amount | None,
    zone: str | None,
    place: ast.Node,
    *,
    from_start: bool = True,
) -> tuple[Grid, int]:
    """The grid of windows of this size, slide and offset in this zone; and the size, as TimeWindow takes it.
    The slide counts from the start of windows, or else from their end."""
    if zone is not None and not time_zones.is_zone(zone):
        known = time_zones.zone_names()
        context.fail(f"no time zone '{zone}'", place, hint=near_misses(zone, known))
    unit, length = _steps(context, size, zone, "the size of a window")
    step = (unit, length) if slide is None else _steps(context, slide, zone, "the slide of a window")
    shift = 0 if offset is None else duration(context, offset, "OFFSET", positive=False)
    if unit is not step[0]:
        context.fail(
            "size and slide must be of the same kind",
            slide or place,
            hint="count both in days, in weeks or in months, or both in shorter units",
        )
    if unit is GridUnit.TIME:
        return Grid(unit, step[1], (shift + (length if from_start else 0)) % step[1]), length
    if length % step[1]:
        context.fail(
            "the size of a window by the calendar must be a multiple of its slide",
            size,
            hint="such as HOP(s, 1 DAY, 7 DAYS, TIMEZONE 'Europe/Zurich')",
        )
    grid = Grid(unit, step[1], shift, zone or "UTC")
    if shift >= grid.nominal:
        context.fail("OFFSET must be shorter than the slide", offset, hint="such as OFFSET 6 HOURS")
    return grid, length // step[1] * grid.nominal


def _steps(context: Context, amount: ast.Amount, zone: str | None, what: str) -> tuple[GridUnit, int]:
    if amount.unit in _CALENDAR:
        unit, factor = _CALENDAR[amount.unit]
        if not isinstance(amount.count, int) or amount.count < 1:
            context.fail(f"{what} is a whole number of {amount.unit}", amount, hint="such as 1 MONTH")
        return unit, amount.count * factor
    length = duration(context, amount, what)
    if zone is None:
        return GridUnit.TIME, length
    if length % DAY:
        context.fail(
            f"{format_duration(length)} is no number of days, and a TIMEZONE says when a day begins",
            amount,
            hint="leave TIMEZONE out; for zones of half hours, write OFFSET 30 MINUTES",
        )
    return GridUnit.DAY, length // DAY


# ---- what a query does with them -------------------------------------------------------------------------------------


def is_group_window(relation: Relation) -> bool:
    """Whether a relation of FROM is TUMBLE, HOP or SESSION."""
    match relation.place:
        case ast.GroupWindowSource() | ast.FunctionSource("SESSION", window=None):
            return True
        case _:
            return False


def has_tick(node: logical.Node) -> bool:
    """Whether the rows of windows need a column `tick`: those of group windows have columns of their own."""
    for one in logical.walk_plan(node):
        match one:
            case logical.RowWindow():
                return True
            case logical.TimeWindow(grid=None) if not _reads_sessions(one):
                return True
            case logical.TimeWindow(end=0, grid=grid) if grid is not None and not grid.once:
                return True
            case logical.TableFunction(call=call) if call.function.output == "WINDOWS":
                return True
    return False


def _reads_sessions(window: logical.TimeWindow) -> bool:
    return isinstance(window.input, logical.TableFunction) and window.input.call.function.windowed


def check_windows_are_grouped(
    context: Context, relations: list[Relation], keys: list[logical.Projection], place: ast.Node
) -> None:
    """An aggregate over group windows has their start or end in GROUP BY."""
    for relation in filter(is_group_window, relations):
        names = {f"{relation.alias}.{name}" for name in WINDOW_COLUMNS}
        if not any(columns_of(key.expression) & names for key in keys):
            context.fail(
                f"GROUP BY does not name the windows of '{relation.alias}'",
                place,
                detail="without them it is not said which rows an aggregate is of",
                hint="add window_start, window_end to GROUP BY",
            )


def of_window(expression: Expression) -> bool:
    """Whether an expression reads the columns of a group window, and no others."""
    names = columns_of(expression)
    return bool(names) and all(name.rsplit(".", 1)[-1] in WINDOW_COLUMNS for name in names)


def filled_windows(
    context: Context,
    relations: list[Relation],
    keys: tuple[logical.Projection, ...],
    fill: str,
    place: ast.Node,
) -> tuple[logical.Projection, ...]:
    """The keys that name the window, as expressions of the tick at which it is evaluated."""
    windowed = [r for r in relations if r.node.collection is Collection.WINDOWS]
    if not keys:
        if fill == "LINEAR":
            context.fail(
                "FILL(LINEAR) returns the rows of a gap when it ends, so they must say which windows they are",
                place,
                hint="use TUMBLE or HOP: FROM TUMBLE(s, 10 MINUTES) GROUP BY id, window_start FILL(LINEAR)",
            )
        return ()
    grouped = [r for r in windowed if isinstance(r.place, ast.GroupWindowSource)]
    if len(windowed) != 1 or not grouped:
        what = "several windows" if len(windowed) > 1 else "SESSION"
        context.fail(
            f"FILL by the columns of {what}",
            place,
            detail="it must be known at which times windows are missing",
            hint="fill the groups of one TUMBLE or HOP, in a subquery if need be",
        )
    node = grouped[0].node
    assert isinstance(node, logical.Project)
    values = {item.name: item.expression for item in node.items}

    def change(expression: Expression) -> Expression:
        return values[expression.name] if isinstance(expression, ColumnReference) else expression

    return tuple(replace(key, expression=transform(key.expression, change)) for key in keys)


# ---- GROUP BY TUMBLE(time, 10 MINUTES) -------------------------------------------------------------------------------

_PARTS = {
    "_START": "window_start",
    "_END": "window_end",
    "_ROWTIME": "window_time",
}
_KINDS = ("TUMBLE", "HOP", "CUMULATE", "SESSION")


def windows_from_groups(context: Context, select: ast.Select) -> ast.Select:
    """The query with a TUMBLE, HOP or SESSION of its GROUP BY in FROM."""
    calls = [e for e in select.group_by if isinstance(e, ast.FunctionCall) and e.name.upper() in _KINDS]
    if not calls:
        return select
    call = calls[0]
    kind = call.name.upper()
    if len(calls) > 1:
        context.fail("two windows in GROUP BY", calls[1], hint="leave one of them out")
    if len(select.sources) != 1 or isinstance(select.sources[0], ast.AsofSource | ast.GroupWindowSource):
        context.fail(
            f"{kind} in GROUP BY takes one stream in FROM", call, hint=f"write it in FROM: {kind}(s, ...)"
        )
    others = tuple(e for e in select.group_by if e is not call)
    source = _source_of(context, call, kind, select.sources[0], others)
    columns = tuple(ast.Name((name,), span=call.span) for name in WINDOW_COLUMNS)

    def change(node: ast.Node) -> ast.Node:
        if isinstance(node, ast.FunctionCall):
            for ending, column in _PARTS.items():
                if node.name.upper() == kind + ending:
                    return ast.Name((column,), span=node.span)
        return node

    items = tuple(
        replace(item, expression=changed(item.expression, change), alias=item.alias or _name_of(item, kind))
        for item in select.items
    )
    having = None if select.having is None else changed(select.having, change)
    return replace(select, sources=(source,), group_by=others + columns, items=items, having=having)


def _name_of(item: ast.SelectItem, kind: str) -> str | None:
    """TUMBLE_START(...) without an alias is the column window_start."""
    call = item.expression
    if not isinstance(call, ast.FunctionCall):
        return None
    return next((name for end, name in _PARTS.items() if call.name.upper() == kind + end), None)


def _source_of(
    context: Context,
    call: ast.FunctionCall,
    kind: str,
    source: ast.Source,
    others: tuple[ast.Expression, ...],
) -> ast.Source:
    time, *lengths = call.arguments or (None,)
    if not isinstance(time, ast.Name):
        context.fail(f"{kind} takes the stream's time first", time or call, hint=f"{kind}(time, 10 MINUTES)")
    amounts = [_amount(context, kind, part) for part in lengths]
    most = {"TUMBLE": 2, "HOP": 3, "CUMULATE": 3, "SESSION": 1}[kind]
    if not most - (kind != "SESSION") <= len(amounts) <= most:
        lengths_of = {"HOP": "5 MINUTES, 1 HOUR", "CUMULATE": "1 HOUR, 1 DAY"}
        example = f"{kind}(time, {lengths_of.get(kind, '10 MINUTES')})"
        needs = {
            "TUMBLE": "a size",
            "HOP": "a slide and a size",
            "CUMULATE": "a step and a size",
            "SESSION": "a pause",
        }[kind]
        context.fail(f"{kind} needs the time and {needs}", call, hint=f"write {example}")
    by = None if time.parts[-1].lower() == "time" else time
    if kind == "SESSION":
        keys = []
        if not others:
            context.fail(
                "SESSION in GROUP BY has no key: each sensor has its own sessions",
                call,
                hint="add the key: GROUP BY id, SESSION(time, 10 MINUTES)",
            )
        for each in others:
            if not isinstance(each, ast.Name):
                context.fail("SESSION is grouped by columns", each, hint="compute it in a subquery in FROM")
            keys.append(each)
        setting = ast.Setting("FOR", (amounts[0],), positional=True, span=call.span)
        alias = getattr(source, "alias", None) or getattr(source, "name", None)
        return ast.FunctionSource(kind, source, tuple(keys), (setting,), None, alias, by, span=source.span)
    slide = amounts.pop(0) if kind != "TUMBLE" else None
    offset = amounts[1] if len(amounts) > 1 else None
    return ast.GroupWindowSource(kind, source, amounts[0], slide, offset, time=by, span=source.span)


def _amount(context: Context, kind: str, part: ast.Expression) -> ast.Amount:
    match part:
        case ast.DurationConstant(count=count, unit=unit):
            return ast.Amount(count, unit, span=part.span)
        case ast.Name(parts=(name,)):
            return ast.Amount(name, span=part.span)
        case _:
            context.fail(f"{kind} takes lengths of time", part, hint=f"{kind}(time, 10 MINUTES)")


def changed(
    node: Any, change: Callable[[ast.Node], ast.Node], stops: Callable[[ast.Node], bool] | None = None
) -> Any:
    """The tree with every node changed, from the top; subqueries stay, and nodes at which it stops."""
    if isinstance(node, tuple):
        return tuple(changed(part, change, stops) for part in node)
    if not isinstance(node, ast.Node) or isinstance(node, ast.QueryNode):
        return node
    if stops is not None and stops(node):
        return node
    found = change(node)
    if found is not node:
        return found
    parts = {field.name: getattr(node, field.name) for field in fields(node) if field.name != "span"}
    new = {name: changed(value, change, stops) for name, value in parts.items()}
    same = all(new[name] is value or new[name] == value for name, value in parts.items())
    return node if same else replace(node, **new)
