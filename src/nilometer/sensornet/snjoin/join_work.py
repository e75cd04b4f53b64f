"""The distributed join while it runs: heads, the sink, and the messages between them, epoch by epoch.

In an epoch clusters are fixed. Each tuple is joined by the head that its sensor has at its time, and probes the heads
of that epoch. When an epoch ends, each old head hands the readings of the last window over to their new heads, so that
a tuple finds all it may join with in the tables of its own epoch: the answer stays exact. If a head dies, its table is
gone; it is built again from new readings, within the window. Probes that would visit a dead head go on to the next.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from nilometer.kernels.arrays import Booleans, Floats, Integers
from nilometer.sensornet.clusters.clusters import NO_HEAD, Clusters
from nilometer.sensornet.radio_network import EnergyMeter, Message, Network, TrafficMeter
from nilometer.sensornet.snjoin.head import Arrivals, ClusterHead
from nilometer.sensornet.snjoin.messages import ENVELOPE, ProbeRequest, Result, reading_size
from nilometer.sensornet.snjoin.query import JoinQuery
from nilometer.sensornet.snjoin.readings import NO_READINGS, Readings
from nilometer.sensornet.snjoin.relevance import EveryHead, Feedback, Note, Strategy, base_matrix
from nilometer.sensornet.snjoin.sink import Sink
from nilometer.sensornet.snjoin.tours import head_distances, tour
from nilometer.sensornet.ways import Ways


@dataclass
class JoinLosses:
    """What deaths and lost packets took away. `readings` did not reach a head. `unheard` readings are of sensors that no
    head could be reached from. `rows` were in the table of a head that died, or on their way to a new one. `probes` are
    tuples whose probe was lost, with what they had found. `skipped` counts the dead heads that tuples could not probe.
    `results` are tuples whose result did not reach the sink."""

    readings: int = 0
    unheard: int = 0
    rows: int = 0
    probes: int = 0
    skipped: int = 0
    results: int = 0

    @property
    def any(self) -> bool:
        """Whether anything was lost."""
        return any(vars(self).values())


@dataclass(frozen=True, eq=False)
class JoinOptions:
    """How to run the join; see `run_join`. All but strategy and seed are for a run with fixed clusters."""

    strategy: Strategy = field(default_factory=EveryHead)
    seed: int = 0
    arrivals: Integers | None = None
    skews: Integers | None = None
    relevance: tuple[Floats, ...] = ()
    outer: bool = False
    tours: Sequence[Integers] | None = None


@dataclass(eq=False)
class Epoch:
    """The clusters from `begin` on, until `end` (None: it goes on), and their heads. `home` is where the readings of each
    node are kept: at its head, or, if it has none any more, at the head of its last head."""

    begin: int
    clusters: Clusters
    home: Integers
    ways: Ways
    heads: list[ClusterHead]
    tours: Sequence[Integers]
    sent: Integers
    end: int | None = None

    def node(self, place: int) -> int:
        """The node of a head."""
        return int(self.clusters.heads[place])


class JoinWork:
    """The work of a join. `epochs` are those so far."""

    def __init__(
        self,
        network: Network,
        sink: int,
        query: JoinQuery,
        readings: Readings,
        traffic: TrafficMeter,
        energy: EnergyMeter | None = None,
        options: JoinOptions | None = None,
    ) -> None:
        self.network = network
        self.sink_node = sink
        self.query = query
        self.readings = readings
        self.traffic = traffic
        self.epochs: list[Epoch] = []
        self.losses = JoinLosses()
        self._energy = energy
        self._options = options or JoinOptions()
        self._places: list[Integers] = []
        self.sink = Sink(self._options.strategy, self._places, network.events, self._send_note, query.within)
        self._random = np.random.default_rng((self._options.seed, 9))

    # ---- epochs ------------------------------------------------------------------------------------------------------

    def open(self, clusters: Clusters | None, begin: int) -> None:
        """Begin an epoch, and end the one before."""
        before = self.epochs[-1] if self.epochs and self.epochs[-1].end is None else None
        if before is not None:
            self._close(before, begin)
        if clusters is None:
            return
        home = clusters.head_of if before is None else _homes(clusters, before)
        later = self.readings.time > begin if self.epochs else np.ones(len(self.readings), dtype=np.bool_)
        heard = clusters.head_of[self.readings.stream] != NO_HEAD
        ways = Ways.of(self.network, clusters)
        mine, arrivals = self._arriving(np.flatnonzero(later & heard), ways)
        tours = self._options.tours
        if tours is None:
            distances = head_distances(self.network, clusters.heads)
            tours = [tour(distances, origin) for origin in range(clusters.count)]
        number = len(self.epochs)
        epoch = Epoch(begin, clusters, home, ways, [], tours, np.flatnonzero(later & heard))
        movings = [] if before is None else self._movings(before, epoch)
        expected = np.bincount([new for _, new, _ in movings], minlength=clusters.count)
        order = mine[np.argsort(arrivals, kind="stable")]
        times = np.sort(arrivals, kind="stable")
        place_of = np.searchsorted(clusters.heads, clusters.head_of[self.readings.stream[order]])
        for place in range(clusters.count):
            own = place_of == place
            epoch.heads.append(
                ClusterHead(
                    place,
                    clusters.count,
                    self.query,
                    self._options.strategy,
                    Arrivals(times[own], self.readings.take(order[own])),
                    self.network.events,
                    partial(self._send_on, epoch),
                    self._options.seed + 1_000_003 * number,
                    0 if self._options.skews is None else int(self._options.skews[place]),
                    self._relevance(before, epoch, place),
                    number,
                    int(expected[place]),
                )
            )
        self.epochs.append(epoch)
        self._places.append(np.searchsorted(clusters.heads, home))
        for old, new, streams in movings:
            assert before is not None
            self._hand_over(before, old, epoch, new, streams)
        for head in epoch.heads:
            # Heads are not synchronized: each begins its periods at another moment.
            wait = self.query.period * head.place // len(epoch.heads)
            self.network.events.after(wait, partial(self._tick, epoch, head))

    def died(self, node: int) -> None:
        """A node has died: what it held is gone, and readings that came over it do not arrive."""
        for epoch in self.epochs:
            for head in epoch.heads:
                if epoch.node(head.place) == node and not head.dead:
                    head.dead = True
                    if epoch.end is None:
                        self.losses.rows += head.held_since(self.network.events.now - self.query.window)
        epoch = self.epochs[-1]
        if epoch.end is None:
            # Those of the next epoch are heard again: it has its own ways.
            cut = epoch.ways.through(node)
            for head in epoch.heads:
                head.forget(cut)

    def _close(self, epoch: Epoch, end: int) -> None:
        epoch.end = end
        for head in epoch.heads:
            head.close(end)

    def account(self) -> None:
        """Count the readings' way to their heads, and those that did not come."""
        size = reading_size(self.query.value_bytes)
        unheard = len(self.readings)
        for epoch in self.epochs:
            within = epoch.sent
            if epoch.end is not None:
                within = within[self.readings.time[within] <= epoch.end]
            streams = self.readings.stream[within]
            taken = int(epoch.ways.takes(size)[streams].sum())
            self.traffic.add("reading", epoch.ways.traffic(streams, size, taken))
            if self._energy is not None:
                epoch.ways.charge(self._energy, streams, size)
            unheard -= len(within)
            arrived = sum(head.counts.inserted + head.counts.late for head in epoch.heads)
            self.losses.readings += len(within) - arrived
        self.losses.unheard = unheard

    def _arriving(self, rows: Integers, ways: Ways) -> tuple[Integers, Integers]:
        """The readings that reach their heads, and when."""
        streams = self.readings.stream[rows]
        if self._options.arrivals is not None:
            return rows, self._options.arrivals[rows]
        times = self.readings.time[rows] + ways.takes(reading_size(self.query.value_bytes))[streams]
        if self.network.losses is None:
            return rows, times
        arrives = self._random.random(len(rows)) < ways.arrives[streams]
        return rows[arrives], times[arrives]

    # ---- from old heads to new ones ----------------------------------------------------------------------------------

    def _movings(self, before: Epoch, epoch: Epoch) -> list[tuple[int, int, Booleans]]:
        """Which old head hands readings of which streams over to which new one."""
        found = []
        for old in range(before.clusters.count):
            if before.heads[old].dead:
                continue
            mine = before.home == before.node(old)
            for head in np.unique(epoch.home[mine & (epoch.home != NO_HEAD)]).tolist():
                found.append(
                    (old, int(np.searchsorted(epoch.clusters.heads, head)), mine & (epoch.home == head))
                )
        return found

    def _hand_over(self, before: Epoch, old: int, epoch: Epoch, new: int, streams: Booleans) -> None:
        """Send the readings of the last window, once all of them are there."""
        giver, taker, events = before.heads[old], epoch.heads[new], self.network.events
        assert before.end is not None
        since = before.end - self.query.window

        def send() -> None:
            if giver.dead:
                taker.take_over(NO_READINGS)
                return
            if not giver.ready or giver.horizon < epoch.begin:
                events.after(
                    max(1, epoch.begin - giver.horizon, self.query.period if not giver.ready else 0), send
                )
                return
            rows = giver.hand_over(streams, since)
            size = ENVELOPE + len(rows) * reading_size(self.query.value_bytes)
            message = Message(before.node(old), epoch.node(new), "hand-over", size, rows)
            self.network.send(message, taker.take_over, partial(self._lost_rows, taker))

        send()

    def _lost_rows(self, taker: ClusterHead, rows: Readings) -> None:
        self.losses.rows += len(rows)
        taker.take_over(NO_READINGS)

    def _relevance(self, before: Epoch | None, epoch: Epoch, place: int) -> Floats | None:
        """What a head has learned: if it was one before, it keeps what it knows of the heads that remain."""
        strategy = self._options.strategy
        if not isinstance(strategy, Feedback):
            return None
        if before is None:
            return self._options.relevance[place] if self._options.relevance else None
        old = np.flatnonzero(before.clusters.heads == epoch.node(place))
        if not len(old):
            return None
        known = before.heads[int(old[0])].relevance
        assert known is not None
        matrix = base_matrix(strategy, epoch.clusters.count)
        _, there, here = np.intersect1d(before.clusters.heads, epoch.clusters.heads, return_indices=True)
        matrix[:, here] = known[:, there]
        return matrix

    # ---- messages ----------------------------------------------------------------------------------------------------

    def _tick(self, epoch: Epoch, head: ClusterHead) -> None:
        if head.dead:
            return
        head.send_due()
        if not head.done:
            # The last period before the next arrival, so that what comes late is late.
            wait = head.idle_until - self.network.events.now
            periods = max(1, (wait - 1) // self.query.period)
            self.network.events.after(periods * self.query.period, partial(self._tick, epoch, head))

    def _send_on(self, epoch: Epoch, here: int, request: ProbeRequest) -> None:
        """Send finished rows to the sink, and each other row to the next head of its own sequence. Rows with
        the same next head travel together, and no row passes through a head that it does not probe."""
        going_on = request.left.any(axis=1)
        if not going_on.all():
            self._send_result(epoch, here, request, np.flatnonzero(~going_on))
        if not going_on.any():
            return
        order = epoch.tours[request.origin]
        stop = np.where(going_on, np.argmax(request.left[:, order], axis=1), -1)
        for place in np.unique(stop[going_on]).tolist():
            rows = np.flatnonzero(stop == place)
            part = request if len(rows) == len(stop) else request.part(rows)
            self._send_request(epoch, here, part, int(order[place]))

    def _send_request(self, epoch: Epoch, here: int, request: ProbeRequest, target: int) -> None:
        size = request.size(self._differ, self._members(epoch), self.query.value_bytes, self.query.within > 0)
        message = Message(epoch.node(here), epoch.node(target), "probe", size, request)
        self.network.send(message, epoch.heads[target].answer, partial(self._unanswered, epoch, here, target))

    def _unanswered(self, epoch: Epoch, here: int, target: int, request: ProbeRequest) -> None:
        """A dead head acknowledges nothing: its sender goes on to the next. What the radio lost is lost."""
        if not epoch.heads[target].dead or epoch.heads[here].dead:
            self.losses.probes += len(request.rows)
            return
        self.losses.skipped += len(request.rows)
        left = request.left.copy()
        left[:, target] = False
        self._send_on(
            epoch,
            here,
            ProbeRequest(
                request.origin,
                request.batch,
                request.batch_rows,
                request.rows,
                request.number,
                request.asked,
                left,
                request.matches,
                request.epoch,
            ),
        )

    def _send_result(self, epoch: Epoch, here: int, request: ProbeRequest, rows: Integers) -> None:
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
            request.epoch,
        )
        size = result.size(self._differ, self._members(epoch), self.query.value_bytes, self.query.within > 0)
        message = Message(epoch.node(here), self.sink_node, "result", size, result)
        self.network.send(message, self.sink.receive, self._lost_result)

    def _lost_result(self, result: Result) -> None:
        self.losses.results += len(result.rows)

    def _send_note(self, number: int, place: int, note: Note) -> None:
        epoch = self.epochs[number]
        message = Message(self.sink_node, epoch.node(place), "note", note.size(), note)
        self.network.send(message, epoch.heads[place].learn)

    def _members(self, epoch: Epoch) -> Integers | None:
        """The number of streams of each head, if messages are those of an outer join."""
        if not self._options.outer:
            return None
        return np.bincount(epoch.clusters.places()[epoch.clusters.head_of != NO_HEAD])

    @property
    def _differ(self) -> bool:
        return not isinstance(self._options.strategy, EveryHead)


def _homes(clusters: Clusters, before: Epoch) -> Integers:
    """Where each node's readings are kept from now on."""
    home = clusters.head_of.copy()
    strays = np.flatnonzero((home == NO_HEAD) & (before.home != NO_HEAD))
    home[strays] = clusters.head_of[before.home[strays]]
    lost = strays[home[strays] == NO_HEAD]
    home[lost] = clusters.heads[0]  # its old head has no head itself, but can still speak
    return home
