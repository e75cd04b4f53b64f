"""Calibrates the cost models: builds and emulates micro-programs, and fits how long primitive actions take on
an ATmega128.

The cost models are linear in their parameters. So the coefficient of a parameter in a task's duration is the
duration under a profile in which that parameter is 1 and all others are 0. The parameters follow from the
measured durations by least squares. Flash and RAM are fitted in the same way, by counting the parts of a
program.

The fit works in stages. First come the programs without acknowledgements. With those parameters known, the
cost of acknowledgements is fitted to the rest of the programs that have them. Then come the costs of setting
clocks and of waiting for the start.
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
from nilometer.dataflow.sources import MemorySources
from nilometer.errors import InternalError
from nilometer.placement import CostParameters, Placement, QualityOfService, place, placement_profile
from nilometer.plan import physical
from nilometer.sensornet.motes.abilities import our_runtime
from nilometer.sensornet.motes.busy import expected_times
from nilometer.sensornet.motes.compilation import Compilation, EmulatedRun, compile_placement, run
from nilometer.sensornet.motes.estimate import held_bytes, parts
from nilometer.sensornet.motes.program import DELIVER_MARK, RECEIVE_MARK
from nilometer.sensornet.motes.readings import random_readings
from nilometer.sensornet.motes.toolchain import Built

SCHEMA: Final = """
CREATE STREAM s (a INT, b INT, c INT, d INT, f FLOAT) SENSED EVERY 10 SECONDS;
CREATE STREAM h (a INT, b INT) SENSED EVERY 10 SECONDS;
"""

LAVISH: Final = cost_profile("snee-2010", {"serial_frame": cost_profile("avr")["serial_frame"]})
"""The profile with which micro-programs are planned. It allows far more time than they need, so that the plan
does not influence what is fitted."""


@dataclass(frozen=True)
class MicroProgram:
    """A query, and the sites that sense each stream.

    The sites form a line of motes with the sink 0, or (`forked`) two lines that meet at 1. With `retries`
    packets are acknowledged; none is lost. With `drift` clocks are set; all of them agree. With `waiting` the
    motes are told the start.
    """

    query: str
    hosts: Mapping[str, Sequence[int]]
    forked: bool = False
    retries: int = 0
    drift: float = 0.0
    waiting: bool = False

    @property
    def network(self) -> Network:
        """A network with as many motes as the program needs."""
        number = max(site for sites in self.hosts.values() for site in sites) + 1
        nodes = (
            NetworkNode(
                site,
                4096,
                131_072,
                streams=tuple(name for name, sites in self.hosts.items() if site in sites),
            )
            for site in range(number)
        )
        links = (
            Link(max(site - 2, 1) if self.forked and site > 1 else site - 1, site)
            for site in range(1, number)
        )
        return Network("micro", 0, tuple(nodes), tuple(links), LAVISH, self.retries)


MICRO_PROGRAMS: Final = (
    MicroProgram("SELECT a FROM s [NOW]", {"s": (1, 2, 3)}),
    MicroProgram("SELECT a, b FROM s [NOW]", {"s": (2,)}),
    MicroProgram("SELECT id, time, a, b, c, d FROM s [NOW]", {"s": (1, 2)}),
    MicroProgram("SELECT a FROM s [NOW] WHERE b >= 0", {"s": (2,)}),
    MicroProgram("SELECT a FROM s [NOW] WHERE b >= 0 AND c >= 0 AND a < 40", {"s": (2,)}),
    MicroProgram("SELECT f FROM s [NOW] WHERE f < 40.0", {"s": (2,)}),
    MicroProgram("SELECT a FROM s [AT NOW - 10 SECONDS]", {"s": (2,)}),
    MicroProgram("SELECT a, b FROM s [RANGE 40 SECONDS]", {"s": (2,)}),
    MicroProgram("SELECT SUM(a) AS x FROM s [NOW]", {"s": (1, 2, 3)}),
    MicroProgram("SELECT MAX(a) AS x, COUNT(*) AS n FROM s [NOW]", {"s": (1, 2, 3)}),
    MicroProgram("SELECT a, b FROM s [NOW]", {"s": (2, 3)}, forked=True),
    MicroProgram("SELECT COUNT(*) AS n, SUM(a) AS x FROM s [NOW]", {"s": (2, 3, 4, 5)}, forked=True),
    MicroProgram("SELECT AVG(f) AS x FROM s [NOW]", {"s": (2, 3)}, forked=True),
    MicroProgram("SELECT id, SUM(a) AS x FROM s [NOW] GROUP BY id", {"s": (2, 3, 4)}, forked=True),
    MicroProgram(
        "SELECT s.a, h.b FROM s [NOW], h [NOW] WHERE s.a < h.a + 40", {"s": (2, 4), "h": (3,)}, forked=True
    ),
    MicroProgram("SELECT MIN(a) AS x, MAX(b) AS y FROM s [RANGE 40 SECONDS]", {"s": (1, 2)}),
    MicroProgram("SELECT SUM(f) AS x FROM s [NOW]", {"s": (1, 2)}),
    MicroProgram("SELECT MIN(f) AS x, AVG(f) AS y FROM s [RANGE 30 SECONDS]", {"s": (1, 2, 3)}),
    MicroProgram("SELECT AVG(a) AS x, AVG(b) AS y, COUNT(*) AS n FROM s [NOW]", {"s": (1, 2)}),
    MicroProgram("SELECT SUM(a) AS x, AVG(b) AS y FROM s [RANGE 100 SECONDS]", {"s": (1, 2, 3, 4)}),
    MicroProgram("SELECT VARIANCE(a) AS x FROM s [NOW]", {"s": (1, 2, 3)}),
    MicroProgram("SELECT STDEV(a) AS x, COUNT(*) AS n FROM s [RANGE 50 SECONDS]", {"s": (1, 2, 3)}),
    MicroProgram("SELECT SUM(s.a) AS x FROM s [NOW], h [NOW] WHERE s.a < h.a + 40", {"s": (1, 2), "h": (3,)}),
    MicroProgram("SELECT id, COUNT(*) AS n FROM s [NOW] GROUP BY id", {"s": (1, 2)}),
    MicroProgram("SELECT id, MAX(a) AS x FROM s [NOW] GROUP BY id", {"s": (1, 2, 3, 4, 5, 6)}),
    MicroProgram("SELECT id, MIN(f) AS x FROM s [NOW] GROUP BY id", {"s": (1, 2, 3, 4)}),
    MicroProgram("SELECT f * 0.5 + 1.0 AS x FROM s [NOW] WHERE f < 70.0 AND f > -1.0", {"s": (1, 2)}),
    MicroProgram("SELECT MAX(a) AS x FROM s [RANGE 40 SECONDS SLIDE 20 SECONDS]", {"s": (1, 2)}),
    MicroProgram("SELECT a, b FROM s [RANGE 5 ROWS]", {"s": (2,)}),
    MicroProgram("SELECT id, a FROM s [RANGE 4 ROWS]", {"s": (1, 2)}),
    MicroProgram("SELECT id, a FROM s [RANGE 3 ROWS SLIDE 3 ROWS]", {"s": (1, 2, 3, 4, 5, 6, 7)}),
    MicroProgram("SELECT id, a FROM s [RANGE 6 ROWS SLIDE 2 ROWS]", {"s": (1, 2, 3, 4)}),
    MicroProgram("SELECT SUM(a) AS x FROM s [RANGE 12 ROWS SLIDE 5 ROWS]", {"s": (1, 2, 3, 4)}),
    MicroProgram("SELECT MAX(f) AS x FROM s [RANGE 3 ROWS]", {"s": (1, 2, 3)}),
    MicroProgram("SELECT AVG(a) AS x, COUNT(*) AS n FROM s [RANGE 10 ROWS]", {"s": (1, 2)}),
    MicroProgram("SELECT s.a, h.b FROM s [NOW], h [NOW] WHERE s.a < h.a + 40", {"s": (2, 3, 4), "h": (5,)}),
    MicroProgram("SELECT s.a, h.b FROM s [NOW], h [NOW] WHERE s.a < h.a + 40", {"s": (2,), "h": (3,)}),
    MicroProgram(
        "SELECT s.a, h.b FROM s [NOW], h [NOW] WHERE s.a < h.a + 40 AND h.b < 40", {"s": (2, 3), "h": (3, 4)}
    ),
    MicroProgram("SELECT a FROM s [NOW]", {"s": (1, 2, 3)}, retries=1),
    MicroProgram("SELECT id, time, a, b, c, d FROM s [NOW]", {"s": (1, 2)}, retries=3),
    MicroProgram("SELECT a, b FROM s [NOW]", {"s": (2, 3)}, forked=True, retries=2),
    MicroProgram("SELECT MAX(a) AS x, COUNT(*) AS n FROM s [NOW]", {"s": (1, 2, 3)}, retries=7),
    MicroProgram("SELECT a FROM s [NOW]", {"s": (1, 2, 3)}, retries=1, drift=1e-5),
    MicroProgram("SELECT id, time, a, b, c, d FROM s [NOW]", {"s": (1, 2)}, retries=3, drift=2e-5),
    MicroProgram("SELECT a, b FROM s [NOW]", {"s": (2, 3)}, forked=True, retries=2, drift=1e-4),
    MicroProgram("SELECT a FROM s [NOW]", {"s": (1, 2, 3)}, waiting=True),
    MicroProgram("SELECT a, b FROM s [NOW]", {"s": (2, 3)}, forked=True, waiting=True),
    MicroProgram("SELECT MAX(a) AS x, COUNT(*) AS n FROM s [NOW]", {"s": (1, 2, 3)}, waiting=True),
    MicroProgram("SELECT a FROM s [NOW]", {"s": (1, 2, 3)}, retries=1, waiting=True),
    MicroProgram(
        "SELECT id, time, a, b, c, d FROM s [NOW]", {"s": (1, 2)}, retries=3, drift=2e-5, waiting=True
    ),
    MicroProgram("(SELECT a FROM s [NOW]) UNION (SELECT a FROM h [NOW])", {"s": (1, 2), "h": (2,)}),
    MicroProgram(
        "(SELECT id, a, b FROM s) UNION (SELECT id, a, b FROM h)", {"s": (2, 3), "h": (3, 4)}, forked=True
    ),
    MicroProgram(
        "SELECT s.a, h.b FROM s [RANGE 3 ROWS] s, h [NOW] h WHERE s.a < h.a + 40", {"s": (1, 3), "h": (2,)}
    ),
)
"""Every condition is true of every reading."""

BUFFERING: Final = (4, 16)
EVALUATIONS: Final = 192
"""Enough evaluations that the empty windows at the beginning make no difference."""

FITTED: Final = (
    "keep_tuple",
    "combine_state",
    "calculate_float",
    "add_group",
    "compare_key",
    "move_tuple",
    "look_back",
    "sense_attribute",
    "acquire_data",
    "open_tray",
    "take_tuple",
    "scan_waiting",
    "radio_sync_window",
    "send_packet",
    "transmit_byte",
    "transmit_acknowledgement",
    "deliver_tuple",
)
"""The parameters that are cycles of a mote. The other parameters of the models cannot be told from 0:
operators push rows through one another in registers, so that calls and copies between them disappear, and
INTs are compared in passing."""


@dataclass(frozen=True)
class Experiment:
    """A micro-program that was built and run."""

    compilation: Compilation
    result: EmulatedRun

    @property
    def placement(self) -> Placement:
        """The micro-program's placement."""
        return self.compilation.placement

    @property
    def stage(self) -> int:
        """The stage in which it is fitted. Programs with fewer kinds of parts come first."""
        motes = self.compilation.motes
        if motes.starting is not None:
            return 4
        return 3 if len(motes.delivered) > 1 else bool(motes.retries) + motes.timekeeping.drifts


