"""A server with a bounded queue, in virtual time: which tuples a join of a given cost gets to see, and how
long they wait.

SNJoin's experiments (section 7.2) overload a machine of 2006, which drops the tuples that it has no time for.
Here each join is measured on this machine with several numbers of tuples in the window (`measured_costs`). On
the virtual server a tuple takes that time, for the window's contents when it is served, times a factor. A
tuple that arrives when `queue` others wait takes the place of one of them, drawn at random: "input tuples are
dropped randomly from the system's buffers to accommodate new tuples". Memory is enough for the window.
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
"""The best of REPEATS runs counts. Short runs are repeated more often, up to MOST_REPEATS times or until they
have taken ENOUGH seconds."""


class Join(Protocol):
    """The join that is served. `charged` is work that is not done here but would be, in seconds per tuple.
    `rebuilt` says that the join is rebuilt from the window when streams come or go."""

    charged: float
    rebuilt: bool

    def feed(self, arrivals: Arrivals) -> Integers:
        """For each tuple, the number of earlier tuples of other streams that it joins."""


@dataclass(frozen=True)
class Costs:
    """Microseconds per tuple (`each`) for numbers of tuples in the window (`held`, rising)."""

    held: Floats
    each: Floats

    def at(self, held: float) -> float:
        """The cost with this number of tuples, by linear interpolation."""
        return float(np.interp(held, self.held, self.each))

    def slowed(self, factor: float) -> Costs:
        """The costs on a machine that is slower by a factor."""
        return Costs(self.held, self.each * factor)


def measured_costs(
    make: Callable[[], Join], arrivals: Arrivals, window: int, clock: Callable[[], float], seed: int = 0
) -> Costs:
    """The costs of a join over all arrivals, and over random shares of them: the best of several runs, once a
    window has passed."""
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
    """Feed all arrivals in batches; returns the number of partners found."""
    return sum(int(join.feed(arrivals[at : at + BATCH]).sum()) for at in range(0, len(arrivals), BATCH))


@dataclass(frozen=True)
class Served:
    """The arrivals that were served, and when each was done."""

    admitted: Booleans
    done: Floats

    def delay(self, times: Integers) -> float:
        """The mean time from arrival to output, in milliseconds."""
        return float((self.done - times[self.admitted]).mean()) / 1_000 if len(self.done) else 0.0


def serve(
    times: Integers,
    costs: Costs,
    window: int,
    rebuilds: Integers | None = None,
    queue: int = QUEUE,
    draws: Floats | None = None,
) -> Served:
    """Simulate the server. At the times of `rebuilds` it feeds the window to a new join before it goes on.
    `draws` says, for each arrival, which of those that wait it replaces if there is no room: 0 the oldest, just
    below 1 the newest (None: random, always the same)."""
    admitted = np.ones(len(times), dtype=np.bool_)
    done = np.empty(len(times))
    moments = np.zeros(0, dtype=np.int64) if rebuilds is None else rebuilds
    chance = np.random.default_rng(0).random(len(times)) if draws is None else draws
    count = _serve(times, costs.held, costs.each, window, moments, queue, chance, admitted, done)
    return Served(admitted, done[:count])


@numba.njit(cache=True)
def _at(number, held, each):  # type: ignore[no-untyped-def]
    """Linear interpolation between the measured costs; beyond them, the last one."""
    if number <= held[0]:
        return each[0]
    for place in range(1, len(held)):
        if number <= held[place]:
            share = (number - held[place - 1]) / (held[place] - held[place - 1])
            return each[place - 1] + share * (each[place] - each[place - 1])
    return each[-1]


@numba.njit(cache=True)
def _serve(times, held, each, window, rebuilds, queue, draws, admitted, done):  # type: ignore[no-untyped-def]
    """Fill in which tuples are served and when each is done; returns their number."""
    kept = np.empty(len(times), dtype=np.int64)  # the times of those served
    waiting = np.empty(queue + 1, dtype=np.int64)  # their places, in order
    oldest = count = length = rebuilt = 0
    free = 0.0
    for place in range(len(times) + 1):
        # Serve those whose turn comes before this arrival; behind the last arrival, all.
        while length:
            first = times[waiting[0]]
            begin = max(free, float(first))
            if place < len(times) and begin >= times[place]:
                break
            while rebuilt < len(rebuilds) and rebuilds[rebuilt] <= begin:
                since = oldest  # a tuple that waits may be older than the change, and its window with it
                while since < count and kept[since] < rebuilds[rebuilt] - window:
                    since += 1
                # The window fills from empty: on average it is half full.
                size = float(count - since)
                begin = max(begin, float(rebuilds[rebuilt])) + size * _at(size / 2, held, each)
                rebuilt += 1
            free = begin
            if place < len(times) and begin >= times[place]:
                break
            while oldest < count and kept[oldest] < first - window:
                oldest += 1
            free = begin + _at(float(count - oldest), held, each)
            kept[count] = first
            done[count] = free
            count += 1
            length -= 1
            waiting[:length] = waiting[1 : length + 1]
        if place == len(times):
            break
        if length == queue:
            gone = int(draws[place] * queue)
            admitted[waiting[gone]] = False
            length -= 1
            waiting[gone:length] = waiting[gone + 1 : length + 1]
        waiting[length] = place
        length += 1
    return count
