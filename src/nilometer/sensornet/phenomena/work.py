"""Phenomena over clusters: heads run PH_CANDIDATES and group what they find; only changes go to the sink.

The operator of the gateway finds the candidates, for all heads at once: it is divided by source, and a source has one
head. It reads what reached the heads. When clusters change, counts go with their sensors to the new heads. When a head
dies, the counts of its cluster are gone: they begin again with the readings that come, and the new heads take back
what the sink believes (`forget`). Messages travel over the simulated radios. The sink's PH_TRACK gets the rows that
arrive (engine/clustering.py).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import polars as pl

from nilometer.algebra.table_function import Frame
from nilometer.algebra.table_functions.phenomena import WITHIN
from nilometer.kernels.arrays import Booleans, Integers
from nilometer.operators import frames
from nilometer.operators.logic import ID, TICK, TIME, Progress
from nilometer.phenomena.candidates import Candidates
from nilometer.phenomena.neighbours import Source
from nilometer.sensornet.clusters.clusters import NO_HEAD, Clusters
from nilometer.sensornet.phenomena.grouping import Grouping
from nilometer.sensornet.radio_network import EnergyMeter, Message, Network, TrafficMeter
from nilometer.sensornet.snjoin.messages import ENVELOPE, reading_size
from nilometer.sensornet.ways import Ways
from nilometer.types import ceil_to

COUNT, AGGREGATE, CLASS = 2, 4, 2
"""The bytes of a candidate's count, of its sum, least and greatest value each, and of its class."""

Key = tuple[Any, Source]
"""A class and a sensor."""

Row = tuple[Any, ...]
"""n, sum, low, high, place: how a candidate stands."""


@dataclass
class PhenomenaLosses:
    """What deaths and lost packets took away: `readings` that did not reach a head, `unheard` ones of sensors that no
    head could be reached from, `rows` (readings) that were counted at a head that died, or lost on the way to a new one,
    and `changes` of candidates that did not reach the sink."""

    readings: int = 0
    unheard: int = 0
    rows: int = 0
    changes: int = 0

    @property
    def any(self) -> bool:
        """Whether anything was lost."""
        return any(vars(self).values())


@dataclass(frozen=True, eq=False)
class Sensed:
    """The readings of a run: rows that PH_CANDIDATES takes, the node of each, its first tick and the last watermark."""

    spec: Candidates
    rows: pl.DataFrame
    nodes: Integers
    first_tick: int | None
    watermark: int
    value_bytes: int = 4


@dataclass(eq=False)
class _Epoch:
    begin: int
    clusters: Clusters
    home: Integers
    ways: Ways
    sent: Integers
    border: dict[int, Any] = field(default_factory=dict)
    end: int | None = None


