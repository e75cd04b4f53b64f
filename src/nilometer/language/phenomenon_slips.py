"""What newcomers write in the definition of a phenomenon, and what is meant.

`slip` is asked where the options end: by a word that is none, or by what follows the definition.

>>> from nilometer.language.cursor import Cursor
>>> slip(Cursor("> 35 RANGE 1 HOUR"), None)
'write ABOVE 35'
"""

from __future__ import annotations

from nilometer.language.cursor import FLOAT, INT, STRING, WORD, Cursor

_ABOVE = (">", ">=", "OVER", "GREATER", "MORE", "EXCEEDS", "EXCEEDING")
_BELOW = ("<", "<=", "UNDER", "LESS")
_BOUNDS = ("ABOVE", "BELOW", "BETWEEN", "BUCKET", "WITHIN", "FROM")


def slip(cursor: Cursor, option: str | None) -> str | None:
    """A hint for the word at which the options ended; None if it is no common mistake. `option` is the last one."""
    found, behind = cursor.token, cursor.peek()
    number = behind.text if behind.kind in (INT, FLOAT) else "35"
    if found.key in _ABOVE:
        return f"write ABOVE {number}"
    if found.key in _BELOW:
        return f"write BELOW {number}"
    if found.key in ("=", "IS"):
        return "write EQUAL for readings of one value, or BETWEEN 20 AND 30"
    if found.key == "NEIGHBORS":
        word = behind.key if behind.key in ("WITHIN", "BY", "ALL") else "WITHIN"
        return f"did you mean NEIGHBOURS {word}?"
    if found.key in ("NEAR", "DISTANCE", "RADIUS"):
        return "write NEIGHBOURS WITHIN 2 KM"
    if found.key == "[":
        return "in a definition, RANGE and SLIDE stand without brackets: RANGE 3 HOURS SLIDE 1 HOUR"
    before = cursor.tokens[cursor.index - 1]
    unit = (
        found.kind is STRING
        or found.key == "%"
        or (found.kind is WORD and (len(found.text) <= 3 or behind.key == "/"))
    )
    if option in _BOUNDS and before.kind in (INT, FLOAT) and unit:
        return "a bound is in the unit of the column: write the number alone"
    return None
