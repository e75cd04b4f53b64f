"""A running placed plan: readings of some periods -> the answers of those periods at the sink, and the
radios' books.

Execution goes from the deepest sites to the sink. At each depth, every fragment that runs there takes its
input, for all sites of the depth and all evaluations of the stretch at once, and sends its output on. A
stretch is any number of periods in which nothing changes. The cutting of a run into stretches changes no
answer.
"""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
import polars as pl

from nilometer.catalog.extents import Stream
from nilometer.catalog.network import NodeId
from nilometer.dataflow.sources import Extents
from nilometer.errors import UnsupportedError
from nilometer.kernels.arrays import Integers
from nilometer.operators.frames import dtype
from nilometer.operators.logic import ID, POSITION, TICK, TIME, Output, no_evaluations
from nilometer.placement import Fragment, Placement
from nilometer.placement.volume import readings_kept
from nilometer.plan import physical
from nilometer.sensornet.simulation.books import RadioBooks
from nilometer.sensornet.simulation.counting import count_packets
from nilometer.sensornet.simulation.hops import ORIGIN, PERIOD, Air, Hops
from nilometer.sensornet.simulation.readings import Readings
from nilometer.sensornet.simulation.site_flow import SiteFlow
from nilometer.sensornet.simulation.site_numbers import SiteNumbers
from nilometer.sensornet.simulation.site_rows import SITE
from nilometer.types import SECOND

Place = tuple[int, int]
"""A fragment and a depth."""


class Execution:
    """The state of the operators between stretches. `begin`: the time of evaluation 0, in microseconds since
    the epoch."""

    def __init__(self, placement: Placement, readings: Readings, extents: Extents, begin: int) -> None:
        _check(placement)
        self.placement = placement
        self.numbers = SiteNumbers(placement)
        self.begin = begin
        self.interval = _interval(placement)
        self._readings = readings
        self._flows: dict[Place, SiteFlow] = {}
        for fragment in placement.fragments:
            sites = np.array(
                [self.numbers.number[site] for site in placement.placed.sites_of[fragment.number]]
            )
            for depth in np.unique(self.numbers.depth[sites]):
                here = np.sort(sites[self.numbers.depth[sites] == depth])
                self._flows[fragment.number, int(depth)] = SiteFlow(fragment, here, extents)
        self._first = True

    def remember(self, sites: Collection[NodeId], since: int) -> None:
        """Fill the windows of these sites with what they sensed before this plan began, but not before
        `since`: a site that keeps its program keeps its memory. Windows at other sites start empty."""
        kept = max(
            (
                readings_kept(node, self.interval)
                for fragment in self.placement.fragments.leaves
                for node in fragment.operators
                if isinstance(node, physical.TimeWindow)
            ),
            default=0,
        )
        known = {self.numbers.number[site] for site in sites if site in self.placement.routing}
        first = max(since, self.begin - kept * self.interval)
        ticks = np.arange(first, self.begin, self.interval, dtype=np.int64)
        first_ticks = dict.fromkeys(_stream_names(self.placement), since)
        for (number, _), flow in self._flows.items():
            fragment = self.placement.fragments[number]
            here = np.array([site for site in flow.sites if site in known], dtype=np.int64)
            if fragment.is_leaf and len(here) and len(ticks):
                admitted = {
                    acquire.stream.name.lower(): self.sensed(acquire.stream, here, ticks)
                    for acquire in fragment.acquires
                }
                flow.step((), self.begin, first_ticks, admitted, first=True)

    def sensed(self, stream: Stream, sites: Integers, ticks: Integers) -> pl.DataFrame:
        """The readings of sites, with their system columns."""
        names = [self.numbers.sites[number] for number in sites]
        rows = self._readings.read(stream, names, ticks)
        columns = {column.name.lower(): column.name for column in stream.columns}
        times, ids = rows.get_column(columns["time"]), rows.get_column(columns["id"])
        known = pl.DataFrame({ID: pl.Series(names, dtype=dtype(stream.id_type)), SITE: sites})
        rows = rows.with_columns(
            times.alias(TICK), times.alias(TIME), ids.cast(dtype(stream.id_type)).alias(ID)
        ).join(known, on=ID, how="left", maintain_order="left")
        # Any number that distinguishes the rows of one tick and does not depend on how the run is cut.
        position = times.to_numpy() // self.interval * len(self.numbers) + rows.get_column(SITE).to_numpy()
        return rows.with_columns(pl.Series(POSITION, position))

    def run(self, first: int, periods: int, air: Air) -> tuple[pl.DataFrame, RadioBooks]:
        """The answers of periods `first` ... `first + periods - 1`, in order, and the radios' books."""
        beta = self.placement.beta
        ticks = self.begin + np.arange(first * beta, (first + periods) * beta, dtype=np.int64) * self.interval
        stretch = _Stretch(self, ticks, first, periods, air)
        answer = stretch.run()
        self._first = False
        return answer, stretch.books


