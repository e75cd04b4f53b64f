"""examples/raspberry-pi: the sensor does what the protocol says, and its answers come through a real broker."""

from __future__ import annotations

import ast
import importlib.util
import json
import math
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
from hypothesis import given
from hypothesis import strategies as st

import mosquitto_server
from nilometer.algebra.summary import FROM, OF
from nilometer.catalog.extents import Stream, stream_columns
from nilometer.ingest.payloads.summaries import read_summaries
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


@given(
    st.lists(
        st.tuples(
            st.sampled_from(
                ["reading", "reading", "reading", "raw", "summary", "finer", "filtered", "strange"]
            ),
            st.floats(-1e6, 1e6, allow_subnormal=False),
        ),
        max_size=60,
    )
)
def test_each_reading_is_in_one_message(script: list[tuple[str, float]]) -> None:
    """Whatever commands come in between, counts and sums over all messages are those of what was to be sent."""
    commands: dict[str, dict[str, object]] = {
        "raw": {},
        "summary": {"aggregate": {"every": 10.0, "of": "a", "columns": {"x": ["count", "sum"]}}},
        "finer": {"aggregate": {"every": 4.0, "of": "a", "columns": {"x": ["count", "sum"]}}},
        "filtered": {
            "aggregate": {"every": 10.0, "of": "b", "columns": {"x": ["count"]}},
            "filter": "x > 3.0",
        },
        "strange": {"aggregate": {"every": 10.0, "of": "c", "columns": {}}, "filter": "abs(x) > 3"},
    }
    sensor = SENSOR.Sensor(1.0)
    readings, summaries, wanted = [], [], []
    now, number = 0.0, 0
    for what, value in script:
        if what == "reading":
            now += 1.0
            first, passing_filter = sensor.first, sensor.filter is None or value > 3
            over, reading = sensor.take({"x": value}, now)
            summaries += [one for one in (over, sensor.close(round(now * 1e6))) if one is not None]
            readings += [] if reading is None else [reading["x"]]
            wanted += [value] if first or passing_filter else []
        else:
            number += 1
            begun = sensor.obey({"number": number, **commands[what]}, now + 0.5)
            summaries += [] if begun is None else [begun]
    begun = sensor.obey({"number": number + 1}, now + 0.5)
    summaries += [] if begun is None else [begun]
    assert len(readings) + sum(one["count"] for one in summaries) == len(wanted)
    parts = [one["columns"]["x"] for one in summaries]
    total = math.fsum([*readings, *(part["sum"] for part in parts), *(part["low"] for part in parts)])
    assert total == pytest.approx(math.fsum(wanted), rel=1e-12, abs=1e-6)
    stream = Stream("s", stream_columns((Column("x", FLOAT),)))
    rows, garbled = read_summaries([(json.dumps(one).encode(), "1", "s/1") for one in summaries], stream)
    assert not garbled
    assert rows.height == len(summaries)
    every = {"a": 2_000_000, "b": 10_000_000}
    for begin, end, of in rows.select(FROM, "time", OF).iter_rows():
        assert begin < end
        assert end - begin <= 10_000_000
        assert of in every
