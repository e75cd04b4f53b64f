"""Micro-programs, each with little in it, built and emulated: what the primitive actions of the cost models take on an ATmega128.

The cost models are linear in their parameters. So the coefficient of a parameter in a task's duration is the duration under a
profile in which that parameter is 1 and all others are 0, and the parameters follow from the measured durations by least
squares. Flash and RAM are fitted alike, by counting the parts of a program.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from nilometer.catalog.network import Link, Network, NetworkNode, NodeId
from nilometer.catalog.profiles import cost_profile
from nilometer.errors import InternalError
from nilometer.placement import CostParameters, Placement, QualityOfService, place, placement_profile
from nilometer.placement.workload import Job, workload
from nilometer.plan import physical
from nilometer.sensornet.motes.compilation import Compilation, Run, compile_placement, run
from nilometer.sensornet.motes.estimate import held_bytes, parts
from nilometer.sensornet.motes.program import SEND_MARK
from nilometer.sensornet.motes.readings import random_readings
from nilometer.sensornet.motes.toolchain import Built

SCHEMA: Final = """
CREATE STREAM s (a INT, b INT, c INT, d INT, f FLOAT) SENSED EVERY 10 SECONDS;
CREATE STREAM h (a INT, b INT) SENSED EVERY 10 SECONDS;
"""

MICRO_PROGRAMS: Final[tuple[tuple[str, Mapping[str, Sequence[int]]], ...]] = (
    ("SELECT a FROM s [NOW]", {"s": (1, 2, 3)}),
    ("SELECT a, b FROM s [NOW]", {"s": (2,)}),
    ("SELECT id, time, a, b, c, d FROM s [NOW]", {"s": (1, 2)}),
    ("SELECT a FROM s [NOW] WHERE b >= 0", {"s": (2,)}),
    ("SELECT a FROM s [NOW] WHERE b >= 0 AND c >= 0 AND a < 40", {"s": (2,)}),
    ("SELECT f FROM s [NOW] WHERE f < 40.0", {"s": (2,)}),
    ("SELECT a FROM s [AT NOW - 10 SECONDS]", {"s": (2,)}),
    ("SELECT a, b FROM s [RANGE 40 SECONDS]", {"s": (2,)}),
    ("SELECT SUM(a) AS x FROM s [NOW]", {"s": (1, 2, 3)}),
    ("SELECT MAX(a) AS x, COUNT(*) AS n FROM s [NOW]", {"s": (1, 2, 3)}),
    ("SELECT MIN(a) AS x, MAX(b) AS y FROM s [RANGE 40 SECONDS]", {"s": (1, 2)}),
    ("SELECT SUM(f) AS x FROM s [NOW]", {"s": (1, 2)}),
    ("SELECT a, COUNT(*) AS n FROM s [NOW] GROUP BY a", {"s": (1, 2)}),
    ("SELECT id, a FROM s [RANGE 4 ROWS]", {"s": (1, 2)}),
    ("SELECT s.a, h.b FROM s [NOW], h [NOW] WHERE s.a < h.a + 40", {"s": (2, 3, 4), "h": (5,)}),
    ("SELECT s.a, h.b FROM s [NOW], h [NOW] WHERE s.a < h.a + 40", {"s": (2,), "h": (3,)}),
    ("SELECT s.a, h.b FROM s [NOW], h [NOW] WHERE s.a < h.a + 40 AND h.b < 40", {"s": (2, 3), "h": (3, 4)}),
)
"""A query, and the sites on a line of motes (0 is the sink) that sense each stream. Every condition is true of every reading."""

BUFFERING: Final = (2, 6)

COMPUTING: Final = (
    "call_method",
    "copy_tuple",
    "apply_predicate",
    "apply_atom",
    "check_tuple",
    "do_calculation",
    "sense_attribute",
    "acquire_data",
    "set_a_value",
    "scan_waiting",
)


@dataclass(frozen=True)
class Experiment:
    """A micro-program that was built and run."""

    compilation: Compilation
    result: Run

    @property
    def placement(self) -> Placement:
        """Its plan."""
        return self.compilation.placement


@dataclass(frozen=True)
class Calibration:
    """Cycles of each parameter of the profile; bytes of each part of a program."""

    cycles: Mapping[str, float]
    flash: Mapping[str, float]
    ram: Mapping[str, float]


def line(hosts: Mapping[str, Sequence[int]]) -> Network:
    """Motes in a line, 0 the sink."""
    number = max(site for sites in hosts.values() for site in sites) + 1
    nodes = (
        NetworkNode(
            site, 4096, 131_072, streams=tuple(name for name, sites in hosts.items() if site in sites)
        )
        for site in range(number)
    )
    links = (Link(site, site + 1) for site in range(number - 1))
    return Network("line", 0, tuple(nodes), tuple(links), cost_profile("snee-2010"))


def experiment(plan: physical.Node, network: Network, beta: int, directory: Path) -> Experiment:
    """Build and run one."""
    quality = QualityOfService.of(buffering_factor=beta)
    placement = place(plan, network, quality, placement_profile("motes"))
    compilation = compile_placement(placement, directory)
    # Windows are full from the second period on, or the fourth.
    result = run(compilation, random_readings(compilation.motes, 4 * beta, 1))
    if not result.sound:
        raise InternalError("a micro-program went wrong", detail=str(result.measured))
    return Experiment(compilation, result)


def calibrate(experiments: Iterable[Experiment]) -> Calibration:
    """The parameters that explain the measurements best."""
    done = list(experiments)
    cycles = _fitted(COMPUTING, [row for one in done for row in _computing(one)])
    cycles |= _fitted(
        ("radio_sync_window", "send_packet", "transmit_byte"), [row for one in done for row in _sending(one)]
    )
    cycles |= _fitted(("frame", "deliver_tuple"), [row for one in done for row in _delivering(one)])
    flash = [(dict(parts(one.compilation.motes, site)), built.flash) for one, site, built in _programs(done)]
    ram = []
    for one, site, built in _programs(done):
        motes = one.compilation.motes
        held = held_bytes(motes, motes.site(site))
        ram.append((dict(parts(motes, site)), built.ram + one.result.measured[site].stack - held))
    return Calibration(cycles, _by_parts(flash), _by_parts(ram))


def _programs(done: list[Experiment]) -> Iterable[tuple[Experiment, NodeId, Built]]:
    for one in done:
        for site, built in one.compilation.built.items():
            yield one, site, built


Rows = Sequence[tuple[Mapping[str, float], float]]
"""Coefficients by name, and what was measured."""


def _computing(one: Experiment) -> Rows:
    placement = one.placement
    silent: dict[str, Any] = {f.name: 0.0 for f in fields(CostParameters) if f.name not in ("name", *_KEPT)}
    zero = replace(placement.costs, **silent)
    by_parameter = {
        name: workload(placement.placed, _only(zero, name), placement.profile) for name in COMPUTING
    }
    rows: list[tuple[Mapping[str, float], float]] = []
    for site in placement.routing.post_order:
        jobs = {
            name: (*work.sites[site].leaves, *work.sites[site].others) for name, work in by_parameter.items()
        }
        for at, job in enumerate(jobs[COMPUTING[0]]):
            fragment = placement.fragments[job.fragment]
            if fragment.delivers:
                continue
            coefficients = {
                name: _length(found[at], fragment.is_leaf, placement.beta) for name, found in jobs.items()
            }
            rows.append((coefficients, one.result.measured[site].tasks[job.fragment + 1].longest))
    return rows


def _only(zero: CostParameters, parameter: str) -> CostParameters:
    changed: dict[str, Any] = {parameter: 1.0}
    return replace(zero, **changed)


_KEPT = ("packet_payload", "packet_overhead", "serial_payload", "clock_rate", "voltage")


def _length(job: Job, leaf: bool, beta: int) -> float:
    return job.milliseconds if leaf else job.together(beta)


def _sending(one: Experiment) -> Rows:
    """A slot: what is the same for all, each packet, and each byte that the model counts (tuples and headers)."""
    rows: list[tuple[Mapping[str, float], float]] = []
    overhead = one.placement.costs.packet_overhead + one.placement.profile.wire.segment_size
    for transfer in one.placement.agenda.transfers:
        trays = [t for t in one.compilation.motes.site(transfer.source).trays if t.consumer is None]
        content = sum(tray.size for tray in trays)
        coefficients = {
            "radio_sync_window": 2.0,
            "send_packet": transfer.packets,
            "transmit_byte": content + transfer.packets * overhead,
        }
        rows.append((coefficients, one.result.measured[transfer.source].tasks[SEND_MARK].longest))
    return rows


def _delivering(one: Experiment) -> Rows:
    sink = one.placement.routing.sink
    measured = one.result.measured[sink]
    tray = next(t for t in one.compilation.motes.site(sink).trays if t.consumer == 0)
    return [({"frame": 1.0, "deliver_tuple": tray.size}, measured.tasks[1].longest)]


def _by_parts(rows: Rows) -> dict[str, float]:
    names = tuple(dict.fromkeys(name for coefficients, _ in rows for name in coefficients))
    return _fitted(names, rows, relative=False)


def _fitted(names: Sequence[str], rows: Rows, *, relative: bool = True) -> dict[str, float]:
    """Least squares of the relative (or absolute) error, with no parameter below 0."""
    matrix = np.array([[coefficients.get(name, 0.0) for name in names] for coefficients, _ in rows])
    measured = np.array([value for _, value in rows], dtype=float)
    weights = 1 / measured if relative else np.ones_like(measured)
    return dict(zip(names, _non_negative(matrix * weights[:, None], measured * weights), strict=True))


def _non_negative(matrix: NDArray[np.float64], wanted: NDArray[np.float64]) -> list[float]:
    """Leaves out, one by one, the parameter that would be most negative."""
    kept = list(range(matrix.shape[1]))
    while True:
        found, *_ = np.linalg.lstsq(matrix[:, kept], wanted, rcond=None)
        if not len(found) or found.min() >= -1e-9:
            break
        del kept[int(found.argmin())]
    result = [0.0] * matrix.shape[1]
    for place_, value in zip(kept, found, strict=True):
        result[place_] = max(float(value), 0.0)
    return result