class _Stretch:
    """One running stretch."""

    def __init__(self, execution: Execution, ticks: Integers, first: int, periods: int, air: Air) -> None:
        self._execution = execution
        self._numbers = execution.numbers
        self._ticks = ticks
        # Period numbers are unique over all placements of a run, so that every packet has a draw of its own.
        self._number = execution.begin // execution.interval + first
        self._periods = periods
        self._air = air
        self._hops = None if air.perfect else Hops(self._numbers, air)
        self._arrived: dict[Place, dict[int, list[pl.DataFrame]]] = {}
        self._evaluations: dict[int, pl.DataFrame] = {}
        self._passing: dict[int, dict[int, list[pl.DataFrame]]] = {}
        self._made: dict[int, Integers] = {}
        self.books = RadioBooks.empty(len(self._numbers))

    def run(self) -> pl.DataFrame:
        answer: pl.DataFrame | None = None
        fragments = self._execution.placement.fragments.post_order
        for depth in range(self._numbers.deepest, -1, -1):
            for fragment in fragments:
                flow = self._execution._flows.get((fragment.number, depth))
                if flow is None:
                    continue
                output = self._step(fragment, flow, depth)
                if fragment.delivers:
                    answer = output.rows.drop(SITE)
                else:
                    self._give(fragment, output)
            if self._hops is not None and depth:
                self._carry(depth)
        if self._hops is None:
            self.books = count_packets(self._numbers, self._made, self._periods)
        assert answer is not None
        return answer

    def _step(self, fragment: Fragment, flow: SiteFlow, depth: int) -> Output:
        execution = self._execution
        inputs = []
        come = self._arrived.pop((fragment.number, depth), {})
        for producer in fragment.producers:
            # The rows of other instances of a merging fragment come in together with those of its producer.
            parts = come.get(producer, []) + (come.get(fragment.number, []) if fragment.merges else [])
            rows = pl.concat(parts) if parts else pl.DataFrame(schema={SITE: pl.Int64})
            if fragment.delivers and rows.height:
                rows = rows.sort(TICK, maintain_order=True)
            inputs.append(Output(rows, self._evaluations.get(producer, no_evaluations())))
        admitted: dict[str, pl.DataFrame] = {}
        first_ticks = dict.fromkeys(_stream_names(execution.placement), execution.begin)
        for acquire in fragment.acquires:
            admitted[acquire.stream.name.lower()] = self._sensed(acquire.stream, flow.sites)
        watermark = int(self._ticks[-1]) + execution.interval
        output = flow.step(inputs, watermark, first_ticks, admitted, first=execution._first)
        self._evaluations.setdefault(fragment.number, output.evaluations)
        return output

    def _sensed(self, stream: Stream, sites: Integers) -> pl.DataFrame:
        """The readings of sites, while they live."""
        execution = self._execution
        rows = execution.sensed(stream, sites, self._ticks)
        silent = self._air.silent
        if silent is None:
            return rows
        agenda = execution.placement.agenda
        since = silent[rows.get_column(SITE).to_numpy()]
        into = (rows.get_column(TIME).to_numpy() - self._ticks[0]) % (execution.interval * agenda.beta)
        reads = into * agenda.tick_rate // SECOND + agenda.acquired
        return rows.filter(pl.Series((since < 0) | (reads <= since)))

    def _give(self, fragment: Fragment, output: Output) -> None:
        """Send a fragment's output on its way."""
        rows, number = output.rows, fragment.number
        if not rows.height:
            return
        site = rows.get_column(SITE).to_numpy()
        length = self._execution.interval * self._execution.placement.beta
        period = (rows.get_column(TICK).to_numpy() - self._ticks[0]) // length
        target = self._numbers.target_of[number][site]
        if self._hops is None:
            self._count(number, site, period)
            self._arrive(fragment, rows.with_columns(pl.Series(SITE, target)), site, target)
            return
        rows = rows.with_columns(pl.Series(ORIGIN, site), pl.Series(PERIOD, period + self._number))
        here = target == site
        self._arrive(fragment, rows.filter(pl.Series(here)), site[here], target[here])
        away, kinds = rows.filter(pl.Series(~here)), self._numbers.kind_of[number][site[~here]]
        for kind in np.unique(kinds):
            part = away.filter(pl.Series(kinds == kind))
            depth = int(self._numbers.depth[part.get_column(SITE)[0]])
            self._passing.setdefault(depth, {}).setdefault(int(kind), []).append(part)

    def _count(self, number: int, site: Integers, period: Integers) -> None:
        given = np.bincount(site * self._periods + period, minlength=len(self._numbers) * self._periods)
        self._made.setdefault(number, np.zeros((len(self._numbers), self._periods), dtype=np.int64))
        self._made[number] += given.reshape(len(self._numbers), self._periods)

    def _arrive(self, fragment: Fragment, rows: pl.DataFrame, origin: Integers, target: Integers) -> None:
        """Hand rows that have reached their targets to their consumers."""
        if not rows.height:
            return
        rows = rows.drop(ORIGIN, PERIOD, strict=False)
        depths = self._numbers.depth[target]
        consumers = self._numbers.consumer_of[fragment.number][origin]
        place = consumers * (self._numbers.deepest + 1) + depths
        for each in np.unique(place):
            consumer, depth = divmod(int(each), self._numbers.deepest + 1)
            part = rows if (place == each).all() else rows.filter(pl.Series(place == each))
            self._arrived.setdefault((consumer, depth), {}).setdefault(fragment.number, []).append(part)

    def _carry(self, depth: int) -> None:
        """Carry everything that the sites of this depth have for their parents."""
        assert self._hops is not None
        held = {kind: pl.concat(parts) for kind, parts in self._passing.pop(depth, {}).items()}
        for kind, rows in self._hops.cross(held, self.books).items():
            fragment = self._execution.placement.fragments[self._numbers.kinds[kind].fragment]
            site, origin = rows.get_column(SITE).to_numpy(), rows.get_column(ORIGIN).to_numpy()
            target = self._numbers.target_of[fragment.number][origin]
            here = target == site
            self._arrive(fragment, rows.filter(pl.Series(here)), origin[here], target[here])
            if not here.all():
                away = rows.filter(pl.Series(~here))
                self._passing.setdefault(depth - 1, {}).setdefault(kind, []).append(away)


def _check(placement: Placement) -> None:
    """Refuse a plan that also reads a source outside the network."""
    for fragment in placement.fragments:
        if fragment.delivers and fragment.acquires and len(placement.fragments) > 1:
            names = ", ".join(acquire.stream.name for acquire in fragment.acquires)
            raise UnsupportedError(
                f"{names} is not sensed in the network '{placement.network.name}'",
                detail="the simulator knows only what motes sense",
                hint="simulate the part of the query that reads the network",
            )


def _interval(placement: Placement) -> int:
    """Microseconds between evaluations."""
    found = [acquire.every for fragment in placement.fragments for acquire in fragment.acquires]
    assert found[0] is not None
    return found[0]


def _stream_names(placement: Placement) -> tuple[str, ...]:
    return tuple(
        acquire.stream.name.lower() for fragment in placement.fragments for acquire in fragment.acquires
    )
