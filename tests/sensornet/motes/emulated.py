"""What every test of emulated motes needs: SNEE's brook, a query, readings, and a run beside the reference."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import nilometer
from nilometer.catalog.network import Network
from nilometer.catalog.network_files import import_network
from nilometer.engine import Query
from nilometer.engine.motes import Emulation, compile_query, emulate
from nilometer.laboratory.mote_queries import RUNNING_EXAMPLE, SCHEMA, grid
from nilometer.placement import QualityOfService
from nilometer.sensornet.motes.compilation import Compilation
from nilometer.sensornet.motes.converters import Converters
from nilometer.sensornet.motes.readings import Readings, random_readings

BROOK = Path(__file__).parents[2] / "catalog" / "data" / "snee.toml"

__all__ = ["RUNNING_EXAMPLE", "SCHEMA", "Trial", "ask", "brook", "grid", "tried"]


def brook() -> Network:
    """SNEE's Fig. 3."""
    return import_network(BROOK, "brook")


def ask(text: str, schema: str = SCHEMA) -> Query:
    """A query over the brook's streams."""
    database = nilometer.connect()
    database.execute(schema)
    return database.sql(text)


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
        network or brook(),
        QualityOfService.of(buffering_factor=beta),
        converters=converters,
    )
    readings = random_readings(compilation.motes, beta * periods, 2010, most or {"rain": 12})
    for stream, rain in (always or {}).items():
        for series in readings[stream].values():
            for reading in series:
                reading["rain"] = rain  # type: ignore[index]  # ours to change
    return Trial(query, compilation, emulate(query, compilation, readings=readings), readings)
