"""Binds a function of a phenomenon: the definition, in place or by its name, to a call over the readings.

The readings are those of the definition's stream for which its WHERE is true. RANGE and SLIDE become the frame,
the column of the sensors' places the second column of the call, and STRENGTH p PERCENT the number of readings that
the stream's interval makes of it. A definition that can never fire is refused.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import NoReturn

from nilometer import algebra
from nilometer.algebra.places import WGS84
from nilometer.algebra.table_function import Frame, FunctionCall, OptionValue
from nilometer.algebra.table_functions import TABLE_FUNCTIONS
from nilometer.algebra.table_functions.phenomena import (
    AHEAD,
    BY,
    DEFINITION,
    GUIDE,
    METRES,
    MOST_STEPS,
    NAMED,
    NEAR,
    PHENOMENA,
    REACH,
    SHARE,
    STRENGTH,
)
from nilometer.catalog.extents import Table
from nilometer.catalog.units import convert
from nilometer.language import ast, parse
from nilometer.language.walk import walk
from nilometer.plan import logical
from nilometer.plan.bind.expressions import ExpressionBinder
from nilometer.plan.bind.scope import Context, Relation, Scope, nearest, quoted
from nilometer.plan.bind.table_functions import bound_options, expected_interval, find_column
from nilometer.types import Column, Kind, format_duration

Extents = Callable[[Context, ast.ExtentSource, set[str]], Relation]
"""Binds an extent in FROM; of a stream's static attributes those named here are columns."""


def bind_phenomena(
    context: Context, source: ast.FunctionSource, extent: Extents
) -> tuple[FunctionCall, Relation]:
    """The call, and the readings that it is of."""
    function = TABLE_FUNCTIONS[source.name]
    definition, name, own = _definition(context, source)
    inner = _readings(own, definition, extent)
    settings = replace(source, source=definition, settings=definition.settings)
    given = bound_options(own, settings, DEFINITION, inner)
    value = find_column(own, ast.Name((definition.column,), span=definition.span), inner)
    place = _place(own, definition, given, inner)
    frame = _frame(own, definition, given, inner)
    options: dict[str, OptionValue] = {
        word: value
        for word, value in given.items()
        if word not in ("RANGE", "SLIDE", "PERCENT", "LOCATED AT", GUIDE.word, AHEAD.word, REACH.word)
    }
    options["STRENGTH"] = _strength(own, definition, given, frame, inner)
    if given.get("PERCENT") and given.get(GUIDE.word):
        options[SHARE.word] = given["STRENGTH"]
    options[NAMED.word] = name
    if place is not None and place.unit not in (None, WGS84, "m"):
        options[METRES.word] = convert(1.0, place.unit, "m")
    if isinstance(table := options.get(BY), str):
        options[BY] = _neighbours(own, definition, table)
    guide = _guide(own, definition, given, frame, options["STRENGTH"], inner)
    if guide is not None:
        options[GUIDE.word] = guide
    options |= bound_options(context, source, function.own, inner)
    id_column = inner.find("id")
    if id_column is None:
        own.fail(f"'{inner.alias}' has no ids, so that its readings have no sensors", definition)
    columns = (value.name,) if place is None else (value.name, place.name)
    call = FunctionCall(
        function,
        source.alias or function.name.lower(),
        id_column.type.plain,
        columns,
        function.settle(options),
        frame,
    )
    # The definition's own faults are shown in its text, those of the function in the query's.
    of_definition = PHENOMENA.refuses(call, inner.node.schema)
    refusal = of_definition or function.refuses(call, inner.node.schema)
    if refusal is not None:
        at, where = (own, definition) if of_definition else (context, source)
        at.fail(refusal.message.replace("{column}", definition.column), where, hint=refusal.hint)
    return call, inner


