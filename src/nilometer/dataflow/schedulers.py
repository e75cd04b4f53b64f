"""The scheduler decides which start works next. The queries of one start share their inlets and move together.

`RoundRobin` steps each in turn, as in fjords.txt section 4.3.1. Any order gives the same answers. A query that is much
dearer than the others gets a reader of its own, not a share of the time (live/apart.py). A run ends when nothing can
move. In STEAM the operators schedule themselves (steam.txt section 6.1): that is `run.py`, where the caller pulls the
streams.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Protocol


class Status(Enum):
    """The outcome of a step. IDLE: nothing has arrived; this is STEAM's NULL tuple (section 6.1). BLOCKED:
    answers wait to be fetched."""

    WORKED = "worked"
    IDLE = "idle"
    BLOCKED = "blocked"


class Unit(Protocol):
    """A state machine that a scheduler steps. Its `step` never waits."""

    def step(self) -> Status:
        """Look at the inputs once and do the work that is possible."""


class Scheduler(Protocol):
    """The order in which units step."""

    def run(self, units: Sequence[Unit]) -> None:
        """Step until none can move."""


@dataclass(frozen=True)
class RoundRobin:
    """Steps each unit in turn."""

    def run(self, units: Sequence[Unit]) -> None:
        moved = True
        while moved:
            moved = False
            for unit in units:
                if unit.step() is Status.WORKED:
                    moved = True
