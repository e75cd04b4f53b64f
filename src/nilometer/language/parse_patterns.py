"""Parses patterns that are regular expressions of ours: RLIKE, REGEXP, SIMILAR TO, and LIKE with ESCAPE.

>>> from nilometer.language.parser import parse_expression
>>> parse_expression("kind RLIKE '^g'") == parse_expression("regexp_like(kind, '^g')")
True
"""

from __future__ import annotations

import re

from nilometer.errors import Span
from nilometer.language import ast
from nilometer.language.cursor import Cursor
from nilometer.language.lexer import Token

_ANY = r"(.|\n)"


def special_pattern(
    cursor: Cursor, word: str, text: ast.Expression, pattern: ast.Expression, place: Token
) -> ast.Expression | None:
    """The condition on `text`; None for a LIKE or ILIKE without ESCAPE. The word and the pattern are already read."""
    escape = None
    if word in ("LIKE", "ILIKE", "SIMILAR") and cursor.at("ESCAPE"):
        cursor.advance()
        escape = cursor.string("the character in single quotes")
        if len(escape) != 1:
            cursor.refuse("ESCAPE takes one character", place.span, "such as LIKE '50!%' ESCAPE '!'")
    if word in ("RLIKE", "REGEXP"):
        return _matches(text, pattern, word, place)
    if word != "SIMILAR" and escape is None:
        return None
    if not isinstance(pattern, ast.Constant) or not isinstance(pattern.value, str):
        cursor.refuse("the pattern is constant text", pattern.span, "such as 'gauge-%'")
    written = _regular(pattern.value, escape, similar=word == "SIMILAR")
    return _matches(text, ast.Constant(written, span=pattern.span), word, place)


def _matches(text: ast.Expression, pattern: ast.Expression, word: str, place: Token) -> ast.Expression:
    arguments = (text, pattern, *([ast.Constant("i", span=pattern.span)] if word == "ILIKE" else []))
    span = Span(text.span.start, place.end)
    return ast.FunctionCall("regexp_like", arguments, span=span)


def _regular(pattern: str, escape: str | None, *, similar: bool) -> str:
    """The regular expression for all of the text."""
    written, place = "", 0
    while place < len(pattern):
        letter = pattern[place]
        if letter == escape and place + 1 < len(pattern):
            place += 1
            written += re.escape(pattern[place])
        elif letter in "%_":
            written += _ANY + ("*" if letter == "%" else "")
        elif (similar and letter in "|*+?{}()[]^-") or (similar and letter.isdigit()):
            written += letter
        else:
            written += re.escape(letter)
        place += 1
    return f"^({written})$"
