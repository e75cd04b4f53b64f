"""Escapes what sensors send before it reaches a terminal.

Control characters, ANSI escapes, and characters that change the direction of writing or cannot be seen are printed
as escapes. So a reading can neither move the cursor, nor forge a line, nor hide a part of itself.

>>> print(printable("red\\x1b[31m, two\\nlines, caf\\u00e9"))
red\\x1b[31m, two\\nlines, café
>>> print(printable("evil\\u202etxt"), printable_json('"\\u009b31m"'))
evil\\u202etxt "\\u009b31m"
"""

from __future__ import annotations

import re

_HARMFUL = (
    r"\x00-\x1f\x7f-\x9f"  # C0, DEL and C1, which holds an 8-bit form of the escapes
    r"\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"  # invisible, or of direction
    r"\ud800-\udfff\U000e0000-\U000e007f"  # lone surrogates, invisible tags
)
_IN_A_VALUE = re.compile(f"[{_HARMFUL}]")
_IN_A_TEXT = re.compile(f"(?!\n)[{_HARMFUL}]")
_NAMED = {"\n": r"\n", "\r": r"\r", "\t": r"\t"}


def printable(text: str) -> str:
    """One value, on one line."""
    return _IN_A_VALUE.sub(_escaped, text)


def printable_text(text: str) -> str:
    """A text that may have several lines of its own."""
    return _IN_A_TEXT.sub(_escaped, text)


def printable_json(line: str) -> str:
    """A line of JSON. In JSON such characters occur only within strings, where an escape means the same."""
    return _IN_A_VALUE.sub(_json_escaped, line)


def _escaped(match: re.Match[str]) -> str:
    character = match[0]
    if character in _NAMED:
        return _NAMED[character]
    code = ord(character)
    return f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}" if code < 65_536 else f"\\U{code:08x}"


def _json_escaped(match: re.Match[str]) -> str:
    code = ord(match[0])
    if code < 65_536:
        return f"\\u{code:04x}"
    high, low = divmod(code - 65_536, 1024)
    return f"\\u{0xD800 + high:04x}\\u{0xDC00 + low:04x}"
