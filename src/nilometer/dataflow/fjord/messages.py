"""What flows through a Fjord: arrivals of a stream, waves of a query, and the modules' messages.

A round of a query is a wave: its leaves emit in lockstep, and a module with several inputs waits until each has the
message of the round. So event time is the same for all modules of a plan in every round, whoever is scheduled when.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

import polars as pl

from nilometer.dataflow.door import Door
from nilometer.dataflow.stages import Round
from nilometer.operators.logic import Output


class Status(Enum):
    """What a transition did. IDLE is STEAM's NULL tuple (section 6.1): all sources below are blocked, not "no output"."""

    WORKED = "worked"
    IDLE = "idle"
    BLOCKED = "blocked"
    END = "end"


@dataclass(frozen=True)
class Standing:
    """Where a stream stood when something of it was passed on; its door may have gone on since."""

    watermark: int
    first_tick: int | None
    greatest_tick: int | None
    greatest_time: int | None

    @classmethod
    def of(cls, door: Door) -> Standing:
        """Where the door stands now."""
        return cls(door.watermark, door.first_tick, door.greatest_tick, door.greatest_time)


@dataclass(frozen=True)
class Arrival:
    """Accepted tuples of a stream, how many were late or shed beside them, where the stream stands, whether it ended."""

    rows: pl.DataFrame
    standing: Standing
    late: int = 0
    shed: int = 0
    ended: bool = False


@dataclass(frozen=True)
class Wave:
    """A round of a query: its number, what every module needs to know, and what came of each stream."""

    number: int
    now: Round
    arrivals: Mapping[str, Arrival]


@dataclass(frozen=True)
class Message:
    """What a module gave in a round."""

    wave: Wave
    output: Output


@dataclass(frozen=True)
class StreamEnd:
    """The stream has ended: nothing more will come."""


END = StreamEnd()