@dataclass(frozen=True)
class Calibration:
    """The cycles of each parameter of the profile, and the bytes of each part of a program."""

    cycles: Mapping[str, float]
    flash: Mapping[str, float]
    ram: Mapping[str, float]


def experiment(program: MicroProgram, plan: physical.Node, beta: int, directory: Path) -> Experiment:
    """Build and run a micro-program. `plan` is the plan of its query."""
    quality = QualityOfService.of(buffering_factor=beta)
    placement = place(plan, program.network, quality, placement_profile("motes"), why_not=our_runtime())
    compilation = compile_placement(placement, directory, drift=program.drift, waiting=program.waiting)
    result = run(compilation, random_readings(compilation.motes, EVALUATIONS, 1), MemorySources())
    if not result.sound:
        raise InternalError("a micro-program went wrong", detail=str(result.measured))
    return Experiment(compilation, result)


def calibrate(experiments: Iterable[Experiment]) -> Calibration:
    """The parameters that explain the measurements best."""
    done = list(experiments)
    found = Calibration({}, {}, {})
    for stage in range(5):
        found = _calibrated([one for one in done if one.stage == stage], found)
    return found


def _calibrated(done: list[Experiment], known: Calibration) -> Calibration:
    """Fit the parameters that are not `known` yet, to the part of the measurements that the known ones do not
    explain."""
    if not done:
        return known
    # Setting clocks and telling the start once take no measurable time, so only the other programs are timed.
    # Frames of several kinds each take their own time on the line.
    cycles = [row for one in done if one.stage < 2 for row in _durations(one)]
    flash = [(dict(parts(one.compilation.motes, site)), built.flash) for one, site, built in _programs(done)]
    ram = []
    for one, site, built in _programs(done):
        motes = one.compilation.motes
        held = held_bytes(motes, motes.site(site))
        ram.append((dict(parts(motes, site)), built.ram + one.result.measured[site].stack - held))
    return Calibration(
        _further(cycles, known.cycles, relative=True),
        _further(flash, known.flash, relative=False),
        _further(ram, known.ram, relative=False),
    )


