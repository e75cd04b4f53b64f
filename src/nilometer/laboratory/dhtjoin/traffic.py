"""The traffic of DHTJoin and RJoin in hops, with the paper's parameters (section 6, Fig. 4).

Tuples, queries and values are drawn; each put is counted with the hops of its ring (rings.py). DHTJoin puts a tuple once
for each of its attributes by which a live query joins, and tells n - 1 peers of each query. RJoin puts each tuple
twice for each of its attributes, each query once, and each rewritten query once more.
"""

from __future__ import annotations

from dataclasses import astuple, dataclass, field
from itertools import pairwise
from math import log2

import numpy as np
import numpy.typing as npt
import polars as pl

from nilometer.kernels.arrays import Integers, Words
from nilometer.laboratory.dhtjoin.rings import Ring
from nilometer.overlay.indexing import keys_of

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Setting:
    """The paper's parameters. `rate` is of each stream, tuples a second; `ways` the streams of a query."""

    rate: float = 30.0
    query_rate: float = 0.02
    ways: int = 3
    kind: int = 1
    peers: int = 1024
    relations: int = 10
    attributes: int = 10
    values: int = 1000
    zipf: float = 0.9
    window: float = 50.0
    seconds: float = 300.0
    seed: int = 1


@dataclass
class Traffic:
    """Hops by purpose. `formula` is what the formulas say of the same purposes: each put takes log2(n) / 2 + 1."""

    dissemination: float = 0
    indexing: float = 0
    rewriting: float = 0
    later: float = 0
    """Intermediate tuples of joins of type 2, which the paper's measure leaves out."""
    formula: float = 0
    rewrites: float = 0
    """How many queries RJoin rewrites, and puts once more."""

    def __add__(self, other: Traffic) -> Traffic:
        return Traffic(*(one + more for one, more in zip(astuple(self), astuple(other), strict=True)))

    @property
    def measured(self) -> float:
        """The paper's measure: indexing, dissemination, rewriting."""
        return self.dissemination + self.indexing + self.rewriting


@dataclass
class Query:
    """A query: its relations and, for each equality class, (relation, attribute) pairs."""

    start: float
    relations: list[int]
    classes: list[list[tuple[int, int]]]

    def place_of(self, by: int) -> str:
        """As peers place it (join_plan.py)."""
        return "=" + min(f"a{attribute}" for _, attribute in self.classes[by])


@dataclass
class World:
    """What happens in a run: when tuples come and with which values, and when queries come."""

    setting: Setting
    ring: Ring
    times: list[Floats] = field(default_factory=list)
    values: list[Integers] = field(default_factory=list)
    queries: list[Query] = field(default_factory=list)
    homes: Integers = field(default_factory=lambda: np.empty(0, dtype=np.int64))


def world(setting: Setting) -> World:
    """Draw a run."""
    random = np.random.default_rng(setting.seed)
    made = World(setting, Ring.random(setting.peers, setting.seed))
    weights = 1.0 / np.arange(1, setting.values + 1) ** setting.zipf
    weights /= weights.sum()
    count = int(setting.rate * setting.seconds)
    for _ in range(setting.relations):
        made.times.append(np.asarray((np.arange(count) + random.random()) / setting.rate, dtype=np.float64))
        made.values.append(random.choice(setting.values, (count, setting.attributes), p=weights))
    made.homes = random.integers(0, setting.peers, setting.relations)
    moment = random.exponential(1 / setting.query_rate)
    while moment < setting.seconds:
        made.queries.append(_query(setting, random, moment))
        moment += random.exponential(1 / setting.query_rate)
    return made


def _query(setting: Setting, random: np.random.Generator, start: float) -> Query:
    relations = random.choice(setting.relations, setting.ways, replace=False).tolist()
    if setting.kind == 1:
        attribute = int(random.integers(setting.attributes))
        return Query(start, relations, [[(one, attribute) for one in relations]])
    classes = []
    used: dict[int, set[int]] = {one: set() for one in relations}
    for left, right in pairwise(relations):
        free = [a for a in range(setting.attributes) if a not in used[left] | used[right]]
        attribute = int(random.choice(free))
        used[left].add(attribute)
        used[right].add(attribute)
        classes.append([(left, attribute), (right, attribute)])
    return Query(start, relations, classes)


def dhtjoin(made: World) -> Traffic:
    """The traffic of DHTJoin."""
    setting = made.setting
    told = Traffic(dissemination=(setting.peers - 1) * len(made.queries))
    begins: dict[tuple[str, int, int], float] = {}
    for query in made.queries:
        entered: set[int] = set()
        for by, members in enumerate(query.classes):
            for relation, attribute in members:
                if relation not in entered:  # each stream is put once, where it enters the pipeline
                    entered.add(relation)
                    key = (query.place_of(by), relation, attribute)
                    begins[key] = min(begins.get(key, np.inf), query.start)
    puts = 0
    for (place, relation, attribute), start in begins.items():
        hops = _hops_by_value(made, made.homes[relation], keys_at(place, setting.values))
        values = made.values[relation][made.times[relation] >= start, attribute]
        told.indexing += float(hops[values].sum())
        puts += len(values)
    told.formula = told.dissemination + puts * _hops(setting.peers)
    if setting.kind == 2:
        for query in made.queries:
            partials = _partials(made, query)
            told.later += sum(partials[1:-1]) * _hops(setting.peers)
    return told


