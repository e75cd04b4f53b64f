"""Columns -> a column, by a function of the user's: `numpy:cbrt`.

A row with a NULL argument gives NULL, and the function never sees it. A row for which the function raises fails with the
reason; the others have their values. Large columns go to the worker in parts, so that a limit of time is one on a part.
"""

from __future__ import annotations

import atexit
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from threading import Lock
from typing import Any

import numpy as np

from nilometer.errors import ConfigurationError
from nilometer.types import Kind, Type
from nilometer.workers.settings import python_settings
from nilometer.workers.worker import START, Worker

PART = 10_000
"""The rows that a worker is given at once."""
MOST_WORKERS = 8
"""So many modules have a worker at once; beyond it, the one that was not used for longest ends."""
KINDS = {
    Kind.FLOAT: np.dtype("<f8"),
    Kind.INT: np.dtype("<i8"),
    Kind.TIME: np.dtype("<i8"),
    Kind.BOOLEAN: np.dtype("?"),
    Kind.STRING: np.dtype(object),
}
"""The types that a function takes and gives, besides vectors of numbers."""


@dataclass(frozen=True)
class Argument:
    """A column without NULLs: an array of n values, or of n x size for vectors. STRINGs are objects."""

    type: Type
    values: Any


@dataclass(frozen=True)
class Values:
    """The values of a call. `failed` are rows without a value, by reason."""

    values: Any
    nulls: Any
    failed: dict[str, list[int]] = field(default_factory=dict)


def call(reference: str, arguments: Sequence[Argument], returns: Type, rows: int) -> Values:
    """The values of a function in every row. Raises if it takes too long or too much, or breaks its declaration."""
    parts = [
        _part(reference, arguments, returns, first, min(first + PART, rows)) for first in range(0, rows, PART)
    ]
    if not parts:
        return Values(
            np.zeros((0, returns.size) if returns.size else 0, dtype=dtype_of(returns)),
            np.zeros(0, dtype=bool),
        )
    failed: dict[str, list[int]] = {}
    for place, part in enumerate(parts):
        for reason, found in part.failed.items():
            failed.setdefault(reason, []).extend(place * PART + row for row in found)
    values = np.concatenate([part.values for part in parts])
    return Values(values, np.concatenate([part.nulls for part in parts]), failed)


def check(reference: str) -> None:
    """Import the function in a worker. Raises if there is none."""
    with _turn:
        try:
            _worker(reference).request(
                f"the function {reference}", {"do": "check", "function": reference}, b"", START
            )
            _known.add(reference)
        except Exception:
            _drop(reference)
            raise


def dtype_of(type_: Type) -> np.dtype[Any]:
    """The dtype of a column, or of the elements of its vectors."""
    return KINDS[type_.element.kind if type_.element is not None else type_.kind]


def _part(reference: str, arguments: Sequence[Argument], returns: Type, first: int, last: int) -> Values:
    heads, given = packed(arguments, first, last)
    settings = python_settings()
    head = {
        "do": "call",
        "function": reference,
        "rows": last - first,
        "arguments": heads,
        "returns": described(returns),
        "seconds": settings.seconds,
    }
    with _turn:
        if reference not in _known or not _alive(reference):
            _turn.release()
            try:
                check(reference)
            finally:
                _turn.acquire()
        worker = _worker(reference)
        reply, body = worker.request(f"the function {reference}", head, given, settings.clock)
    return _values(reply, body, returns, last - first)


def packed(arguments: Sequence[Argument], first: int, last: int) -> tuple[list[dict[str, Any]], bytes]:
    """Some rows of the arguments, for the worker: a description of each, with its texts, and all numbers."""
    heads, bodies = [], []
    for argument in arguments:
        one = described(argument.type)
        column = argument.values[first:last]
        if one["kind"] == "STRING":
            one["values"] = column.tolist()
        else:
            bodies.append(np.ascontiguousarray(column, dtype=dtype_of(argument.type)).tobytes())
        heads.append(one)
    return heads, b"".join(bodies)


def described(type_: Type) -> dict[str, Any]:
    """A type, for the worker."""
    element = type_.element if type_.element is not None else type_
    return {"kind": str(element.kind), "size": type_.size}


def _values(reply: dict[str, Any], body: bytes, returns: Type, rows: int) -> Values:
    places, codes = reply["failed"]
    failed: dict[str, list[int]] = {}
    for place, code in sorted(zip(places, codes, strict=True)):
        failed.setdefault(reply["reasons"][code], []).append(place)
    nulls = np.frombuffer(body, dtype=bool, count=rows, offset=len(body) - rows)
    if returns.kind is Kind.STRING:
        values = np.array(reply["values"], dtype=object)
    else:
        values = np.frombuffer(body[: len(body) - rows], dtype=dtype_of(returns))
    return Values(values.reshape(rows, returns.size) if returns.size else values, nulls, failed)


# ---- the workers -----------------------------------------------------------------------------------------------------

_turn = Lock()
_workers: dict[str, Worker] = {}
_known: set[str] = set()
"""The functions that their worker has imported: only the first call may take as long as an import."""
_owner: list[int] = []


def _module(reference: str) -> str:
    module, colon, name = reference.partition(":")
    if not (module and colon and name):
        raise ConfigurationError(f"'{reference}' names no function", hint="write 'module:function'")
    return module


def _alive(reference: str) -> bool:
    return _owner == [os.getpid()] and (found := _workers.get(_module(reference))) is not None and found.alive


def _worker(reference: str) -> Worker:
    """The worker of the function's module, which was used last from now on."""
    if _owner != [os.getpid()]:  # a fork has the pipes of its parent's workers, which are not its own
        _workers.clear()
        _known.clear()
        _owner[:] = [os.getpid()]
        atexit.register(close_all)
    module = _module(reference)
    worker = _workers.pop(module, None)
    if worker is None or not worker.alive or worker.settings != python_settings():
        if worker is not None:
            _forget(module)
            worker.close()
        while len(_workers) >= MOST_WORKERS:
            oldest = next(iter(_workers))
            _forget(oldest)
            _workers.pop(oldest).close()
        worker = Worker(python_settings())
    _workers[module] = worker
    return worker


def _drop(reference: str) -> None:
    worker = _workers.pop(_module(reference), None)
    _forget(_module(reference))
    if worker is not None:
        worker.close()


def _forget(module: str) -> None:
    _known.difference_update([one for one in _known if _module(one) == module])


def renew(reference: str) -> None:
    """End the worker of the function's module, so that the next call imports it again."""
    with _turn:
        if _owner == [os.getpid()]:
            _drop(reference)


def close_all() -> None:
    """End all workers of this process."""
    if _owner == [os.getpid()]:
        for worker in _workers.values():
            worker.close()
        _workers.clear()
        _known.clear()
