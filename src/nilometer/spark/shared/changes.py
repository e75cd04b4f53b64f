"""What the owner tells a running pipeline: queries join and leave, states are wanted. Files in the folder of the run.

The owner writes, the process beside the driver in which Spark plans micro-batches reads. Each change is a file, which is
deleted when it is read: a change may hold a whole table, and a run may last for years. From then on the change is in its round,
and tasks are given their rounds by Spark. A change takes effect with the next round. The files last no longer than one run of the
StreamingQuery: the commit log and the control log say how the next run begins.

>>> import tempfile
>>> folder = Path(tempfile.mkdtemp())
>>> written, read = ChangeWriter(folder), ChangeReader(folder)
>>> written.add(Leave("hot"))
>>> read.new(), read.new()
((Leave(name='hot'),), ())
"""

from __future__ import annotations

import os
import pickle
import threading
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import polars as pl

from nilometer.catalog.extents import Sensor, Stream
from nilometer.dataflow.sources import TableVersion
from nilometer.log import Offset
from nilometer.log.resources import resources
from nilometer.plan import physical

ASIDE = "change.new"
"""Where a change is written before it is there."""

Panes = Mapping[str, dict[str, bytes]]
"""The state of a query: the panes of each part of it (dataflow/graph.py, `snapshot`)."""


@dataclass(frozen=True)
class Member:
    """A standing query. `sensors` are the declared ones of its streams, by lower-case name. `panes` is its state, if it
    has one. `skips`: rows without a value are set aside, and do not stop it. `tables` are the first versions of the stored
    tables that it joins, by lower-case name. `number` tells it from earlier queries of the same name."""

    name: str
    plan: physical.Node
    sensors: Mapping[str, tuple[Sensor, ...]] = field(default_factory=dict)
    panes: Panes | None = None
    skips: bool = True
    tables: Mapping[str, pl.DataFrame] = field(default_factory=dict)
    number: int = 0


@dataclass(frozen=True)
class Join:
    """Queries that go on, or begin, at the same offsets of the same streams, as one group of that number.

    Their answers up to `committed` are durable. Their states are those at `state_at`: what lies between is read again, and
    its answers are discarded. `versions` are the later versions of their tables that are on record. A query that joins
    tables is alone in its group.
    """

    group: int
    streams: Mapping[str, Stream]
    members: tuple[Member, ...]
    state_at: Mapping[str, Offset]
    committed: Mapping[str, Offset]
    versions: tuple[TableVersion, ...] = ()

    @property
    def apart(self) -> bool:
        """Whether the group stays alone."""
        return any(member.tables for member in self.members)


@dataclass(frozen=True)
class Leave:
    """The member of that name and number stops. The result of the round holds its state."""

    name: str
    number: int = 0


@dataclass(frozen=True)
class Hold:
    """A table of a query has changed. The query reads nothing more until `Refresh`; the result of the round says how far
    it has answered."""

    name: str


@dataclass(frozen=True)
class Refresh:
    """The query goes on. It meets these versions of its tables, each from its tick on. They are on record."""

    name: str
    versions: tuple[TableVersion, ...]


@dataclass(frozen=True)
class Save:
    """The states and books of all queries are wanted."""


@dataclass(frozen=True)
class Analyze:
    """The plan of a query with the work of each operator is wanted."""

    name: str


Change = Join | Leave | Hold | Refresh | Save | Analyze


class ChangeWriter:
    """The owner's end. Several threads may use it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._number = 0
        self._alone = threading.Lock()

    def add(self, change: Change) -> None:
        """Tell the pipeline. Queries that share a state keep sharing it: a change is written as one value, or not at all."""
        data, aside = pickle.dumps(change), self._folder / ASIDE
        with self._alone, resources(str(self._folder)):
            try:
                aside.write_bytes(data)
                os.replace(aside, _path(self._folder, self._number + 1))
            except OSError:
                with suppress(OSError):
                    aside.unlink()
                raise
            self._number += 1


class ChangeReader:
    """The pipeline's end."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._number = 0

    def new(self) -> tuple[Change, ...]:
        """The changes since the last call."""
        found: list[Change] = []
        while (path := _path(self._folder, self._number + 1)).exists():
            found.append(pickle.loads(path.read_bytes()))
            path.unlink()
            self._number += 1
        if not found:
            self._folder.stat()  # fails if the owner has ended the run
        return tuple(found)


def _path(folder: Path, number: int) -> Path:
    return folder / f"change-{number}"
