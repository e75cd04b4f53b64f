"""A query to binaries for the motes of a network, and a run of them in the emulator beside the reference evaluator."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
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
from nilometer.errors import ConfigurationError
from nilometer.live.answers import Answer
from nilometer.placement import Placement, QualityOfService, place, placement_profile
from nilometer.placement.attributes_by_id import attributes_by_id
from nilometer.placement.limit_acquisitions import limit_acquisitions
from nilometer.plan.reference import rows_in_common, same_answer
from nilometer.sensornet.motes.abilities import our_runtime
from nilometer.sensornet.motes.busy import Milliseconds, expected_energy, expected_times
from nilometer.sensornet.motes.compilation import (
    START,
    Compilation,
    Run,
    compile_placement,
    expected_rows,
    first_evaluation,
    run,
)
from nilometer.sensornet.motes.converters import Converters
from nilometer.sensornet.motes.emulate import FREQUENCY, Air
from nilometer.sensornet.motes.estimate import flash_estimate, ram_estimate
from nilometer.sensornet.motes.first_answer import first_answer
from nilometer.sensornet.motes.listening import Listener
from nilometer.sensornet.motes.readings import Readings, random_readings
from nilometer.sensornet.motes.sizing import sized
from nilometer.sensornet.simulation.clocks import Clocks
from nilometer.types import format_duration, format_time

if TYPE_CHECKING:
    from nilometer.engine.query import Query

FLOAT_TOLERANCE = 1e-6
"""A mote's FLOAT has 24 bits; whole numbers are compared exactly."""

COSTS = "avr"


@dataclass(frozen=True)
class Emulation:
    """A run: the answer at the sink; `difference` from the reference's on the same readings (None: there is none). Of the
    `expected` rows so many `arrived`; where packets were lost for good (`run.lost`) these may be fewer, and others may be
    there that were made of fewer readings."""

    compilation: Compilation
    run: Run
    answer: Answer
    difference: str | None
    expected: int
    arrived: int


def compile_query(
    query: Query,
    directory: Path,
    network: str | Network | None = None,
    quality: QualityOfService | None = None,
    start: int | None = None,
    converters: Converters | None = None,
    *,
    emulated: bool = False,
    drift: float = 0.0,
    waiting: bool = False,
) -> Compilation:
    """Write and build one program for each site. As much as motes can do is done by them, and time is planned by what our
    runtime takes on an ATmega128, whatever costs the network declares. `start` is the time of the first evaluation;
    `converters` are the scales of sensed columns that have not the plain ones. Nodes that have names are numbered
    (`Compilation.names`). `emulated`: a query that `emulate` would refuse is refused before anything is written. `drift`: the
    share by which clocks may be fast or slow; motes set them once a period. `waiting`: after their reset motes wait until they are
    told when to begin; the sink, switched on last, begins."""
    Clocks(drift)  # refuses what no clock does
    placement, names = mote_placement(query, network, quality, converters)
    return compile_placement(
        placement,
        directory,
        START if start is None else start,
        converters,
        names,
        emulated=emulated,
        drift=drift,
        waiting=waiting,
    )


def mote_placement(
    query: Query,
    network: str | Network | None,
    quality: QualityOfService | None,
    converters: Converters | None = None,
) -> tuple[Placement, dict[int, NodeId]]:
    """Where programs of ours run the query, and what the nodes of these numbers are called, where they have names."""
    found = mote_network(query, network)
    sensors = sensors_by_stream(query.database.catalog)
    profile = placement_profile("motes")
    plan = attributes_by_id(limit_acquisitions(query.physical, found, sensors), found, sensors)
    numbers = mote_numbers(found)
    able = our_runtime(converters)
    # Also where nodes have names: refusals say these.
    placement = place(plan, found, quality, profile, why_not=able)
    if all(number == identifier for identifier, number in numbers.items()):
        return placement, {}
    plan, numbered = numbered_plan(plan, numbers), numbered_network(found, numbers)
    placement = place(plan, numbered, quality, profile, why_not=able)
    return placement, {number: identifier for identifier, number in numbers.items()}


