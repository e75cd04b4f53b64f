"""Our streams for other gateways: whole streams for those who subscribe, and the readings that joins of the ring read.

While somebody wants a stream, its source stays open and its sensors are told, as for a query of our own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from nilometer.catalog import Stream
from nilometer.dataflow.door import Door
from nilometer.errors import NilometerError
from nilometer.log.reader import Cursor
from nilometer.overlay.messages import Message, Shipped, Subscribe
from nilometer.overlay.ring import Contact
from nilometer.types import INT_MINIMUM, SECOND

if TYPE_CHECKING:
    from nilometer.live.station import Station

FORGOTTEN = 8 * SECOND
"""A subscriber that has not asked for so long is gone."""
ROWS = 16_384
"""The most rows of one message."""
BYTES = 4 << 20
BEGIN_ROWS = 200_000
"""How many of the last readings a join can still ask for when the process begins."""
MOST_ROWS = 2_000_000
KEPT = 600 * SECOND


@dataclass
class _Subscriber:
    peer: Contact
    stream: Stream
    position: int
    heard: int
    waits: bool = True
    told: int = 0


class Readings:
    """The accepted readings of one of our streams, for joins: those of the last ten minutes of event time, and as many
    as memory allows. Read and changed in the peer's thread only."""

    def __init__(self) -> None:
        self._frames: list[pl.DataFrame] = []
        self._height = 0
        self.whole_since = INT_MINIMUM
        """The time from which on no reading is missing here."""

    def add(self, rows: pl.DataFrame, watermark: int) -> None:
        """New readings."""
        if rows.height:
            self._frames.append(rows)
            self._height += rows.height
        while self._frames and (
            self._height > MOST_ROWS or self._frames[0].get_column("@time").max() < watermark - KEPT  # type: ignore[operator]
        ):
            gone = self._frames.pop(0)
            self._height -= gone.height
            self.whole_since = max(self.whole_since, int(gone.get_column("@time").max()) + 1)  # type: ignore[arg-type]

    def since(self, moment: int) -> pl.DataFrame:
        """The readings of this time and later."""
        found = [part for frame in self._frames if (part := frame.filter(pl.col("@time") >= moment)).height]
        return pl.concat(found) if found else pl.DataFrame()


class JoinHome:
    """Reads the log of a stream through a door of its own, as a query does."""

    def __init__(self, station: Station, stream: Stream) -> None:
        self.stream, self.readings = stream, Readings()
        self.door = Door(stream)
        log = station.logs.log(stream)
        self.late = self.shipped = 0
        end = log.end
        first = max(log.start.position, end.position - BEGIN_ROWS)
        self._cursor: Cursor = log.cursor(end)
        self.before = [
            self._accept(frame.drop("@position"), int(frame.get_column("@position")[0]))
            for frame in log.scan(first, ["@position", *log.columns])
            if frame.height
        ]
        if first > log.start.position and self.before:
            # Readings before these are in the log, and not here.
            self.readings.whole_since = int(self.before[0].get_column("@time").max()) + 1  # type: ignore[arg-type]

    def _accept(self, rows: pl.DataFrame, position: int) -> pl.DataFrame:
        numbered = rows.with_columns(
            pl.int_range(position, position + rows.height, dtype=pl.Int64).alias("@log")
        )
        accepted = self.door.admit(numbered)
        columns = [column.name for column in self.stream.columns]
        return accepted.select(pl.col("@log").alias("@position"), "@time", *columns)

    def read(self) -> list[tuple[pl.DataFrame, int]]:
        """The readings that have come, and the watermark after them."""
        found = []
        for entry in self._cursor.read(ROWS):
            if entry.tick is not None:
                self.door.heartbeat(entry.tick)
            rows = pl.DataFrame() if entry.rows is None else self._accept(entry.rows, entry.position)
            if entry.rows is not None or entry.tick is not None:
                found.append((rows, self.door.watermark))
        return found


