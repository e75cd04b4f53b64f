"""A placement -> programs on disk: one C file and one ELF file per site, and the flash and RAM they take."""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import polars as pl

from nilometer.catalog.network import NodeId
from nilometer.dataflow.sources import Extents
from nilometer.errors import DataError, ResourceError
from nilometer.placement import Placement
from nilometer.placement.limit_acquisitions import Sensors
from nilometer.plan.logical import Deliver
from nilometer.plan.reference import evaluate
from nilometer.plan.reference.table_version import Tables
from nilometer.sensornet.motes.converters import Converters
from nilometer.sensornet.motes.emulate import CALM, Air, Measured, emulate
from nilometer.sensornet.motes.estimate import held_bytes
from nilometer.sensornet.motes.gateway import answers, check_finishing
from nilometer.sensornet.motes.program import WRITTEN, Program, program_of
from nilometer.sensornet.motes.readings import Readings, feeds_of, raw_counts
from nilometer.sensornet.motes.site import Motes
from nilometer.sensornet.motes.sizing import sized
from nilometer.sensornet.motes.toolchain import RAM, Built, build_all

START = 1_767_225_600_000_000
"""The time of the first evaluation of an emulated run, unless another is given: 2026-01-01."""

STACK = 128
"""Bytes that a program must leave free. The deepest stack measured takes 98."""


@dataclass(frozen=True)
class Compilation:
    """The programs of all sites of a plan. `names`: the names of nodes by number, for those that have one."""

    motes: Motes
    start: int
    programs: Mapping[NodeId, Program]
    built: Mapping[NodeId, Built]
    names: Mapping[int, NodeId] = field(default_factory=dict)

    @property
    def placement(self) -> Placement:
        """The plan that was compiled."""
        return self.motes.placement


@dataclass(frozen=True)
class EmulatedRun:
    """An emulated run: the answer, and the measurements of every mote. `lossy`: links lost packets by their
    quality. `lost`: packets of which no transmission reached the next hop. `untold`: motes that were never
    told the start."""

    answer: pl.DataFrame
    measured: Mapping[NodeId, Measured]
    periods: int
    lossy: bool = False
    lost: int = 0
    untold: tuple[NodeId, ...] = ()

    @property
    def sound(self) -> bool:
        """Whether no mote met a fault, a collision, or a sleep from which hardware would not wake. Where
        links lose nothing, also whether no packet was retried and every mote was told the start."""
        every = self.measured.values()
        heard = all(one.hops.sendings == one.hops.packets and not one.hops.given_up for one in every)
        sound = all(one.sound or (self.untold and one.sound_but_unheard) for one in every)
        return sound and (self.lossy or (heard and not self.lost and not self.untold))


def compile_placement(
    placement: Placement,
    directory: Path,
    start: int = START,
    converters: Converters | None = None,
    names: Mapping[int, NodeId] | None = None,
    *,
    emulated: bool = False,
    drift: float = 0.0,
    waiting: bool = False,
) -> Compilation:
    """Write and build the program of every site, and beside them a table of names, if there are `names`.
    `start` is the time of the first evaluation, or a little before: evaluations are at multiples of the
    acquisition interval. `emulated`: the programs will run here, so the plan is refused, before anything is
    written, if the gateway could not finish its answers. `drift`: the share by which clocks may be fast or
    slow. `waiting`: after their reset, motes wait until they are told when to start."""
    if emulated:
        check_finishing(placement)
    motes = sized(placement, converters, drift, waiting=waiting)
    placement = motes.placement
    start = first_evaluation(start, motes.typing.interval)
    offset = start // motes.typing.interval
    for site in placement.routing.post_order:
        held = held_bytes(motes, motes.site(site))
        if held > RAM:
            raise ResourceError(
                f"node {site} cannot keep what passes it in a mote's {RAM} bytes of RAM",
                detail=f"its tuples and windows take {held} bytes in a period of {placement.beta} evaluations",
                hint="fix a smaller buffering factor, or expect an earlier delivery",
            )
    directory.mkdir(parents=True, exist_ok=True)
    programs = {site: program_of(motes, site, offset) for site in placement.routing.post_order}
    _remove_earlier(directory)
    sources = []
    for site, program in programs.items():
        sources.append(directory / f"site_{re.sub(r'[^A-Za-z0-9]', '_', str(site))}.c")
        sources[-1].write_text(program.text, "utf-8")
    (directory / "names.csv").unlink(missing_ok=True)  # left by an earlier query
    if names:
        with (directory / "names.csv").open("w", encoding="utf-8", newline="") as table:
            writer = csv.writer(table, lineterminator="\n")  # a name may contain a comma
            writer.writerows([("number", "id"), *((n, names[n]) for n in sorted(names) if n in programs)])
    built = dict(zip(programs, build_all(sources), strict=True))
    for site, made in built.items():
        flash = placement.network.node(site).flash
        if flash is not None and made.flash > flash:
            raise ResourceError(
                f"the program of node {site} does not fit into its flash memory",
                detail=f"it takes {made.flash} bytes, and the node has {flash}",
                hint="ask for less at that node, or give it more: flash = 131072 is an ATmega128's",
            )
        if made.ram + STACK > RAM:
            raise ResourceError(
                f"the program of node {site} leaves too little room for its stack",
                detail=f"its variables take {made.ram} bytes of {RAM}; {STACK} are kept free",
                hint="fix a smaller buffering factor, or expect an earlier delivery",
            )
    return Compilation(motes, start, programs, built, names or {})


