"""Units: code of users with a state, each in a worker process of its own.

A unit is found by its name in the entry point group `nilometer.units` of an installed package, or as `module:Class` of a
module that nilometer.toml allows: one in its directory `path`, or one of its `modules`.
"""

from __future__ import annotations

import atexit
import os
import weakref
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.metadata import entry_points
from pathlib import Path
from threading import RLock
from typing import Any

import numpy as np

from nilometer.errors import ConfigurationError, DataError
from nilometer.types import Column, Kind, Type, vector_of
from nilometer.workers.functions import KINDS, PART, Argument, dtype_of, packed
from nilometer.workers.settings import PythonSettings, python_settings
from nilometer.workers.worker import CHILD, START, Worker

GROUP = "nilometer.units"
BUILT_IN = {"differences": "nilometer.workers.example_unit:Differences"}
SCRIPT = CHILD.with_name("unit_child.py")
OWN = ("time", "id", "row")
"""The names that a unit's columns cannot have: each of its rows has the time and the id of the row it was made for."""


@dataclass(frozen=True)
class Description:
    """What a unit says of itself: the columns that it gives, the types that it takes, whether each source can be
    computed on its own, and its version, if it names one."""

    reference: str
    columns: tuple[Column, ...]
    inputs: tuple[Type, ...]
    each: bool
    version: str = ""


@dataclass(frozen=True)
class Rows:
    """Rows that a unit gave. `places` are the rows for which it gave them; columns come with which elements are NULL."""

    places: Any
    columns: tuple[tuple[Any, Any], ...]


def find_unit(name: str) -> str:
    """The `module:Class` of a unit; refuses one that nobody has allowed."""
    settings = python_settings()
    if ":" not in name:
        found = BUILT_IN | {one.name: one.value for one in entry_points(group=GROUP)}
        if name not in found:
            known = ", ".join(sorted(found))
            raise ConfigurationError(
                f"no unit '{name}'",
                detail=f"installed are: {known}",
                hint="a package names its units in the entry points nilometer.units; or write 'module:Class'",
            )
        return found[name]
    module = name.partition(":")[0]
    if not settings.allows(module) and not _inside(module, settings):
        raise ConfigurationError(
            f"the unit '{name}' is not allowed",
            hint="put its module into the directory `path` of [python] in nilometer.toml, or list it in `modules`",
        )
    return name


def _inside(module: str, settings: PythonSettings) -> bool:
    if not settings.path or not all(part.isidentifier() for part in module.split(".")):
        return False
    place = Path(settings.path, *module.split("."))
    return place.with_suffix(".py").is_file() or (place / "__init__.py").is_file()


def describe(reference: str, numbers: tuple[float, ...] = ()) -> Description:
    """What a unit says of itself."""
    return _describe(reference, numbers, python_settings())


@lru_cache(maxsize=100)
def _describe(reference: str, numbers: tuple[float, ...], _settings: PythonSettings) -> Description:
    process = UnitProcess(reference, numbers)
    try:
        return process.description
    finally:
        process.close()


