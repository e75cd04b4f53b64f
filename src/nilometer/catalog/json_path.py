"""JSON paths: where in a message a value stands. A small, exact subset of RFC 9535.

`$` is the message. `.name` and `['name']` give the field of an object, `[n]` the n-th item of an array, counted
from 0. In brackets, `''` stands for one quote. There are no wildcards, no filters and no negative numbers.

>>> parse_path("$.DS18B20.Temperature"), parse_path("$['PM2.5 (ug/m3)'][0]")
(('DS18B20', 'Temperature'), ('PM2.5 (ug/m3)', 0))
>>> print_path(("obs", 0, "PM2.5"))
"$.obs[0]['PM2.5']"
"""

from __future__ import annotations

import re

from nilometer.errors import CatalogError

Path = tuple[str | int, ...]
"""The steps from the message to a value: names of fields and places in arrays."""

LIMIT = 64
"""The most steps of a path. Real messages are nested a few levels deep."""

_NAME = re.compile(r"[^\W\d][\w-]*")
_STEP = re.compile(
    r"\.(?P<name>[\w-]+)|\[(?P<place>\d{1,9})\]|\[(?:'(?P<single>(?:[^']|'')*)'|\"(?P<double>[^\"]*)\")\]"
)


class PathError(CatalogError):
    """A path that cannot be read; `place` is the offset of the culprit in the text."""

    def __init__(self, message: str, place: int, hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.place = place


def is_path(text: str) -> bool:
    """Whether the text is meant as a path, not as the name of a field."""
    return text.startswith("$")


def parse_path(text: str) -> Path:
    """The steps of a path; raises a PathError."""
    if not is_path(text):
        raise PathError(f"the path '{text}' does not begin with $", 0, "write it such as '$.obs'")
    steps: list[str | int] = []
    place = 1
    while place < len(text):
        found = _STEP.match(text, place)
        if found is None:
            raise PathError(f"'{text[place:]}' is no step of a JSON path", place, _hint(text, place))
        if found["place"] is not None:
            steps.append(int(found["place"]))
        elif found["name"] is not None:
            steps.append(found["name"])
        else:
            steps.append(
                found["single"].replace("''", "'") if found["single"] is not None else found["double"]
            )
        place = found.end()
    if len(steps) > LIMIT:
        raise PathError(f"a JSON path of {len(steps)} steps", 0, f"the most is {LIMIT}")
    return tuple(steps)


def _hint(text: str, place: int) -> str:
    rest = text[place:]
    if rest.startswith((".*", "[*", "..")):
        return "a path leads to one value; EACH names the array of a message with several readings"
    if rest.startswith("[-"):
        return "items are counted from 0 at the front"
    if rest.startswith("."):
        return "put a name with other characters into brackets: $['PM2.5 (ug/m3)']"
    return "the steps are .name, ['name'] and [0]"


def print_path(path: Path) -> str:
    """The text of a path; `parse_path` reads it back."""
    return "$" + "".join(map(_printed, path))


def _printed(step: str | int) -> str:
    if isinstance(step, int):
        return f"[{step}]"
    if _NAME.fullmatch(step):
        return f".{step}"
    quoted = step.replace("'", "''")
    return f"['{quoted}']"
