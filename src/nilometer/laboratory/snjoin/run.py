"""Runs the distributed join over a deployment, and gives its answers and costs (SNJoin section 3, steps 1 to
4).

Sensors send readings to their heads. Heads join within their clusters and send their tuples around the other
heads. Results end at the sink, which sends notes back. If every head is probed, the answer equals the central
one, whatever the clusters.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from nilometer.errors import ConfigurationError
from nilometer.kernels.arrays import Floats, Integers
from nilometer.laboratory.radio_network import Events, Message, Meter, Network, Traffic, TrafficMeter
from nilometer.laboratory.snjoin.clusters import NO_HEAD
from nilometer.laboratory.snjoin.head import Arrivals, ClusterHead, HeadCounts
from nilometer.laboratory.snjoin.matches import Answers
from nilometer.laboratory.snjoin.messages import READING, ProbeRequest, Result
from nilometer.laboratory.snjoin.query import Deployment, JoinQuery
from nilometer.laboratory.snjoin.readings import Readings
from nilometer.laboratory.snjoin.relevance import EveryHead, Note, Strategy
from nilometer.laboratory.snjoin.sink import Sink
from nilometer.laboratory.snjoin.tours import head_distances, longest_tour, tour


@dataclass(frozen=True, eq=False)
class JoinRunResult:
    """The result of a run. `delays` gives, for each tuple of the answers, the time from its timestamp until
    the sink had it.

    `probes` counts tuples times the heads that they were sent to; `offered` is that number if every head were
    probed. Answers are complete if every head was probed and nothing was `late` or `overdue`.
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
    radio = deployment.radio
    network = Network(deployment.topology, radio, Events())
    hops = np.zeros(deployment.topology.nodes, dtype=np.int64)
    transmissions = np.zeros(deployment.topology.nodes)
    for head in deployment.clusters.heads.tolist():
        members = deployment.clusters.members(head)
        # A link costs the same in both directions, and so does the route between a member and its head.
        routes = network.routes(head)
        # If there is no route, hops are -1: the error names that member.
        routes.path(int(members[np.argmin(routes.hops[members])]))
        hops[members], transmissions[members] = routes.hops[members], routes.transmissions[members]
    takes = np.array(
        [
            radio.delay(READING, h, t) if h else 0
            for h, t in zip(hops.tolist(), transmissions.tolist(), strict=True)
        ],
        dtype=np.int64,
    )
    waits = np.random.default_rng((seed, 4)).integers(0, jitter, len(readings), endpoint=True)
    delay = takes[readings.stream] + np.where(hops[readings.stream] > 0, waits, 0)
    sent = int(np.count_nonzero(hops[readings.stream]))
    carried = int(hops[readings.stream].sum())
    traffic = Traffic(
        sent,
        carried,
        carried * radio.bytes_on_air(READING),
        float(transmissions[readings.stream].sum()),
        int(delay.sum()),
    )
    return readings.time + delay, traffic


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
    """Run the join until all readings have been answered.

    `arrivals` gives the time at which each reading reaches its head (None: as fast as the radio carries it).
    `skews` says how far each head's clock is ahead. `meters` are told every message except the readings'.
    `relevance` is what heads learned in an earlier run. With `outer`, messages have the size of an outer
    join's rows, as a distributed MJoin sends them; the answers are the same. `tours` gives, for each head, the
    order in which its tuples visit the others (None: always the nearest). The seed decides the draws of the
    feedback; nothing else is random.
    """
    return _JoinRun(
        deployment,
        query,
        readings,
        strategy or EveryHead(),
        arrivals,
        seed,
        skews,
        meters,
        relevance,
        outer,
        tours,
    ).outcome()


