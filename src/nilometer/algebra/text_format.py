"""The format of `format('{} is {:.1f}', a, b)` -> its parts, as in Python and DuckDB.

>>> parse_text_format("{} is {:.1f} {{cm}}", 2)
(('', 0, ''), (' is ', 1, '.1f'), (' {', None, ''), ('cm}', None, ''))
"""

from __future__ import annotations

import re
from string import Formatter

Piece = tuple[str, int | None, str]
"""Text, then the number of an argument (None for no argument) and how it is written."""

SPECIFICATION = re.compile(r"(?:.?[<>^])?[+]?0?[0-9]{0,3}(?:\.[0-9]{1,2})?[dfeg%]?")


def parse_text_format(text: str, count: int) -> tuple[Piece, ...]:
    """The pieces of a format for so many arguments; a ValueError says what is wrong."""
    pieces: list[Piece] = []
    following = 0
    try:
        parsed = list(Formatter().parse(text))
    except ValueError:
        raise ValueError("braces stand in pairs; a brace itself is written '{{' or '}}'") from None
    for literal, name, specification, conversion in parsed:
        if name is None:
            pieces.append((literal, None, ""))
            continue
        if conversion or (name and not (name.isascii() and name.isdigit())):
            raise ValueError(f"'{{{name}}}' means nothing: write {{}}, or {{0}} for the first argument")
        index = int(name) if name else following
        following += 1
        if index >= count:
            raise ValueError(f"the format has more places than values: there are {count}")
        if not SPECIFICATION.fullmatch(specification or ""):
            raise ValueError(f"'{{:{specification}}}' means nothing: write {{:.2f}}, {{:8}} or {{:05d}}")
        pieces.append((literal, index, specification or ""))
    return tuple(pieces)