def _definition(context: Context, source: ast.FunctionSource) -> tuple[ast.PhenomenonSource, str, Context]:
    """The definition, its name, and the context of its text."""
    if isinstance(source.source, ast.PhenomenonSource):
        written = source.source
        return written, f"{written.extent}.{written.column}", context
    assert isinstance(source.source, ast.ExtentSource)
    name = source.source.name
    declared = context.catalog.phenomenon(name)
    if declared is None:
        known = [each.name for each in context.catalog.phenomena()]
        example = TABLE_FUNCTIONS[source.name].example
        here = f", or define it here: {example}" if "(ON " in example else ""
        context.fail(
            f"no phenomenon '{name}'",
            source.source,
            detail=f"declared are {quoted(known)}" if known else "none has been declared yet",
            hint=nearest(name, known) or f"declare it with CREATE PHENOMENON{here}",
        )
    created = parse(declared.text)
    assert isinstance(created, ast.CreatePhenomenon)
    return created.definition, declared.name, replace(context, named={}, text=declared.text)


def _readings(context: Context, definition: ast.PhenomenonSource, extent: Extents) -> Relation:
    """The readings of the stream that WHERE keeps."""
    named = {"location"} | {node.parts[-1].lower() for node in walk(definition) if isinstance(node, ast.Name)}
    inner = extent(context, ast.ExtentSource(definition.extent, span=definition.span), named)
    if inner.node.collection is not algebra.Collection.STREAM:
        kind = "a stored table" if inner.node.collection is algebra.Collection.TABLE else "windowed"
        context.fail(f"a phenomenon is of a stream, and '{inner.alias}' is {kind}", definition)
    if definition.condition is None:
        return inner
    scope = Scope(context, [inner])

    def refuse(node: ast.Expression) -> NoReturn:
        context.fail("this cannot stand in the WHERE of a phenomenon", node)

    binder = ExpressionBinder(scope, refuse, "WHERE of a phenomenon looks at one reading at a time")
    predicate = binder.condition(definition.condition)
    return replace(inner, node=logical.Select(inner.node, predicate))


def _place(
    context: Context, definition: ast.PhenomenonSource, given: dict[str, OptionValue], inner: Relation
) -> Column | None:
    """The column of the sensors' places: the one that LOCATED AT names, or `location` where there is one."""
    named = given.get("LOCATED AT")
    if not isinstance(named, str):
        found = inner.find("location")
        return found if found is not None and found.type.kind is Kind.POINT else None
    column = find_column(context, ast.Name((named,), span=definition.span), inner)
    if column.type.kind is not Kind.POINT:
        context.fail(
            f"LOCATED AT needs a column of points, and '{named}' is {column.type}",
            definition,
            hint="declare it as POINT; or make points in a view: "
            f"CREATE VIEW placed AS SELECT *, point(x, y) AS location FROM {definition.extent}",
        )
    return column


def _frame(
    context: Context, definition: ast.PhenomenonSource, given: dict[str, OptionValue], inner: Relation
) -> Frame:
    length, slide = given["RANGE"], given.get("SLIDE") or expected_interval(inner)
    if slide is None:
        context.fail(
            f"how often are phenomena evaluated? '{inner.alias}' has no expected rate",
            definition,
            hint="add SLIDE 1 MINUTE, or declare the stream with EXPECT EVERY 1 MINUTE",
        )
    assert isinstance(length, int)
    assert isinstance(slide, int)
    return Frame(length, 0, slide, True)


def _strength(
    context: Context,
    definition: ast.PhenomenonSource,
    given: dict[str, OptionValue],
    frame: Frame,
    inner: Relation,
) -> int:
    """The number of readings that make a candidate, which the stream must be able to bring within RANGE."""
    written = given.get("STRENGTH", STRENGTH.default)
    assert isinstance(written, float)
    assert frame.start is not None
    interval = expected_interval(inner)
    if given.get("PERCENT"):
        guided = given.get(GUIDE.word)
        if isinstance(guided, tuple) and isinstance(guided[1], int):
            # A slowed sensor can become a candidate. Of one that is asked more often, SHARE asks for more.
            interval = guided[1]
        if interval is None:
            context.fail(
                f"{written:g} percent of how many readings? '{inner.alias}' has no expected rate",
                definition,
                hint="write a number of readings: STRENGTH 2; or declare the stream with EXPECT EVERY 1 MINUTE",
            )
        if written > 100:
            context.fail(f"STRENGTH {written:g} PERCENT is more than all readings", definition)
        return max(1, math.ceil(written * frame.start / (100 * interval)))
    if not written.is_integer():
        context.fail(
            "STRENGTH needs a whole number",
            definition,
            detail=f"found {written!r}",
            hint="such as STRENGTH 2, or STRENGTH 60 PERCENT",
        )
    most = None if interval is None else math.ceil(frame.start / interval)
    if most is not None and interval is not None and written > most:
        context.fail(
            "this phenomenon can never appear",
            definition,
            detail=f"STRENGTH {written:g} needs {written:g} readings of a sensor, and a RANGE of "
            f"{format_duration(frame.start)} holds at most {most}: '{inner.alias}' sends every "
            f"{format_duration(interval)}",
            hint=f"write STRENGTH {most}, or a RANGE of more than {format_duration(int(written - 1) * interval)}",
        )
    return int(written)