def first_evaluation(start: int, interval: int) -> int:
    """The time of the first evaluation at or after a time. Evaluations are at multiples of the acquisition
    interval."""
    return -(-start // interval) * interval


def _remove_earlier(directory: Path) -> None:
    """Delete the programs of an earlier query: it may have had other sites, and they would pass for this
    query's. Only files that we wrote are deleted."""
    for source in directory.glob("site_*.c"):
        if WRITTEN in source.read_text("utf-8", errors="replace").partition("\n")[0]:
            source.unlink()
            source.with_suffix(".elf").unlink(missing_ok=True)


def run(compilation: Compilation, readings: Readings, extents: Extents, air: Air = CALM) -> EmulatedRun:
    """Run the programs on these readings, for as many whole periods as the readings cover. `extents`: the
    tables that the gateway's part reads."""
    motes, placement = compilation.motes, compilation.placement
    evaluations = min(len(series) for sites in readings.values() for series in sites.values())
    periods = evaluations // placement.beta
    if not periods:
        raise DataError(
            "there are too few readings for a period",
            detail=f"{evaluations} evaluations have all of them, and a period takes {placement.beta}",
            hint="fix a smaller buffering factor",
        )
    alpha = motes.ticks(placement.agenda.alpha)
    measured = emulate(
        {site: built.elf for site, built in compilation.built.items()},
        placement.network,
        raw_counts(motes, readings),
        alpha=alpha,
        ticks=alpha * placement.beta * periods,
        first=motes.first,
        waiting=motes.starting is not None,
        air=air,
    )
    serial = measured[placement.routing.sink].serial
    count = periods * placement.beta
    answer = answers(motes, serial, compilation.start, count, extents, compilation.names)
    return EmulatedRun(answer, measured, periods, air.lossy, _lost(motes, measured), _untold(motes, measured))


def _untold(motes: Motes, measured: Mapping[NodeId, Measured]) -> tuple[NodeId, ...]:
    if motes.starting is None:
        return ()
    return tuple(site for site, one in measured.items() if one.began is None)


def _lost(motes: Motes, measured: Mapping[NodeId, Measured]) -> int:
    """Where packets are acknowledged, the packets that the receiver did not take. Otherwise every missed
    transmission, except those missed by a mote that still waits for the start."""
    if motes.retries:
        return sum(one.hops.packets - one.hops.taken for one in measured.values())
    return sum(one.missed for one in measured.values() if one.began is not None)


def expected_rows(
    compilation: Compilation,
    readings: Readings,
    plan: Deliver,
    periods: int,
    tables: Tables | None = None,
    sensors: Sensors | None = None,
) -> list[tuple[object, ...]]:
    """The answer of the reference evaluator over the same readings (and tables, and attributes of declared
    sensors), up to the last evaluation of the run."""
    count = periods * compilation.placement.beta
    feeds = feeds_of(compilation.motes, readings, compilation.start, count, compilation.names)
    return [tuple(row) for row in evaluate(plan, feeds, tables, sensors, finished=False).rows]
