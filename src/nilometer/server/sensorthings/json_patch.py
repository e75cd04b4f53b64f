"""JSON Patch, RFC 6902.

>>> patched(
...     {"name": "a", "properties": {"x": [1, 2]}}, [{"op": "replace", "path": "/properties/x/1", "value": 5}]
... )
{'name': 'a', 'properties': {'x': [1, 5]}}
"""

from __future__ import annotations

import copy
from typing import Any

from nilometer.errors import ConfigurationError

MOST = 1_000
"""The most operations of a patch."""


def patched(document: Any, operations: Any) -> Any:
    """The document after all operations."""
    if not isinstance(operations, list) or len(operations) > MOST:
        raise ConfigurationError(f"a JSON Patch is a list of at most {MOST} operations")
    found = copy.deepcopy(document)
    for operation in operations:
        if not isinstance(operation, dict):
            raise ConfigurationError("an operation of a JSON Patch is an object")
        try:
            found = _applied(found, operation)
        except (KeyError, IndexError, ValueError, TypeError):
            raise ConfigurationError(
                "an operation of the JSON Patch does not fit", detail=str(operation)[:200]
            ) from None
    return found


def _applied(document: Any, operation: dict[str, Any]) -> Any:
    path = _steps(operation["path"])
    match operation["op"]:
        case "add":
            return _add(document, path, operation["value"])
        case "remove":
            return _remove(document, path)[0]
        case "replace":
            return _add(_remove(document, path)[0], path, operation["value"])
        case "move":
            rest, value = _remove(document, _steps(operation["from"]))
            return _add(rest, path, value)
        case "copy":
            return _add(document, path, copy.deepcopy(_at(document, _steps(operation["from"]))))
        case "test":
            if _at(document, path) != operation["value"]:
                raise ValueError("a test failed")
            return document
    raise ValueError("an unknown operation")


def _steps(pointer: str) -> list[str]:
    if pointer and not pointer.startswith("/"):
        raise ValueError("a pointer begins with /")
    return [step.replace("~1", "/").replace("~0", "~") for step in pointer.split("/")[1:]]


def _at(document: Any, steps: list[str]) -> Any:
    for step in steps:
        document = document[_place(document, step)]
    return document


def _place(holder: Any, step: str) -> Any:
    if not isinstance(holder, list):
        return step
    if not step.isdecimal():
        raise ValueError("a place in a list is a number")
    return int(step)


def _add(document: Any, steps: list[str], value: Any) -> Any:
    if not steps:
        return value
    holder = _at(document, steps[:-1])
    if isinstance(holder, list):
        place = len(holder) if steps[-1] == "-" else _place(holder, steps[-1])
        if place > len(holder):
            raise IndexError
        holder.insert(place, value)
    else:
        holder[steps[-1]] = value
    return document


def _remove(document: Any, steps: list[str]) -> tuple[Any, Any]:
    if not steps:
        return None, document
    holder = _at(document, steps[:-1])
    return document, holder.pop(_place(holder, steps[-1]))
