"""A place where parsing stopped -> an error that a newcomer can act on.

The message says what could stand there and what was found; the hint names the slip behind it, if it is a usual one.

>>> from nilometer.language import parse
>>> parse("SELECT depth FORM river")
Traceback (most recent call last):
nilometer.errors.QuerySyntaxError: expected FROM or ',', found 'FORM'
  line 1, column 14
    SELECT depth FORM river
                 ^^^^
  hint: did you mean FROM?
"""

from __future__ import annotations

from difflib import get_close_matches

from nilometer.errors import QuerySyntaxError
from nilometer.language.cursor import Cursor


def syntax_error(cursor: Cursor, hint: str | None) -> QuerySyntaxError:
    """The error for the cursor's place."""
    return QuerySyntaxError(f"expected {cursor.expected}, found {cursor.token.text!r}", hint=hint).at(cursor.text, cursor.token.span)
