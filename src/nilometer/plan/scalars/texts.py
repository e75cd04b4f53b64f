"""Functions of text, value by value. Positions count characters from 1."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

from nilometer.algebra.regular_expression import parse_pattern, parse_replacement
from nilometer.algebra.text_format import parse_text_format


def _substring(text: str, start: int, length: int | None = None) -> str:
    """The characters at the positions `start` to `start + length - 1`; positions outside the text are empty."""
    end = len(text) + 1 if length is None else start + length
    return text[max(start, 1) - 1 : max(end, 1) - 1]


def _replace(text: str, old: str, new: str) -> str:
    return text.replace(old, new) if old else text


def _split_part(text: str, separator: str, number: int) -> str:
    """The part of that number; from the end if it is negative; '' where there is none."""
    parts = text.split(separator) if separator else [text]
    if number == 0 or abs(number) > len(parts):
        return ""
    return parts[number - 1 if number > 0 else number]


def _left(text: str, count: int) -> str:
    """The first characters; for a negative count all but so many of the last."""
    return text[:count]


def _right(text: str, count: int) -> str:
    """The last characters; for a negative count all but so many of the first."""
    return text[max(len(text) - count, 0) :] if count >= 0 else text[-count:]


def _pad(text: str, length: int, fill: str, before: bool) -> str:
    """The text with as much fill as makes it so long; a longer text loses its last characters."""
    missing = max(length, 0) - len(text)
    if missing <= 0 or not fill:
        return text[: max(length, 0)]
    padding = (fill * (missing // len(fill) + 1))[:missing]
    return padding + text if before else text + padding


def _matches(text: str, pattern: str, flags: str) -> Iterator[re.Match[str]]:
    """All matches. An empty match directly behind another match does not count, as in Rust's engine."""
    end = -1
    for match in re.finditer(parse_pattern(pattern, "i" in flags).python, text):
        if match.end() > match.start() or match.start() != end:
            yield match
        end = match.end()


def _regexp_like(text: str, pattern: str, flags: str = "") -> bool:
    return next(_matches(text, pattern, flags), None) is not None


def _regexp_replace(text: str, pattern: str, replacement: str, flags: str = "") -> str:
    """The first match replaced, or with the flag g all of them."""
    parts = parse_replacement(replacement, parse_pattern(pattern).groups)
    result, end = "", 0
    for match in _matches(text, pattern, flags):
        written = (part if isinstance(part, str) else match.group(part) or "" for part in parts)
        result += text[end : match.start()] + "".join(written)
        end = match.end()
        if "g" not in flags:
            break
    return result + text[end:]


def _regexp_extract(text: str, pattern: str, group: int = 0) -> str | None:
    match = next(_matches(text, pattern, ""), None)
    return None if match is None else match.group(group)


def _format(template: str, *values: Any) -> str:
    pieces = parse_text_format(template, len(values))
    return "".join(
        text if index is None else text + format(values[index], specification)
        for text, index, specification in pieces
    )


TEXTS: dict[str, Callable[..., Any]] = {
    "substring": _substring,
    "replace": _replace,
    "trim": lambda text, characters=" ": text.strip(characters),
    "ltrim": lambda text, characters=" ": text.lstrip(characters),
    "rtrim": lambda text, characters=" ": text.rstrip(characters),
    "split_part": _split_part,
    "strpos": lambda text, sought: text.find(sought) + 1,
    "left": _left,
    "right": _right,
    "lpad": lambda text, length, fill=" ": _pad(text, length, fill, before=True),
    "rpad": lambda text, length, fill=" ": _pad(text, length, fill, before=False),
    "starts_with": str.startswith,
    "ends_with": str.endswith,
    "contains": lambda text, sought: sought in text,
    "format": _format,
    "regexp_like": _regexp_like,
    "regexp_replace": _regexp_replace,
    "regexp_extract": _regexp_extract,
}
