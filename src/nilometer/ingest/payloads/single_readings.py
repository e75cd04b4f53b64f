"""The text of each reading in a message that holds several: so each garbled one is a dead letter of its own.

An array in JSON is cut at its items, CSV and Influx at their lines; a header stays with every line. The law: a part is
a payload of the same format that holds this one reading, or there are no parts (None).

>>> singles('[{"x": 1}, {"x": 1e400}]', "json", 2)
['{"x": 1}', '{"x": 1e400}']
>>> singles("time,x\\n1,2\\n3,a", "csv", 2)
['time,x\\n1,2', 'time,x\\n3,a']
"""

from __future__ import annotations

import json
import re

_DECODER = json.JSONDecoder(parse_int=str, parse_float=str)
_BETWEEN = re.compile(r"[\s,]*")


def singles(text: str, kind: str, readings: int) -> list[str] | None:
    """The parts of a message that was read as so many readings; None if it cannot be cut so."""
    match kind:
        case "json":
            found = _items(text)
        case "csv":
            found = _lines(text)
            if len(found) == readings + 1:
                found = [f"{found[0]}\n{line}" for line in found[1:]]
        case "influx":
            found = [line for line in _lines(text) if not line.startswith("#")]
        case _:
            found = []
    return found if len(found) == readings else None


def _lines(text: str) -> list[str]:
    return [line for each in text.split("\n") if (line := each.strip(" \r"))]


def _items(text: str) -> list[str]:
    """The items of an array, as they were written. The array is known to be one."""
    found: list[str] = []
    at = 1
    try:
        while text[(at := _match_end(text, at))] != "]":
            _, end = _DECODER.raw_decode(text, at)
            found.append(text[at:end])
            at = end
    except (ValueError, IndexError, RecursionError):
        return []
    return found


def _match_end(text: str, at: int) -> int:
    found = _BETWEEN.match(text, at)
    assert found is not None
    return found.end()
