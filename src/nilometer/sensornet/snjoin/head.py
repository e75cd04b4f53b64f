"""A cluster head: it keeps a table of its cluster's readings, answers probing requests, and sends results to
the sink (Fig. 5).

Readings wait until they are older than epsilon by the head's clock; then they enter the table in time order.
A request waits until all readings that it may join with have entered (section 5.1). The *horizon* is the time
up to which all readings have entered: the head's clock minus epsilon. Readings that arrive behind the horizon
are late; they are counted and left out.

When clusters change, an old head hands the readings of the last window over to their new heads. A new head waits for
them before it answers. The old head goes on answering what is about its own epoch.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from nilometer.kernels.arrays import Booleans, Floats, Integers
from nilometer.sensornet.radio_network import Events
from nilometer.sensornet.snjoin.matches import Matches, concatenated_matches
from nilometer.sensornet.snjoin.messages import ProbeRequest
from nilometer.sensornet.snjoin.query import JoinQuery
from nilometer.sensornet.snjoin.readings import NO_READINGS, Readings, concatenated
from nilometer.sensornet.snjoin.relevance import (
    EveryHead,
    Note,
    Strategy,
    base_matrix,
    buckets_of,
    chosen_heads,
    learned,
)
from nilometer.sensornet.snjoin.table import Table


@dataclass(frozen=True, eq=False)
class Arrivals:
    """A cluster's readings in the order in which its head gets them, with their times of arrival."""

    time: Integers
    readings: Readings


@dataclass
class HeadCounts:
    """The counters of a head: the `inserted` readings, and the own tuples it sent out; the `probes` of other
    heads' tuples that it answered, and how many of them were `overdue`, because they came after readings that
    they may join with had expired; the `matches` it gave them; the rows it was `given` by old heads; the most rows
    and distinct values it held, and the oldest row by its horizon."""

    inserted: int = 0
    late: int = 0
    batches: int = 0
    probes: int = 0
    overdue: int = 0
    matches: int = 0
    notes: int = 0
    given: int = 0
    peak_rows: int = 0
    peak_distinct: int = 0
    peak_age: int = 0


