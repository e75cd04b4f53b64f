"""What every test of emulated motes needs: SNEE's brook, a query, readings, and a run beside the reference."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from random import Random

import pytest

import nilometer
from nilometer.catalog.network import Network
from nilometer.catalog.network_files import import_network
from nilometer.engine import Query
from nilometer.engine.mote_report import measurements
from nilometer.engine.motes import CompileOptions, Emulation, EmulationOptions, compile_query, emulate
from nilometer.laboratory.mote_queries import RUNNING_EXAMPLE, SCHEMA, grid
from nilometer.placement import QualityOfService
from nilometer.sensornet.motes.busy import expected_times
from nilometer.sensornet.motes.compilation import Compilation
from nilometer.sensornet.motes.converters import Converters
from nilometer.sensornet.motes.emulate import FREQUENCY
from nilometer.sensornet.motes.readings import Readings, random_readings

BROOK = Path(__file__).parents[2] / "catalog" / "data" / "snee.toml"

ERROR = 0.10
"""The largest error of an estimate after calibration, as a share of what was measured."""

TICK = 1000 / 1024
"""Milliseconds of the clock by which motes begin their tasks. Below it an error of a single task changes nothing: it is judged by
this. A site's tasks together are judged by their share, whatever they are."""

__all__ = [
    "ERROR",
    "RUNNING_EXAMPLE",
    "SCHEMA",
    "TICK",
    "Trial",
    "ask",
    "brook",
    "check_estimates",
    "grid",
    "random_grid",
    "tried",
]


def brook() -> Network:
    """SNEE's Fig. 3."""
    return import_network(BROOK, "brook")


def ask(text: str, schema: str = SCHEMA) -> Query:
    """A query over the brook's streams."""
    database = nilometer.connect()
    database.execute(schema)
    return database.sql(text)


def random_grid(random: Random) -> Network:
    """Sources anywhere, also at the sink, and streams that share a site."""
    width, height = random.randint(2, 5), random.randint(1, 4)
    sites = range(width * height)
    hosts = {
        "river": sorted(random.sample(sites, random.randint(1, min(5, len(sites))))),
        "hilltop": sorted(random.sample(sites, random.randint(1, 2))),
    }
    return grid(width, height, hosts)


def check_estimates(emulation: Emulation) -> None:
    """Right answers, and every site busy for as long, and as large, as was estimated."""
    assert emulation.difference is None
    assert emulation.answer.rows, "an empty answer shows nothing"
    assert emulation.run.sound, [m for m in emulation.run.measured.values() if not m.sound]
    for row in measurements(emulation):
        for what in ("busy", "energy", "ram", "flash"):
            assert row[f"{what}_estimate"] == pytest.approx(row[what], rel=ERROR), (row["site"], what)
        assert row["busy"] <= row["reserved"], row["site"]
    expected, periods = expected_times(emulation.compilation.motes), emulation.run.periods
    for site, measured in emulation.run.measured.items():
        for mark, task in measured.tasks.items():
            took, estimate = task.total * 1000 / FREQUENCY / periods, expected[site][mark]
            name = emulation.compilation.programs[site].tasks[mark]
            assert abs(estimate - took) <= max(ERROR * took, TICK), (site, name, took, estimate)


@dataclass(frozen=True)
class Trial:
    """A query that was compiled and run."""

    query: Query
    compilation: Compilation
    emulation: Emulation
    readings: Readings


def tried(
    text: str,
    directory: Path,
    *,
    network: Network | None = None,
    beta: int = 4,
    periods: int = 3,
    schema: str = SCHEMA,
    always: Mapping[str, int] | None = None,
    most: Mapping[str, int] | None = None,
    converters: Converters | None = None,
) -> Trial:
    """Compile and run. `always` fixes the rain of a stream, so that conditions hold of every reading."""
    query = ask(text, schema)
    compilation = compile_query(
        query,
        directory,
        CompileOptions(network or brook(), QualityOfService.of(buffering_factor=beta), converters=converters),
    )
    readings = random_readings(compilation.motes, beta * periods, 2010, most or {"rain": 12})
    for stream, rain in (always or {}).items():
        for series in readings[stream].values():
            for reading in series:
                reading["rain"] = rain  # type: ignore[index]  # ours to change
    return Trial(
        query, compilation, emulate(query, compilation, EmulationOptions(readings=readings)), readings
    )
