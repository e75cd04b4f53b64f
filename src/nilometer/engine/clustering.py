"""A query over SIMILAR or PHENOMENA -> a run over clusters of the data's own network, beside the answer of one place.

The sensors send what they sense to their heads. Heads run SN_JOIN, or PH_CANDIDATES with local grouping. What lies
above runs at the sink. The answer is compared with that of the reference evaluator, or, where there are more readings
than it can take, of the gateway, over the same readings.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from nilometer.algebra import SimilarForm
from nilometer.algebra.places import WGS84, Place
from nilometer.algebra.regions import to_plane
from nilometer.algebra.table_functions import phenomena as words
from nilometer.algebra.table_functions.similar import alike_is_equal
from nilometer.catalog import Stream
from nilometer.catalog.near_misses import join_names
from nilometer.dataflow import Batch, Entry, Run
from nilometer.dataflow.severed import Captured, captured, replayed
from nilometer.engine.data import feed_of, sensors_by_stream, tables_of
from nilometer.engine.gateway import DatabaseSources
from nilometer.engine.logs_at_hand import left_out
from nilometer.engine.network_matches import comparable, count_matches, matched_rows, value_bytes
from nilometer.engine.placing import with_sensors
from nilometer.errors import ConfigurationError, DataError, UnsupportedError
from nilometer.kernels.arrays import Integers
from nilometer.live.answers import Answer
from nilometer.operators.frames import conform, empty, stream_dtypes
from nilometer.operators.limits import MOST_MATCHES
from nilometer.operators.logic import ID, POSITION, TICK, TIME
from nilometer.operators.order import in_time
from nilometer.operators.similar.forms import Matches
from nilometer.operators.similar.recent import lengths
from nilometer.operators.similar.rounds import Asked, answered
from nilometer.operators.similar.similar import Similar
from nilometer.phenomena.candidates import Candidates
from nilometer.plan import physical
from nilometer.plan.reference import Feed, evaluate
from nilometer.sensornet.clustered_report import ClusteredResult, Compared, Probed, Straight
from nilometer.sensornet.clusters import ChangingField, FieldPlan, Happening, Heed, Kill
from nilometer.sensornet.mote_field import MoteField, field_of_network, field_of_places
from nilometer.sensornet.phenomena import PhenomenaWork, Sensed, local_grouping
from nilometer.sensornet.radio_network import EnergyMeter, Events, Losses, Network, TrafficMeter
from nilometer.sensornet.snjoin import (
    EveryHead,
    Feedback,
    JoinQuery,
    JoinRunResult,
    Readings,
    run_changing_join,
    sensed,
)
from nilometer.sensornet.snjoin.messages import reading_size
from nilometer.types import MILLISECOND, SECOND, OwnWindow

if TYPE_CHECKING:
    from nilometer.catalog.network import Network as CatalogNetwork
    from nilometer.catalog.network import NodeId
    from nilometer.engine.query import Query

FUNCTIONS = ("SN_JOIN", "PH_CANDIDATES")
"""The algorithms that heads run."""

REFERENCE_READINGS = 1_500
"""The most readings for which the reference evaluator is asked: it compares all pairs."""

LARGEST_MESSAGE = 4_000
MOST_HEADS = 64
TRIES = 5
"""Heads keep readings long enough for probes of so many bytes that visit so many heads; if probes take longer, eight
times as long, and so on. Probes that still come too late are counted."""

_STATELESS = (physical.SpAcquire, physical.Select, physical.Project, physical.Rename)


@dataclass(frozen=True)
class ClusterOptions:
    """`share` is the part of the area that a cluster has; with `distance`, clusters have this range instead. `kills` are
    nodes with times after the beginning. All times are microseconds."""

    duration: int
    share: float | None = 0.1
    distance: float | None = None
    feedback: bool = False
    recluster: int | None = None
    network: CatalogNetwork | None = None
    losses: bool = False
    retries: int | None = None
    kills: tuple[tuple[NodeId, int], ...] = ()
    seed: int = 0


@dataclass(frozen=True)
class _Sources(DatabaseSources):
    """The database's sources with the readings that a network senses: of its nodes, while they live, in the time of the
    run."""

    keep: Callable[[pl.DataFrame, Stream], pl.DataFrame]

    def entries(self, stream: Stream) -> Iterable[Entry]:
        for entry in super().entries(stream):
            yield replace(entry, rows=self.keep(entry.rows, stream)) if isinstance(entry, Batch) else entry


@dataclass(frozen=True, eq=False)
class ClusteredSimulation:
    """A run that is ready to start. `notes` are remarks for the user about readings and network."""

    query: Query
    options: ClusterOptions
    function: physical.TableFunction
    stream: Stream
    field: MoteField
    begin: int
    notes: list[str]

    def run(self) -> tuple[Answer, ClusteredResult]:
        """Simulate, and compare."""
        plan = self.query.physical
        sources = _Sources(self.query.database, plan, self._kept)
        given = captured(plan, sources, self.function)
        rows = given.rows.drop_nulls(ID)
        if not rows.height:
            raise DataError(
                f"no readings of '{self.stream.name}' reach {self.function.call.name}",
                hint="look at the readings: nilometer query ... SELECT * FROM " + self.stream.name,
            )
        joins = self.function.operator == "SN_JOIN"
        made = self._join(rows) if joins else self._phenomena(rows, given)
        answer = Answer(self.query.schema, replayed(plan, sources, self.function, made.rows))
        compared = self._compared(answer, sources, rows.height)
        return answer, replace(made.result, rows=len(answer), compared=compared)

    # ---- what is sensed ----------------------------------------------------------------------------------------------

    def _kept(self, rows: pl.DataFrame, stream: Stream) -> pl.DataFrame:
        time, source = (_column(stream, name) for name in ("time", "id"))
        ids = [node for node, senses in zip(self.field.ids, self.field.sensing, strict=True) if senses]
        known = pl.Series(ids, dtype=rows.schema[source]) if ids else pl.Series([], dtype=rows.schema[source])
        at = pl.col(time).to_physical()
        within = pl.col(source).is_in(known.implode()) & (at < self.begin + self.options.duration)
        for node, after in self.options.kills:
            if any(node == each for each in ids):
                within &= ~((pl.col(source) == node) & (at >= self.begin + after))
        return rows.filter(within)

    def _plan(self, nodes: Integers, times: Integers, heed: Heed, notice: int) -> FieldPlan:
        first = np.full(len(self.field.ids), 2**62, dtype=np.int64)
        np.minimum.at(first, nodes, times)
        kills = tuple(Kill(self.field.number(node), self.begin + after) for node, after in self.options.kills)
        finite = np.isfinite(self.field.capacity).all()
        return FieldPlan(
            self.field.sink,
            self.field.sensing & (first < 2**62),
            first,
            int(times.max()),
            heed,
            self.options.recluster,
            notice,
            kills,
            self.field.capacity if finite else None,
            self.options.seed,
        )

    @property
    def _heed(self) -> Heed:
        if self.options.distance is not None:
            return Heed(self.options.distance)
        assert self.options.share is not None
        return Heed(self.field.cluster_range(self.options.share))

    def _network(self, start: int) -> tuple[Network, TrafficMeter, EnergyMeter]:
        field, options = self.field, self.options
        traffic = TrafficMeter(field.radio)
        energy = EnergyMeter(field.radio, field.power, len(field.ids))
        retries = field.retries if options.retries is None else options.retries
        losses = Losses(retries, options.seed) if options.losses else None
        return Network(field.topology, field.radio, Events(start), (traffic, energy), losses), traffic, energy

    def _epsilon(self, network: Network, size: int) -> int:
        """The longest time of a reading to any head: there and back over the whole network, with all retries."""
        tries = 1 if network.losses is None else network.losses.retries + 1
        routes = network.routes(self.field.sink)
        hops, sent = int(routes.hops.max()), float(routes.transmissions[routes.hops >= 0].max())
        return 2 * tries * self.field.radio.delay(size, hops, max(sent, float(hops))) + 10 * MILLISECOND

    def _longest_tour(self, network: Network, sensors: int) -> int:
        """A bound for the time until a large probe has been at all heads: each lies across the whole network."""
        routes = network.routes(self.field.sink)
        hops, sent = int(routes.hops.max()), float(routes.transmissions[routes.hops >= 0].max())
        across = 2 * self.field.radio.delay(LARGEST_MESSAGE, hops, max(sent, float(hops)))
        return across * min(sensors, MOST_HEADS)

    def _numbers(self, rows: pl.DataFrame) -> Integers:
        ids = [node for node, senses in zip(self.field.ids, self.field.sensing, strict=True) if senses]
        numbers = [number for number, senses in enumerate(self.field.sensing) if senses]
        names = pl.DataFrame({ID: pl.Series(ids, dtype=rows.schema[ID]), "@node": numbers})
        return rows.select(ID).join(names, on=ID, how="left", maintain_order="left")["@node"].to_numpy()

    # ---- SIMILAR -----------------------------------------------------------------------------------------------------

    def _join(self, rows: pl.DataFrame) -> _Made:
        spec = Similar.of(self.function.call, self.function.input.schema)
        ordered = in_time(rows.drop_nulls(spec.column), [ID, POSITION])
        if not ordered.height:
            raise DataError(f"no reading of '{self.stream.name}' has a value to compare")
        within = 0.0 if alike_is_equal(spec.value_type, spec.epsilon) else spec.epsilon
        kind = spec.value_type.kind
        values, width = comparable(ordered[spec.column], kind), value_bytes(ordered[spec.column], kind)
        nodes, times = self._numbers(ordered), ordered[TIME].to_numpy()
        reach, window = None, spec.window
        # Nothing is further apart than all of the readings.
        longest = int(times.max()) - int(times.min()) + 1
        if isinstance(window, OwnWindow):
            reach = np.minimum(lengths(ordered[window.column], window.unit), longest)
            window = max(0, int(reach.max()))
        window = min(window, longest)
        readings = sensed(nodes, times, values, reach)
        expected = count_matches(readings, window, within)
        outcome, happenings, traffic, energy = self._run_join(readings, window, within, width)
        probe, other = matched_rows(readings, outcome.answers)
        sources = ordered[ID].rank("dense").to_numpy().astype(np.int64)
        found = Matches(ordered[TIME], ordered[ID], ordered[spec.column], sources, probe, other)
        asked = Asked(SimilarForm(spec.form), spec.sample, MOST_MATCHES)
        partners = np.bincount(probe, minlength=ordered.height)
        answer = answered(asked, [(found, np.arange(ordered.height))], partners) if len(probe) else None
        columns = stream_dtypes(spec.schema, spec.id_type)
        visible = empty(columns)
        if answer is not None:
            answers, frame = answer
            frame.columns = list(spec.schema.names)
            system = ordered.select(TICK, TIME, ID, POSITION)[answers]
            visible = conform(pl.concat([system, frame], how="horizontal"), columns)
        result = self._result(happenings, traffic, energy, outcome.delays, outcome.losses, nodes, width)
        probed = Probed(
            outcome.probes,
            outcome.offered,
            len(probe),
            expected,
            outcome.peak_rows,
            outcome.overdue + outcome.late,
        )
        return _Made(visible, replace(result, probed=probed))

    def _run_join(
        self, readings: Readings, window: int, within: float, width: int
    ) -> tuple[JoinRunResult, list[Happening], TrafficMeter, EnergyMeter]:
        """Run the join with heads that keep readings long enough. How long that is depends on how busy the radios are, so
        it is tried: a run in which probes came too late is made again, with heads that keep readings longer."""
        start = int(readings.time.min()) - 2
        period = self.stream.every or max(SECOND, window // 10)
        plan = self._plan(readings.stream, readings.time, self._heed, period)
        strategy = Feedback() if self.options.feedback else EveryHead()
        network, _, _ = self._network(start)
        epsilon = self._epsilon(network, reading_size(width))
        patience = self._longest_tour(network, int(np.count_nonzero(plan.sensing)))
        for _ in range(TRIES):
            network, traffic, energy = self._network(start)
            query = JoinQuery(window, epsilon, period + window + patience, period, within, width)
            outcome, happenings = run_changing_join(plan, network, query, readings, strategy, traffic, energy)
            if not outcome.overdue:
                break
            patience *= 8
        return outcome, happenings, traffic, energy

    # ---- PHENOMENA ---------------------------------------------------------------------------------------------------

    def _phenomena(self, rows: pl.DataFrame, given: Captured) -> _Made:
        call = self.function.call
        spec = Candidates(call, self.function.input.schema)
        nodes, times = self._numbers(rows), rows[TIME].to_numpy()
        width = value_bytes(rows[call.columns[0]], spec.input[call.columns[0]].type.kind)
        network, traffic, energy = self._network(int(times.min()) - 2)
        epsilon = self._epsilon(network, reading_size(width))
        track = next(
            node
            for node in physical.walk_plan(self.query.physical)
            if isinstance(node, physical.TableFunction) and self.function in node.inputs
        )
        members, near = track.call["MEMBERS"], track.call[words.NEAR]
        assert isinstance(members, int)
        unit = self.function.schema[f"{call.alias}.place"].unit
        reach = near if isinstance(near, float) else None
        grouping = local_grouping(members, reach, unit, _places(rows, call.columns))
        plan = self._plan(nodes, times, self._heed, self.stream.every or SECOND)
        work = PhenomenaWork(
            network,
            self.field.sink,
            Sensed(spec, rows, nodes, given.first_tick, given.watermark, width),
            grouping,
            self.field.ids,
            traffic,
            energy,
            epsilon,
            self.options.seed,
        )
        field = ChangingField(plan, network, traffic, energy)
        field.run(work)
        work.account()
        delays = np.array(work.delays, dtype=np.int64)
        result = self._result(field.happenings, traffic, energy, delays, work.losses, nodes, width)
        return _Made(work.told, replace(result, kept=work.kept))

    # ---- the result --------------------------------------------------------------------------------------------------

    def _result(
        self,
        happenings: Sequence[Any],
        traffic: TrafficMeter,
        energy: EnergyMeter,
        delays: Integers,
        losses: Any,
        nodes: Integers,
        width: int,
    ) -> ClusteredResult:
        # The network as it was at the beginning, without the losses of this run.
        calm = Network(self.field.topology, self.field.radio, Events())
        return ClusteredResult(
            self.field,
            self._heed.cluster_range,
            self.begin,
            len(nodes),
            0,
            Compared("", 0, 0, 0),
            happenings,
            traffic.kinds,
            energy.joules,
            delays,
            losses,
            Straight.of(calm, self.field, nodes, reading_size(width)),
        )

    def _compared(self, answer: Answer, sources: _Sources, readings: int) -> Compared:
        query = self.query
        if readings > REFERENCE_READINGS:
            host, frame = "gateway", Run(query.physical, sources).collect()
            expected: Sequence[tuple[Any, ...]] = Answer(query.schema, frame).rows
        else:
            host = "reference evaluator"
            data, catalog = query.database.data, query.database.catalog
            feed = feed_of(data, self.stream)
            name = self.stream.name.lower()
            kept = self._kept(data_frame(feed, self.stream), self.stream)
            chosen = set(kept["@item"].to_list())
            items = tuple(item for at, item in enumerate(feed.items) if isinstance(item, int) or at in chosen)
            tables = tables_of(query.logical, data, catalog)
            expected = evaluate(query.logical, {name: Feed(items)}, tables, sensors_by_stream(catalog)).rows
        mine, theirs = Counter(map(_plain, answer.rows)), Counter(map(_plain, expected))
        return Compared(host, len(expected), (theirs - mine).total(), (mine - theirs).total())


@dataclass(frozen=True, eq=False)
class _Made:
    """The rows of the function that reached the sink, and the books."""

    rows: pl.DataFrame
    result: ClusteredResult


def prepare_clustered(query: Query, options: ClusterOptions) -> ClusteredSimulation:
    """Find the function that heads run, the network and the readings. Refuses other queries."""
    function = _function(query)
    stream = next(iter(physical.streams_of(query.physical).values()))
    if options.feedback and function.operator != "SN_JOIN":
        raise ConfigurationError(
            f"--feedback is for SIMILAR: {function.call.name} probes no other clusters", hint="leave it out"
        )
    parts = [entry.rows for entry in query.database.data.entries(stream) if isinstance(entry, Batch)]
    logs = pl.concat(parts) if parts else None
    if logs is None or not logs.height:
        raise DataError(
            f"there are no readings of '{stream.name}'",
            hint="clusters need recorded readings: put a file of them into the data directory",
        )
    notes: list[str] = []
    field = _field(query, stream, options)
    source, time = logs[_column(stream, "id")], logs[_column(stream, "time")].to_physical()
    senses = {node for node, each in zip(field.ids, field.sensing, strict=True) if each}
    heard = set(source.drop_nulls().unique().to_list())
    strangers = sorted(heard - senses, key=str)
    if strangers:
        notes.append(left_out(stream.name, strangers))
    if not heard & senses:
        raise DataError(
            f"no reading of '{stream.name}' is of a node that senses it",
            hint="sensors and nodes must have the same ids",
        )
    silent = [str(node) for node in field.ids if node in senses and node not in heard]
    if silent:
        notes.append(f"there are no readings of '{stream.name}' from {join_names(silent, 'and')}")
    known = source.is_in(pl.Series(sorted(heard & senses, key=str), dtype=source.dtype).implode())
    begin = int(time.filter(known).drop_nulls().min())  # type: ignore[arg-type]
    last = int(time.filter(known).drop_nulls().max())  # type: ignore[arg-type]
    length = min(options.duration, last - begin)
    for node, after in options.kills:
        field.number(node)
        if after > length:
            notes.append(f"--kill {node}: the readings end before it")
    return ClusteredSimulation(query, options, function, stream, field, begin, notes)


def _function(query: Query) -> physical.TableFunction:
    nodes = list(physical.walk_plan(query.physical))
    found = [
        node for node in nodes if isinstance(node, physical.TableFunction) and node.operator in FUNCTIONS
    ]
    if len(found) != 1:
        raise UnsupportedError(
            "clusters run one SIMILAR, or one PHENOMENA or CURRENT"
            + (f", and here are {len(found)}" if found else ""),
            hint="without --clusters, simulate runs other queries",
        )
    (function,) = found
    below = list(physical.walk_plan(function.input))
    strange = [node.operator for node in below if not isinstance(node, _STATELESS)]
    acquired = [node for node in nodes if isinstance(node, physical.SpAcquire)]
    if strange or len(acquired) != 1:
        raise UnsupportedError(
            f"clusters run {function.call.name} over one stream, as it is sensed",
            detail=f"here it is over {join_names(strange, 'and')}"
            if strange
            else f"here are {len(acquired)} streams",
            hint="conditions on readings may stand below it; put everything else above",
        )
    return function


def _field(query: Query, stream: Stream, options: ClusterOptions) -> MoteField:
    if options.network is not None:
        return field_of_network(with_sensors(query, options.network), stream.name)
    sensors = query.database.catalog.sensors(stream.name)
    placed = {sensor.id: sensor.location for sensor in sensors if sensor.location is not None}
    if not placed:
        raise ConfigurationError(
            f"there is no network that senses '{stream.name}', and its sensors have no places",
            hint="declare a network, CREATE NETWORK brook FROM 'brook.toml', or places: CREATE SENSOR ... AT (x, y)",
        )
    return field_of_places(_on_plane(placed, stream), options.seed)


def _on_plane(places: dict[NodeId, Place], stream: Stream) -> dict[NodeId, Place]:
    coordinates = stream.coordinates
    if coordinates != WGS84:
        return places
    middle = (
        sum(place[0] for place in places.values()) / len(places),
        sum(place[1] for place in places.values()) / len(places),
    )
    return {node: to_plane(place, middle, coordinates) for node, place in places.items()}


def _places(rows: pl.DataFrame, columns: Sequence[str]) -> dict[NodeId, Place | None] | None:
    """Where each sensor is; None if some sensor is at several places."""
    if len(columns) < 2:
        return None
    seen = rows.select(ID, pl.col(columns[1])).unique()
    if seen.get_column(ID).n_unique() < seen.height:
        return None
    return {
        source: None if point is None or point["x"] is None else (point["x"], point["y"])
        for source, point in seen.iter_rows()
    }


def data_frame(feed: Feed, stream: Stream) -> pl.DataFrame:
    """The time and id of each reading of a feed, and its place there."""
    time, source = (_column(stream, name) for name in ("time", "id"))
    rows = [(at, item[time], item[source]) for at, item in enumerate(feed.items) if not isinstance(item, int)]
    kind = pl.String if rows and isinstance(rows[0][2], str) else pl.Int64
    return pl.DataFrame(rows, {"@item": pl.Int64, time: pl.Int64, source: kind}, orient="row")


def _column(stream: Stream, name: str) -> str:
    column = stream.column(name)
    assert column is not None
    return column.name


def _plain(row: Sequence[Any]) -> str:
    """A row as text by which rows are compared: floats to nine digits."""
    return repr([_rounded(value) for value in row])


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return float(f"{value:.9g}") + 0.0
    if isinstance(value, dict):
        return {name: _rounded(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_rounded(each) for each in value]
    return value


__all__ = ["ClusterOptions", "ClusteredSimulation", "prepare_clustered"]