def mote_network(query: Query, network: str | Network | None) -> Network:
    """The network with the streams that its nodes sense and what our runtime costs there."""
    found = network if isinstance(network, Network) else network_for(query, network)
    return replace(with_sensors(query, found), profile=cost_profile(COSTS))


def listener(
    query: Query,
    network: str | Network | None = None,
    quality: QualityOfService | None = None,
    start: int | None = None,
) -> Listener:
    """Takes what the sink of the compiled query says on its serial line; `start` is the time of the first evaluation, if it is known.
    Needs no compiler: programs follow from the query, the network and what is expected, and are known by their fingerprint."""
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


def emulate(
    query: Query,
    compilation: Compilation,
    *,
    periods: int | None = None,
    seed: int = 1,
    readings: Readings | None = None,
    loss: bool = False,
    apart: float = 0.0,
) -> Emulation:
    """Run the programs on these readings (by the nodes' ids), or on random ones (of two periods); `periods` is the most that
    are run. `loss`: links lose packets, by their quality and the seed. Clocks drift if the programs were compiled for that. `apart`:
    within so many seconds motes are switched on, as the seed says, and then the sink."""
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
        Air(seed, loss, _rates(compilation, seed), _boots(compilation, seed, apart)),
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
    """By how much each clock is fast, as `nilometer simulate` draws it. The sink's is the gateway's, and right."""
    drift, routing = compilation.motes.timekeeping.drift, compilation.placement.routing
    if not drift:
        return {}
    sites = [site for site in routing.post_order if site != routing.sink]
    names = np.array([crc32(str(site).encode()) for site in sites], dtype=np.int64)
    return dict(zip(sites, Clocks(drift).rates(seed, names).tolist(), strict=True))


def _boots(compilation: Compilation, seed: int, apart: float) -> dict[NodeId, float]:
    """After how many seconds each mote is switched on; the sink is the last."""
    routing, random = compilation.placement.routing, Random(seed)
    return {
        site: apart if site == routing.sink else random.uniform(0, apart)
        for site in sorted(routing.post_order, key=str)
    }


def why_nothing(emulation: Emulation) -> str | None:
    """Why a run has delivered no row, so that there was nothing to compare; None if it has."""
    if emulation.answer.rows:
        return None
    compilation = emulation.compilation
    motes, beta = compilation.motes, compilation.placement.beta
    ran = emulation.run.periods * beta
    offset = compilation.start // motes.typing.interval
    needed = first_answer(compilation.placement.plan, motes.typing, offset)
    if ran < needed:
        return (
            f"the first window closes after {needed} evaluations, and {ran} were run:"
            f" run at least {-(-needed // beta)} periods (--periods)"
        )
    return "no reading met the query's conditions: try other readings (--seed, --recorded), or more periods"


