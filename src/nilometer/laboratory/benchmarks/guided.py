"""`nilometer bench guided`: what GUIDE saves on a field of plumes, and what it costs.

The same world runs several times in virtual time: all sensors FAST, all IDLE, and guided. Readings are counted where they
are sent, joules by Table 1 of Fjords (simulated/power.py), commands and statuses apart. The updates of the run in which all
are FAST are taken for true. An update is recalled if the other run has one of the same kind, with a sensor in common, at
most one IDLE interval away; one to one. The delay of an APPEAR is that to the first update of the other run that shares a
sensor with it.
"""

from __future__ import annotations

import tempfile
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from nilometer.engine import connect
from nilometer.laboratory.benchmarks.result import Measurement, Result, Target
from nilometer.live.outside import Outside
from nilometer.live.station import Station
from nilometer.simulated.field import SimulatedField
from nilometer.simulated.fields.generator import START
from nilometer.simulated.fields.moving_plume import MovingPlume
from nilometer.simulated.grid import PlumeGrid
from nilometer.types import HOUR, MINUTE

SCHEMA = """
CREATE STREAM air (concentration FLOAT) SENSED EVERY 1 MINUTE FROM 'generate://plume?speed=1' KEY (id, time)
  COORDINATES 'm';
"""
DEFINITION = (
    "CREATE PHENOMENON smoke ON air.concentration ABOVE 60 RANGE {range} MINUTES SLIDE 1 MINUTE"
    " NEIGHBOURS WITHIN 230 M MEMBERS 3 GUIDE FAST {fast} MINUTES IDLE {idle} MINUTES{around}"
)
AROUND = " AHEAD 3 MINUTES REACH 1"
UPDATES = "SELECT time, id, kind, members, lost FROM PHENOMENA(smoke)"
READINGS = "SELECT time, id FROM air WHERE concentration > 80"
TRADES = ((3, 5), (10, 5))
"""IDLE in minutes, and hours of the world. The bars are for the first; others show the trade."""
RELEASE = 91 * MINUTE
"""A puff is born every so often, so that births come at all phases of the IDLE intervals."""

Update = dict[str, Any]


@dataclass(frozen=True)
class Trip:
    """One run of the world."""

    updates: list[Update]
    read: set[tuple[int, Any]]
    sent: int
    joules: float
    commands: int
    statuses: int
    seconds: float


def guided(_rows: int, sensors: int) -> Result:
    """Run the benchmark."""
    return measure(400 if sensors == 1_000 else sensors, TRADES)


def measure(sensors: int, trades: tuple[tuple[int, int], ...]) -> Result:
    """The benchmark on so many sensors; the first of `trades` is judged."""
    measurements = []
    targets: list[Target] = []
    notes = [
        "sent, saved; joules; commands, statuses; delay, mean and most; recall, at the same minute; GUIDED BY"
    ]
    for idle, hours in trades:
        window = 2 * idle
        fast = _run(sensors, hours, 1, 1, window, "")
        runs = {
            "all FAST": fast,
            f"guided, IDLE {idle}": _run(sensors, hours, 1, idle, window, AROUND),
            f"all IDLE, {idle}": _run(sensors, hours, idle, idle, window, ""),
        }
        for name, run in runs.items():
            delays = _delays(fast.updates, run.updates)
            recall, same = _recall(fast.updates, run.updates, idle * MINUTE)
            mean = sum(delays) / max(1, len(delays)) / MINUTE
            missed = sum(each["kind"] == "APPEAR" for each in fast.updates) - len(delays)
            kept = "-" if not run.read else f"{len(run.read & fast.read) / max(1, len(fast.read)):.3f}"
            saved = 1 - run.sent / fast.sent
            notes.append(
                f"{name:18} {run.sent:>9,} {saved:>6.1%}; {run.joules:>7.1f} J; {run.commands:>6,} {run.statuses:>6,}; "
                f"{mean:.2f} and {max(delays, default=0) / MINUTE:.0f} min, {missed} missed; {recall:.3f} {same:.3f}; {kept}"
            )
            measurements.append(
                Measurement(f"{name} ({window} min)", run.seconds, None, run.sent, len(run.updates), None)
            )
            if idle == trades[0][0] and name.startswith("guided"):
                targets += [
                    Target("readings sent, over those of all FAST", run.sent / fast.sent, 0.4),
                    Target("mean delay of an APPEAR more than all FAST, in FAST intervals", mean, 1.0),
                    Target("appearances missed", float(missed), 0.0),
                    Target("share of updates not recalled", 1 - recall, 0.05),
                ]
    judged = f"FAST 1 MINUTE, IDLE {trades[0][0]} MINUTES{AROUND}, {trades[0][1]} hours"
    setting = f"{sensors} sensors, a puff every 91 minutes, {judged}; seconds are the processor's"
    return Result("guided", "all FAST", setting, tuple(measurements), tuple(targets), tuple(notes))