class Homes:
    """Our streams, for the others."""

    def __init__(self, station: Station, log: str, send: Callable[[Contact, Message], None]) -> None:
        self._station, self._log, self._send = station, log, send
        self._subscribers: dict[tuple[str, str], _Subscriber] = {}
        self._joins: dict[str, JoinHome] = {}
        self._wanted: dict[str, set[str]] = {}
        self.shipped = 0

    @property
    def streams(self) -> dict[str, int]:
        """How many other gateways read each of our streams."""
        count: dict[str, int] = {}
        for one in self._subscribers.values():
            count[one.stream.name] = count.get(one.stream.name, 0) + 1
        return count

    def subscribe(self, peer: Contact, asked: Subscribe, stream: Stream) -> None:
        """Another gateway wants a stream."""
        now = self._station.clock()
        key = (peer.address, stream.name.lower())
        known = self._subscribers.get(key)
        end = self._station.logs.log(stream).end.position
        position = end if asked.position < 0 or asked.position > end else asked.position
        if known is None:
            self._subscribers[key] = _Subscriber(peer, stream, position, now)
            self._want(stream, f"peer {peer.name}")
        else:
            known.heard, known.waits, known.peer = now, True, peer
            if asked.position >= 0:
                known.position = position

    def begin_join(self, stream: Stream) -> JoinHome:
        """A join of the ring reads a stream of ours."""
        home = self._joins.get(stream.name.lower())
        if home is None:
            self._want(stream, "joins of peers")
            home = self._joins[stream.name.lower()] = JoinHome(self._station, stream)
        return home

    def end_join(self, stream: str) -> None:
        """No join of the ring reads it any more."""
        if self._joins.pop(stream, None) is not None:
            self._want_no_more(stream, "joins of peers")

    def look(self, offer: Callable[[JoinHome, pl.DataFrame, int], None]) -> None:
        """Send what has come to those who want it."""
        now = self._station.clock()
        for key, one in list(self._subscribers.items()):
            if now - one.heard > FORGOTTEN:
                del self._subscribers[key]
                self._want_no_more(one.stream.name.lower(), f"peer {one.peer.name}")
            elif one.waits:
                self._ship(one)
        for home in self._joins.values():
            for rows, watermark in home.read():
                offer(home, rows, watermark)

    def _ship(self, one: _Subscriber) -> None:
        log = self._station.logs.log(one.stream)
        end = log.end.position
        rows = pl.DataFrame()
        if end > one.position:
            rows = self._next_rows(one)
        tick = 0
        if one.position + rows.height >= end:
            tick = self._station.fleet.promise(one.stream.name) or 0
        if rows.height or tick > one.told:
            self._send(one.peer, Shipped(one.stream.name, self._log, one.position, max(tick, 0), rows))
            one.position += rows.height
            one.told = max(one.told, tick)
            one.waits = False
            self.shipped += rows.height

    def _next_rows(self, one: _Subscriber) -> pl.DataFrame:
        log = self._station.logs.log(one.stream)
        one.position = max(one.position, log.start.position)
        for frame in log.scan(one.position, list(log.columns)):
            if frame.height:
                fits = max(1, int(ROWS * min(1.0, BYTES / max(1, frame.head(ROWS).estimated_size()))))
                return frame.head(fits)
        return pl.DataFrame()

    def _want(self, stream: Stream, who: str) -> None:
        """Keep the source open and tell the sensors."""
        station, key = self._station, stream.name.lower()
        wanted = self._wanted.setdefault(key, set())
        if not wanted:
            station.manager.attend(f"peers of {key}", [stream])
            try:
                plan = station.database.sql(f'SELECT * FROM "{stream.name}"').physical
                station.fleet.start(f"peers of {key}", plan)
            except NilometerError:
                station.manager.forget(f"peers of {key}")
                raise
        wanted.add(who)

    def _want_no_more(self, stream: str, who: str) -> None:
        wanted = self._wanted.get(stream, set())
        wanted.discard(who)
        if not wanted and stream in self._wanted:
            del self._wanted[stream]
            self._station.fleet.stop(f"peers of {stream}")
            self._station.manager.forget(f"peers of {stream}")