def rjoin(made: World) -> Traffic:
    """The traffic of RJoin."""
    setting, ring = made.setting, made.ring
    told = Traffic()
    puts = 0
    for relation in range(setting.relations):
        home = made.homes[relation]
        count = len(made.times[relation])
        names = [f"r{relation}||a{attribute}" for attribute in range(setting.attributes)]
        level = np.concatenate([keys_of(name, pl.Series([0])) for name in names])
        told.indexing += count * float(ring.hops(np.full(len(level), home), level).sum())
        for attribute, name in enumerate(names):
            hops = _hops_by_value(made, home, keys_at(f"{name}||v", setting.values))
            told.indexing += float(hops[made.values[relation][:, attribute]].sum())
        puts += 2 * setting.attributes * count
    rewrites = 0.0
    for query in made.queries:
        rewrites += 1 + sum(_partials(made, query)[:-1])
    told.rewrites, told.rewriting = rewrites, rewrites * _hops(setting.peers)
    told.formula = (puts + rewrites) * _hops(setting.peers)
    return told


def keys_at(place: str, values: int) -> Words:
    """The keys of all values at a place, by the code that peers use."""
    return keys_of(place, pl.int_range(values, eager=True))


def _hops_by_value(made: World, home: int, keys: Words) -> Integers:
    return made.ring.hops(np.full(len(keys), home), keys)


def _hops(peers: int) -> float:
    return log2(peers) / 2 + 1


def _partials(made: World, query: Query) -> list[float]:
    """How many partial results of 1, 2, ... streams a query has, in the order of its streams. The window holds between
    neighbours of a chain, or, for type 1, between the first stream and each other."""
    window = made.setting.window
    first = query.relations[0]
    alive = made.times[first] >= query.start
    times, weight = made.times[first][alive], np.ones(int(alive.sum()))
    rows = made.values[first][alive]
    counts = [float(weight.sum())]
    for step, relation in enumerate(query.relations[1:]):
        by = query.classes[0] if made.setting.kind == 1 else query.classes[step]
        mine = next(a for one, a in by if one == (first if made.setting.kind == 1 else query.relations[step]))
        theirs = next(a for one, a in by if one == relation)
        there = made.times[relation] >= query.start
        other_times, other_rows = made.times[relation][there], made.values[relation][there]
        if made.setting.kind == 1:
            weight = weight * _matches(times, rows[:, mine], other_times, other_rows[:, theirs], None, window)
        else:
            weight = _matches(other_times, other_rows[:, theirs], times, rows[:, mine], weight, window)
            times, rows = other_times, other_rows
        counts.append(float(weight.sum()))
    return counts


def _matches(
    times: Floats,
    values: Integers,
    other_times: Floats,
    other_values: Integers,
    weight: Floats | None,
    window: float,
) -> Floats:
    """For each tuple the (weighted) number of others with its value within the window."""
    found = np.zeros(len(times))
    order = np.argsort(other_values, kind="stable")
    sorted_values = other_values[order]
    weights = np.ones(len(other_times)) if weight is None else weight
    for value in np.unique(values):
        low, high = np.searchsorted(sorted_values, [value, value + 1])
        if low == high:
            continue
        theirs = order[low:high]  # in the order of time, which is the tuples' own
        sums = np.concatenate(([0.0], np.cumsum(weights[theirs])))
        mine = np.flatnonzero(values == value)
        ends = np.searchsorted(other_times[theirs], times[mine] + window, side="right")
        begins = np.searchsorted(other_times[theirs], times[mine] - window, side="left")
        found[mine] = sums[ends] - sums[begins]
    return found


# ---- the formulas alone ----------------------------------------------------------------------------------------------


def query_rate_at(share: float, setting: Setting, rewrites: float) -> float:
    """The least query rate at which DHTJoin has this share of RJoin's hops, by the formulas, up to one a second.
    `rewrites` are RJoin's a query.

    With q queries a second of w of r relations each, a tuple of DHTJoin has a (1 - exp(-q t w / (r a))) puts of its a
    attributes after t seconds, as the paper counts, and each query is told to n - 1 peers. RJoin's tuple has 2 a puts.
    """
    rates = np.linspace(0.0005, 1.0, 2000)
    named, hops, seconds = setting.attributes, _hops(setting.peers), setting.seconds
    a_second = rates * setting.ways / setting.relations
    puts = named * (seconds + np.expm1(-a_second * seconds / named) * named / a_second)
    tuples, queries = setting.relations * setting.rate, rates * seconds
    ours = (setting.peers - 1) * queries + tuples * puts * hops
    theirs = (tuples * seconds * 2 * named + rewrites * queries) * hops
    return float(rates[np.argmax(ours > share * theirs)])