def _run(sensors: int, hours: int, fast: int, idle: int, window: int, around: str) -> Trip:
    """A world in which smoke is followed by a query, and readings are asked for that it guides."""
    began, field = time.process_time(), _field(sensors)
    with tempfile.TemporaryDirectory(dir=_scratch()) as folder:
        (Path(folder) / "schema.sql").write_text(SCHEMA)
        database = connect(folder)
        assert isinstance(field.physics, PlumeGrid)
        for sensor in replace(field.physics.generator, name="air").sensors():
            database.catalog.add_sensor(sensor)
        database.execute(DEFINITION.format(range=window, fast=fast, idle=idle, around=around))
        clock, end, commands = [field.start], field.start + hours * HOUR, 0
        outside = Outside(clock=lambda: clock[0], generators={"plume": lambda _: field})
        with Station(database, folder, outside=outside) as station:
            told = field.command

            def counted(sensor: int | str, command: Any) -> bool:
                nonlocal commands
                commands += 1
                return told(sensor, command)

            field.command = counted  # type: ignore[method-assign]
            follows = station.install(database.sql(UPDATES))
            # Beside sensors that are all IDLE it would ask for readings of its own.
            guide = " GUIDED BY smoke REACH 1" if around else ""
            reads = station.install(database.sql(READINGS + guide)) if fast == 1 else None
            updates: list[Update] = []
            read: set[tuple[int, Any]] = set()
            while clock[0] < end:
                clock[0] += MINUTE
                quiet = 0
                while quiet < 2:
                    quiet = 0 if station.step() else quiet + 1
                updates += [row for answer in follows.take() for row in answer]
                if reads is not None:
                    read |= {(row["time"], row["id"]) for answer in reads.take() for row in answer}
            sent, joules = int(field.sensors.sent.sum()), float(field.sensors.spent.sum())
            return Trip(updates, read, sent, joules, commands, field.statuses, time.process_time() - began)


def _field(sensors: int) -> SimulatedField:
    """Puffs that are born at the western edge, cross the field, widen and fade."""
    plume = MovingPlume(
        sensor_count=sensors,
        start=START,
        seed=7,
        width=4_000.0,
        height=2_000.0,
        wind=(0.5, 0.1),
        source=(0.08, 0.3),
        release=RELEASE,
        strength=180.0,
        sigma=150.0,
        diffusion=6.0,
    )
    field = SimulatedField(PlumeGrid(plume), start=START, mailbox=True)
    field.fixed = True
    return field


def _members(update: Update) -> set[Any]:
    return {*update["members"], *update["lost"]}


def _delays(true: list[Update], found: list[Update]) -> list[float]:
    """How much later each APPEAR was seen, in microseconds; those that were not are left out."""
    delays = []
    for each in true:
        if each["kind"] != "APPEAR":
            continue
        seen = [
            _micros(other) - _micros(each)
            for other in found
            if _micros(other) >= _micros(each)
            and other["kind"] != "DISAPPEAR"
            and _members(other) & _members(each)
        ]
        if seen:
            delays.append(min(seen))
    return delays


def _recall(true: list[Update], found: list[Update], patience: int) -> tuple[float, float]:
    """The share of updates that were found, and found at the same evaluation."""
    left, hits, same = list(found), 0, 0
    for each in sorted(true, key=_micros):
        near = [
            other
            for other in left
            if other["kind"] == each["kind"]
            and abs(_micros(other) - _micros(each)) <= patience
            and _members(other) & _members(each)
        ]
        if near:
            best = min(near, key=lambda other: abs(_micros(other) - _micros(each)))
            left.remove(best)
            hits += 1
            same += best["time"] == each["time"]
    return hits / max(1, len(true)), same / max(1, len(true))


def _micros(update: Update) -> float:
    return float(update["time"].timestamp() * 1_000_000)


def _scratch() -> str | None:
    """Memory, where there is some: the disk is not what is measured."""
    return "/dev/shm" if Path("/dev/shm").is_dir() else None
