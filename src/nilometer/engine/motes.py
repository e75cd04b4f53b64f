"""A query -> binaries for the motes of a network, and a run of them in the emulator beside the reference
evaluator."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any
from zlib import crc32

import numpy as np

from nilometer.catalog.network import Network, NodeId
from nilometer.catalog.profiles import cost_profile
from nilometer.engine.data import sensors_by_stream, tables_of
from nilometer.engine.gateway import DatabaseSources
from nilometer.engine.mote_numbers import mote_numbers, numbered_network, numbered_plan
from nilometer.engine.placing import network_for, with_sensors
from nilometer.engine.recorded import Recorded, recorded_readings
from nilometer.errors import ConfigurationError
from nilometer.live.answers import Answer
from nilometer.placement import Placement, QualityOfService, place, placement_profile
from nilometer.placement.attributes_by_id import attributes_by_id
from nilometer.placement.limit_acquisitions import limit_acquisitions
from nilometer.plan.reference import rows_in_common, same_answer
from nilometer.sensornet.motes.abilities import our_runtime
from nilometer.sensornet.motes.compilation import (
    START,
    Compilation,
    EmulatedRun,
    compile_placement,
    expected_rows,
    first_evaluation,
    run,
)
from nilometer.sensornet.motes.converters import Converters
from nilometer.sensornet.motes.emulate import Air
from nilometer.sensornet.motes.listening import Listener
from nilometer.sensornet.motes.nesc.application import TOP, WRITTEN, application_of, check_nesc, library
from nilometer.sensornet.motes.readings import Readings, random_readings
from nilometer.sensornet.motes.site import MAXIMUM_BETA
from nilometer.sensornet.motes.sizing import sized
from nilometer.sensornet.simulation.clocks import Clocks
from nilometer.types import format_duration, format_time

if TYPE_CHECKING:
    from nilometer.engine.query import Query

FLOAT_TOLERANCE = 1e-6
"""The relative tolerance for FLOATs, which have 24 bits on a mote. Whole numbers are compared exactly."""

COSTS = "avr"


@dataclass(frozen=True)
class CompileOptions:
    """How to compile a query. `network`: a network of the catalog by name, a given network, or None for the
    only one that senses the query's streams. `quality`: the expectations of the plan. `start`: the time of
    the first evaluation. `converters`: the scales of sensed columns that do not have the plain ones.
    `recorded`: readings to run the programs on, which determine start and scales. `emulated`: refuse a query
    that `emulate` would refuse before anything is written. `drift`: the share by which clocks may be fast or
    slow; motes set them once a period. `waiting`: after their reset, motes wait until they are told when to
    start; the sink, switched on last, tells first. `nesc`: also write the nesC form for TinyOS 2."""

    network: str | Network | None = None
    quality: QualityOfService | None = None
    start: int | None = None
    converters: Converters | None = None
    recorded: Recorded | None = None
    emulated: bool = False
    drift: float = 0.0
    waiting: bool = False
    nesc: bool = False


@dataclass(frozen=True)
class EmulationOptions:
    """The conditions of an emulated run. `periods`: the most periods to run; by default as many as there are
    readings for, or two with random readings. `seed`: for random readings and all other random draws.
    `readings`: by the nodes' ids; by default random. `loss`: links lose packets, by their quality. `apart`:
    the seconds within which motes are switched on, followed by the sink. Clocks drift if the programs were
    compiled for it."""

    periods: int | None = None
    seed: int = 1
    readings: Readings | None = None
    loss: bool = False
    apart: float = 0.0


@dataclass(frozen=True)
class Emulation:
    """A run: the answer at the sink, and its `difference` from the reference's on the same readings (None: no
    difference). Of the `expected` rows, `arrived` arrived. If packets were lost for good (`run.lost`), fewer
    may arrive, and there may be others that were computed from fewer readings."""

    compilation: Compilation
    run: EmulatedRun
    answer: Answer
    difference: str | None
    expected: int
    arrived: int

    @property
    def serial(self) -> bytes:
        """The bytes that the sink sent on its serial line."""
        return self.run.measured[self.compilation.placement.routing.sink].serial


def compile_query(query: Query, directory: Path, options: CompileOptions | None = None) -> Compilation:
    """Write and build one program per site. Motes do as much as they can. Times are planned with the costs of
    our runtime on an ATmega128, whatever costs the network declares. Nodes with names get numbers
    (`Compilation.names`)."""
    options = options or CompileOptions()
    Clocks(options.drift)  # refuses a drift that no clock has
    network = _network(query, options.network)
    if options.nesc:
        check_nesc(network, waits=options.waiting)
    start, converters = options.start, options.converters
    if options.recorded is not None:
        start, converters = options.recorded.start, options.recorded.converters
    placement, names = mote_placement(query, network, options.quality, converters)
    compilation = compile_placement(
        placement,
        directory,
        START if start is None else start,
        converters,
        names,
        emulated=options.emulated,
        drift=options.drift,
        waiting=options.waiting,
    )
    if options.nesc:
        write_nesc(compilation, directory)
    return compilation


def mote_placement(
    query: Query,
    network: str | Network | None,
    quality: QualityOfService | None,
    converters: Converters | None = None,
) -> tuple[Placement, dict[int, NodeId]]:
    """Where our programs run the query, and the names of nodes by number, for those that have one."""
    found = mote_network(query, network)
    sensors = sensors_by_stream(query.database.catalog)
    profile = placement_profile("motes")
    plan = attributes_by_id(limit_acquisitions(query.physical, found, sensors), found, sensors)
    numbers = mote_numbers(found)
    able = our_runtime(converters)
    # Also if nodes have names, so that refusals use the names.
    placement = place(plan, found, quality, profile, why_not=able)
    if all(number == identifier for identifier, number in numbers.items()):
        return placement, {}
    plan, numbered = numbered_plan(plan, numbers), numbered_network(found, numbers)
    placement = place(plan, numbered, quality, profile, why_not=able)
    return placement, {number: identifier for identifier, number in numbers.items()}


def mote_network(query: Query, network: str | Network | None) -> Network:
    """The network with the streams that its nodes sense and the costs of our runtime."""
    return replace(with_sensors(query, _network(query, network)), profile=cost_profile(COSTS))


def _network(query: Query, network: str | Network | None) -> Network:
    return network if isinstance(network, Network) else network_for(query, network)


def readings_of_periods(query: Query, network: str | Network | None, periods: int) -> Recorded:
    """The available readings for that many periods of the query, however many evaluations a period may
    have."""
    return recorded_readings(query, mote_network(query, network), periods * MAXIMUM_BETA)


def listener(
    query: Query,
    network: str | Network | None = None,
    quality: QualityOfService | None = None,
    start: int | None = None,
) -> Listener:
    """Takes the bytes of the serial line of the compiled query's sink. `start` is the time of the first
    evaluation, if it is known. No compiler is needed: programs follow from the query, the network and the
    expectations, and their fingerprint identifies them."""
    placement, names = mote_placement(query, network, quality)
    motes = sized(placement)
    if start is not None and start % motes.typing.interval:
        raise ConfigurationError(
            f"no evaluation is at {format_time(start)}",
            detail=f"they are at multiples of {format_duration(motes.typing.interval)}",
            hint="give the time of the first evaluation, or none: then it follows from when bytes come",
        )
    extents = DatabaseSources(query.database, query.physical)
    return Listener(motes, first_evaluation(START, motes.typing.interval), extents, names, start)


def emulate(query: Query, compilation: Compilation, options: EmulationOptions | None = None) -> Emulation:
    """Run the programs in the emulator, and the reference evaluator on the same readings."""
    options = options or EmulationOptions()
    periods, seed, readings = options.periods, options.seed, options.readings
    beta = compilation.placement.beta
    if readings is None:
        readings = random_readings(compilation.motes, (periods or 2) * beta, seed)
    else:
        numbers = {identifier: number for number, identifier in compilation.names.items()}
        most = None if periods is None else periods * beta
        readings = {
            name: {numbers.get(site, site): series[:most] for site, series in sites.items()}
            for name, sites in readings.items()
        }
    database = query.database
    result = run(
        compilation,
        readings,
        DatabaseSources(database, query.physical),
        Air(seed, options.loss, _rates(compilation, seed), _boots(compilation, seed, options.apart)),
    )
    expected = expected_rows(
        compilation,
        readings,
        query.logical,
        result.periods,
        tables_of(query.logical, database.data, database.catalog),
        sensors_by_stream(database.catalog),
    )
    rows = Answer(query.schema, result.answer).rows
    difference = same_answer(expected, rows, FLOAT_TOLERANCE)
    arrived = rows_in_common(expected, rows, FLOAT_TOLERANCE)
    answer = Answer(query.schema, sorted(rows, key=_order))
    return Emulation(compilation, result, answer, difference, len(expected), arrived)


def _rates(compilation: Compilation, seed: int) -> dict[NodeId, float]:
    """The share by which each clock is fast, drawn as in `nilometer simulate`. The sink uses the gateway's
    clock, which is right."""
    drift, routing = compilation.motes.timekeeping.drift, compilation.placement.routing
    if not drift:
        return {}
    sites = [site for site in routing.post_order if site != routing.sink]
    names = np.array([crc32(str(site).encode()) for site in sites], dtype=np.int64)
    return dict(zip(sites, Clocks(drift).rates(seed, names).tolist(), strict=True))


def _boots(compilation: Compilation, seed: int, apart: float) -> dict[NodeId, float]:
    """The seconds after which each mote is switched on. The sink is the last."""
    routing, random = compilation.placement.routing, Random(seed)
    return {
        site: apart if site == routing.sink else random.uniform(0, apart)
        for site in sorted(routing.post_order, key=str)
    }


def _order(row: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple((value is not None, value) for value in row)


def write_nesc(compilation: Compilation, directory: Path) -> list[Path]:
    """Write the nesC form of every site's program, with our library, into its own folder. Files that we wrote
    there for an earlier query are deleted, because that query may have had other sites."""
    for top in directory.glob(f"nesc_*/{TOP}"):
        if WRITTEN in top.read_text("utf-8", errors="replace").partition("\n")[0]:
            for file in (*top.parent.glob("*.nc"), top.parent / "rows.h", top.parent / "Makefile"):
                file.unlink(missing_ok=True)
            if not any(top.parent.iterdir()):
                top.parent.rmdir()
    folders = []
    offset = compilation.start // compilation.motes.typing.interval
    for site in compilation.built:
        folder = directory / f"nesc_{site}"
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in {**library(), **application_of(compilation.motes, site, offset)}.items():
            (folder / name).write_text(text, "utf-8")
        folders.append(folder)
    return folders
