"""The inputs of a query: the logs of its streams, the snapshots of its tables, and the sensors behind the
streams.

`Sources` is the protocol. `MemorySources` holds everything in memory, for tests and for small data.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np
import polars as pl

from nilometer.algebra.summary import READINGS
from nilometer.catalog.extents import Sensor, Stream, Table
from nilometer.dataflow.keys import doubles_among, key_columns, key_frame
from nilometer.operators.frames import dtype
from nilometer.operators.logic import TIME
from nilometer.plan.summaries import summary_columns
from nilometer.types import INT_MINIMUM


@dataclass(frozen=True)
class Batch:
    """Typed readings in log order, in the stream's columns, as `ingest.readers` gives them.

    `garbled` is the number of further readings that could not be parsed, `duplicate` the number of further
    readings that were duplicates by the stream's KEY.
    """

    rows: pl.DataFrame
    garbled: int = 0
    duplicate: int = 0


@dataclass(frozen=True)
class Heartbeat:
    """A promise of the stream: from here on, no tuple with an earlier tick."""

    tick: int


@dataclass(frozen=True)
class Summaries:
    """Summaries of readings that sensors made themselves, in the columns of `plan.summaries.summary_columns`. Each
    stands for readings that are in no batch."""

    rows: pl.DataFrame

    @property
    def readings(self) -> int:
        """The number of readings that they stand for."""
        return int(self.rows.get_column(READINGS).sum())

    def columns_of(self, stream: Stream) -> pl.DataFrame:
        """The summaries in the columns that the stream has now."""
        wanted, found = summary_dtypes(stream), self.rows.schema
        if list(found) == list(wanted):
            return self.rows
        return self.rows.select(
            pl.col(name) if name in found else pl.lit(None, dtype=kind).alias(name)
            for name, kind in wanted.items()
        )


def summary_dtypes(stream: Stream) -> dict[str, pl.DataType]:
    """The columns of a stream's summaries and their dtypes."""
    return {name: dtype(type) for name, type in summary_columns(stream).items()}


Entry = Batch | Heartbeat | Summaries


def greatest_time(entry: Entry) -> int:
    """The greatest tick that an entry may contain."""
    if isinstance(entry, Heartbeat):
        return entry.tick
    column = next(name for name in entry.rows.columns if name.lower() == "time")
    found = entry.rows.get_column(column).cast(pl.Int64).max()
    return INT_MINIMUM if found is None else int(found)  # type: ignore[arg-type]


def without_doubles(stream: Stream, entries: Sequence[Entry]) -> list[Entry]:
    """All entries of a stream without the duplicates by its KEY. Each batch counts the duplicates removed
    from it.

    A reading without a time, or from the future, has no key: the door refuses it.
    """
    columns = key_columns(stream, stream.key)
    batches = [entry for entry in entries if isinstance(entry, Batch) and entry.rows.height]
    if not columns or not batches:
        return list(entries)
    keys = pl.concat([_keyed(stream, batch) for batch in batches], how="vertical").with_row_index(_ROW)
    keys = keys.filter(_KEYED)
    doubles = keys.get_column(_ROW).to_numpy()[doubles_among(keys.select(columns))]
    left = np.ones(sum(batch.rows.height for batch in batches), dtype=np.bool_)
    left[doubles] = False
    found: list[Entry] = []
    first = 0
    for entry in entries:
        height = entry.rows.height if isinstance(entry, Batch) else 0
        kept = left[first : first + height]
        first += height
        if isinstance(entry, Batch) and not kept.all():
            rows = entry.rows.filter(pl.Series(kept))
            entry = replace(entry, rows=rows, duplicate=entry.duplicate + height - rows.height)
        found.append(entry)
    return found


_ROW, _KEYED = "@row", "@keyed"


def _keyed(stream: Stream, batch: Batch) -> pl.DataFrame:
    """The keys of a batch's rows, and for each row whether it has a key."""
    keys = key_frame(stream, batch.rows)
    return keys.select(*key_columns(stream, stream.key), pl.col(TIME).is_not_null().alias(_KEYED))


class Extents(Protocol):
    """The tables and sensors of a plan."""

    def table(self, table: Table) -> pl.DataFrame:
        """The snapshot of a stored extent, in its declared columns."""

    def sensors(self, stream: Stream) -> Sequence[Sensor]:
        """The declared sensors of a stream."""


class Sources(Extents, Protocol):
    """Everything that a run reads: the streams' logs, the tables and the sensors."""

    def entries(self, stream: Stream) -> Iterable[Entry]:
        """The log of a stream from the query's start on. It is called once a run, and again when a run is
        restored."""


@dataclass(frozen=True)
class TableVersion:
    """A version of stored extents, by lower-case name, that applies from the tick `holds_from` on."""

    holds_from: int
    tables: Mapping[str, pl.DataFrame]


@dataclass(frozen=True)
class MemorySources:
    """Streams, tables and sensors in memory, by lower-case name. A stream that is not there is empty.
    Duplicates by KEY are removed."""

    streams: Mapping[str, Sequence[Entry]] = field(default_factory=dict)
    tables: Mapping[str, pl.DataFrame] = field(default_factory=dict)
    declared: Mapping[str, Sequence[Sensor]] = field(default_factory=dict)

    def entries(self, stream: Stream) -> Iterable[Entry]:
        """The log of a stream."""
        return without_doubles(stream, self.streams.get(stream.name.lower(), ()))

    def table(self, table: Table) -> pl.DataFrame:
        """The snapshot of a stored extent."""
        return self.tables[table.name.lower()]

    def sensors(self, stream: Stream) -> Sequence[Sensor]:
        """The declared sensors of a stream."""
        return self.declared.get(stream.name.lower(), ())
