"""Binds a table function of FROM to its call.

It resolves the columns, gives the options their values or defaults and checks their bounds, and turns the
window into the form that the function takes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from nilometer.algebra.places import WGS84
from nilometer.algebra.table_function import (
    REQUIRED,
    Choice,
    Frame,
    FunctionCall,
    Intervals,
    Option,
    OptionKind,
    OptionValue,
    TableFunction,
    Windowing,
)
from nilometer.algebra.table_functions import TABLE_FUNCTIONS, UNIT
from nilometer.catalog.units import convert
from nilometer.language import ast
from nilometer.language.vocabulary import DISTANCE_UNITS
from nilometer.language.walk import walk
from nilometer.plan import logical
from nilometer.plan.bind.scope import Context, Relation, nearest, quoted
from nilometer.plan.bind.unit_calls import described_unit
from nilometer.plan.bind.windows import amount_length, duration, window_over
from nilometer.types import INT, MICROSECOND, UNITS, Column, Kind, OwnWindow, format_duration


def bind_call(context: Context, source: ast.FunctionSource, inner: Relation) -> FunctionCall:
    """The call of a function over a stream."""
    function = TABLE_FUNCTIONS[source.name].meant([setting.word for setting in source.settings])
    columns = tuple(find_column(context, name, inner).name for name in source.columns)
    if function.all_columns:
        shown = columns or inner.visible
        own = {name for bare, name in _tags(inner)}
        columns = tuple(dict.fromkeys(name for name in shown if name not in own))
    options = function.settle(bound_options(context, source, function, inner))
    if function is UNIT:
        taken = [find_column(context, name, inner) for name in source.columns]
        options = described_unit(context, source, taken, options)
    id_column = inner.find("id")
    call = FunctionCall(
        function,
        source.alias or (inner.alias if function.windowed else function.name.lower()),
        INT if id_column is None else id_column.type.plain,
        columns,
        options,
        sensors=_sensors(context, inner) if function.sensors else frozenset(),
    )
    _check(context, source, inner, call)
    call = replace(call, window=_window(context, source, function, inner))
    _check(context, source, inner, call)
    return call


def _check(context: Context, source: ast.FunctionSource, inner: Relation, call: FunctionCall) -> None:
    """Refuse what the function refuses: first without the window, then with it."""
    refusal = call.function.refuses(call, inner.node.schema)
    if refusal is not None:
        named = refusal.column is not None and bool(source.columns)
        place = source.columns[refusal.column] if named else source  # type: ignore[index]
        message = refusal.message.replace("{column}", place.text if isinstance(place, ast.Name) else "")
        context.fail(message, place, hint=refusal.hint)


def find_column(context: Context, name: ast.Name, inner: Relation) -> Column:
    """The column of that name, which must be there."""
    column = inner.find(name.parts[-1])
    if column is None:
        known = [bare for bare, _ in inner.columns()]
        context.fail(
            f"no column '{name.parts[-1]}' in '{inner.alias}'",
            name,
            detail=f"'{inner.alias}' has {quoted(known)}",
            hint=nearest(name.parts[-1], known),
        )
    return column


def _tags(inner: Relation) -> list[tuple[str, str]]:
    """The columns that hold each tuple's time and id."""
    return [(bare, column.name) for bare, column in inner.columns() if bare.lower() in ("time", "id")]


def _sensors(context: Context, inner: Relation) -> frozenset[int | str]:
    """The declared sensors of a base stream; none for a derived one, which may leave sensors out on
    purpose."""
    if not isinstance(inner.node, logical.Acquire):
        return frozenset()
    return frozenset(sensor.id for sensor in context.catalog.sensors(inner.node.stream.name))


def expected_interval(inner: Relation) -> int | None:
    """The interval at which the one stream below is expected to send."""
    leaves = [node for node in logical.walk_plan(inner.node) if isinstance(node, logical.Acquire)]
    return leaves[0].stream.interval if len(leaves) == 1 else None


# ---- options ---------------------------------------------------------------------------------------------------------


