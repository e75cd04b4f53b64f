"""The cost of the distributed join over a field of sensors with local phenomena: with every head probed, with
outer joins, and with relevance feedback (SNJoin section 7.2.3).

Sensors stand all over a square. HEED forms the clusters, routes of least expected transmissions connect the
heads, and a radio sends one message at a time. The paper's "cluster range being set to 10% of the total
sensor space" can be read in two ways:

- GROWING: a cluster has a tenth of the area of the largest field. A smaller field has fewer sensors at the
  same density. So 200 sensors are about one cluster, and there is next to nothing to save, as Fig. 12's first
  row of zeros says.
- FIXED: a tenth of the side of a field of constant size. Then 200 sensors have nearly as many clusters as
  2,000.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from nilometer.kernels.arrays import Booleans, Floats, Integers
from nilometer.laboratory.central_join import central_answers
from nilometer.laboratory.phenomenon_updates import PhenomenonRule, Updates, phenomenon_updates
from nilometer.laboratory.reproductions.snjoin_costs import (
    BUCKETS,
    COLLISION,
    FORMATION,
    HASH,
    PROBE,
    SEPARATION,
)
from nilometer.sensornet.clusters import Formation, Heed, form_clusters
from nilometer.sensornet.radio_network import (
    Radio,
    Traffic,
    Trip,
    least_range,
    placed_topology,
    uniform_positions,
)
from nilometer.sensornet.snjoin import (
    Answers,
    Deployment,
    EveryHead,
    Feedback,
    JoinQuery,
    JoinRunResult,
    Readings,
    recall,
    run_join,
    selective_tours,
    sensed,
    suggested_delay,
)
from nilometer.types import MILLISECOND, SECOND

WINDOW = 10 * SECOND
GAP = 10 * SECOND
"""The mean time between two readings of a sensor. The paper has 1 s: ten times as many tuples, each with
lists ten times as long."""

PHENOMENA = 12
DISTINCT = 100
RADIO_RANGE = 0.1
EPSILON = 500 * MILLISECOND
PERIOD = 2 * SECOND
LARGEST_MESSAGE = 20_000
RADIO_QUEUE = 16
"""How many messages may wait for a radio where updates are detected, some 500 tuples; others are dropped at random."""

WAITING = 3_600 * SECOND
"""How much longer than the longest tour the heads keep their readings. Overloaded radios make messages wait
without bound, and none shall come too late for its answer."""

UPDATES = PhenomenonRule(members=3, strength=1, range=WINDOW, slide=PERIOD)
"""A phenomenon: three sensors that agreed in the last window. It is evaluated every period."""


@dataclass(frozen=True)
class Ground:
    """The field. It is a square of side 1 if there are `whole` sensors, and of an area in proportion for
    other numbers (None: always of side 1). Clusters have the given range."""

    whole: int | None
    cluster_range: float

    def side(self, count: int) -> float:
        """The side of the square for `count` sensors."""
        return 1.0 if self.whole is None else math.sqrt(count / self.whole)


GROWING = Ground(2000, math.sqrt(0.1))
FIXED = Ground(None, 0.1)


@dataclass(frozen=True)
class Point:
    """One size of the field: the same readings with every head probed (by one table, and by outer joins), and
    with feedback. `updates` is the number of updates of phenomena per second."""

    sensors: int
    heads: int
    iterations: int
    hops: float
    tuples: int
    exact: bool
    updates: float
    outer: RunFigures
    everyone: RunFigures
    guided: RunFigures

    def reduction(self, name: str) -> float:
        """The reduction of a measure by feedback, in per cent."""
        before, after = getattr(self.everyone, name), getattr(self.guided, name)
        return 100.0 * (1 - after / before) if before else 0.0

    def as_dict(self) -> dict[str, Any]:
        """The measurement, flat."""
        return {
            "sensors": self.sensors,
            "heads": self.heads,
            "iterations": self.iterations,
            "hops_between_heads": self.hops,
            "tuples": self.tuples,
            "exact": self.exact,
            "updates": self.updates,
            "outer_joins": self.outer.__dict__,
            "every_head": self.everyone.__dict__,
            "feedback": self.guided.__dict__,
        }


@dataclass(frozen=True)
class RunFigures:
    """The costs of one run, per tuple where that makes sense.

    `waited` is the mean time that a message waited for radios, in seconds. `updates` is the number per second
    of the phenomena's updates that could be reported correctly from the answers that had reached the sink
    when the readings ended; `told` is the number that were reported. `work` is the busiest head's time by
    Fig. 7's formulas, per tuple of the whole field; `mjoin_work` is the same for outer MJoins in its place.
    `busy` is the share of time for which the busiest radio sends.
    """

    probes: float
    hops: float
    messages: int
    bytes: float
    delay: float
    waited: float
    width: float
    recall: float
    work: float
    mjoin_work: float
    busy: float
    notes: int
    overdue: int
    updates: float
    told: float


class BusyRadios:
    """A meter: the time for which each node's radio sends."""

    def __init__(self, radio: Radio, nodes: int) -> None:
        self.radio = radio
        self.microseconds = np.zeros(nodes)

    def carried(self, trip: Trip) -> None:
        """Every node except the last sends the message on, with the mean number of transmissions per link of
        this path."""
        airtime = self.radio.bytes_on_air(trip.message.size) * SECOND / self.radio.bytes_per_second
        self.microseconds[list(trip.path[:-1])] += airtime * trip.transmissions / trip.hops