def _programs(done: list[Experiment]) -> Iterable[tuple[Experiment, NodeId, Built]]:
    for one in done:
        for site, built in one.compilation.built.items():
            yield one, site, built


Rows = Sequence[tuple[Mapping[str, float], float]]
"""Pairs of coefficients by name and the measured value."""


def _durations(one: Experiment) -> Rows:
    """For every task of every site: the coefficient of each parameter, and the task's cycles in a period."""
    silent: dict[str, Any] = {f.name: 0.0 for f in fields(CostParameters) if f.name not in ("name", *_SIZES)}
    zero = replace(one.placement.costs, **silent)
    counted = {name: expected_times(one.compilation.motes, _only(zero, name)) for name in FITTED}
    rows = []
    for site, measured in one.result.measured.items():
        for mark, task in measured.tasks.items():
            if mark >= RECEIVE_MARK and one.placement.network.retries:
                continue  # it listens for the planned time, whatever is sent
            # When delivering, a mote waits for the serial line, whatever it computes meanwhile.
            names = ("deliver_tuple",) if mark == DELIVER_MARK else FITTED
            coefficients = {name: counted[name][site][mark] for name in names}
            rows.append((coefficients, task.total / one.result.periods))
    return rows


_SIZES = ("packet_payload", "packet_overhead", "serial_payload", "serial_frame")


