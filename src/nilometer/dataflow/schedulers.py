"""Schedulers decide which start works next. The queries of one start share their inlets and move together.

- `RoundRobin` steps each in turn, as in fjords.txt section 4.3.1.
- `Tickets` charges each for the time it computes (section 3.1.3, after lottery and stride scheduling). A
  start with twice the tickets gets twice the time, and one that computes for long waits for long.

All schedulers give the same answers; they differ in which start waits for which. A run ends when nothing can
move. In STEAM the operators schedule themselves (steam.txt section 6.1): that is `run.py`, where the caller
pulls the streams.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Protocol

from nilometer.errors import ConfigurationError


class Status(Enum):
    """The outcome of a step. IDLE: nothing has arrived; this is STEAM's NULL tuple (section 6.1). BLOCKED:
    answers wait to be fetched."""

    WORKED = "worked"
    IDLE = "idle"
    BLOCKED = "blocked"


class Unit(Protocol):
    """A state machine that a scheduler steps. Its `step` never waits."""

    @property
    def name(self) -> str:
        """The name under which it holds tickets."""

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


@dataclass
class _Account:
    """The tickets of a unit and the time it has used. `used` is in seconds; `passed` is the virtual time of
    stride scheduling."""

    tickets: int
    used: float = 0.0
    turns: int = 0
    passed: float = 0.0


@dataclass
class Tickets:
    """Gives time in proportion to tickets.

    `priorities` gives the tickets by a unit's name; all others have 1. With `lottery` the next unit is drawn
    at random with the seed; otherwise the unit that is furthest behind goes next (stride scheduling). `clock`
    measures how long a step took.
    """

    priorities: Mapping[str, int] = field(default_factory=dict)
    lottery: bool = False
    seed: int = 0
    clock: Callable[[], float] = time.perf_counter

    def __post_init__(self) -> None:
        if any(tickets < 1 for tickets in self.priorities.values()):
            raise ConfigurationError("a unit without a ticket would never run", hint="give it at least one")
        self._random = random.Random(self.seed)
        self._accounts: dict[Unit, _Account] = {}
        self._now = 0.0

    def used(self, unit: Unit) -> float:
        """The seconds that a unit has been charged."""
        return self._accounts[unit].used if unit in self._accounts else 0.0

    def run(self, units: Sequence[Unit]) -> None:
        present = set(units)
        self._accounts = {m: account for m, account in self._accounts.items() if m in present}
        for unit in units:
            account = self._accounts.setdefault(unit, _Account(self.priorities.get(unit.name, 1)))
            # A unit that was idle does not save up time: it goes on at the others' virtual time.
            account.passed = max(account.passed, self._now)
        waiting = list(units)
        while waiting:
            unit = self._draw(waiting) if self.lottery else self._furthest_behind(waiting)
            before = self.clock()
            status = unit.step()
            self._charge(unit, max(self.clock() - before, 0.0))
            if status is Status.WORKED:
                waiting = list(units)  # its output may be the input that another unit waited for
            else:
                waiting.remove(unit)

    def _charge(self, unit: Unit, seconds: float) -> None:
        account = self._accounts[unit]
        self._now = account.passed
        account.used += seconds
        account.turns += 1
        account.passed += max(seconds, 1e-9) / account.tickets

    def _furthest_behind(self, waiting: Sequence[Unit]) -> Unit:
        return min(waiting, key=lambda unit: self._accounts[unit].passed)

    def _draw(self, waiting: Sequence[Unit]) -> Unit:
        """Draw the next unit. Tickets stand for time, not turns: a unit with long turns is drawn rarely
        (compensation tickets)."""
        weights = []
        for unit in waiting:
            account = self._accounts[unit]
            mean = account.used / account.turns if account.turns else 0.0
            weights.append(account.tickets / max(mean, 1e-6))
        return self._random.choices(waiting, weights)[0]
