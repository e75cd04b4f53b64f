"""examples/raspberry-pi: the sensor does what the protocol says, and its answers come through a real broker."""

from __future__ import annotations

import ast
import importlib.util
import json
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
from hypothesis import given
from hypothesis import strategies as st

import mosquitto_server
from nilometer.live.proxies.filters import passing, read_filter
from nilometer.types import FLOAT, Column

EXAMPLE = Path(__file__).parents[2] / "examples" / "raspberry-pi" / "sensor.py"


def load() -> ModuleType:
    spec = importlib.util.spec_from_file_location("sensor_example", EXAMPLE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


SENSOR = load()
COLUMNS = (Column("x", FLOAT), Column("v", FLOAT))
comparisons = st.builds(
    "{} {} {}".format,
    st.sampled_from("xv"),
    st.sampled_from([">", ">=", "<", "<=", "="]),
    st.integers(-3, 3).map(float),
)
filters = st.lists(comparisons, min_size=1, max_size=3).flatmap(
    lambda parts: st.sampled_from([" AND ".join(parts), " OR ".join(parts)])
)


@given(filters, st.one_of(st.none(), st.integers(-4, 4)), st.integers(-4, 4))
def test_a_filter_passes_what_the_gateway_passes(text: str, x: int | None, v: int) -> None:
    import polars as pl

    row = {"x": None if x is None else float(x), "v": float(v)}
    found = SENSOR.read_filter(text)
    assert isinstance(found, ast.expr)
    rows = pl.DataFrame([row], schema={"x": pl.Float64, "v": pl.Float64})
    assert SENSOR.passes(found, row) == bool(passing(read_filter(text, COLUMNS), rows)[0])


@pytest.mark.parametrize(
    "text", ["TRUE", "x IS NULL", "abs(x) > 3", "x > v", "NOT x > 3", "__import__('os')", ") ("]
)
def test_a_filter_that_it_does_not_understand_sends_everything(text: str) -> None:
    assert SENSOR.read_filter(text) is None


def test_ticks_are_the_multiples_of_every_interval() -> None:
    sensor = SENSOR.Sensor(10.0)
    assert sensor.next_tick(12.0) == 20.0
    sensor.obey({"number": 3, "interval": 1.0, "intervals": [7.0, 60.0], "filter": "x > 3.0"})
    ticks, now = [], 48.0
    for _ in range(4):
        now = sensor.next_tick(now)
        ticks.append(now)
    assert ticks == [49.0, 56.0, 60.0, 63.0]
    assert sensor.wants({"x": 1.0})  # the first reading after a command
    assert not sensor.wants({"x": 1.0})
    assert sensor.wants({"x": 4.0})
    sensor.obey({"number": 4, "sleep": True, "listen": 5.0})
    assert sensor.asleep


@pytest.mark.mosquitto
@pytest.mark.long
def test_the_sensor_answers_a_query_through_a_broker(tmp_path: Path) -> None:
    with mosquitto_server.running() as broker:
        url = f"{broker.url}/air"
        (tmp_path / "schema.sql").write_text(
            f"CREATE STREAM air (id STRING, temperature FLOAT) PUSHED FROM '{url}/{{id}}'"
            " DELAY 1 SECOND KEY (id, time) EXPECT EVERY 0.1 SECONDS;"
        )
        command = [sys.executable, str(EXAMPLE), f"{url}/kitchen", "--fast"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as sensor:
            try:
                query = ["query", "--data", str(tmp_path), "--json", "--seconds", "10"]
                text = "SELECT id, temperature FROM air WHERE temperature > 55"
                asked = subprocess.run(
                    [sys.executable, "-m", "nilometer.cli.main", *query, text],
                    capture_output=True,
                    text=True,
                    check=True,
                )
            finally:
                sensor.terminate()
            assert sensor.stdout is not None
            told = sensor.stdout.read()
        rows = [json.loads(line) for line in asked.stdout.splitlines()]
        assert rows
        assert all(row["id"] == "kitchen" and row["temperature"] > 55 for row in rows)
        assert "'filter': 'temperature > 55.0'" in told
