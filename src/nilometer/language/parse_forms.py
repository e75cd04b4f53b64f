"""Parses what a declaration says about the form of its data: FROM in a column, EACH, FORMAT.

>>> from nilometer.language.cursor import Cursor
>>> parse_format(Cursor("CSV (HEADER OFF, NULL ('NA', '-'))")).options[1]
FormatOption(word='NULL', value=('NA', '-'))
"""

from __future__ import annotations

from nilometer.language import ast
from nilometer.language.cursor import INT, STRING, Cursor
from nilometer.language.vocabulary import FORMAT_KINDS, FORMAT_WORDS


def parse_origin(cursor: Cursor) -> ast.Origin:
    """A field's name, bare or in single quotes, or a JSON path in single quotes."""
    start = cursor.token.start
    if cursor.token.kind is STRING:
        return ast.Origin(cursor.string(), span=cursor.span_from(start))
    label = "a field's name, or a JSON path in single quotes"
    if cursor.at("("):
        cursor.fail(
            label, hint="of two fields, a view makes a point: SELECT *, point(lon, lat) AS location FROM s"
        )
    name = cursor.name(label)
    if name.startswith("$"):
        # Only a string is a path: in double quotes this is the name of one field.
        quoted = name.replace("'", "''")
        name = f"$['{quoted}']"
    return ast.Origin(name, span=cursor.span_from(start))


def parse_each(cursor: Cursor) -> ast.Origin:
    """The path of an array, in single quotes."""
    start = cursor.token.start
    return ast.Origin(cursor.string("a JSON path in single quotes: '$.obs'"), span=cursor.span_from(start))


def parse_format(cursor: Cursor) -> ast.Format:
    """`CSV (HEADER OFF, DELIMITER ';')`, behind the word FORMAT."""
    start = cursor.token.start
    kind = cursor.expect_any(*FORMAT_KINDS)
    options: list[ast.FormatOption] = []
    if cursor.accept("(", "options in parentheses"):
        while True:
            option = _option(cursor)
            if any(option.word == other.word for other in options):
                cursor.refuse(f"{option.word} stands twice", option.span, "keep one of them")
            options.append(option)
            if not cursor.accept(","):
                break
        cursor.expect(")")
    return ast.Format(kind, tuple(options), span=cursor.span_from(start))


def _option(cursor: Cursor) -> ast.FormatOption:
    start = cursor.token.start
    word = cursor.expect_any(*FORMAT_WORDS)
    value: str | int | bool | tuple[str, ...]
    match word:
        case "HEADER":
            value = cursor.expect_any("ON", "OFF") == "ON"
        case "SKIP":
            if cursor.token.kind is not INT:
                cursor.fail("a number of lines", hint="write a whole number: SKIP 3")
            value = int(cursor.advance().text)
        case "NULL":
            value = _texts(cursor)
        case "TIME":
            cursor.expect("FORMAT")
            word, value = "TIME FORMAT", cursor.string("a format in single quotes: '%d/%m/%Y %H:%M'")
        case _:
            value = cursor.string()
    return ast.FormatOption(word, value, span=cursor.span_from(start))


def _texts(cursor: Cursor) -> tuple[str, ...]:
    if not cursor.accept("(", "texts in parentheses"):
        return (cursor.string(),)
    texts = [cursor.string()]
    while cursor.accept(","):
        texts.append(cursor.string())
    cursor.expect(")")
    return tuple(texts)
