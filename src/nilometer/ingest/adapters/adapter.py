"""The contract of an adapter: STEAM's InitStream, ReadStream and CloseStream (section 5), in batches and acknowledged.

A new source is one small class with `open`, `read` and `close`. `read` never waits: it gives NEW_VALUE with what came,
NO_VALUE, or END when nothing more will come. A source that can push sets its `wake`; one that must be asked says in `due`
when that is worth while (a polled server has both). A source that can be controlled takes `command`. After a durable append of a result, `acknowledge` its handle: what is
not acknowledged, a source that can will deliver again.

The law: every reading received is in one result, as a row or as garbled. Adapters have no clock: the time is passed in, in
microseconds, and whoever polls them does the sleeping.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import TracebackType
from typing import Self

import polars as pl

from nilometer.catalog.extents import Stream
from nilometer.ingest.payloads import Garbled
from nilometer.operators.frames import dtype, empty
from nilometer.types import SECOND

Clock = Callable[[], int]
"""The present moment in microseconds since the epoch."""


class Status(StrEnum):
    """What a read found: STEAM's STREAM_NEW_VALUE, STREAM_NO_VALUE and STREAM_END."""

    NEW_VALUE = "NEW_VALUE"
    NO_VALUE = "NO_VALUE"
    END = "END"


@dataclass(frozen=True, slots=True)
class Presence:
    """A sensor said that it is there, or its last will that it is gone.

    `time` is a heartbeat: nothing earlier will come from this sensor. `listening` says until when, by the gateway's clock, its
    receiver is on (fjords.txt section 3.2); `command` is the number of the command that it obeys, 0 for none.
    """

    sensor: int | str
    online: bool
    arrived: int
    time: int | None = None
    listening: int | None = None
    command: int | None = None


@dataclass(frozen=True)
class ReadResult:
    """One read. `rows` are typed readings in the stream's columns; `arrived` is when the latest came, None for a replay.

    `handle` is for `acknowledge`. `sequence`, of sources that give the same rows each time, is how many readings of the same `part`
    (a file; a source that is all of one piece has the part "") came before these: an idempotent producer's number. `kept`, if
    given, takes the place of all that was remembered of the parts before this result: those that are gone are not in it.
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

    @property
    def garbled_count(self) -> int:
        """The readings that could not be read."""
        return sum(letter.count for letter in self.garbled)

    @property
    def received(self) -> int:
        """All readings of this result."""
        return self.rows.height + self.garbled_count


@dataclass(frozen=True, slots=True)
class Command:
    """What the live queries want of a sensor; None leaves a thing as it is. Durations are in microseconds.

    `interval` 0 is the sensor's own rate; `filter` is an expression over the stream's columns ("TRUE": send all). `number` comes back
    in the sensor's status; it sends its first reading after a new number whatever the filter, and then a `heartbeat` at
    least so often. Asleep, it looks for commands every `listen`.

    >>> Command(interval=1_500_000, filter="pm25 > 10").as_json()
    b'{"interval": 1.5, "filter": "pm25 > 10"}'
    >>> Command(sleep=True, number=7, listen=5_000_000).as_json()
    b'{"sleep": true, "number": 7, "listen": 5.0}'
    """

    interval: int | None = None
    filter: str | None = None
    program: str | None = None
    sleep: bool | None = None
    number: int | None = None
    heartbeat: int | None = None
    listen: int | None = None

    def as_json(self) -> bytes:
        """For the command topic; durations in seconds, as sensors know them."""
        fields = {
            "interval": _seconds(self.interval),
            "filter": self.filter,
            "program": self.program,
            "sleep": self.sleep,
            "number": self.number,
            "heartbeat": _seconds(self.heartbeat),
            "listen": _seconds(self.listen),
        }
        return json.dumps({name: value for name, value in fields.items() if value is not None}).encode()

    @staticmethod
    def from_json(data: bytes) -> Command:
        """What `as_json` wrote."""
        fields = json.loads(data)
        return Command(
            _microseconds(fields.get("interval")),
            fields.get("filter"),
            fields.get("program"),
            fields.get("sleep"),
            fields.get("number"),
            _microseconds(fields.get("heartbeat")),
            _microseconds(fields.get("listen")),
        )


def _seconds(duration: int | None) -> float | None:
    return None if duration is None else duration / SECOND


def _microseconds(seconds: float | None) -> int | None:
    return None if seconds is None else round(seconds * SECOND)


class Adapter:
    """The base: a source of one stream that is polled, never ends, and can be neither controlled nor acknowledged."""

    wake: threading.Event | None = None
    """Set when there is something to read; None for a source that must be asked."""

    mailbox: bool = False
    """Whether a command waits for its sensor: it may be given at any time, not only while the sensor listens."""

    paced = False
    """Whether it goes by its clock what is due: then it needs one that does not jump."""

    def __init__(self, stream: Stream, clock: Clock) -> None:
        self.stream = stream
        self.clock = clock
        self._none = empty({column.name: dtype(column.type) for column in stream.columns})

    def begin_after(self, greatest: Callable[[], int | None]) -> None:
        """Before `open`: gives the greatest event time in the stream's log, for a source that makes its own times."""

    def open(self) -> None:
        """Begin; a source that is out of reach is tried again later, not an error."""
        raise NotImplementedError

    def read(self) -> ReadResult:
        """What came since the last read; never waits."""
        raise NotImplementedError

    def close(self) -> None:
        """End; what was read and not acknowledged stays so."""

    def resume(self, consumed: Mapping[str, int]) -> None:
        """After `open`: so many readings of each part are dealt with. Only sources that number their readings can skip them."""

    def acknowledge(self, handle: object) -> None:
        """What came with that handle is durable: the source may forget it."""

    def command(self, sensor: int | str, command: Command) -> bool:  # noqa: ARG002
        """Tell a sensor what is wanted of it; False where that cannot be."""
        return False

    @property
    def due(self) -> int | None:
        """When it is next worth asking a source that has no `wake`; None: at any time."""
        return None

    @property
    def trouble(self) -> str | None:
        """Why nothing comes, for people to read; None when all is well."""
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