class _JoinRun:
    """One run: the heads, the sink, and the messages between them."""

    def __init__(
        self,
        deployment: Deployment,
        query: JoinQuery,
        readings: Readings,
        strategy: Strategy,
        arrivals: Integers | None,
        seed: int,
        skews: Integers | None,
        meters: tuple[Meter, ...],
        relevance: tuple[Floats, ...],
        outer: bool,
        tours: Sequence[Integers] | None,
    ) -> None:
        clusters = deployment.clusters
        if len(readings) and np.any(clusters.head_of[readings.stream] == NO_HEAD):
            raise ConfigurationError(
                "a reading of a node that is in no cluster", hint="the sink senses nothing"
            )
        self.deployment = deployment
        self.query = query
        self.strategy = strategy
        self.heads_of = clusters.places()
        self._members = np.bincount(self.heads_of[self.heads_of >= 0]) if outer else None
        self.meter = TrafficMeter(deployment.radio)
        if arrivals is None:
            arrivals, carried = radio_arrivals(deployment, readings)
            self.meter.add("reading", carried)
        start = min(int(arrivals.min()), int(readings.time.min())) if len(readings) else 0
        self.events = Events(start)
        self.network = Network(deployment.topology, deployment.radio, self.events, (self.meter, *meters))
        if tours is None:
            distances = head_distances(self.network, clusters.heads)
            tours = [tour(distances, origin) for origin in range(clusters.count)]
        self.tours = tours
        self.sink = Sink(strategy, self.heads_of, self.events, self._send_note)
        order = np.argsort(arrivals, kind="stable")
        owner = self.heads_of[readings.stream[order]]
        self.heads = []
        for place in range(clusters.count):
            rows = order[owner == place]
            self.heads.append(
                ClusterHead(
                    place,
                    clusters.count,
                    query,
                    strategy,
                    Arrivals(arrivals[rows], readings.take(rows)),
                    self.events,
                    self._send_on,
                    seed,
                    0 if skews is None else int(skews[place]),
                    relevance[place] if relevance else None,
                )
            )

    def outcome(self) -> JoinRunResult:
        """Run to the end and sum up."""
        for head in self.heads:
            # Heads are not synchronized: each begins its periods at another moment.
            self.events.after(self.query.period * head.place // len(self.heads), partial(self._tick, head))
        self.events.run()
        answers, delays = self.sink.answers()
        counts = [head.counts for head in self.heads]
        inserted = sum(each.inserted for each in counts)
        return JoinRunResult(
            answers,
            delays,
            self.meter.kinds,
            inserted,
            sum(each.probes for each in counts),
            inserted * (len(self.heads) - 1),
            sum(each.late for each in counts),
            sum(each.overdue for each in counts),
            sum(each.notes for each in counts),
            max(each.peak_rows for each in counts),
            max(each.peak_age for each in counts),
            self.events.now,
            tuple(head.relevance for head in self.heads if head.relevance is not None),
            tuple(counts),
        )

    def _tick(self, head: ClusterHead) -> None:
        head.send_due()
        if not head.done:
            self.events.after(self.query.period, partial(self._tick, head))

    def _send_on(self, here: int, request: ProbeRequest) -> None:
        """Send finished rows to the sink, and each other row to the next head of its own sequence. Rows with
        the same next head travel together, and no row passes through a head that it does not probe."""
        going_on = request.left.any(axis=1)
        if not going_on.all():
            self._send_result(here, request, np.flatnonzero(~going_on))
        if not going_on.any():
            return
        order = self.tours[request.origin]
        stop = np.where(going_on, np.argmax(request.left[:, order], axis=1), -1)
        for place in np.unique(stop[going_on]).tolist():
            rows = np.flatnonzero(stop == place)
            part = request if len(rows) == len(stop) else request.part(rows)
            self._send_request(here, part, int(order[place]))

    def _send_request(self, here: int, request: ProbeRequest, target: int) -> None:
        size = request.size(self._differ, self._members)
        self.network.send(
            Message(self._node(here), self._node(target), "probe", size, request), self.heads[target].answer
        )

    def _send_result(self, here: int, request: ProbeRequest, rows: Integers) -> None:
        matched = np.zeros(request.batch_rows, dtype=np.bool_)
        matched[request.matches.probe] = True
        if not self._differ:
            # Without feedback no head waits for a note, and a tuple that joined with nothing is no answer.
            rows = rows[matched[request.number[rows]]]
        if not len(rows):
            return
        finished = np.zeros(request.batch_rows, dtype=np.bool_)
        finished[request.number[rows]] = True
        result = Result(
            request.origin,
            request.batch,
            request.batch_rows,
            request.rows.take(rows),
            request.number[rows],
            request.asked[rows],
            request.matches.take(finished[request.matches.probe]),
        )
        self.network.send(
            Message(
                self._node(here),
                self.deployment.sink,
                "result",
                result.size(self._differ, self._members),
                result,
            ),
            self.sink.receive,
        )

    def _send_note(self, place: int, note: Note) -> None:
        self.network.send(
            Message(self.deployment.sink, self._node(place), "note", note.size(), note),
            self.heads[place].learn,
        )

    @property
    def _differ(self) -> bool:
        return not isinstance(self.strategy, EveryHead)

    def _node(self, place: int) -> int:
        return int(self.deployment.clusters.heads[place])