def bound_options(
    context: Context, source: ast.FunctionSource, function: TableFunction, inner: Relation
) -> dict[str, OptionValue]:
    """The values that the query gives, and the defaults that depend on the stream."""
    given = {
        setting.word: _value(context, function, function.option(setting.word), setting, inner)
        for setting in source.settings
    }
    for each in function.options:
        if isinstance(each, Choice):
            if each.default is REQUIRED and given.keys().isdisjoint(each.words):
                context.fail(
                    f"{function.name} needs one of {', '.join(each.words)}",
                    source,
                    hint=f"such as {function.example}",
                )
        elif each.word in given:
            continue
        elif each.default is REQUIRED:
            context.fail(f"{function.name} needs {each.word}", source, hint=each.hint)
        elif isinstance(each.default, Intervals):
            given[each.word] = _by_interval(context, source, each, each.default, inner)
    return given


def _by_interval(
    context: Context, source: ast.FunctionSource, option: Option, default: Intervals, inner: Relation
) -> int:
    interval = expected_interval(inner)
    if interval is None:
        written = f"{source.name}({inner.alias} {option.word} {option.example})"
        context.fail(
            f"{default.question} '{inner.alias}' has no expected rate",
            source,
            hint=f"write {written}, or declare the stream with EXPECT EVERY 1 MINUTE",
        )
    return default.count * interval


def _value(
    context: Context, function: TableFunction, option: Option, setting: ast.Setting, inner: Relation
) -> OptionValue:
    if not option.pieces:
        return True
    values = tuple(
        _distance(context, option, value, setting, inner)
        if kind is OptionKind.DISTANCE and isinstance(value, ast.Amount)
        else _part(context, f"{function.name} {option.word}", option, kind, value, setting)
        for kind, value in zip(option.pieces, setting.values, strict=True)
        if isinstance(kind, OptionKind)
    )
    return values if len(values) > 1 else values[0]


def _part(
    context: Context, what: str, option: Option, kind: OptionKind, value: object, setting: ast.Setting
) -> OptionValue:
    match kind, value:
        case OptionKind.DURATION, ast.Amount():
            length = duration(context, value, what, positive=option.least is None or option.least > 0)
            if not option.in_bounds(length):
                context.fail(f"{what} cannot be {format_duration(length)}", setting, hint=option.hint)
            return length
        case OptionKind.NAME, ast.Name():
            return value.text
        case OptionKind.LIST | OptionKind.SHAPES, ast.Amounts(items):
            return tuple(_number(context, option, OptionKind.NUMBER, part, setting) for part in items)
        case OptionKind.SHAPES, ast.Shapes(items=shapes):
            return tuple(
                (shape.name, _part(context, what, option, OptionKind.LIST, shape.values, setting))
                for shape in shapes
            )
        case OptionKind.SHAPES, _:
            context.fail(
                "this example is read when a query is asked or created, which this is not",
                setting,
                hint="write the numbers: (1, 2.5, 4, 2.5, 1)",
            )
        case _, ast.Amount():
            return _number(context, option, kind, value, setting)
        case _:
            raise AssertionError(value)


def _distance(
    context: Context, option: Option, amount: ast.Amount, setting: ast.Setting, inner: Relation
) -> float:
    """The distance in the unit of the stream's coordinates; in metres for WGS84."""
    value = float(_number(context, option, OptionKind.NUMBER, amount, setting))
    if amount.unit is None:
        return value
    points = [column.unit for _, column in inner.columns() if column.type.kind is Kind.POINT]
    if not points:
        return value  # there are no places; the function says what that means for it
    coordinates = next((unit for unit in points if unit is not None), None)
    if coordinates is None:
        context.fail(
            f"how long is {amount.count} {amount.unit}? The places of '{inner.alias}' have no unit",
            setting,
            hint=f"declare '{_stream_below(inner)}' with COORDINATES WGS84 or COORDINATES 'm', or leave {amount.unit} out",
        )
    target = "m" if coordinates == WGS84 else coordinates
    return convert(value, DISTANCE_UNITS[amount.unit], target)


def _stream_below(inner: Relation) -> str:
    """The stream that a relation is read from, also through a view."""
    leaves = [node for node in logical.walk_plan(inner.node) if isinstance(node, logical.Acquire)]
    return leaves[0].stream.name if leaves else inner.alias


