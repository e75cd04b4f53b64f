"""Parses the options of a table function, in any order, each once: `WITHIN 0.5 PAIRS`.

The function's declaration lists the options and their values. Numbers and lengths of time may be parameters.

>>> from nilometer.algebra.table_functions import SIMILAR
>>> from nilometer.language.cursor import Cursor
>>> [setting.word for setting in parse_options(Cursor("COUNTS WITHIN 0.5"), SIMILAR)]
['COUNTS', 'WITHIN']
"""

from __future__ import annotations

from collections.abc import Sequence

from nilometer.algebra.table_function import Choice, Option, OptionKind, TableFunction
from nilometer.language import ast
from nilometer.language.cursor import FLOAT, INT, STRING, Cursor
from nilometer.language.parse_expressions import parse_name, parse_number
from nilometer.language.parse_windows import parse_duration
from nilometer.language.vocabulary import DISTANCE_UNITS


def parse_options(cursor: Cursor, function: TableFunction, *, spelled: bool = False) -> list[ast.Setting]:
    """The settings, in the order of the text. With `spelled`, every option has its word, also the positional
    ones."""
    settings: list[ast.Setting] = []
    for option in function.all_options:
        if option.positional and not spelled and cursor.accept(","):
            settings.append(_setting(cursor, option, cursor.token.start))
    while (found := _next_option(cursor, function, settings, spelled)) is not None:
        start = cursor.token.start
        for _ in found.word.split():
            cursor.advance()
        settings.append(_setting(cursor, found, start))
    return settings


def in_declared_order(function: TableFunction, settings: Sequence[ast.Setting]) -> tuple[ast.Setting, ...]:
    """The same settings in the order of the function's declaration."""
    order = {option.word: place for place, option in enumerate(function.all_options)}
    return tuple(sorted(settings, key=lambda setting: order[setting.word]))


def _next_option(
    cursor: Cursor, function: TableFunction, settings: Sequence[ast.Setting], spelled: bool
) -> Option | None:
    """The option whose word is next, or None. Words that were tried are remembered for the error message."""
    given = {setting.word for setting in settings}
    found: Option | None = None
    for each in function.options:
        alternatives = each.options if isinstance(each, Choice) else (each,)
        chosen = next((option.word for option in alternatives if option.word in given), None)
        for option in alternatives:
            if option.positional and not spelled:
                continue
            if _at(cursor, option.word):
                if chosen is not None:
                    _refuse_second(cursor, option.word, chosen)
                if found is None or len(option.word.split()) > len(found.word.split()):
                    found = option
            elif chosen is None:
                cursor.expected.append(option.word)
    return found


def _at(cursor: Cursor, word: str) -> bool:
    return all(cursor.peek(place).key == part for place, part in enumerate(word.split()))


def _refuse_second(cursor: Cursor, word: str, chosen: str) -> None:
    message = f"{word} stands twice" if word == chosen else f"{chosen} and {word} exclude each other"
    cursor.refuse(message, cursor.token.span, hint="leave one of them out")


def _setting(cursor: Cursor, option: Option, start: int) -> ast.Setting:
    values: list[ast.Amount | ast.Amounts | ast.Shapes | ast.ShapeOf | ast.Name | ast.Word] = []
    for piece in option.pieces:
        if isinstance(piece, OptionKind):
            values.append(_value(cursor, option, piece))
        else:
            values.append(ast.Word(piece, span=cursor.expect(piece).span))
    return ast.Setting(option.word, tuple(values), option.positional, span=cursor.span_from(start))


def _value(
    cursor: Cursor, option: Option, kind: OptionKind
) -> ast.Amount | ast.Amounts | ast.Shapes | ast.ShapeOf | ast.Name:
    match kind:
        case OptionKind.DURATION:
            return parse_duration(cursor)
        case OptionKind.DISTANCE:
            return _distance(cursor, option)
        case OptionKind.NAME:
            return parse_name(cursor)
        case OptionKind.LIST:
            return parse_numbers(cursor, option)
        case OptionKind.SHAPES:
            return _shapes(cursor, option)
        case _:
            return _number(cursor, option, kind)


def parse_numbers(cursor: Cursor, option: Option) -> ast.Amounts:
    """`(1, 2.5)`."""
    start = cursor.expect("(").start
    numbers = [_number(cursor, option, OptionKind.NUMBER)]
    while cursor.accept(","):
        numbers.append(_number(cursor, option, OptionKind.NUMBER))
    cursor.expect(")")
    return ast.Amounts(tuple(numbers), span=cursor.span_from(start))


def _shapes(cursor: Cursor, option: Option) -> ast.Amounts | ast.Shapes | ast.ShapeOf | ast.Name:
    """`(1, 2, 1)`, `('spike' (0, 4, 0), 'step' (0, 1))`, `OF 7 AT 'time'`, or the name of a table."""
    start = cursor.token.start
    if (cursor.at("OF") and cursor.peek().kind in (INT, STRING)) or (
        cursor.at("OF") and cursor.peek().key == "-"
    ):
        cursor.advance()
        source: int | str
        if cursor.token.kind is STRING:
            source = cursor.string()
        else:
            negative = cursor.accept("-")
            source = int(parse_number(cursor, negative=bool(negative)))
        cursor.expect("AT")
        return ast.ShapeOf(source, cursor.string(), span=cursor.span_from(start))
    if cursor.at_name():
        return parse_name(cursor)
    if not cursor.at("("):
        cursor.fail("an example", hint=option.hint)
    if cursor.peek().kind is not STRING:
        return parse_numbers(cursor, option)
    cursor.expect("(")
    shapes = [_shape(cursor, option)]
    while cursor.accept(","):
        shapes.append(_shape(cursor, option))
    cursor.expect(")")
    return ast.Shapes(tuple(shapes), span=cursor.span_from(start))


def _shape(cursor: Cursor, option: Option) -> ast.Shape:
    start = cursor.token.start
    name = cursor.string()
    return ast.Shape(name, parse_numbers(cursor, option), span=cursor.span_from(start))


def _number(cursor: Cursor, option: Option, kind: OptionKind) -> ast.Amount:
    """A number, or a parameter's name; a sign is allowed only if the value may be negative."""
    start = cursor.token.start
    negative = cursor.at("-") and (option.least is None or option.least < 0)
    if negative:
        cursor.advance()
    number = (INT,) if kind is OptionKind.WHOLE else (INT, FLOAT)
    label = "a whole number" if kind is OptionKind.WHOLE else "a number"
    count: int | float | str
    if cursor.token.kind in number:
        count = parse_number(cursor, negative=negative)
    elif cursor.at_name() and not negative and cursor.token.kind is not FLOAT:
        count = cursor.name(label)
    else:
        cursor.fail(label, "a parameter", hint=option.hint)
    return ast.Amount(count, span=cursor.span_from(start))


def _distance(cursor: Cursor, option: Option) -> ast.Amount:
    """A number, or a parameter's name, and perhaps a unit of length: 60 KM."""
    start = cursor.token.start
    count = _number(cursor, option, OptionKind.NUMBER).count
    unit = cursor.accept_any(*DISTANCE_UNITS)
    return ast.Amount(count, unit, span=cursor.span_from(start))
