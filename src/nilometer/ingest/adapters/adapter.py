"""The contract of an adapter: STEAM's InitStream, ReadStream and CloseStream (section 5), in batches and
acknowledged.

A new source is one small class with `open`, `read` and `close`. `read` never waits: it returns NEW_VALUE with
the readings that came, NO_VALUE, or END when nothing more will come. A source that can push sets its `wake`.
A source that must be polled says in `due` when the next poll is worthwhile (a polled server has both). A
source that can be controlled implements `command`. After a result is durably appended, `acknowledge` is
called with its handle. A source that can will deliver unacknowledged readings again.

The law: every reading received is in one result, as a row or as garbled. Adapters have no clock: the time is
passed in, in microseconds, and the caller that polls them does the sleeping.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import TracebackType
from typing import Any, Self

import polars as pl

from nilometer.algebra.summary import READINGS
from nilometer.catalog.extents import Stream
from nilometer.ingest.payloads import FieldCounts, Garbled
from nilometer.operators.frames import dtype, empty
from nilometer.types import SECOND

Clock = Callable[[], int]
"""The present moment in microseconds since the epoch."""


class Status(StrEnum):
    """The outcome of a read: STEAM's STREAM_NEW_VALUE, STREAM_NO_VALUE and STREAM_END."""

    NEW_VALUE = "NEW_VALUE"
    NO_VALUE = "NO_VALUE"
    END = "END"


@dataclass(frozen=True, slots=True)
class Presence:
    """A sensor's message that it is online, or its last will that it is offline.

    `time` is a heartbeat: nothing earlier will come from this sensor. `listening` is the time, by the
    gateway's clock, until which its receiver is on (fjords.txt section 3.2). `command` is the number of the
    command that the sensor obeys, 0 for none. `battery` is the share of its energy that is left, from 0 to 1.
    """

    sensor: int | str
    online: bool
    arrived: int
    time: int | None = None
    listening: int | None = None
    command: int | None = None
    battery: float | None = None


@dataclass(frozen=True)
class ReadResult:
    """The result of one read. `rows` are typed readings in the stream's columns. `arrived` is the arrival
    time of the latest one, None for a replay.

    `handle` is for `acknowledge`. `sequence` is set by sources that give the same rows each time: it is the
    number of readings of the same `part` that came before these, like the sequence number of an idempotent
    producer. A part is a file; a source without parts uses "". `kept`, if given, replaces everything that was
    remembered of the parts before this result: parts that are gone are not in it. `fields` counts what the
    payloads lack or have beyond the declaration. `summaries` (plan/summaries.py) come in a result of their own,
    without rows, so that they keep their order among the readings. `placed` is told, once the rows are appended, the
    position before them in the log, and how many were taken.
    """

    status: Status
    rows: pl.DataFrame
    garbled: tuple[Garbled, ...] = ()
    presences: tuple[Presence, ...] = ()
    arrived: int | None = None
    handle: object = None
    sequence: int | None = None
    part: str = ""
    kept: Mapping[str, int] | None = None
    fields: FieldCounts = field(default_factory=FieldCounts)
    summaries: pl.DataFrame | None = None
    placed: Callable[[int, int], None] | None = None

    @property
    def garbled_count(self) -> int:
        """The number of garbled readings."""
        return sum(letter.count for letter in self.garbled)

    @property
    def received(self) -> int:
        """The number of all readings of this result, those in summaries included."""
        return self.rows.height + self.garbled_count + self.summarised

    @property
    def summarised(self) -> int:
        """The number of readings for which summaries stand."""
        return 0 if self.summaries is None else int(self.summaries.get_column(READINGS).sum())


@dataclass(frozen=True, slots=True)
class Aggregation:
    """Summaries instead of readings: one for each pane `k * every < time <= (k + 1) * every` that has readings.
    `columns` has the parts of each column that are wanted: count, sum, min, max. The sensor returns `of`. A sensed stream
    rounds times down to multiples of `grid`.

    >>> Aggregation(600_000_000, "1a2b3c4d", (("pm25", ("count", "sum")),)).as_json()
    {'every': 600.0, 'of': '1a2b3c4d', 'columns': {'pm25': ['count', 'sum']}}
    """

    every: int
    of: str
    columns: tuple[tuple[str, tuple[str, ...]], ...]
    grid: int | None = None

    def as_json(self) -> dict[str, Any]:
        """The field of a command."""
        columns = {name: list(parts) for name, parts in self.columns}
        said = {"every": self.every / SECOND, "of": self.of, "columns": columns}
        return said if self.grid is None else said | {"grid": self.grid / SECOND}

    @staticmethod
    def from_json(said: Mapping[str, Any]) -> Aggregation:
        """Read the output of `as_json`."""
        columns = tuple((name, tuple(parts)) for name, parts in said["columns"].items())
        return Aggregation(
            round(said["every"] * SECOND), said["of"], columns, _microseconds(said.get("grid"))
        )


@dataclass(frozen=True, slots=True)
class Changes:
    """Send on change: within a pane `k * every < time <= (k + 1) * every`, a reading whose `columns` are those of the
    reading sent before need not be sent."""

    every: int
    columns: tuple[str, ...]
    grid: int | None = None

    def as_json(self) -> dict[str, Any]:
        """The field of a command."""
        said: dict[str, Any] = {"every": self.every / SECOND, "columns": list(self.columns)}
        return said if self.grid is None else said | {"grid": self.grid / SECOND}


