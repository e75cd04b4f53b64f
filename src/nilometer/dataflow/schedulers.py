"""Which start works next: the queries of one start share their inlets and move together.

- `RoundRobin`: each in succession, as in fjords.txt section 4.3.1.
- `Tickets`: each is charged for the time it computes (section 3.1.3, after lottery and stride scheduling). One with twice the
  tickets gets twice the time, and one that computes long waits long.

All schedulers give the same answers; they differ in who waits for whom. A run ends when nothing can move. STEAM's operators
schedule themselves (steam.txt section 6.1): that is `run.py`, where whoever wants the answer pulls its streams.
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
    """What a step did. IDLE is STEAM's NULL tuple (section 6.1): nothing has arrived. BLOCKED: answers wait to be fetched."""

    WORKED = "worked"
    IDLE = "idle"
    BLOCKED = "blocked"


class Unit(Protocol):
    """What is scheduled: a state machine with one method that never waits."""

    @property
    def name(self) -> str:
        """Under which it holds tickets."""

    def step(self) -> Status:
        """Look at the inputs once, and do what can be done."""


class Scheduler(Protocol):
    """The order in which units step."""

    def run(self, units: Sequence[Unit]) -> None:
        """Step until none can move."""


@dataclass(frozen=True)
class RoundRobin:
    """Each in succession."""

    def run(self, units: Sequence[Unit]) -> None:
        moved = True
        while moved:
            moved = False
            for unit in units:
                if unit.step() is Status.WORKED:
                    moved = True


@dataclass
class _Account:
    """What a unit holds and has used: `used` in seconds, `passed` is its stride scheduler's virtual time."""

    tickets: int
    used: float = 0.0
    turns: int = 0
    passed: float = 0.0


@dataclass
class Tickets:
    """Time in proportion to tickets. `priorities` gives tickets by a unit's name (1 for the rest); `lottery` draws, with
    the seed, else the one that is furthest behind goes next (stride); `clock` says how long a step took."""

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
            # One that was idle has saved nothing up: it starts where the others are.
            account.passed = max(account.passed, self._now)
        waiting = list(units)
        while waiting:
            unit = self._draw(waiting) if self.lottery else self._furthest_behind(waiting)
            before = self.clock()
            status = unit.step()
            self._charge(unit, max(self.clock() - before, 0.0))
            if status is Status.WORKED:
                waiting = list(units)  # what it gave may be what another one waited for
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
        """Tickets are worth time, not turns: one that computes long per turn is drawn seldom (compensation tickets)."""
        weights = []
        for unit in waiting:
            account = self._accounts[unit]
            mean = account.used / account.turns if account.turns else 0.0
            weights.append(account.tickets / max(mean, 1e-6))
        return self._random.choices(waiting, weights)[0]