class PhenomenaWork:
    """The work of heads and sink. `told` are the rows that reached the sink, `delays` how long after their evaluation,
    `changes` and `kept` the changes of candidates that heads sent, and those that they kept to themselves."""

    def __init__(
        self,
        network: Network,
        sink: int,
        sensed: Sensed,
        grouping: Grouping,
        ids: tuple[Source, ...],
        traffic: TrafficMeter,
        energy: EnergyMeter | None = None,
        epsilon: int = 0,
        seed: int = 0,
    ) -> None:
        self.network = network
        self.losses = PhenomenaLosses()
        self.delays: list[int] = []
        self.changes = self.kept = 0
        self._sink, self._sensed, self._grouping, self._ids = sink, sensed, grouping, ids
        self._traffic, self._energy, self._epsilon = traffic, energy, epsilon
        call = sensed.spec.call
        frame = call.window
        assert isinstance(frame, Frame)
        assert frame.start is not None
        self._range, self._slide = frame.start, frame.slide
        self._links = call["LIKENESS"] == WITHIN
        self._columns = frames.stream_dtypes(sensed.spec.schema, call.id_type.plain)
        self._times = sensed.rows.get_column(TIME).to_numpy()
        self._number = {source: number for number, source in enumerate(ids)}
        self._arrives = np.zeros(len(self._times), dtype=np.bool_)
        self._forgotten = np.zeros(len(self._times), dtype=np.bool_)
        self._epochs: list[_Epoch] = []
        self._waiting: dict[int, list[tuple[Source, Any, Row]]] = {}
        self._scheduled: set[int] = set()
        self._standing: dict[Key, Row] = {}
        self._reported: dict[Key, Row] = {}
        self._dirty: set[int] = set()
        self._evaluated = -(2**62)
        self._told: list[tuple[Any, ...]] = []
        self._random = np.random.default_rng((seed, 9))

    # ---- epochs ------------------------------------------------------------------------------------------------------

    def open(self, clusters: Clusters | None, begin: int) -> None:
        """Begin an epoch, and end the one before."""
        before = self._epochs[-1] if self._epochs and self._epochs[-1].end is None else None
        if before is not None:
            before.end = begin
        later = self._times > begin if self._epochs else np.ones(len(self._times), dtype=np.bool_)
        self._arrives[later] = False
        if clusters is None:
            return
        home = clusters.head_of.copy()
        if before is not None:
            strays = (home == NO_HEAD) & (before.home != NO_HEAD)
            home[strays] = clusters.heads[0]
        heard = later & (clusters.head_of[self._sensed.nodes] != NO_HEAD)
        ways = Ways.of(self.network, clusters)
        sent = np.flatnonzero(heard)
        lucky = sent
        if self.network.losses is not None:
            lucky = sent[self._random.random(len(sent)) < ways.arrives[self._sensed.nodes[sent]]]
        self._arrives[lucky] = True
        epoch = _Epoch(begin, clusters, home, ways, sent)
        for head in clusters.heads.tolist():
            cluster = {self._ids[node] for node in clusters.members(head).tolist()}
            epoch.border[head] = self._grouping.border(cluster)
        self._epochs.append(epoch)
        if before is not None:
            self._hand_over(before, epoch)
        self._dirty.update(clusters.heads.tolist())
        self._count(begin)

    def died(self, node: int) -> None:
        """A node has died. If it was a head, what it had counted is gone; its members' readings do not arrive."""
        epoch = self._epochs[-1]
        if epoch.end is not None:
            return
        now = self.network.events.now
        self._arrives[(self._times > now) & epoch.ways.through(node)[self._sensed.nodes]] = False
        if node in epoch.clusters.heads.tolist():
            cluster = epoch.home == node
            self._arrives[(self._times > now) & cluster[self._sensed.nodes]] = False
            self._forget(cluster, now)
        self._count(now)

    def _forget(self, nodes: Booleans, until: int) -> None:
        """The readings of these nodes up to a time are gone."""
        gone = self._arrives & nodes[self._sensed.nodes] & (self._times <= until)
        self.losses.rows += int(np.count_nonzero(gone & (self._times > until - self._range)))
        self._arrives[gone] = False
        self._forgotten[gone] = True

    def _hand_over(self, before: _Epoch, epoch: _Epoch) -> None:
        """Old heads send what they have counted within RANGE to the new heads. It takes less than a SLIDE."""
        recent = self._arrives & (self._times > epoch.begin - self._range) & (self._times <= epoch.begin)
        for old in before.clusters.heads.tolist():
            if old in self.network.dead:
                continue
            for new in np.unique(epoch.home[(before.home == old) & (epoch.home != NO_HEAD)]).tolist():
                moved = (before.home == old) & (epoch.home == new)
                count = int(np.count_nonzero(recent & moved[self._sensed.nodes]))
                if new == old or not count:
                    continue
                size = ENVELOPE + count * reading_size(self._sensed.value_bytes)
                message = Message(old, int(new), "hand-over", size, moved)
                self.network.send(message, lambda _: None, partial(self._not_handed_over, epoch.begin))

    def _not_handed_over(self, until: int, nodes: Booleans) -> None:
        self._forget(nodes, until)
        self._count(self.network.events.now)

    # ---- counting ----------------------------------------------------------------------------------------------------

    def _count(self, now: int) -> None:
        """Find the candidates of what arrives, from now on. Evaluations before now are as they were."""
        sensed = self._sensed
        logic = sensed.spec.build()
        logic.update(0, sensed.rows.filter(pl.Series(self._arrives)))
        rows = logic.advance(Progress(sensed.watermark, sensed.first_tick)).rows
        alias = sensed.spec.call.alias
        names = [f"{alias}.{name}" for name in ("value", "n", "sum", "low", "high", "place")]
        self._waiting = {}
        standing: dict[Key, Row] = {}
        for tick, source, klass, *state in rows.select(TICK, ID, *names).iter_rows():
            if tick > self._evaluated:
                self._waiting.setdefault(tick, []).append((source, klass, tuple(state)))
            elif not self._links:
                _stand(standing, (klass, source), tuple(state))
        if not self._links:
            for key in standing.keys() ^ self._standing.keys():
                self._touch(key[1])
            self._standing = standing
        again = ceil_to(max(now, self._evaluated + 1), self._slide)
        if self._epochs and len(self._epochs) > 1:
            self._waiting.setdefault(again, [])
        for tick in self._waiting:
            if tick not in self._scheduled:
                self._scheduled.add(tick)
                due = max(self.network.events.now, tick + self._epsilon)
                self.network.events.at(due, partial(self._evaluate, tick))

    def _touch(self, source: Source) -> None:
        head = int(self._epochs[-1].home[self._number[source]])
        if head != NO_HEAD:
            self._dirty.add(head)

    def _evaluate(self, tick: int) -> None:
        """Every head whose candidates have changed tells the sink."""
        self._evaluated = max(self._evaluated, tick)
        arriving = self._waiting.pop(tick, [])
        epoch = self._epochs[-1]
        if self._links:
            self._forward(tick, epoch, arriving)
            return
        for source, klass, state in arriving:
            _stand(self._standing, (klass, source), state)
            self._touch(source)
        dirty, self._dirty = self._dirty, set()
        by_head: dict[int, dict[Any, list[Source]]] = {head: {} for head in dirty}
        reported: dict[int, list[Key]] = {head: [] for head in dirty}
        for klass, source in self._standing:
            head = int(epoch.home[self._number[source]])
            if head in by_head:
                by_head[head].setdefault(klass, []).append(source)
        for key in self._reported:
            head = int(epoch.home[self._number[key[1]]])
            if head in reported:
                reported[head].append(key)
        for head in sorted(dirty):
            if head in self.network.dead:
                continue
            wanted: dict[Key, Row] = {}
            for klass, sources in by_head[head].items():
                for source in self._grouping.told(sources, epoch.border.get(head, frozenset())):
                    wanted[klass, source] = self._standing[klass, source]
                self.kept += len(sources) - sum(1 for source in sources if (klass, source) in wanted)
            told = [(key, state) for key, state in wanted.items() if self._reported.get(key) != state]
            told += [
                (key, (0, None, None, None, self._reported[key][4]))
                for key in reported[head]
                if key not in wanted
            ]
            for key, state in told:
                _stand(self._reported, key, state)
            self._send(tick, head, told)

    def _forward(self, tick: int, epoch: _Epoch, arriving: Iterable[tuple[Source, Any, Row]]) -> None:
        """WITHIN compares readings of neighbours, whatever their clusters: heads pass them on."""
        by_head: dict[int, list[tuple[Key, Row]]] = {}
        for source, klass, state in arriving:
            head = int(epoch.home[self._number[source]])
            if head != NO_HEAD and head not in self.network.dead:
                by_head.setdefault(head, []).append(((klass, source), state))
        for head, rows in sorted(by_head.items()):
            self._send(tick, head, rows)

    def _send(self, tick: int, head: int, rows: list[tuple[Key, Row]]) -> None:
        if not rows:
            return
        self.changes += len(rows)
        on = sum(1 for _, state in rows if state[0] != 0)
        size = ENVELOPE + len(rows) * (CLASS + COUNT + 2) + on * 3 * AGGREGATE
        message = Message(head, self._sink, "change", size, rows)
        self.network.send(message, partial(self._receive, tick), self._lost)

    def _receive(self, tick: int, rows: list[tuple[Key, Row]]) -> None:
        self.delays.append(self.network.events.now - tick)
        for (klass, source), state in rows:
            self._told.append((tick, tick, source, None, source, klass, *state))

    def _lost(self, rows: list[tuple[Key, Row]]) -> None:
        self.losses.changes += len(rows)

    # ---- results -----------------------------------------------------------------------------------------------------

    @property
    def told(self) -> pl.DataFrame:
        """The rows that reached the sink, as PH_CANDIDATES gives them."""
        if not self._told:
            return frames.empty(self._columns)
        columns = zip(*self._told, strict=True)
        return pl.DataFrame(
            [
                pl.Series(name, values, dtype=dtype, strict=False)
                for (name, dtype), values in zip(self._columns.items(), columns, strict=True)
            ]
        )

    def account(self) -> None:
        """Count the readings' way to their heads, and those that did not come."""
        size = reading_size(self._sensed.value_bytes)
        unheard = len(self._times)
        for epoch in self._epochs:
            within = epoch.sent
            if epoch.end is not None:
                within = within[self._times[within] <= epoch.end]
            streams = self._sensed.nodes[within]
            taken = int(epoch.ways.takes(size)[streams].sum())
            self._traffic.add("reading", epoch.ways.traffic(streams, size, taken))
            if self._energy is not None:
                epoch.ways.charge(self._energy, streams, size)
            unheard -= len(within)
        self.losses.unheard = unheard
        self.losses.readings = int(np.count_nonzero(~self._arrives & ~self._forgotten)) - unheard


def _stand(standing: dict[Key, Row], key: Key, state: Row) -> None:
    if state[0]:
        standing[key] = state
    else:
        standing.pop(key, None)