@dataclass(frozen=True, slots=True)
class Command:
    """The live queries' needs from a sensor. None leaves a setting unchanged. Durations are in
    microseconds.

    `interval` 0 means the sensor's own rate. If `intervals` are given, a reading at a multiple of any of them is
    enough; a sensor that does not know them samples every `interval`, which has all their ticks. `filter` is an
    expression over the stream's columns ("TRUE": send all). `aggregate` asks for summaries; without it, or if the sensor
    does not know it, the readings themselves are sent. The sensor returns `number` in its status. After a new number it sends its first reading
    whatever the filter says, and then a heartbeat at least every `heartbeat`. A sleeping sensor looks for
    commands every `listen`.

    >>> Command(interval=1_500_000, filter="pm25 > 10").as_json()
    b'{"interval": 1.5, "filter": "pm25 > 10"}'
    >>> Command(sleep=True, number=7, listen=5_000_000).as_json()
    b'{"sleep": true, "number": 7, "listen": 5.0}'
    >>> Command(interval=1_000_000, intervals=(7_000_000, 60_000_000)).as_json()
    b'{"interval": 1.0, "intervals": [7.0, 60.0]}'
    """

    interval: int | None = None
    filter: str | None = None
    program: str | None = None
    sleep: bool | None = None
    number: int | None = None
    heartbeat: int | None = None
    listen: int | None = None
    intervals: tuple[int, ...] | None = None
    aggregate: Aggregation | None = None
    changes: Changes | None = None

    def as_json(self) -> bytes:
        """The payload for the command topic, with durations in seconds, as sensors expect them."""
        fields = {
            "interval": _seconds(self.interval),
            "filter": self.filter,
            "program": self.program,
            "sleep": self.sleep,
            "number": self.number,
            "heartbeat": _seconds(self.heartbeat),
            "listen": _seconds(self.listen),
            "intervals": None if self.intervals is None else [each / SECOND for each in self.intervals],
            "aggregate": None if self.aggregate is None else self.aggregate.as_json(),
            "changes": None if self.changes is None else self.changes.as_json(),
        }
        return json.dumps({name: value for name, value in fields.items() if value is not None}).encode()

    @staticmethod
    def from_json(data: bytes) -> Command:
        """Read the output of `as_json`."""
        fields = json.loads(data)
        changes = fields.get("changes")
        return Command(
            _microseconds(fields.get("interval")),
            fields.get("filter"),
            fields.get("program"),
            fields.get("sleep"),
            fields.get("number"),
            _microseconds(fields.get("heartbeat")),
            _microseconds(fields.get("listen")),
            tuple(round(each * SECOND) for each in fields["intervals"]) if fields.get("intervals") else None,
            Aggregation.from_json(fields["aggregate"]) if fields.get("aggregate") else None,
            None
            if not changes
            else Changes(
                round(changes["every"] * SECOND),
                tuple(changes["columns"]),
                _microseconds(changes.get("grid")),
            ),
        )


def _seconds(duration: int | None) -> float | None:
    return None if duration is None else duration / SECOND


def _microseconds(seconds: float | None) -> int | None:
    return None if seconds is None else round(seconds * SECOND)


class Adapter:
    """The base class: a source of one stream that is polled, never ends, and supports neither commands nor
    acknowledgements."""

    wake: threading.Event | None = None
    """Set when there is something to read; None for a source that must be polled."""

    mailbox: bool = False
    """Whether a command is kept until its sensor reads it. If so, it may be sent at any time, not only while
    the sensor listens."""

    paced = False
    """Whether the adapter's clock decides when readings are due. Such an adapter needs a clock that does not
    jump."""

    session: str | None = None
    """The name of the session in which the server keeps readings for us while we are away; None if it keeps none."""

    session_begun = False
    """Whether the server has that session: set before `open` if it had it before, and while it is open."""

    sessions_lost = 0
    """How often since `open` the server did not know the session that it had: what it kept is lost."""

    def __init__(self, stream: Stream, clock: Clock) -> None:
        self.stream = stream
        self.clock = clock
        self._none = empty({column.name: dtype(column.type) for column in stream.columns})

    def begin_after(self, greatest: Callable[[], int | None]) -> None:
        """Called before `open` with a function that returns the greatest event time in the stream's log, for
        a source that makes its own times."""

    def open(self) -> None:
        """Start. A source that cannot be reached is not an error: it is tried again later."""
        raise NotImplementedError

    def read(self) -> ReadResult:
        """The readings that came since the last read. It never waits."""
        raise NotImplementedError

    def close(self) -> None:
        """Stop. Readings that were read and not acknowledged stay unacknowledged."""

    def resume(self, consumed: Mapping[str, int]) -> None:
        """Called after `open` with the number of readings of each part that are already in the log. Only
        sources that number their readings can skip them."""

    def acknowledge(self, handle: object) -> None:
        """The readings of the result with this handle are durable: the source may forget them."""

    def gave_up(self, handle: object) -> None:
        """The readings of the result with this handle were shed, and counted. A source need not send them again,
        unless somebody waits for each of them."""
        self.acknowledge(handle)

    def command(self, sensor: int | str, command: Command) -> bool:  # noqa: ARG002
        """Send a command to a sensor; False if that is not possible."""
        return False

    @property
    def due(self) -> int | None:
        """The time of the next worthwhile poll of a source without `wake`; None means any time."""
        return None

    @property
    def trouble(self) -> str | None:
        """The reason why no readings come, for people to read; None if there is no problem."""
        return None

    def nothing(self, status: Status = Status.NO_VALUE) -> ReadResult:
        """A result without readings."""
        return ReadResult(status, self._none)

    def __enter__(self) -> Self:
        self.open()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
