"""A query's place in its streams' logs: Spark's offset, together with the state of each stream's door.

The door's numbers (dataflow/door.py) are part of the offset; the driver computes them from record headers
alone (admission.py). So a micro-batch may be read in several pieces at once, on different machines, each
beginning with the watermark that the readings before it have raised. And the watermark of a micro-batch is a
function of its offsets, so a replay is exact (design.md principle 5).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from nilometer.catalog.extents import Stream
from nilometer.dataflow.door import NEVER
from nilometer.dataflow.watermark import Leaf, query_watermark
from nilometer.log import Offset
from nilometer.spark.layout import Clock


@dataclass(frozen=True)
class LogPlace:
    """A place in one log: the next entry, the position of the next row, and the state of the door after the
    readings before it.
    """

    number: int = 0
    position: int = 0
    watermark: int = NEVER
    first_tick: int | None = None
    greatest_tick: int | None = None
    greatest_time: int | None = None

    @property
    def offset(self) -> Offset:
        """The offset of the next entry."""
        return Offset(self.number, self.position)

    @staticmethod
    def at(offset: Offset) -> LogPlace:
        """The place of a query that begins here, and has read nothing before."""
        return LogPlace(offset.number, offset.position)

    def door_numbers(self, stream: Stream, times: tuple[int, int], first_tick: int | None) -> dict[str, Any]:
        """The state of the door after rows with these least and greatest times; `first_tick` is that of the
        first accepted row.

        No row has to be read. If the row with the greatest tick is not below the watermark before, it is not
        late, for no row before it can have raised the watermark above its own tick. If it is below, all rows
        are late and change nothing.
        """
        tick = times[1] if stream.every is None else times[1] // stream.every * stream.every
        if tick < self.watermark:
            return {}
        return {
            "watermark": max(self.watermark, tick - stream.delay),
            "first_tick": self.first_tick if self.first_tick is not None else first_tick,
            "greatest_tick": tick if self.greatest_tick is None else max(tick, self.greatest_tick),
            "greatest_time": times[1] if self.greatest_time is None else max(times[1], self.greatest_time),
        }


@dataclass(frozen=True)
class Places:
    """A query's places in all its streams, by lower-case name. `ended`: the logs are finite, and everything
    has been read. `over`: the streams that have ended while others go on.
    """

    streams: Mapping[str, LogPlace]
    ended: bool = False
    over: frozenset[str] = frozenset()

    @staticmethod
    def at(offsets: Mapping[str, Offset]) -> Places:
        """The places of a query that begins here."""
        return Places({name: LogPlace.at(offset) for name, offset in offsets.items()})

    def as_json(self) -> dict[str, Any]:
        """The form that Spark stores."""
        said = {"streams": {name: asdict(place) for name, place in self.streams.items()}, "ended": self.ended}
        return said | {"over": sorted(self.over)} if self.over else said

    @staticmethod
    def of_json(found: Mapping[str, Any]) -> Places:
        """The inverse of `as_json`."""
        places = {name: LogPlace(**place) for name, place in found["streams"].items()}
        return Places(places, found["ended"], frozenset(found.get("over", ())))

    @property
    def offsets(self) -> dict[str, Offset]:
        """The offset of the next entry, by stream."""
        return {name: place.offset for name, place in self.streams.items()}

    def clock(self, leaves: tuple[Leaf, ...]) -> Clock:
        """How far event time has come for a query with these occurrences of streams."""
        ended = self.streams.keys() if self.ended else self.over
        first_ticks = {
            name: place.first_tick for name, place in self.streams.items() if place.first_tick is not None
        }
        return Clock(query_watermark(leaves, self.streams, ended), first_ticks)
