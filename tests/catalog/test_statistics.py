"""What cardinalities are estimated from."""

from __future__ import annotations

from pathlib import Path

import pytest

from nilometer.catalog import Catalog, Sensor, Stream, stream_columns
from nilometer.catalog.network_files import import_network
from nilometer.catalog.statistics import (
    EQUALITY_SELECTIVITY,
    INEQUALITY_SELECTIVITY,
    JOIN_SELECTIVITY,
    StreamStatistics,
    stream_statistics,
)
from nilometer.types import HOUR, MINUTE, SECOND


@pytest.fixture
def catalog() -> Catalog:
    made = Catalog()
    made.add_stream(Stream("river", stream_columns(()), every=15 * MINUTE))
    made.add_stream(Stream("air", stream_columns(()), expect=MINUTE))
    made.add_stream(Stream("events", stream_columns(())))
    return made


def test_sources_are_sensors_or_else_nodes_or_else_one(catalog: Catalog) -> None:
    assert stream_statistics(catalog, "river") == StreamStatistics("river", 1, 15 * MINUTE)
    catalog.add_network(import_network(Path(__file__).with_name("data") / "snee.toml", "brook"))
    assert stream_statistics(catalog, "RIVER").sources == 4
    catalog.add_sensors([Sensor(number, "river") for number in range(6)])
    assert stream_statistics(catalog, "river").sources == 6


def test_rates(catalog: Catalog) -> None:
    catalog.add_sensors([Sensor(number, "air") for number in range(60)])
    air = stream_statistics(catalog, "air")
    assert air.rate == 1.0
    assert air.tuples(HOUR) == 3600
    assert air.tuples(SECOND) == 60
    assert stream_statistics(catalog, "events") == StreamStatistics("events", 1, SECOND, assumed=True)


def test_selectivities_are_snees() -> None:
    assert (INEQUALITY_SELECTIVITY, EQUALITY_SELECTIVITY, JOIN_SELECTIVITY) == (1 / 3, 1 / 10, 1 / 20)
