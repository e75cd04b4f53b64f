"""A server with a bounded queue, in virtual time: which tuples a join of a given cost gets to see, and how long they wait.

SNJoin's experiments (section 7.2) overload a machine of 2006: what the processor has no time for is dropped from the buffers. Here each join is measured on
this machine with several numbers of tuples in the window (`measured_costs`); on the virtual server a tuple takes that time, for what is in
the window when it is served, times a factor. A tuple that arrives when `queue` others wait is dropped; memory is enough for the window.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numba
import numpy as np

from nilometer.kernels.arrays import Booleans, Floats, Integers
from nilometer.laboratory.baselines import Arrivals
from nilometer.laboratory.reproductions.snjoin_readings import chosen
from nilometer.types import SECOND

QUEUE = 500
BATCH = 2_000
SHARES = (1.0, 0.5, 0.2, 0.05)
REPEATS, MOST_REPEATS, ENOUGH = 5, 20, 0.3
"""The best of so many runs, of more where they are short: until they have taken so many seconds."""


class Join(Protocol):
    """What is served. `charged` is work that is not done here but would be, in seconds per tuple; `rebuilt` says that it is made anew from
    the window when streams come or go."""

    charged: float
    rebuilt: bool

    def feed(self, arrivals: Arrivals) -> Integers:
        """Per tuple, how many earlier ones of other streams it joins."""


@dataclass(frozen=True)
class Costs:
    """Microseconds a tuple (`each`) with so many tuples in the window (`held`, rising)."""

    held: Floats
    each: Floats

    def at(self, held: float) -> float:
        """With so many, by the straight line between those measured."""
        return float(np.interp(held, self.held, self.each))

    def slowed(self, factor: float) -> Costs:
        """On a machine that is slower by a factor."""
        return Costs(self.held, self.each * factor)


def measured_costs(
    make: Callable[[], Join], arrivals: Arrivals, window: int, clock: Callable[[], float], seed: int = 0
) -> Costs:
    """Of a join over all of the arrivals, and over a random share of them: the best of several runs, once a window has passed."""
    chance = np.random.default_rng(seed)
    draws = chance.random(len(arrivals))
    held, each = [], []
    for share in sorted(SHARES):
        some = chosen(arrivals, draws < share)
        full = int(np.searchsorted(some.times, arrivals.times[0] + window))
        runs: list[float] = []
        while len(runs) < REPEATS or (len(runs) < MOST_REPEATS and sum(runs) < ENOUGH):
            join = make()
            fed(join, some[:full])
            began = clock()
            fed(join, some[full:])
            runs.append(clock() - began)
        held.append(float(full))
        each.append((min(runs) / max(len(some) - full, 1) + join.charged) * SECOND)
    return Costs(np.array(held), np.array(each))


def fed(join: Join, arrivals: Arrivals) -> int:
    """All of it in batches; how many partners were found."""
    return sum(int(join.feed(arrivals[at : at + BATCH]).sum()) for at in range(0, len(arrivals), BATCH))


@dataclass(frozen=True)
class Served:
    """Which arrivals were served, and when each of these was done."""

    admitted: Booleans
    done: Floats

    def delay(self, times: Integers) -> float:
        """From arrival to output, in milliseconds, on average."""
        return float((self.done - times[self.admitted]).mean()) / 1_000 if len(self.done) else 0.0


def serve(
    times: Integers, costs: Costs, window: int, rebuilds: Integers | None = None, queue: int = QUEUE
) -> Served:
    """What a server has time for. At the times of `rebuilds` it feeds the window to a new join before it goes on."""
    admitted = np.zeros(len(times), dtype=np.bool_)
    done = np.empty(len(times))
    moments = np.zeros(0, dtype=np.int64) if rebuilds is None else rebuilds
    count = _serve(times, costs.held, costs.each, window, moments, queue, admitted, done)
    return Served(admitted, done[:count])


@numba.njit(cache=True)
def _at(number, held, each):  # type: ignore[no-untyped-def]
    """The straight line between the two that were measured; beyond them, the last."""
    if number <= held[0]:
        return each[0]
    for place in range(1, len(held)):
        if number <= held[place]:
            share = (number - held[place - 1]) / (held[place] - held[place - 1])
            return each[place - 1] + share * (each[place] - each[place - 1])
    return each[-1]


@numba.njit(cache=True)
def _serve(times, held, each, window, rebuilds, queue, admitted, done):  # type: ignore[no-untyped-def]
    """Fills in who is admitted and when each is done; gives how many they are."""
    kept = np.empty(len(times), dtype=np.int64)  # the times of those admitted
    oldest = waiting = count = rebuilt = 0
    free = 0.0
    for place in range(len(times)):
        time = times[place]
        while oldest < count and kept[oldest] < time - window:
            oldest += 1
        while rebuilt < len(rebuilds) and rebuilds[rebuilt] <= time:
            # The window fills from nothing: on average half of it is there.
            size = float(count - oldest)
            free = max(free, float(rebuilds[rebuilt])) + size * _at(size / 2, held, each)
            rebuilt += 1
        while waiting < count and done[waiting] <= time:
            waiting += 1
        if count - waiting < queue:
            free = max(free, float(time)) + _at(float(count - oldest), held, each)
            admitted[place] = True
            kept[count] = time
            done[count] = free
            count += 1
    return count
