"""Simulated sensors as a source, as fast as possible or paced. They obey commands if they can.

`generate://plume?sensors=64&seed=7&speed=60`. The caller passes its generators to the registry (the
laboratory has some, and ingest may not import it): each is a name and a function of the URL's other options.
A field with `frames` is replayed. A field with `advance` has sensors that live in a time of their own,
`speed` times as fast as the clock (0: one step for each read), and obey commands. Their time begins at the
clock's time, or after the stream's log if that is later: another process that ran faster than the clock may
have written it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Protocol, runtime_checkable

import polars as pl

from nilometer.catalog.address import Address
from nilometer.catalog.extents import Stream
from nilometer.catalog.near_misses import near_misses
from nilometer.dataflow.sources import summary_dtypes
from nilometer.errors import ConfigurationError
from nilometer.ingest.adapters.adapter import Adapter, Clock, Command, Presence, ReadResult, Status
from nilometer.ingest.adapters.replay import BATCH, PacedAdapter, Piece
from nilometer.ingest.payloads import Garbled
from nilometer.ingest.readers import read_frame
from nilometer.types import SECOND


class Field(Protocol):
    """Simulated sensors."""

    def frames(self) -> Iterator[pl.DataFrame]:
        """The sensors' readings, in pieces, in the order of arrival."""

    def command(self, sensor: int | str, command: Command) -> bool:
        """Obey from the next piece on; False if that is not possible."""


@runtime_checkable
class LiveField(Protocol):
    """Simulated sensors that obey commands, in a time of their own."""

    mailbox: bool
    """Whether a command is kept for a sensor that does not listen."""

    def begin(self, start: int, after: int | None = None) -> int:
        """Start at this time, unless they have begun already or have a start of their own, and in any case
        with readings later than `after`. Returns the sensors' present time."""

    @property
    def next_tick(self) -> int:
        """The time of the next event."""

    def advance(self, until: int) -> tuple[pl.DataFrame, tuple[Presence, ...]]:
        """The readings and presences up to the time `until`."""

    def take_summaries(self) -> pl.DataFrame | None:
        """The summaries that came with the last step; None if there are none."""

    def command(self, sensor: int | str, command: Command) -> bool:
        """Obey as soon as the sensor listens; False if there is no such sensor."""


Generators = Mapping[str, Callable[[Mapping[str, str]], Field | LiveField]]
"""Functions that make a field from the options of a URL, by name."""


def generate_adapter(stream: Stream, address: Address, clock: Clock, generators: Generators) -> Adapter:
    """The adapter of a `generate://` URL, chosen by the methods of its field."""
    name = address.host or address.path
    if name not in generators:
        raise ConfigurationError(f"no generator '{name}'", hint=near_misses(name, generators))
    options = {key: value for key, value in address.options.items() if key not in ("speed", "batch")}
    field = generators[name](options)
    speed = address.number("speed", 0.0)
    if isinstance(field, LiveField):
        return FieldAdapter(stream, clock, field, speed=speed)
    return GenerateAdapter(stream, clock, field, speed=speed, batch=address.count("batch", BATCH))


class GenerateAdapter(PacedAdapter):
    """Simulated sensors whose readings are a replay."""

    def __init__(
        self, stream: Stream, clock: Clock, field: Field, *, speed: float = 0.0, batch: int = BATCH
    ) -> None:
        super().__init__(stream, clock, speed=speed, batch=batch)
        self.field = field

    def frames(self) -> Iterator[Piece | None]:
        for frame in self.field.frames():
            yield Piece(*_read(frame, self.stream))

    def command(self, sensor: int | str, command: Command) -> bool:
        return self.field.command(sensor, command)


class FieldAdapter(Adapter):
    """Simulated sensors that obey commands. Their readings depend on the commands, so they have no sequence
    numbers."""

    def __init__(self, stream: Stream, clock: Clock, field: LiveField, *, speed: float = 0.0) -> None:
        super().__init__(stream, clock)
        self.field = field
        self.speed = speed
        self.mailbox = field.mailbox
        self._began: tuple[int, int] | None = None
        self._next: ReadResult | None = None
        self._greatest: Callable[[], int | None] | None = None

    def begin_after(self, greatest: Callable[[], int | None]) -> None:
        self._greatest = greatest

    def open(self) -> None:
        now = self.clock()
        # The sensors' time stands still while nobody reads, and goes on from there.
        self._began = now, self.field.begin(now, None if self._greatest is None else self._greatest())

    def close(self) -> None:
        self._began = None

    def read(self) -> ReadResult:
        if self._began is None:
            return self.nothing(Status.END)
        if self._next is not None:
            result, self._next = self._next, None
            return result
        now, following = self.clock(), self.field.next_tick
        until = self._theirs(now) if self.speed else following
        if until < following:
            return self.nothing()
        frame, presences = self.field.advance(until)
        rows, garbled = _read(frame, self.stream)
        said = tuple(self._ours(presence, now) for presence in presences)
        summaries = self.field.take_summaries()
        if summaries is not None:
            # Their heartbeats promise that nothing earlier comes: they must not overtake the summaries.
            brought = ReadResult(
                Status.NEW_VALUE, self._none, (), said, summaries=_typed(summaries, self.stream)
            )
            if not rows.height and not garbled:
                return brought
            self._next, said = brought, ()
        if not rows.height and not garbled and not said:
            return self.nothing()
        return ReadResult(Status.NEW_VALUE, rows, garbled, said)

    @property
    def due(self) -> int | None:
        if not self.speed or self._began is None:
            return None
        if self._next is not None:
            return self.clock()
        clock, theirs = self._began
        return clock + max(0, -int((theirs - self.field.next_tick) // self.speed))

    def command(self, sensor: int | str, command: Command) -> bool:
        return self.field.command(sensor, command)

    def _theirs(self, now: int) -> int:
        """The sensors' time at a time of the clock."""
        assert self._began is not None
        clock, theirs = self._began
        return theirs + round((now - clock) * self.speed)

    def _ours(self, presence: Presence, now: int) -> Presence:
        """A presence in the clock's time. The heartbeat is event time and stays as it is."""
        if presence.listening is None:
            return replace(presence, arrived=now)
        left = presence.listening - presence.arrived
        return replace(
            presence, arrived=now, listening=now + max(1, round(left / self.speed) if self.speed else SECOND)
        )


def _typed(summaries: pl.DataFrame, stream: Stream) -> pl.DataFrame:
    """Summaries in the columns of the stream, which may have fewer than the field, or ids of another type."""
    names = {name.lower(): name for name in summaries.columns}
    wanted = summary_dtypes(stream)
    return summaries.select(
        pl.col(names[name.lower()]).cast(kind).alias(name)
        if name.lower() in names
        else pl.lit(None, dtype=kind).alias(name)
        for name, kind in wanted.items()
    )


def _read(frame: pl.DataFrame, stream: Stream) -> tuple[pl.DataFrame, tuple[Garbled, ...]]:
    """Typed rows, and one dead letter for all garbled ones."""
    reading = read_frame(frame, stream)
    letters = tuple(
        Garbled(b"", letter.reason, str(letter.line), reading.garbled) for letter in reading.dead_letters[:1]
    )
    return reading.rows, letters
