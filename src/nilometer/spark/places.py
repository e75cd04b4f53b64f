"""Where a query stands in its streams' logs: Spark's offset, and with it all that the door of each stream has to know.

The door's numbers (dataflow/door.py) travel in the offset, made by the driver of record headers alone (admission.py). So a micro-batch
may be read in several pieces at once, by different machines, each beginning with the watermark that the readings before it have
raised; and the watermark of a micro-batch is a function of its offsets: a replay is exact (design.md principle 5).
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
class Place:
    """A place in one log: the next entry, the next row's position, and what the readings before it have told the door."""

    number: int = 0
    position: int = 0
    watermark: int = NEVER
    first_tick: int | None = None
    greatest_tick: int | None = None
    greatest_time: int | None = None

    @property
    def offset(self) -> Offset:
        """Where to read on."""
        return Offset(self.number, self.position)

    @staticmethod
    def at(offset: Offset) -> Place:
        """A query begins here: it has heard of nothing before."""
        return Place(offset.number, offset.position)

    def door_numbers(self, stream: Stream, times: tuple[int, int], first_tick: int | None) -> dict[str, Any]:
        """What a door knows after rows whose least and greatest times are these; `first_tick` of the first accepted one.

        No row has to be looked at: the row with the greatest tick is never late if it is not below the watermark before, for
        no row before it can have raised that above its own tick; and if it is below, all rows are late and change nothing.
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
    """A query's place in all its streams, by lower-case name. `ended`: the logs are finite, and everything has been read; `over`: the streams
    of which this is so while others go on."""

    streams: Mapping[str, Place]
    ended: bool = False
    over: frozenset[str] = frozenset()

    @staticmethod
    def at(offsets: Mapping[str, Offset]) -> Places:
        """A query begins here."""
        return Places({name: Place.at(offset) for name, offset in offsets.items()})

    def as_json(self) -> dict[str, Any]:
        """As Spark keeps it."""
        said = {"streams": {name: asdict(place) for name, place in self.streams.items()}, "ended": self.ended}
        return said | {"over": sorted(self.over)} if self.over else said

    @staticmethod
    def of_json(found: Mapping[str, Any]) -> Places:
        """What `as_json` made."""
        places = {name: Place(**place) for name, place in found["streams"].items()}
        return Places(places, found["ended"], frozenset(found.get("over", ())))

    @property
    def offsets(self) -> dict[str, Offset]:
        """Where to read on, by stream."""
        return {name: place.offset for name, place in self.streams.items()}

    def clock(self, leaves: tuple[Leaf, ...]) -> Clock:
        """How far event time has come for a query with these occurrences of streams."""
        ended = self.streams.keys() if self.ended else self.over
        first_ticks = {
            name: place.first_tick for name, place in self.streams.items() if place.first_tick is not None
        }
        return Clock(query_watermark(leaves, self.streams, ended), first_ticks)