class ClusterHead:
    """One head. `place` is its index among the heads, by ascending node. `skew` is how far its clock is ahead
    of true time. It expects the readings that `expected` old heads hand over."""

    def __init__(
        self,
        place: int,
        heads: int,
        query: JoinQuery,
        strategy: Strategy,
        arrivals: Arrivals,
        events: Events,
        send_on: Callable[[int, ProbeRequest], None],
        seed: int,
        skew: int = 0,
        relevance: Floats | None = None,
        epoch: int = 0,
        expected: int = 0,
    ) -> None:
        self.place = place
        self.query = query
        self.strategy = strategy
        self.epoch = epoch
        self.dead = False
        self.table = Table(query.within)
        self.counts = HeadCounts()
        self.relevance: Floats | None = None
        if not isinstance(strategy, EveryHead):
            self.relevance = base_matrix(strategy, heads) if relevance is None else relevance
        self._heads = heads
        self._arrivals = arrivals
        self._events = events
        self._send_on = send_on
        self._skew = skew
        self._random = np.random.default_rng((seed, 3, place))
        self._arrived = 0
        self._waiting = NO_READINGS
        self._unsent = 0
        self._horizon: int | None = None
        self._swept: int | None = None
        self._expected = expected
        self._handed: list[Readings] = []
        self._held: list[ProbeRequest] = []

    @property
    def ready(self) -> bool:
        """Whether all old heads have handed their readings over."""
        return self._expected == 0

    @property
    def idle_until(self) -> int:
        """The time of the next arrival if there is nothing else to do, otherwise now."""
        if len(self._waiting) or self._unsent or not self.ready:
            return self._events.now
        if self._arrived == len(self._arrivals.time):
            return self._events.now
        return int(self._arrivals.time[self._arrived])

    def held_since(self, time: int) -> int:
        """The number of readings from that time on that are here, those that wait included."""
        parts = (self.table.rows, self._waiting, *self._handed)
        return sum(int(np.count_nonzero(part.time >= time)) for part in parts)

    @property
    def done(self) -> bool:
        """Whether all readings have arrived and were sent on."""
        return self._arrived == len(self._arrivals.time) and not len(self._waiting) and not self._unsent

    @property
    def horizon(self) -> int:
        """The time up to which all readings should have arrived."""
        return self._events.now + self._skew - self.query.epsilon

    def close(self, end: int) -> None:
        """The epoch ends: later readings go to another head."""
        self._keep(self._arrivals.readings.time <= end)

    def forget(self, streams: Booleans) -> int:
        """Readings of these streams that are still to come do not arrive. Returns their number."""
        return self._keep(~streams[self._arrivals.readings.stream])

    def _keep(self, which: Booleans) -> int:
        kept = which.copy()
        kept[: self._arrived] = True
        arrivals = self._arrivals
        self._arrivals = Arrivals(arrivals.time[kept], arrivals.readings.take(kept))
        return len(kept) - int(np.count_nonzero(kept))

    def hand_over(self, streams: Booleans, since: int) -> Readings:
        """The readings of these streams from that time on, for their new head."""
        self.absorb()
        rows = self.table.rows
        return rows.take(streams[rows.stream] & (rows.time >= since))

    def take_over(self, rows: Readings) -> None:
        """Take what an old head handed over. With the last of them, the head begins to work."""
        self._handed.append(rows)
        self.counts.given += len(rows)
        self._expected -= 1
        if not self.ready:
            return
        handed = concatenated(self._handed)
        self._handed = []
        self.table.insert(handed.take(handed.order()))
        held, self._held = self._held, []
        for request in held:
            self.answer(request)

    def absorb(self) -> None:
        """Put the due readings into the table, in order, and drop those that no request can ask for any
        more."""
        arrived = int(np.searchsorted(self._arrivals.time, self._events.now, side="right"))
        if arrived > self._arrived:
            new = self._arrivals.readings.take(slice(self._arrived, arrived))
            self._arrived = arrived
            if self._horizon is not None:
                in_time = new.time > self._horizon
                self.counts.late += len(new) - int(np.count_nonzero(in_time))
                new = new.take(in_time)
            self._waiting = concatenated((self._waiting, new)) if len(self._waiting) else new
        self._horizon = self.horizon
        if len(self._waiting):
            due = self._waiting.time <= self._horizon
            ready = self._waiting.take(due)
            if len(ready):
                self._waiting = self._waiting.take(~due)
                self.table.insert(ready.take(ready.order()))
                self._unsent += len(ready)
                self.counts.inserted += len(ready)
        # The clean sweep runs once a period: it discards the index, which most probes can reuse.
        if self._swept is None or self._horizon - self._swept >= self.query.period:
            self._swept = self._horizon
            self.table.expire(self._horizon - self.query.retention)
        if len(self.table):
            self.counts.peak_rows = max(self.counts.peak_rows, len(self.table))
            self.counts.peak_age = max(self.counts.peak_age, self._horizon - int(self.table.rows.time[0]))

    def send_due(self) -> None:
        """Join the tuples that came in since the last call within the cluster, and send them to other
        heads."""
        if not self.ready:
            return
        self.absorb()
        count, self._unsent = self._unsent, 0
        if not count:
            return
        matches = self.table.probe_newest(count, self.query.window)
        rows = self.table.rows.take(slice(len(self.table) - count, None))
        asked = self._asked(rows)
        request = ProbeRequest(
            self.place,
            self.counts.batches,
            count,
            rows,
            np.arange(count, dtype=np.int64),
            asked,
            asked,
            matches,
            self.epoch,
        )
        self.counts.batches += 1
        self._send_on(self.place, request)

    def answer(self, request: ProbeRequest) -> None:
        """Add this cluster's matches to the rows of a request, and send the request on. If readings may be
        missing, the request waits."""
        if not self.ready:
            self._held.append(request)
            return
        mine = np.flatnonzero(request.left[:, self.place])
        latest = int(request.rows.time[mine].max())
        if latest > self.horizon:
            self._events.at(latest + self.query.epsilon - self._skew, lambda: self.answer(request))
            return
        if self.dead:
            return
        self.absorb()
        probing = request.rows.take(mine)
        self.counts.probes += len(mine)
        kept_from = self.table.kept_from
        if kept_from is not None:
            self.counts.overdue += int(np.count_nonzero(probing.time - self.query.window < kept_from))
        found = self.table.probe(probing, self.query.window)
        self.counts.matches += len(found)
        self.counts.peak_distinct = max(self.counts.peak_distinct, self.table.distinct)
        found = Matches(request.number[mine[found.probe]], found.stream, found.time, found.sequence)
        left = request.left.copy()
        left[:, self.place] = False
        self._send_on(
            self.place,
            ProbeRequest(
                request.origin,
                request.batch,
                request.batch_rows,
                request.rows,
                request.number,
                request.asked,
                left,
                concatenated_matches((request.matches, found)),
                request.epoch,
            ),
        )

    def learn(self, note: Note) -> None:
        """Take a feedback note from the sink."""
        if self.relevance is None or isinstance(self.strategy, EveryHead):
            return
        self.counts.notes += 1
        self.relevance = learned(self.relevance, note, self.strategy)

    def _asked(self, rows: Readings) -> Booleans:
        if self.relevance is None or isinstance(self.strategy, EveryHead):
            everyone = np.ones((len(rows), self._heads), dtype=np.bool_)
            everyone[:, self.place] = False
            return everyone
        bucket = buckets_of(rows.value, self.strategy.buckets, self.query.within)
        return chosen_heads(self.relevance, bucket, self.place, self.strategy, self._random)