def measure(
    count: int, seconds: int, strategy: Feedback, seed: int, phenomena: int, ground: Ground = GROWING
) -> Point:
    """All runs over one field."""
    deployment, formation = deploy(count, seed, ground)
    everything = phenomena_readings(deployment.topology.positions, count, 2 * seconds, seed, phenomena)
    early = everything.time < seconds * SECOND
    readings = everything.take(~early)
    delay = suggested_delay(deployment, PERIOD, LARGEST_MESSAGE) + WAITING
    query = JoinQuery(WINDOW, EPSILON, delay, PERIOD)
    expected = central_answers(readings, WINDOW)
    end = 2 * seconds * SECOND
    true = updates_of(expected, None, end)
    taught = run_join(deployment, query, everything.take(early), strategy, seed=seed).relevance
    # A distributed MJoin probes by selectivity; it knows that of the readings before, as feedback does.
    by_selectivity = selective_tours(deployment.clusters, everything.take(early))
    runs, outcomes = [], []
    for each, relevance, outer, tours in (
        (EveryHead(), (), True, by_selectivity),
        (EveryHead(), (), False, None),
        (strategy, taught, False, None),
    ):
        radios = BusyRadios(deployment.radio, deployment.topology.nodes)
        run = partial(
            run_join,
            deployment,
            query,
            readings,
            each,
            seed=seed,
            relevance=relevance,
            outer=outer,
            tours=tours,
        )
        outcome, shed = run(meters=(radios,)), run(queue=RADIO_QUEUE)
        found = updates_of(shed.answers, shed.delays, end)
        runs.append(
            replace(
                _summary(outcome, radios, expected, deployment, readings, seconds),
                updates=found.found_of(true) / seconds,
                told=len(found) / seconds,
            )
        )
        outcomes.append(outcome)
    outer_run, everyone, guided = runs
    complete = outcomes[1]
    return Point(
        count,
        deployment.clusters.count,
        formation.iterations,
        everyone.hops / everyone.messages if everyone.messages else 0.0,
        len(readings),
        _equal(complete.answers, expected) and complete.late == complete.overdue == 0,
        len(true) / seconds,
        outer_run,
        everyone,
        guided,
    )


def updates_of(answers: Answers, delays: Integers | None, end: int) -> Updates:
    """The phenomena's updates up to `end`, from the answers that the sink had by then (None: all of them)."""
    known = None if delays is None else answers.tuples.time + delays <= end
    return phenomenon_updates(*occurrences(answers, known), UPDATES, until=end)


def occurrences(answers: Answers, known: Booleans | None = None) -> tuple[Integers, Integers, Integers]:
    """The times, values and streams of the readings that answers tell of: probing tuples and their matches, each
    reading once. `known` selects answers."""
    tuples, matches = answers.tuples, answers.matches
    ours = np.ones(len(tuples), dtype=np.bool_) if known is None else known
    told = ours[matches.probe]
    rows = np.stack(
        (
            np.concatenate((tuples.time[ours], matches.time[told])),
            np.concatenate((tuples.value[ours], tuples.value[matches.probe[told]])),
            np.concatenate((tuples.stream[ours], matches.stream[told])),
        )
    )
    order = np.lexsort(rows)
    rows = rows[:, order]
    fresh = np.ones(rows.shape[1], dtype=np.bool_)
    fresh[1:] = (rows[:, 1:] != rows[:, :-1]).any(axis=0)
    time, value, stream = rows[:, fresh]
    return time, value, stream