def _order(row: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple((value is not None, value) for value in row)


def sizes(compilation: Compilation) -> list[dict[str, Any]]:
    """What each site's program takes of its mote, beside the estimate: bytes of flash, and of RAM without the stack
    (the estimate is with it)."""
    return [
        {
            **_called(compilation, site),
            "does": " ".join(compilation.programs[site].tasks.values()),
            "flash": built.flash,
            "flash_estimate": flash_estimate(compilation.motes, site),
            "static_ram": built.ram,
            "ram_estimate": ram_estimate(compilation.motes, site),
        }
        for site, built in compilation.built.items()
    ]


def untold_motes(emulation: Emulation) -> list[NodeId]:
    """Who waited for the start in vain, by name."""
    return [_called(emulation.compilation, site)["site"] for site in emulation.run.untold]


def _called(compilation: Compilation, site: NodeId) -> dict[str, NodeId]:
    """A site by its number, and by its name if it has one."""
    if not compilation.names:
        return {"site": site}
    return {"site": compilation.names[_number(site)], "number": site}


def _number(site: NodeId) -> int:
    assert isinstance(site, int)
    return site


def measurements(emulation: Emulation) -> list[dict[str, Any]]:
    """What each mote did in a period, beside the estimate, and beside the time that the agenda reserves for it. Times are
    milliseconds, energy (of processor and radio) millijoules; RAM is with the stack at its deepest."""
    expected = expected_times(emulation.compilation.motes)
    return [_measurement(emulation, site, expected[site]) for site in emulation.compilation.built]


def _measurement(emulation: Emulation, site: NodeId, times: Milliseconds) -> dict[str, Any]:
    measured, periods = emulation.run.measured[site], emulation.run.periods
    plan = emulation.compilation.placement.sites[site]

    def milliseconds(cycles: float) -> float:
        return round(cycles * 1000 / FREQUENCY / periods, 3)

    return {
        **_called(emulation.compilation, site),
        "busy": milliseconds(sum(task.total for task in measured.tasks.values())),
        "busy_estimate": round(sum(times.values()), 3),
        "reserved": round(plan.active_time * 1000, 3),
        "active": milliseconds(measured.active),
        "idle": milliseconds(measured.idle),
        "power_save": milliseconds(measured.power_save),
        "receiving": milliseconds(measured.receiving),
        "sending": milliseconds(measured.sending),
        "energy": round(1000 * _joules(emulation, site) / periods, 4),
        "energy_estimate": round(1000 * expected_energy(emulation.compilation.motes, times), 4),
        "bytes_sent": measured.bytes_sent // periods,
        "ram": measured.ram + measured.stack,
        "ram_estimate": ram_estimate(emulation.compilation.motes, site),
        "stack": measured.stack,
        "flash": measured.flash,
        "flash_estimate": flash_estimate(emulation.compilation.motes, site),
        **_hops(emulation, site),
        "collisions": measured.collisions,
        "faults": sum(measured.faults.values()) + measured.wrong_sleeps,
    }


def _hops(emulation: Emulation, site: NodeId) -> dict[str, int]:
    """What was counted in the whole run, where packets are acknowledged or lost."""
    measured = emulation.run.measured[site]
    counted = asdict(measured.hops) if emulation.compilation.motes.retries else {}
    return counted | ({"missed": measured.missed} if emulation.run.lossy else {})


def what_was_lost(emulation: Emulation) -> str | None:
    """In words: packets that were lost for good, and what that made of the answer; None if there are none. Also motes that were never told
    the start, as all packets that said it were lost."""
    lost, expected, arrived = emulation.run.lost, emulation.expected, emulation.arrived
    untold = emulation.run.untold
    if not lost and not untold:
        return None
    others = len(emulation.answer) - arrived
    retries = emulation.compilation.motes.retries
    again = f"after {retries} retries" if retries else "as each is sent once (--retries)"
    found = [f"{lost} packets were lost for good, {again}"] if lost else []
    if untold:
        names = ", ".join(map(str, untold_motes(emulation)))
        found.append(f"the start was told in vain to {names}")
    text = f"{'; '.join(found)}: {arrived} of {expected} expected rows arrived"
    return text + (f", and {others} that were made of what was left" if others else "")


def _joules(emulation: Emulation, site: NodeId) -> float:
    """What processor and radio took in the whole run, by the currents of the cost profile."""
    measured, costs = emulation.run.measured[site], emulation.compilation.placement.costs
    charge = (
        costs.cpu_active * measured.active
        + costs.cpu_idle * measured.idle
        + costs.cpu_sleep * measured.power_save
        + costs.radio_receive * measured.receiving
        + costs.radio_transmit * measured.sending
    )
    return costs.voltage * charge / FREQUENCY


def write_nesc(compilation: Compilation, directory: Path) -> list[Path]:
    """The nesC form of every site's program, with our library, in a folder of its own. What we wrote there for an earlier query, which
    may have had other sites, goes."""
    from nilometer.sensornet.motes.nesc.application import TOP, WRITTEN, application_of, library

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
