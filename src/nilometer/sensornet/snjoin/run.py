"""Runs the distributed join over a deployment, and gives its answers and costs (SNJoin section 3, steps 1 to
4).

Sensors send readings to their heads. Heads join within their clusters and send their tuples around the other
heads. Results end at the sink, which sends notes back. If every head is probed, the answer equals the central
one, whatever the clusters are and however they change (join_work.py). What a death or a lost packet takes away is
counted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from nilometer.errors import ConfigurationError
from nilometer.kernels.arrays import Floats, Integers
from nilometer.sensornet.clusters import NO_HEAD, ChangingField, FieldPlan, Happening
from nilometer.sensornet.radio_network import EnergyMeter, Events, Meter, Network, Traffic, TrafficMeter
from nilometer.sensornet.snjoin.head import HeadCounts
from nilometer.sensornet.snjoin.join_work import JoinLosses, JoinOptions, JoinWork
from nilometer.sensornet.snjoin.matches import Answers
from nilometer.sensornet.snjoin.messages import READING
from nilometer.sensornet.snjoin.query import Deployment, JoinQuery
from nilometer.sensornet.snjoin.readings import Readings
from nilometer.sensornet.snjoin.relevance import EveryHead, Strategy
from nilometer.sensornet.snjoin.tours import head_distances, longest_tour, tour
from nilometer.sensornet.ways import Ways


@dataclass(frozen=True, eq=False)
class JoinRunResult:
    """The result of a run. `delays` gives, for each tuple of the answers, the time from its timestamp until
    the sink had it.

    `probes` counts tuples times the heads that they were sent to; `offered` is that number if every head were
    probed. Answers are complete if every head was probed and nothing was `late`, `overdue` or among the `losses`.
    """

    answers: Answers
    delays: Integers
    traffic: dict[str, Traffic]
    tuples: int
    probes: int
    offered: int
    late: int
    overdue: int
    notes: int
    peak_rows: int
    peak_age: int
    ended: int
    relevance: tuple[Floats, ...]
    heads: tuple[HeadCounts, ...]
    losses: JoinLosses

    @property
    def total(self) -> Traffic:
        """All messages together."""
        return sum(self.traffic.values(), Traffic())

    @property
    def between_heads(self) -> Traffic:
        """The traffic of the distributed join, without the readings' way to their heads."""
        return sum((part for kind, part in self.traffic.items() if kind != "reading"), Traffic())


def recall(found: Answers, expected: Answers) -> float:
    """The share of the expected occurrences that were found; 1 if none were expected."""
    return len(found.matches) / len(expected.matches) if len(expected.matches) else 1.0


def radio_arrivals(
    deployment: Deployment, readings: Readings, jitter: int = 0, seed: int = 0
) -> tuple[Integers, Traffic]:
    """The time at which each reading reaches its head over the radio, up to `jitter` later than its packet
    takes, and the traffic."""
    network = Network(deployment.topology, deployment.radio, Events())
    ways = Ways.of(network, deployment.clusters)
    waits = np.random.default_rng((seed, 4)).integers(0, jitter, len(readings), endpoint=True)
    travels = ways.hops[readings.stream] > 0
    delay = ways.takes(READING)[readings.stream] + np.where(travels, waits, 0)
    return readings.time + delay, ways.traffic(readings.stream, READING, int(delay.sum()))


def suggested_delay(deployment: Deployment, period: int, size: int, skew: int = 0) -> int:
    """A `delay` for the query: the time until messages of up to `size` bytes have reached the last head of
    the longest sequence, with clocks that differ by up to `skew`. A probe that takes longer still is counted
    as overdue if that could cost an answer."""
    network = Network(deployment.topology, deployment.radio, Events())
    heads = deployment.clusters.heads
    distances = head_distances(network, heads)
    tours = [tour(distances, origin) for origin in range(len(heads))]
    return period + 2 * skew + longest_tour(network, heads, tours, size)


def run_join(
    deployment: Deployment,
    query: JoinQuery,
    readings: Readings,
    strategy: Strategy | None = None,
    arrivals: Integers | None = None,
    seed: int = 0,
    skews: Integers | None = None,
    meters: tuple[Meter, ...] = (),
    relevance: tuple[Floats, ...] = (),
    outer: bool = False,
    tours: Sequence[Integers] | None = None,
) -> JoinRunResult:
    """Run the join over fixed clusters until all readings have been answered.

    `arrivals` gives the time at which each reading reaches its head (None: as fast as the radio carries it).
    `skews` says how far each head's clock is ahead. `meters` are told every message except the readings'.
    `relevance` is what heads learned in an earlier run. With `outer`, messages have the size of an outer
    join's rows, as a distributed MJoin sends them; the answers are the same. `tours` gives, for each head, the
    order in which its tuples visit the others (None: always the nearest). The seed decides
    the draws of the feedback.
    """
    clusters = deployment.clusters
    if len(readings) and np.any(clusters.head_of[readings.stream] == NO_HEAD):
        raise ConfigurationError("a reading of a node that is in no cluster", hint="the sink senses nothing")
    start = int(readings.time.min()) if len(readings) else 0
    if arrivals is not None and len(arrivals):
        start = min(start, int(arrivals.min()))
    meter = TrafficMeter(deployment.radio)
    network = Network(deployment.topology, deployment.radio, Events(start), (meter, *meters))
    options = JoinOptions(strategy or EveryHead(), seed, arrivals, skews, relevance, outer, tours)
    work = JoinWork(network, deployment.sink, query, readings, meter, options=options)
    work.open(clusters, start - 1)
    network.events.run()
    return joined(work)


def run_changing_join(
    plan: FieldPlan,
    network: Network,
    query: JoinQuery,
    readings: Readings,
    strategy: Strategy,
    traffic: TrafficMeter,
    energy: EnergyMeter | None = None,
) -> tuple[JoinRunResult, list[Happening]]:
    """Run the join over clusters that change as the plan says. The meters are among the network's."""
    work = JoinWork(network, plan.sink, query, readings, traffic, energy, JoinOptions(strategy, plan.seed))
    field = ChangingField(plan, network, traffic, energy)
    field.run(work)
    return joined(work), field.happenings


def joined(work: JoinWork) -> JoinRunResult:
    """The result of work that is done."""
    work.account()
    answers, delays = work.sink.answers()
    heads = [head for epoch in work.epochs for head in epoch.heads]
    counts = [head.counts for head in heads]
    return JoinRunResult(
        answers,
        delays,
        work.traffic.kinds,
        sum(each.inserted for each in counts),
        sum(each.probes for each in counts),
        sum(head.counts.inserted * (len(epoch.heads) - 1) for epoch in work.epochs for head in epoch.heads),
        sum(each.late for each in counts),
        sum(each.overdue for each in counts),
        sum(each.notes for each in counts),
        max((each.peak_rows for each in counts), default=0),
        max((each.peak_age for each in counts), default=0),
        work.network.events.now,
        tuple(head.relevance for head in heads if head.relevance is not None),
        tuple(counts),
        work.losses,
    )
