"""Runs all motes of a plan in lock step under libsimavr, in a separate process; returns their measurements
and what the sink delivered."""

from __future__ import annotations

import json
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from nilometer.catalog.network import Network, NodeId
from nilometer.errors import InternalError
from nilometer.sensornet.motes.starting import START
from nilometer.sensornet.motes.timekeeping import TICKS
from nilometer.sensornet.motes.toolchain import emulator

FREQUENCY = 7_372_800
CYCLES_PER_TICK = FREQUENCY // TICKS

FAULTS = {1: "tray full", 2: "checksum", 3: "late", 4: "stranger", 5: "state full", 6: "unheard"}

COUNTS = {1: "packets", 2: "sendings", 3: "given_up", 4: "taken", 5: "duplicates"}


@dataclass(frozen=True)
class Air:
    """The random influences. `lossy`: links lose packets, by their quality and the seed. `drift`: the share
    by which each site's clock is fast. `boots`: after how many seconds each site is switched on; without it,
    at once."""

    seed: int = 0
    lossy: bool = False
    drift: Mapping[NodeId, float] = field(default_factory=dict)
    boots: Mapping[NodeId, float] = field(default_factory=dict)


CALM = Air()
"""Nothing is lost, all clocks agree, and all motes are switched on together."""


@dataclass(frozen=True)
class TaskTimes:
    """How often a task ran, and its cycles: in total, and in the longest run."""

    count: int
    total: int
    longest: int

    @property
    def mean(self) -> float:
        """Mean cycles of one run."""
        return self.total / self.count


@dataclass(frozen=True)
class HopCounts:
    """The counts of a mote where packets are acknowledged. To its parent it sent `packets` in `sendings`
    transmissions and has `given_up` some (they may still have arrived, if only acknowledgements were lost).
    From its children it has `taken` packets, and got `duplicates`, whose acknowledgement was lost."""

    packets: int = 0
    sendings: int = 0
    given_up: int = 0
    taken: int = 0
    duplicates: int = 0


@dataclass(frozen=True)
class Measured:
    """One mote's run: cycles by state, radio cycles, bytes, and what went wrong (`faults`, `collisions`,
    `wrong_sleeps`: a sleep from which hardware would not wake). `missed`: packets, including
    acknowledgements, that links lost while the mote listened; `missed_start`: those lost before the first
    evaluation. If motes wait for the start, all other figures begin at the first evaluation, except those of
    what went wrong. `began`: cycles of true time from the sink's first evaluation to this mote's first task;
    None: it never had a task."""

    site: NodeId
    state: str
    cycles: int
    active: int
    idle: int
    power_save: int
    receiving: int
    sending: int
    bytes_sent: int
    bytes_received: int
    collisions: int
    conversions: int
    wrong_sleeps: int
    flash: int
    ram: int
    stack: int
    faults: Mapping[str, int] = field(default_factory=dict)
    tasks: Mapping[int, TaskTimes] = field(default_factory=dict)
    serial: bytes = b""
    hops: HopCounts = field(default_factory=HopCounts)
    missed: int = 0
    missed_start: int = 0
    began: int | None = None

    @property
    def sound(self) -> bool:
        """Whether nothing went wrong. An unheard child is a fault, unless links lost packets on the way to
        this mote."""
        return self.sound_but_unheard and (bool(self.missed) or "unheard" not in self.faults)

    @property
    def sound_but_unheard(self) -> bool:
        """Whether nothing went wrong at this mote, whether or not it heard its children."""
        faults = self.faults.keys() - {"unheard"}
        return self.state == "running" and not (faults or self.collisions or self.wrong_sleeps)


def emulate(
    elves: Mapping[NodeId, Path],
    network: Network,
    readings: Mapping[tuple[NodeId, int], Sequence[int]],
    *,
    alpha: int,
    ticks: int,
    first: int = START,
    waiting: bool = False,
    air: Air = CALM,
) -> dict[NodeId, Measured]:
    """Run the programs for `ticks` ticks after the first evaluation, which is at tick `first` of the sink.
    `readings` are raw counts by (site, channel). Any two linked nodes hear each other, even where the plan
    does not use the link. `waiting`: the motes wait for the first evaluation, and measurement starts
    there."""
    boots = {site: round(seconds * FREQUENCY) for site, seconds in air.boots.items()}
    start = boots.get(network.sink, 0) + first * CYCLES_PER_TICK
    lines = [
        f"interval {alpha * CYCLES_PER_TICK}",
        f"start {start}",
        f"end {start + ticks * CYCLES_PER_TICK}",
        *(
            [f"measure {start - CYCLES_PER_TICK}"] if waiting else []
        ),  # clocks are nearly, but not quite, equal
        *(f"node {site} {elf.resolve()}" for site, elf in elves.items()),
        *(f"boot {site} {cycles}" for site, cycles in boots.items() if site in elves),
    ]
    lines.append(f"seed {air.seed % 2**64}")
    lines += [f"drift {site} {round(share * 1e9)}" for site, share in air.drift.items()]
    ends = {(link.source, link.target) for link in network.links}
    for source, target in sorted(ends | {(target, source) for source, target in ends}, key=str):
        if source in elves and target in elves:
            link = network.link(source, target)
            lines.append(f"link {source} {target} {link.quality if air.lossy and link else 1.0!r}")
    for (site, channel), values in readings.items():
        lines.append(f"readings {site} {channel} {' '.join(map(str, values))}")
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as description:
        description.write("\n".join(lines) + "\n")
        description.flush()
        done = subprocess.run(
            [str(emulator()), description.name], capture_output=True, text=True, check=False
        )
    if done.returncode:
        raise InternalError("the emulator failed", detail=done.stderr.strip()[-2000:])
    reports = [json.loads(line) for line in done.stdout.splitlines()]
    return {site: _measured(site, report) for site, report in zip(elves, reports, strict=True)}


def _measured(site: NodeId, report: dict[str, Any]) -> Measured:
    asleep = report["asleep"]
    return Measured(
        site,
        report["state"],
        report["cycles"],
        report["active"],
        asleep.get("idle", 0),
        asleep.get("power_save", 0),
        report["receiving"],
        report["sending"],
        report["sent"],
        report["received"],
        report["collisions"],
        report["conversions"],
        report["wrong_sleeps"],
        report["flash"],
        report["ram"],
        report["stack"],
        {FAULTS.get(int(code), code): count for code, count in report["faults"].items()},
        {int(mark): TaskTimes(*times) for mark, times in report["tasks"].items()},
        bytes.fromhex(report["serial"]),
        HopCounts(**{COUNTS[int(what)]: count for what, count in report["counts"].items()}),
        report["missed"],
        report["missed_before"],
        report["began"],
    )