class UnitProcess:
    """A unit at work. It ends with this object."""

    def __init__(self, reference: str, numbers: Sequence[float] = ()) -> None:
        self._what = f"the unit {reference}"
        self._failed = False
        self._settings = python_settings()
        self._worker = _taken(reference, self._settings)
        self._end = weakref.finalize(self, _given_back, reference, self._worker)
        self._open = {"do": "open", "unit": reference, "numbers": list(numbers), "seconds": START}
        try:
            reply, _ = self._worker.request(self._what, self._open, b"", START)
            self.description = _description(reference, reply)
        except Exception:
            self._worker.close()
            raise

    @property
    def alive(self) -> bool:
        """Whether it can go on after an error: its code raised, and `begin_again` sets it right."""
        return self._worker.alive

    def begin_again(self, state: bytes | None) -> None:
        """Make a new unit in the same process, with a state that was saved."""
        self._worker.request(self._what, self._open, b"", START)
        self._failed = False
        if state is not None:
            self.restore(state)

    def update(self, arguments: Sequence[Argument], rows: int) -> Rows:
        """The rows that it gives for some rows: the columns time and id, and those that it takes."""
        parts = [self._part(arguments, first, min(first + PART, rows)) for first in range(0, rows, PART)] or [
            self._part(arguments, 0, 0)
        ]
        columns = tuple(
            (
                np.concatenate([part.columns[place][0] for part in parts]),
                np.concatenate([part.columns[place][1] for part in parts]),
            )
            for place in range(len(self.description.columns))
        )
        return Rows(np.concatenate([part.places for part in parts]), columns)

    def snapshot(self) -> bytes:
        """Its state."""
        return self._request("snapshot")[1]

    def restore(self, state: bytes) -> None:
        """Take back a state."""
        self._request("restore", body=state)

    def close(self) -> None:
        """It is needed no more."""
        self._end()

    def _part(self, arguments: Sequence[Argument], first: int, last: int) -> Rows:
        heads, given = packed(arguments, first, last)
        reply, body = self._request("update", {"rows": last - first, "arguments": heads}, given)
        count, begin = reply["rows"], 8 * reply["rows"]
        places = np.frombuffer(body, dtype="<i8", count=count) + first
        columns = []
        for column, head in zip(self.description.columns, reply["columns"], strict=True):
            if column.type.kind is Kind.STRING:
                values = np.array([*head["values"], None], dtype=object)[:-1]
            else:
                each = count * (column.type.size or 1)
                values = np.frombuffer(body, dtype=dtype_of(column.type), count=each, offset=begin)
                begin += values.nbytes
                values = values.reshape(count, column.type.size) if column.type.size else values
            columns.append((values, np.frombuffer(body, dtype=bool, count=count, offset=begin)))
            begin += count
        return Rows(places, tuple(columns))

    def _request(
        self, do: str, head: dict[str, Any] | None = None, body: bytes = b""
    ) -> tuple[dict[str, Any], bytes]:
        whole = {"do": do, "seconds": self._settings.seconds, **(head or {})}
        if self._failed:
            raise DataError(f"{self._what} has failed before, and its state is not what it should be")
        try:
            return self._worker.request(self._what, whole, body, self._settings.clock)
        except Exception:
            self._failed = True
            raise


# ---- processes that wait for the next unit of their kind ---------------------------------------------------------------

IDLE = 2
"""So many processes of a unit wait for its next use: a query is bound, run and asked again within seconds."""
_turn = RLock()
_idle: dict[str, list[Worker]] = {}
_owner: list[int] = []


def _taken(reference: str, settings: PythonSettings) -> Worker:
    with _turn:
        if _owner != [os.getpid()]:  # a fork has the pipes of its parent's workers, which are not its own
            _idle.clear()
            _owner[:] = [os.getpid()]
            atexit.register(close_idle)
        waiting = _idle.setdefault(reference, [])
        while waiting:
            worker = waiting.pop()
            if worker.alive and worker.settings == settings:
                return worker
            worker.close()
    return Worker(settings, SCRIPT)


def _given_back(reference: str, worker: Worker) -> None:
    with _turn:
        waiting = _idle.setdefault(reference, [])
        if worker.alive and len(waiting) < IDLE and _owner == [os.getpid()]:
            waiting.append(worker)
        else:
            worker.close()


def close_idle() -> None:
    """End the processes that wait."""
    with _turn:
        if _owner == [os.getpid()]:
            for waiting in _idle.values():
                while waiting:
                    waiting.pop().close()


def _description(reference: str, reply: dict[str, Any]) -> Description:
    columns = tuple(Column(name, _type(reference, text)) for name, text in reply["columns"].items())
    strange = next(
        (one.name for one in columns if one.name.lower() in OWN or not one.name.isidentifier()), None
    )
    if strange is not None or not columns:
        raise DataError(f"the unit {reference} cannot give a column '{strange or ''}'")
    inputs = tuple(_type(reference, text) for text in reply["inputs"])
    return Description(reference, columns, inputs, bool(reply["each"]), reply["version"])


def _type(reference: str, text: str) -> Type:
    element, bracket, size = text.partition("[")
    if element not in {str(kind) for kind in KINDS}:
        raise DataError(
            f"the unit {reference} names the type '{text}'",
            hint="INT, FLOAT, STRING, BOOLEAN, TIME, FLOAT[16]",
        )
    type_ = Type(Kind(element))
    return vector_of(type_, int(size.removesuffix("]"))) if bracket else type_
