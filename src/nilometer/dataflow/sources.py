"""What a query reads: the logs of its streams, the snapshots of its tables, and the sensors behind the streams.

`Sources` is the protocol; `MemorySources` is the plain form, for tests and for data that is at hand anyway.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import polars as pl

from nilometer.catalog.extents import Sensor, Stream, Table


@dataclass(frozen=True)
class Batch:
    """Typed readings in log order, in the stream's columns (what `edge.readers` gives). `garbled` is how many more could
    not be read; `arrived` is when they came, if anyone knows."""

    rows: pl.DataFrame
    garbled: int = 0
    arrived: int | None = None


@dataclass(frozen=True)
class Heartbeat:
    """A promise of the stream: from here on, no tuple with an earlier tick."""

    tick: int


Entry = Batch | Heartbeat


class Extents(Protocol):
    """What a plan asks for besides the readings."""

    def table(self, table: Table) -> pl.DataFrame:
        """The snapshot of a stored extent, in its declared columns."""

    def sensors(self, stream: Stream) -> Sequence[Sensor]:
        """The declared sensors of a stream."""


class Sources(Extents, Protocol):
    """What the gateway asks for."""

    def entries(self, stream: Stream) -> Iterable[Entry]:
        """The log of a stream from the query's start on; asked once a run, and again when a run is restored."""


@dataclass(frozen=True)
class TableVersion:
    """From the tick `holds_from` on these stored extents, by lower-case name, are so."""

    holds_from: int
    tables: Mapping[str, pl.DataFrame]


@dataclass(frozen=True)
class MemorySources:
    """Everything by the lower-case name of the stream or table; what is not there is empty."""

    streams: Mapping[str, Sequence[Entry]] = field(default_factory=dict)
    tables: Mapping[str, pl.DataFrame] = field(default_factory=dict)
    declared: Mapping[str, Sequence[Sensor]] = field(default_factory=dict)

    def entries(self, stream: Stream) -> Iterable[Entry]:
        """The log of a stream."""
        return self.streams.get(stream.name.lower(), ())

    def table(self, table: Table) -> pl.DataFrame:
        """The snapshot of a stored extent."""
        return self.tables[table.name.lower()]

    def sensors(self, stream: Stream) -> Sequence[Sensor]:
        """The declared sensors of a stream."""
        return self.declared.get(stream.name.lower(), ())
