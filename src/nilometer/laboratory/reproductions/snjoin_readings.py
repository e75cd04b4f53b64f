"""The readings of SNJoin's experiments (snjoin.txt section 7.2): a board of thermometers, and a large fleet
with values by Zipf's law.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from nilometer.kernels.arrays import Integers
from nilometer.laboratory.baselines import Arrivals
from nilometer.types import MILLISECOND, SECOND

SIDE = 5
"""The board is a grid of 5 by 5."""
BOARD_GAP = 10 * MILLISECOND
SWEEP = 20 * SECOND
"""The time in which the heat goes over the board and back."""
SPAN = 130
"""The number of values that one sensor of the board takes in a sweep. In a window of 10 s it has 100 of them, Fig. 13's
Distinct 1."""
GRADIENT = 95
"""The number of values by which a column of the board is warmer than the one before. All 25 sensors have 495 values in a
window; Fig. 13 has 494."""

PHENOMENA = 12
DISTINCT = 100
"""As in the network of Figs. 11 and 12: the number of phenomena that share the field, and of values in
each."""
GAP = SECOND

CHANGE_EVERY = 60 * SECOND
LARGEST_GROUP = 100


def board(sensors: int, seconds: int, seed: int) -> Arrivals:
    """A reading of each sensor every 10 ms, while a heat effect is moved back and forth."""
    chance = np.random.default_rng(seed)
    order = chance.permutation(SIDE * SIDE)[:sensors]
    steps = seconds * SECOND // BOARD_GAP
    times = np.arange(steps)[:, None] * BOARD_GAP + np.arange(sensors)[None, :] * (BOARD_GAP // sensors)
    columns, rows = order % SIDE, order // SIDE
    # The spot is over a column once on its way there and once on its way back, at slightly different times by row.
    phase = (times / SWEEP + (columns + 0.2 * rows)[None, :] / (2 * SIDE)) % 1.0
    heat = (SPAN - 1) * (1 - np.abs(2 * phase - 1))
    values = np.floor(GRADIENT * columns[None, :] + heat + chance.normal(0, 1.0, times.shape))
    sources = np.broadcast_to(np.arange(sensors)[None, :], times.shape)
    return in_order(times.ravel(), sources.ravel(), values.ravel().astype(np.int64))


def chosen(arrivals: Arrivals, mask: npt.NDArray[np.bool_]) -> Arrivals:
    """The arrivals that the mask selects."""
    return Arrivals(arrivals.times[mask], arrivals.sources[mask], arrivals.values[mask], arrivals.rows[mask])


def fleet(sensors: int, seconds: int, seed: int) -> Arrivals:
    """Exponential gaps of 1 s on average. Values by Zipf's law, with an exponent of 1 to 5 by sensor, within
    the sensor's phenomenon."""
    chance = np.random.default_rng(seed)
    count = int(chance.poisson(sensors * seconds * SECOND / GAP))
    times = np.sort(chance.integers(0, seconds * SECOND, count))
    sources = chance.integers(0, sensors, count)
    ranks = np.empty(count, dtype=np.int64)
    exponents = chance.integers(1, 6, sensors)
    for exponent in range(1, 6):
        weights = 1.0 / np.arange(1, DISTINCT + 1) ** exponent
        mine = exponents[sources] == exponent
        ranks[mine] = chance.choice(DISTINCT, size=int(mine.sum()), p=weights / weights.sum())
    phenomena = chance.integers(0, PHENOMENA, sensors)
    return in_order(times, sources, ranks + DISTINCT * phenomena[sources])


def changing_fleet(sensors: int, seconds: int, seed: int) -> tuple[Arrivals, Integers, Integers]:
    """A fleet in which every minute a group of 1 to 100 sensors joins or leaves, by the toss of a coin; the times of
    these changes, and how many sensors each is of."""
    chance = np.random.default_rng([seed, 1])
    pool = sensors + LARGEST_GROUP
    given = fleet(pool, seconds, seed)
    changes = np.arange(CHANGE_EVERY, seconds * SECOND, CHANGE_EVERY)
    active = np.ones((len(changes) + 1, pool), dtype=np.bool_)
    active[0, chance.permutation(pool)[:LARGEST_GROUP]] = False
    for minute in range(1, len(active)):
        active[minute] = active[minute - 1]
        there = int(active[minute].sum())
        comes = bool(chance.integers(0, 2)) if LARGEST_GROUP <= there < pool else there < LARGEST_GROUP
        candidates = np.flatnonzero(active[minute] != comes)
        group = chance.permutation(candidates)[: chance.integers(1, LARGEST_GROUP + 1)]
        active[minute, group] = comes
    runs = active[np.searchsorted(changes, given.times, side="right"), given.sources]
    sizes = (active[1:] != active[:-1]).sum(axis=1)
    return chosen(given, runs), changes, sizes


def in_order(times: Integers, sources: Integers, values: Integers) -> Arrivals:
    """The readings in the order of arrival: by time, then by sensor."""
    order = np.lexsort((sources, times))
    return Arrivals(times[order], sources[order], values[order], np.arange(len(order)))
