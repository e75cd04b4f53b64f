"""Binds window specifications to TimeWindow and RowWindow nodes; rules for missing and mixed units."""

from __future__ import annotations

from nilometer.catalog.extents import Table
from nilometer.language import ast
from nilometer.language.vocabulary import CALENDAR_SPELLINGS
from nilometer.plan import logical
from nilometer.plan.bind.parameters import Length, length_of, parameter_length
from nilometer.plan.bind.scope import Context, nearest
from nilometer.types import NESTED, format_duration


def amount_length(context: Context, amount: ast.Amount, default_unit: str | None = None) -> Length:
    """The length of one amount; a parameter's value may bring its own unit."""
    try:
        if isinstance(amount.count, str):
            known, value = context.parameter(amount.count)
            if not known:
                context.fail(
                    f"no value for the parameter '{amount.count}'",
                    amount,
                    hint=nearest(amount.count, list(context.parameters))
                    or f"give it one: --set {amount.count}='10 MINUTES', or db.sql(query, {amount.count}='10 MINUTES')",
                )
            unit = amount.unit or default_unit
            if unit is not None and isinstance(value, int | float) and not isinstance(value, bool):
                return length_of(value, unit)
            return parameter_length(value)
        unit = amount.unit or default_unit
        if unit is None:
            context.fail(
                f"'{amount.count}' has no unit",
                amount,
                detail="no other part of the window has a unit either",
                hint=f"write {amount.count} SECONDS, MINUTES, HOURS, DAYS or ROWS",
            )
        return length_of(amount.count, unit)
    except ValueError as error:
        parameter = isinstance(amount.count, str)
        context.fail(
            str(error),
            amount,
            detail=f"it is the value of the parameter '{amount.count}'" if parameter else None,
            hint="give a number and a unit, such as '10 MINUTES'" if parameter else None,
        )


def duration(context: Context, amount: ast.Amount, what: str, *, positive: bool = True) -> int:
    """A length of time in microseconds, where rows make no sense."""
    length = amount_length(context, amount)
    if length.rows:
        context.fail(
            f"{what} is a length of time, not a number of rows",
            amount,
            hint="write 10 SECONDS, 5 MINUTES ...",
        )
    if length.value < 0 or (positive and length.value == 0):
        context.fail(f"{what} must be longer than nothing", amount, hint="such as 10 SECONDS")
    return length.value


def check_rescan(context: Context, window: ast.RescanWindow, table: Table) -> None:
    """`[RESCAN 1 HOUR]` behind a table must say what its declaration says: all queries read one version of it."""
    every = duration(context, window.every, "RESCAN")
    if every == table.refresh:
        return
    declared = "once" if table.refresh is None else f"every {format_duration(table.refresh)}"
    context.fail(
        f"'{table.name}' is read {declared}, not every {format_duration(every)}",
        window,
        detail="all queries read one version of a table, so its declaration says how often it is read",
        hint=f"declare it with REFRESH EVERY {format_duration(every)}"
        + ("" if table.refresh is None else ", or leave RESCAN out"),
    )


