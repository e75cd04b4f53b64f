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
from dataclasses import dataclass
from typing import Any

import numpy as np

from nilometer.kernels.arrays import Floats, Integers
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
LOADS = (0.05, 0.5, 1.25, 5.0)
"""What the busiest head of SNJoin without feedback has to do, relative to what its processor can do, where updates are
detected."""
OVERLOAD = 1.25
"""The one of them that decides, as in the experiments on one server (snjoin_central.py)."""

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
    """One size of the field: the same readings with every head probed (by one table, and by outer joins), and with
    feedback. `updates` is the number of updates of phenomena per second; the `race` says how many of them the joins
    detect."""

    sensors: int
    heads: int
    iterations: int
    hops: float
    tuples: int
    exact: bool
    updates: float
    race: Race
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

    `waited` is the mean time that a message waited for radios, in seconds. `busy` is the share of time for which the
    busiest radio sends.
    """

    probes: float
    hops: float
    messages: int
    bytes: float
    delay: float
    waited: float
    width: float
    recall: float
    busy: float
    notes: int
    overdue: int


@dataclass(frozen=True)
class Detected:
    """The updates of phenomena per second that are detected where processors limit the heads, and the share of the
    readings that is dropped: by the distributed MJoin, by SNJoin, and with feedback."""

    mjoin: float
    snjoin: float
    feedback: float
    dropped: tuple[float, float, float]

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return self.__dict__ | {"dropped": list(self.dropped)}


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
    count: int,
    seconds: int,
    strategy: Feedback,
    seed: int,
    phenomena: int,
    ground: Ground = GROWING,
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
    true = updates_of(expected, end)
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
        outcome = run_join(
            deployment,
            query,
            readings,
            each,
            seed=seed,
            meters=(radios,),
            relevance=relevance,
            outer=outer,
            tours=tours,
        )
        runs.append(_summary(outcome, radios, expected, readings, seconds))
        outcomes.append(outcome)
    outer_run, everyone, guided = runs
    by_mjoin, complete, by_feedback = outcomes
    race = Race(
        deployment,
        query,
        readings,
        strategy,
        taught,
        by_mjoin,
        complete,
        by_feedback,
        true,
        end,
        seconds,
        seed,
    )
    return Point(
        count,
        deployment.clusters.count,
        formation.iterations,
        everyone.hops / everyone.messages if everyone.messages else 0.0,
        len(readings),
        _equal(complete.answers, expected) and complete.late == complete.overdue == 0,
        len(true) / seconds,
        race,
        outer_run,
        everyone,
        guided,
    )


@dataclass(frozen=True, eq=False)
class Race:
    """The three distributed joins over the same readings, where heads drop what their processors have no time for.

    "Some input tuples are dropped randomly" (section 7.2): of the readings a random share gets in, as large as the busiest
    head has time for. Those that get in are joined as ever, so that a distributed MJoin has the answers that SNJoin has
    for as many readings, whatever the order in which it probes. `outer`, `everyone` and `guided` are what the heads do if nothing
    is dropped.
    """

    deployment: Deployment
    query: JoinQuery
    readings: Readings
    strategy: Feedback
    taught: tuple[Floats, ...]
    outer: JoinRunResult
    everyone: JoinRunResult
    guided: JoinRunResult
    true: Updates
    end: int
    seconds: int
    seed: int

    def slowness(self, load: float) -> float:
        """Microseconds for a unit of Fig. 13 with which the busiest head of SNJoin has that load."""
        return load * self.seconds * SECOND / max(float(self.works(self.everyone).sum(axis=0).max()), 1e-9)

    def works(self, outcome: JoinRunResult) -> Floats:
        """For each head the work that grows with the tuples, and that which grows with the matches: Fig. 7 with Fig. 13's
        constants, and sums in place of products."""
        return np.array(
            [
                (
                    (each.probes + each.inserted) * (HASH + COLLISION * each.peak_distinct / BUCKETS),
                    each.matches * (SEPARATION + 2 * FORMATION),
                )
                for each in outcome.heads
            ]
        ).T

    def works_of_mjoin(self) -> Floats:
        """The same with a table for each sensor: all are probed, and each has a cell in the result, even if it is NULL."""
        clusters = self.deployment.clusters
        members = np.bincount(clusters.places()[clusters.head_of >= 0], minlength=clusters.count)
        tables = members * (PROBE + COLLISION * distinct_of_one(self.readings) / BUCKETS + FORMATION)
        tuples = np.array([each.probes + each.inserted for each in self.outer.heads])
        return np.stack((tuples * (HASH + tables), np.zeros(clusters.count)))

    def detected(self, slowness: float) -> Detected:
        """What they detect with such processors."""
        time = self.seconds * SECOND / slowness
        shares = [
            share_for(works, time)
            for works in (self.works_of_mjoin(), self.works(self.everyone), self.works(self.guided))
        ]
        draws = np.random.default_rng((self.seed, 8)).random(len(self.readings))
        admitted = [self.readings.take(draws < share) for share in shares]
        answers = [central_answers(some, WINDOW) for some in admitted[:2]]
        answers.append(
            run_join(
                self.deployment,
                self.query,
                admitted[2],
                self.strategy,
                seed=self.seed,
                relevance=self.taught,
            ).answers
        )
        mjoin, snjoin, feedback = (
            updates_of(each, self.end).found_of(self.true) / self.seconds for each in answers
        )
        return Detected(mjoin, snjoin, feedback, (1 - shares[0], 1 - shares[1], 1 - shares[2]))


def share_for(works: Floats, time: float) -> float:
    """The largest share of the readings for which every head has time. Tuples grow with the share, and matches with its
    square.

    >>> share_for(np.array([[10.0], [0.0]]), 5.0), share_for(np.array([[0.0, 1.0], [16.0, 1.0]]), 4.0)
    (0.5, 0.5)
    """
    tuples, matches = works
    root: Floats = np.sqrt(tuples**2 + 4 * matches * time)
    least = float(np.min(2 * time / np.maximum(tuples + root, 1e-9)))
    return min(1.0, least)


def distinct_of_one(readings: Readings) -> float:
    """How many distinct values a sensor has in a window, on the average."""
    held = np.unique(np.stack((readings.stream, readings.time // WINDOW, readings.value)), axis=1)
    windows = np.unique(held[:2], axis=1)
    return float(held.shape[1]) / max(1, int(windows.shape[1]))


def updates_of(answers: Answers, end: int) -> Updates:
    """The phenomena's updates up to `end`, from the answers."""
    return phenomenon_updates(*occurrences(answers), UPDATES, until=end)


def occurrences(answers: Answers) -> tuple[Integers, Integers, Integers]:
    """The times, values and streams of the readings that answers tell of: probing tuples and their matches, each
    reading once."""
    tuples, matches = answers.tuples, answers.matches
    rows = np.stack(
        (
            np.concatenate((tuples.time, matches.time)),
            np.concatenate((tuples.value, tuples.value[matches.probe])),
            np.concatenate((tuples.stream, matches.stream)),
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
    readings: Readings,
    seconds: int,
) -> RunFigures:
    tuples = max(1, len(readings))
    traffic = outcome.between_heads
    probe = outcome.traffic.get("probe", Traffic())
    return RunFigures(
        outcome.probes / tuples,
        float(probe.hops),
        probe.messages,
        traffic.bytes / tuples,
        float(outcome.delays.mean()) / SECOND if len(outcome.delays) else 0.0,
        traffic.waited / max(1, traffic.messages) / SECOND,
        outcome.answers.matches.sublists / max(1, len(expected.tuples)),
        recall(outcome.answers, expected),
        float(radios.microseconds.max()) / (seconds * SECOND),
        outcome.notes,
        outcome.overdue,
    )


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