def _number(
    context: Context, option: Option, kind: OptionKind, amount: ast.Amount, setting: ast.Setting
) -> int | float:
    """The number in the text, or the value of the parameter in its place."""
    value: object = amount.count
    if isinstance(value, str):
        known, value = context.parameter(value)
        if not known:
            example = option.example.split(" ")[0]
            context.fail(
                f"no value for the parameter '{amount.count}'",
                setting,
                hint=f"give it one: --set {amount.count}={example}, or db.sql(query, {amount.count}={example})",
            )
    whole = isinstance(value, int) or kind is OptionKind.NUMBER
    if (
        isinstance(value, bool)
        or not isinstance(value, int | float)
        or not (whole and option.in_bounds(value))
    ):
        context.fail(
            f"{option.word} needs {option.wanted}", setting, detail=f"found {value!r}", hint=option.hint
        )
    return float(value) if kind is OptionKind.NUMBER else int(value)


# ---- windows ---------------------------------------------------------------------------------------------------------


def _window(
    context: Context, source: ast.FunctionSource, function: TableFunction, inner: Relation
) -> int | OwnWindow | Frame | None:
    match function.windowing:
        case Windowing.ABOVE:
            return None
        case Windowing.REACH:
            return _reach(context, source, inner)
        case _:
            return _frame(context, source, function, inner)


def _reach(context: Context, source: ast.FunctionSource, inner: Relation) -> int | OwnWindow:
    """The largest distance in time between tuples that belong together: one length, or a column of a
    tuple."""
    hint = f"write {source.name}(...) {TABLE_FUNCTIONS[source.name].window_hint}"
    match source.window:
        case None:
            context.fail(f"{source.name} needs a window", source, hint=hint)
        case ast.RangeWindow(length=amount, slide=None, per=(), offset=None, zone=None):
            pass
        case (
            ast.FromToWindow(start=amount, end=None, slide=None)
            | ast.FromToWindow(start=None, end=amount, slide=None)
        ) if amount is not None:
            pass
        case _:
            context.fail(f"{source.name} takes a plain range of time", source.window, hint=hint)
    if isinstance(amount.count, str) and (column := inner.find(amount.count)) is not None:
        return _own_window(context, amount, column)
    length = amount_length(context, amount)
    if length.rows or length.value < 0:
        context.fail(f"{source.name} takes a plain range of time", source.window, hint=hint)
    return length.value


def _own_window(context: Context, amount: ast.Amount, column: Column) -> OwnWindow:
    """A window for each sensor (SNJoin section 4.2.1), whose length its tuples carry in a column."""
    if column.type.kind is Kind.DURATION and amount.unit is None:
        return OwnWindow(column.name, MICROSECOND)
    if column.type.kind not in (Kind.INT, Kind.FLOAT):
        context.fail(
            f"a column used as a window must hold numbers, and '{amount.count}' is {column.type}",
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


def _frame(context: Context, source: ast.FunctionSource, function: TableFunction, inner: Relation) -> Frame:
    """The windows at which the function is evaluated; without SLIDE, one at every interval of the stream."""
    hint = f"write {source.name}(...) {function.window_hint}"
    if source.window is None:
        interval = expected_interval(inner)
        if function.unbounded and interval is not None:
            return Frame(None, 0, interval, False)
        context.fail(f"{source.name} needs a window", source, hint=hint)
    window = window_over(context, source.window, inner.node)
    if not isinstance(window, logical.TimeWindow):
        context.fail(f"{source.name} takes a window of time, not of rows", source.window, hint=hint)
    if window.grid is not None:
        context.fail(f"{source.name} takes no OFFSET or TIMEZONE", source.window, hint=hint)
    slide = window.slide or expected_interval(inner)
    if slide is None:
        context.fail(
            f"{source.name} needs a SLIDE: '{inner.alias}' has no expected rate", source.window, hint=hint
        )
    return Frame(window.start, window.end, slide, window.open_start)


def names_of_windows(select: ast.Select) -> Iterator[str]:
    """The names written as a function's reach: each is a column if there is one so called, else a
    parameter."""
    for source in walk(select):
        if not isinstance(source, ast.FunctionSource) or source.window is None:
            continue
        if TABLE_FUNCTIONS[source.name].windowing is Windowing.REACH:
            for amount in walk(source.window):
                if isinstance(amount, ast.Amount) and isinstance(amount.count, str):
                    yield amount.count.lower()