def window_over(context: Context, window: ast.Window, stream: logical.Node) -> logical.Node:
    """The window node over a stream of tuples."""
    if isinstance(window, ast.RescanWindow):
        context.fail(
            "RESCAN is for stored tables",
            window,
            hint="for what came in that time write [RANGE 5 MINUTES SLIDE 5 MINUTES]",
        )
    if isinstance(window, ast.RangeWindow) and (window.offset or window.zone or _by_calendar(window)):
        return _over_grid(context, window, stream)
    offsets: list[ast.Amount | None]
    match window:
        case ast.NowWindow():
            offsets = [None]
        case ast.AtWindow(offset=offset):
            offsets = [offset]
        case ast.FromToWindow(start=start, end=end):
            offsets = [start, end]
        case ast.RangeWindow(length=length):
            offsets = [length]
        case _:
            offsets = []
    slide_amount: ast.Amount | None = getattr(window, "slide", None)
    units = [a.unit for a in (*offsets, slide_amount) if a is not None and a.unit is not None]
    default = units[0] if units else None
    lengths = [None if a is None else amount_length(context, a, default) for a in offsets]
    slide = None if slide_amount is None else amount_length(context, slide_amount, default)
    kinds = {length.rows for length in (*lengths, slide) if length is not None}
    if len(kinds) > 1:
        context.fail(
            "a window cannot mix time and rows",
            window,
            hint="give all its parts in time (SECONDS, MINUTES ...) or all in ROWS",
        )
    for amount, offset_length in zip(offsets, lengths, strict=True):
        if offset_length is not None and offset_length.value < 0:
            context.fail(
                "a window cannot end in the future",
                amount or window,
                detail="its bounds count back from now: NOW, or NOW - 5 MINUTES",
                hint="write NOW - ... instead of NOW + ...",
            )
    if slide is not None and slide.value <= 0:
        context.fail(
            "a window must slide by more than nothing",
            slide_amount,
            hint="leave SLIDE out: the window is then evaluated at every tick"
            + (" or row" if slide.rows else ""),
        )
    if isinstance(window, ast.RangeWindow) and lengths[0] is not None and lengths[0].value == 0:
        context.fail("RANGE 0 is always empty", window, hint="for the tuples of this very tick write [NOW]")
    rows = kinds == {True}
    keys = _keys(context, window.per, stream, rows) if isinstance(window, ast.RangeWindow) else ()
    values = [0 if length is None else length.value for length in lengths]
    far = None if isinstance(window, ast.UnboundedWindow) else max(values)
    near = 0 if isinstance(window, ast.RangeWindow | ast.UnboundedWindow) else min(values)
    if rows:
        if isinstance(window, ast.RangeWindow) and far is not None:
            far -= 1
        return logical.RowWindow(stream, far, near, 1 if slide is None else slide.value, keys)
    return logical.TimeWindow(
        stream, far, near, None if slide is None else slide.value, isinstance(window, ast.RangeWindow)
    )


def _keys(context: Context, names: tuple[ast.Name, ...], stream: logical.Node, rows: bool) -> tuple[str, ...]:
    """The columns of PER, which count rows of their own."""
    if names and not rows:
        context.fail(
            "PER belongs to windows of rows",
            names[0],
            hint="a window of time is the same for all: use GROUP BY",
        )
    known = {column.name.split(".", 1)[-1].lower(): column for column in stream.schema}
    found = []
    for name in names:
        column = known.get(name.parts[-1].lower())
        if column is None:
            context.fail(
                f"no column '{name.text}'",
                name,
                hint=nearest(name.parts[-1], list(known)) or "such as PER id",
            )
        if column.type.kind in NESTED:
            context.fail(f"a {column.type} cannot count rows of its own", name)
        found.append(column.name)
    return tuple(found)


def _by_calendar(window: ast.RangeWindow) -> bool:
    return any(
        amount is not None and amount.unit in CALENDAR_SPELLINGS.values()
        for amount in (window.length, window.slide)
    )


def _over_grid(context: Context, window: ast.RangeWindow, stream: logical.Node) -> logical.Node:
    """`[RANGE 1 DAY SLIDE 1 DAY TIMEZONE 'Europe/Zurich']`: what is after one midnight, up to another."""
    from nilometer.plan.bind.group_windows import bind_grid

    if window.per:
        context.fail("PER belongs to windows of rows", window.per[0], hint="use GROUP BY")
    if window.slide is None:
        context.fail(
            "OFFSET, TIMEZONE, WEEKS and MONTHS need a SLIDE, which they move",
            window,
            hint="such as [RANGE 1 DAY SLIDE 1 DAY TIMEZONE 'Europe/Zurich']",
        )
    grid, size = bind_grid(
        context, window.length, window.slide, window.offset, window.zone, window, from_start=False
    )
    return logical.TimeWindow(stream, size, 0, grid.nominal, True, grid)