def _guide(
    context: Context,
    definition: ast.PhenomenonSource,
    given: dict[str, OptionValue],
    frame: Frame,
    strength: OptionValue,
    inner: Relation,
) -> tuple[int, int, int, int] | None:
    """GUIDE's (FAST, IDLE, AHEAD, REACH), which must let a slowed sensor become a candidate."""
    pair, ahead, reach = given.get(GUIDE.word), given.get(AHEAD.word) or 0, given.get(REACH.word) or 0
    if not isinstance(pair, tuple):
        for word in (AHEAD.word, REACH.word):
            if word in given:
                context.fail(
                    f"{word} belongs to GUIDE", definition, hint=f"such as {GUIDE.word} {GUIDE.example}"
                )
        return None
    fast, idle = pair
    assert isinstance(fast, int)
    assert isinstance(idle, int)
    assert isinstance(ahead, int)
    assert isinstance(reach, int)
    assert isinstance(strength, int)
    assert frame.start is not None
    if fast > idle:
        context.fail(
            f"GUIDE FAST {format_duration(fast)} is slower than IDLE {format_duration(idle)}",
            definition,
            hint="write the shorter interval behind FAST",
        )
    interval = expected_interval(inner)
    for word, each in (("FAST", fast), ("IDLE", idle)):
        if interval is not None and each % interval:
            context.fail(
                f"'{inner.alias}' cannot be read every {format_duration(each)}",
                definition,
                detail=f"it is declared to send every {format_duration(interval)}, and {word} is no multiple of that",
                hint=f"such as {word} {format_duration(max(1, round(each / interval)) * interval)}",
            )
    if idle * strength > frame.start:
        context.fail(
            "a slowed sensor could never become a candidate again",
            definition,
            detail=f"STRENGTH needs {strength} reading{'' if strength == 1 else 's'} within a RANGE of {format_duration(frame.start)}, and "
            f"IDLE {format_duration(idle)} brings {frame.start // idle}",
            hint=f"write IDLE {format_duration(frame.start // strength)} or less, or a RANGE of at least "
            f"{format_duration(idle * strength)}",
        )
    if ahead and given.get(NEAR) is None:
        context.fail(
            "AHEAD needs a distance to measure movements by", definition, hint="add NEIGHBOURS WITHIN 60 KM"
        )
    if ahead // frame.slide > MOST_STEPS:
        context.fail(
            f"AHEAD looks {ahead // frame.slide:,} evaluations ahead",
            definition,
            hint=f"{MOST_STEPS:,} are the most",
        )
    return fast, idle, ahead, reach


def _neighbours(context: Context, definition: ast.PhenomenonSource, name: str) -> str:
    """The table of neighbours, which has the columns from_id and to_id."""
    table = context.catalog.extent(name)
    if not isinstance(table, Table):
        known = [each.name for each in context.catalog.extents() if isinstance(each, Table)]
        context.fail(
            f"no table '{name}'", definition, hint=nearest(name, known) or "declare it with CREATE TABLE"
        )
    for column in ("from_id", "to_id"):
        if table.column(column) is None:
            context.fail(
                f"'{name}' has no column '{column}'",
                definition,
                hint="the table of neighbours has the columns from_id and to_id",
            )
    return table.name
