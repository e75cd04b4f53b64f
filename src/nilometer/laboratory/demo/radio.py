"""The demo's bad radio: it loses, duplicates, delays and garbles messages, and sometimes a sensor is not
heard at all.

The law: the same seed and the same messages give the same mishaps; a late message was sent before.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl

from nilometer.ingest.adapters import Command, Presence
from nilometer.simulated import SimulatedField
from nilometer.types import MINUTE


@dataclass
class Radio:
    """A field behind a bad radio, for `generate://`. The fractions are of messages; `silent` is the fraction
    of a sensor's quarters of an hour in which it is not heard."""

    sender: SimulatedField
    seed: int
    lost: float = 0.01
    doubled: float = 0.02
    late: float = 0.01
    garbled: float = 0.002
    silent: float = 0.03
    slot: int = 15 * MINUTE
    mailbox: bool = field(init=False)
    _random: np.random.Generator = field(init=False)
    _held: list[tuple[int, pl.DataFrame]] = field(default_factory=list, init=False)
    _reached: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        self.mailbox = self.sender.mailbox
        self._random = np.random.default_rng((self.seed, 2))

    @property
    def next_tick(self) -> int:
        """The time of the next event."""
        return self.sender.next_tick

    def begin(self, start: int, after: int | None = None) -> int:
        """Start the field."""
        return self.sender.begin(start, after)

    def command(self, sensor: int | str, command: Command) -> bool:
        """Commands are not lost: a mailbox keeps them."""
        return self.sender.command(sensor, command)

    def advance(self, until: int) -> tuple[pl.DataFrame, tuple[Presence, ...]]:
        """The messages up to the time `until` that come through."""
        self._reached = until
        rows, presences = self.sender.advance(until)
        heard = tuple(p for p in presences if not self._silenced(np.array([int(p.sensor)]), until)[0])
        came = [frame for due, frame in self._held if due <= until]
        self._held = [(due, frame) for due, frame in self._held if due > until]
        if rows.height:
            came.append(self._through(rows, until))
        return (pl.concat(came) if came else rows), heard

    def take_summaries(self) -> pl.DataFrame | None:
        """The summaries of the last step that come through."""
        rows = self.sender.take_summaries()
        if rows is None:
            return None
        lost = self._silenced(rows["id"].to_numpy(), self._reached)
        return rows.filter(pl.Series(~lost & (self._random.random(rows.height) >= self.lost)))

    def _through(self, rows: pl.DataFrame, until: int) -> pl.DataFrame:
        rows = rows.filter(pl.Series(~self._silenced(rows["id"].to_numpy(), until)))
        fates = self._random.random((4, rows.height))
        late, doubled, garbled = fates[1] < self.late, fates[2] < self.doubled, fates[3] < self.garbled
        if late.any():
            wait = MINUTE * int(self._random.integers(2, 9))
            self._held.append((until + wait, rows.filter(pl.Series(late))))
        rows = rows.with_columns(time=pl.when(pl.Series(~garbled)).then(pl.col("time")))
        kept = pl.Series(~late & (fates[0] >= self.lost))
        return pl.concat([rows.filter(kept), rows.filter(kept & pl.Series(doubled))])

    def _silenced(self, sensors: np.ndarray[Any, Any], now: int) -> np.ndarray[Any, Any]:
        """The sensors that are not heard in this quarter of an hour, by a hash of sensor, slot and seed."""
        mixed = (sensors.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)) ^ np.uint64(
            (now // self.slot) * 0xC2B2AE3D27D4EB4F + self.seed & 0xFFFFFFFFFFFFFFFF
        )
        mixed = (mixed ^ (mixed >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9)
        return (mixed >> np.uint64(11)).astype(np.float64) / 2.0**53 < self.silent
