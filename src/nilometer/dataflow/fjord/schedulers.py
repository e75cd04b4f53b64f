"""Who transitions next. All give the same answers; they differ in who waits for whom.

- `RoundRobin`: each module in succession, one after the other, as in fjords.txt section 4.3.1.
- `Tickets`: modules are charged for the time they compute (section 3.1.3, after lottery and stride scheduling); a module with
  twice the tickets gets twice the time, and one that computes long waits long.
- `SelfScheduling`: none at all: the topmost operators call down, and one whose sources are all blocked says so by a NULL
  tuple (steam.txt section 6.1).

A run ends when nothing can move.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from nilometer.dataflow.fjord.messages import Status
from nilometer.dataflow.fjord.module import Module
from nilometer.errors import ConfigurationError


class Scheduler(Protocol):
    """`pulls`: whether modules call those below them, so that the queues in between must be pull queues."""

    @property
    def pulls(self) -> bool:
        """Whether the plan's inner queues pull."""

    def run(self, modules: Sequence[Module], tops: Sequence[Module]) -> None:
        """Transition modules until none can move. `modules` are in the order in which rows flow; `tops` give answers."""


@dataclass(frozen=True)
class RoundRobin:
    """Each in succession."""

    pulls: bool = False

    def run(self, modules: Sequence[Module], tops: Sequence[Module]) -> None:  # noqa: ARG002
        moved = True
        while moved:
            moved = False
            for module in modules:
                if module.transition() is Status.WORKED:
                    moved = True


@dataclass(frozen=True)
class SelfScheduling:
    """The topmost operators in turn: each asks those below it until it has given something or all is blocked."""

    pulls: bool = True

    def run(self, modules: Sequence[Module], tops: Sequence[Module]) -> None:  # noqa: ARG002
        moved = True
        while moved:
            moved = False
            for top in tops:
                if top.transition() is Status.WORKED:
                    moved = True


@dataclass
class _Account:
    """What a module holds and has used: `used` in seconds, `passed` is its stride scheduler's virtual time."""

    tickets: int
    used: float = 0.0
    turns: int = 0
    passed: float = 0.0


@dataclass
class Tickets:
    """Time in proportion to tickets. `priorities` gives tickets by a module's name (1 for the rest); `lottery` draws, with
    the seed, else the one that is furthest behind goes next (stride); `clock` says how long a transition took."""

    priorities: Mapping[str, int] = field(default_factory=dict)
    lottery: bool = False
    seed: int = 0
    clock: Callable[[], float] = time.perf_counter
    pulls: bool = False

    def __post_init__(self) -> None:
        if any(tickets < 1 for tickets in self.priorities.values()):
            raise ConfigurationError("a module without a ticket would never run", hint="give it at least one")
        self._random = random.Random(self.seed)
        self._accounts: dict[Module, _Account] = {}
        self._now = 0.0

    def used(self, module: Module) -> float:
        """The seconds that a module has been charged."""
        return self._accounts[module].used if module in self._accounts else 0.0

    def run(self, modules: Sequence[Module], tops: Sequence[Module]) -> None:  # noqa: ARG002
        present = set(modules)
        self._accounts = {m: account for m, account in self._accounts.items() if m in present}
        for module in modules:
            account = self._accounts.setdefault(module, _Account(self.priorities.get(module.name, 1)))
            # One that was idle has saved nothing up: it starts where the others are.
            account.passed = max(account.passed, self._now)
        waiting = list(modules)
        while waiting:
            module = self._draw(waiting) if self.lottery else self._furthest_behind(waiting)
            before = self.clock()
            status = module.transition()
            self._charge(module, max(self.clock() - before, 0.0))
            if status is Status.WORKED:
                waiting = list(modules)  # what it gave may be what another one waited for
            else:
                waiting.remove(module)

    def _charge(self, module: Module, seconds: float) -> None:
        account = self._accounts[module]
        self._now = account.passed
        account.used += seconds
        account.turns += 1
        account.passed += max(seconds, 1e-9) / account.tickets

    def _furthest_behind(self, waiting: Sequence[Module]) -> Module:
        return min(waiting, key=lambda module: self._accounts[module].passed)

    def _draw(self, waiting: Sequence[Module]) -> Module:
        """Tickets are worth time, not turns: one that computes long per turn is drawn seldom (compensation tickets)."""
        weights = []
        for module in waiting:
            account = self._accounts[module]
            mean = account.used / account.turns if account.turns else 0.0
            weights.append(account.tickets / max(mean, 1e-6))
        return self._random.choices(waiting, weights)[0]