def _only(zero: CostParameters, parameter: str) -> CostParameters:
    changed: dict[str, Any] = {parameter: 1.0}
    return replace(zero, **changed)


def _further(rows: Rows, known: Mapping[str, float], *, relative: bool) -> dict[str, float]:
    """The known parameters and the newly fitted ones: least squares of the relative (or absolute) error, with
    no parameter below 0."""
    present = [name for coefficients, _ in rows for name, count in coefficients.items() if count]
    names = tuple(name for name in dict.fromkeys(present) if name not in known)
    if not names:
        return dict(known)
    matrix = np.array([[coefficients.get(name, 0.0) for name in names] for coefficients, _ in rows])
    measured = np.array([value for _, value in rows], dtype=float)
    weights = 1 / measured if relative else np.ones_like(measured)
    left = measured - [
        sum(known.get(name, 0.0) * count for name, count in given.items()) for given, _ in rows
    ]
    return {**known, **dict(zip(names, non_negative(matrix * weights[:, None], left * weights), strict=True))}


def non_negative(matrix: NDArray[np.float64], wanted: NDArray[np.float64]) -> list[float]:
    """Least squares with no unknown below 0: the active-set method of Lawson and Hanson (Solving Least
    Squares Problems, 1974, chapter 23). Columns are scaled to length one, so that the order in which unknowns
    enter does not depend on units."""
    lengths = np.linalg.norm(matrix, axis=0)
    scaled = matrix / np.where(lengths > 0, lengths, 1.0)
    found = np.zeros(matrix.shape[1])
    free: list[int] = []
    while True:
        slope = scaled.T @ (wanted - scaled @ found)
        slope[free] = -np.inf
        if len(free) == len(found) or slope.max() <= 1e-9:
            return [float(value) for value in found / np.where(lengths > 0, lengths, 1.0)]
        free.append(int(slope.argmax()))
        while True:
            best = np.linalg.lstsq(scaled[:, free], wanted, rcond=None)[0]
            if best.min() > 0:
                break
            # Go towards it until the first unknown reaches 0, and hold that one there.
            falling = best <= 0
            ratios = found[free][falling] / (found[free][falling] - best[falling])
            found[free] += ratios.min() * (best - found[free])
            free = [at for at in free if found[at] > 1e-12]
        found[:] = 0.0
        found[free] = best