def deploy(count: int, seed: int, ground: Ground = GROWING) -> tuple[Deployment, Formation]:
    """`count` sensors, clustered by HEED, with a sink in the middle."""
    positions = ground.side(count) * np.concatenate((uniform_positions(count, seed), [[0.5, 0.5]]))
    topology = placed_topology(positions, max(RADIO_RANGE, least_range(positions)), seed)
    taking_part = np.arange(count + 1) < count
    formation = form_clusters(positions, Heed(ground.cluster_range), seed, taking_part=taking_part)
    return Deployment(topology, formation.clusters, count), formation


def phenomena_readings(
    positions: Floats, count: int, seconds: int, seed: int, phenomena: int = PHENOMENA
) -> Readings:
    """Readings with like values within a phenomenon: the nearest centre decides which values a sensor's Zipf
    ranks stand for."""
    random = np.random.default_rng((seed, 5, count))
    centres = np.random.default_rng((seed, 6)).random((phenomena, 2))
    offsets = positions[:count, None] - centres[None]
    phenomenon = np.argmin(np.hypot(offsets[..., 0], offsets[..., 1]), axis=1)
    exponent = random.integers(1, 6, count)
    total = random.poisson(count * seconds * SECOND / GAP)
    stream = random.integers(0, count, total)
    # For a given number of arrivals, exponential gaps mean uniform arrival times.
    time = np.sort(random.integers(0, seconds * SECOND, total))
    draws = random.random(total)
    rank = np.empty(total, dtype=np.int64)
    for power in range(1, 6):
        weights = np.arange(1, DISTINCT + 1, dtype=np.float64) ** -power
        own = exponent[stream] == power
        rank[own] = np.minimum(
            np.searchsorted(np.cumsum(weights / weights.sum()), draws[own], side="right"), DISTINCT - 1
        )
    return sensed(stream, time, phenomenon[stream] * DISTINCT + rank)


def _summary(
    outcome: JoinRunResult,
    radios: BusyRadios,
    expected: Answers,
    deployment: Deployment,
    readings: Readings,
    seconds: int,
) -> RunFigures:
    tuples = max(1, len(readings))
    traffic = outcome.between_heads
    probe = outcome.traffic.get("probe", Traffic())
    work, mjoin_work = _work(outcome, deployment, readings)
    return RunFigures(
        outcome.probes / tuples,
        float(probe.hops),
        probe.messages,
        traffic.bytes / tuples,
        float(outcome.delays.mean()) / SECOND if len(outcome.delays) else 0.0,
        traffic.waited / max(1, traffic.messages) / SECOND,
        outcome.answers.matches.sublists / max(1, len(expected.tuples)),
        recall(outcome.answers, expected),
        work / tuples,
        mjoin_work / tuples,
        float(radios.microseconds.max()) / (seconds * SECOND),
        outcome.notes,
        outcome.overdue,
        0.0,
        0.0,
    )


def _work(outcome: JoinRunResult, deployment: Deployment, readings: Readings) -> tuple[float, float]:
    """Microseconds (Fig. 13 prints no unit) of the busiest head, with one table and with a table for each
    stream."""
    members: Integers = np.bincount(deployment.clusters.places()[deployment.clusters.head_of >= 0])
    held = np.unique(np.stack((readings.stream, readings.time // WINDOW, readings.value)), axis=1)
    windows = np.unique(held[:2], axis=1)
    distinct = held.shape[1] / max(1, windows.shape[1])
    one, each = [], []
    for counts, streams in zip(outcome.heads, members.tolist(), strict=True):
        probes = counts.probes + counts.inserted
        collisions = COLLISION * counts.peak_distinct / BUCKETS
        # A stream and a time for each occurrence; outer joins give every stream a cell, even if it is NULL.
        one.append(probes * (HASH + collisions) + counts.matches * (SEPARATION + 2 * FORMATION))
        each.append(probes * (HASH + streams * (PROBE + COLLISION * distinct / BUCKETS + FORMATION)))
    return max(one), max(each)


def _equal(found: Answers, expected: Answers) -> bool:
    pairs = [
        *(
            (getattr(found.tuples, name), getattr(expected.tuples, name))
            for name in ("value", "time", "stream", "sequence")
        ),
        *(
            (getattr(found.matches, name), getattr(expected.matches, name))
            for name in ("probe", "stream", "time")
        ),
    ]
    return all(np.array_equal(left, right) for left, right in pairs)
