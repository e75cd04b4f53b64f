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
from nilometer.live.peers.numbered_rows import fitting, numbered, numbered_before
from nilometer.live.peers.selected_rows import SelectedRows
from nilometer.log import StreamLog
from nilometer.log.reader import Cursor
from nilometer.overlay.messages import Message, Shipped, Subscribe
from nilometer.overlay.ring import Contact
from nilometer.plan import physical
from nilometer.types import INT_MINIMUM, SECOND

if TYPE_CHECKING:
    from nilometer.live.station import Station

FORGOTTEN = 8 * SECOND
"""A subscriber that has not asked for so long is gone."""
BEGIN_ROWS = 200_000
"""How many of the last readings a join can still ask for when the process begins."""
MOST_ROWS = 2_000_000
KEPT = 600 * SECOND


@dataclass
class _Subscriber:
    peer: Contact
    stream: Stream
    name: str
    position: int
    heard: int
    selected: SelectedRows | None = None
    waits: bool = True
    told: int = 0
    sent: int = 0

    @property
    def who(self) -> str:
        return f"peer {self.peer.name or self.peer.address}, {self.name}"


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
            self._accept(rows)
            for rows, _, _ in numbered_before(log, first, end.position)
            if rows is not None and rows.height
        ]
        if first > log.start.position and self.before:
            # Readings before these are in the log, and not here.
            self.readings.whole_since = int(self.before[0].get_column("@time").max()) + 1  # type: ignore[arg-type]

    def _accept(self, rows: pl.DataFrame) -> pl.DataFrame:
        accepted = self.door.admit(rows)
        columns = [column.name for column in self.stream.columns]
        return accepted.select(pl.col("@log").alias("@position"), "@time", *columns)

    def read(self) -> list[tuple[pl.DataFrame, int]]:
        """The readings that have come, and the watermark after them."""
        found = []
        for rows, _, tick in numbered(self._cursor):
            if tick is not None:
                self.door.heartbeat(tick)
            accepted = pl.DataFrame() if rows is None else self._accept(rows)
            if rows is not None or tick is not None:
                found.append((accepted, self.door.watermark))
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
        name = asked.name or stream.name
        key = (peer.address, name.lower())
        known = self._subscribers.get(key)
        log = self._station.logs.log(stream)
        end = log.end.position
        position = end if asked.position < 0 or asked.position > end else asked.position
        if known is None:
            known = self._subscribers[key] = _Subscriber(peer, stream, name, position, now)
            if asked.selection:
                known.selected = self._selected(stream, log, asked.selection, position)
            if known.selected is not None:
                known.position = known.selected.upto
            self._want(stream, known.who, None if known.selected is None else known.selected.leaf)
            return
        known.heard, known.waits = now, True
        known.peer = Contact(peer.id, known.peer.name, peer.address)
        if asked.position >= 0:
            known.position = position
            if known.selected is not None and known.selected.upto != position:
                known.selected = self._selected(stream, log, asked.selection, position)
                known.position = position if known.selected is None else known.selected.upto

    def _selected(self, stream: Stream, log: StreamLog, selection: str, position: int) -> SelectedRows | None:
        """The rows of a selection. One that this release does not understand takes all rows: the asker selects, too."""
        try:
            return SelectedRows(stream, log, selection, position)
        except Exception:  # whatever the text is, it must not end this gateway
            return None

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
                self._want_no_more(one.stream.name.lower(), one.who)
            elif one.waits and one.selected is not None:
                self._ship_selected(one, one.selected)
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
            upto = one.position + rows.height
            self._send_rows(one, one.position, upto, tick, rows)
            one.position = upto

    def _ship_selected(self, one: _Subscriber, selected: SelectedRows) -> None:
        """Send the selected rows. If there are none, the other gateway hears at most once a second how far they come."""
        rows = selected.read()
        tick = max(selected.watermark, 0)
        if selected.whole:
            tick = max(tick, self._station.fleet.promise(one.stream.name) or 0)
        if rows.height or (tick > one.told and self._station.clock() - one.sent >= SECOND):
            self._send_rows(one, one.position, selected.upto, tick, rows)
            one.position = selected.upto

    def _send_rows(self, one: _Subscriber, first: int, upto: int, tick: int, rows: pl.DataFrame) -> None:
        begins = self._station.logs.log(one.stream).start.position
        self._send(one.peer, Shipped(one.name, self._log, first, upto, begins, max(tick, 0), rows))
        one.told, one.sent, one.waits = max(one.told, tick), self._station.clock(), False
        self.shipped += rows.height

    def _next_rows(self, one: _Subscriber) -> pl.DataFrame:
        log = self._station.logs.log(one.stream)
        one.position = max(one.position, log.start.position)
        for frame in log.scan(one.position, list(log.columns)):
            if frame.height:
                return frame.head(fitting(frame))
        return pl.DataFrame()

    def _want(self, stream: Stream, who: str, leaf: physical.SpAcquire | None = None) -> None:
        """Keep the source open and tell the sensors what is wanted: all, or what a leaf selects."""
        station, key = self._station, stream.name.lower()
        wanted = self._wanted.setdefault(key, set())
        if who in wanted:
            return
        if not wanted:
            station.manager.attend(f"peers of {key}", [stream])
        plan = station.database.sql(f'SELECT * FROM "{stream.name}"').physical if leaf is None else leaf
        station.fleet.start(f"{key} for {who}", plan)
        wanted.add(who)

    def _want_no_more(self, stream: str, who: str) -> None:
        wanted = self._wanted.get(stream, set())
        if who in wanted:
            self._station.fleet.stop(f"{stream} for {who}")
        wanted.discard(who)
        if not wanted and stream in self._wanted:
            del self._wanted[stream]
            self._station.manager.forget(f"peers of {stream}")
