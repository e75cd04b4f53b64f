"""Scales of converters: fitted to readings, exact in a mote's float, and the same in C."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nilometer.errors import DataError
from nilometer.sensornet.motes.converters import PLAIN, RAW_MAXIMUM, Converter, fitted
from nilometer.types import SECOND, Kind
from sensornet.motes.emulated import SCHEMA, tried


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=20))
def test_a_fitted_scale_is_near_every_value_and_exact_in_a_float(values: list[float]) -> None:
    try:
        scale = fitted(values, Kind.FLOAT, "level")
    except DataError:  # far from 0 and near each other
        assert max(map(abs, values)) > 1_000 * (max(values) - min(values))
        return
    for value in values:
        count = scale.nearest(value)
        assert 0 <= count <= RAW_MAXIMUM
        assert abs(scale.value(count) - value) <= scale.step / 2
    for count in (0, 1, RAW_MAXIMUM):
        exact = scale.value(count)
        assert struct.unpack("f", struct.pack("f", exact)) == (exact,)
        assert scale.nearest(exact) == count


@given(st.lists(st.integers(-(2**30), 2**30), min_size=1, max_size=20))
def test_whole_numbers_keep_whole_scales(values: list[int]) -> None:
    scale = fitted(values, Kind.INT, "level")
    assert all(abs(scale.value(scale.nearest(value)) - value) <= max(scale.step - 1, 0) for value in values)
    assert isinstance(scale.value(3), int)
    if max(values) - min(values) <= RAW_MAXIMUM:
        assert scale.step == 1


def test_what_the_plain_converter_finds_has_the_plain_scale() -> None:
    assert fitted([0, 3, 1023], Kind.INT, "level") is PLAIN[Kind.INT]
    assert fitted([0.0625, 63.9375], Kind.FLOAT, "level") is PLAIN[Kind.FLOAT]
    assert fitted([], Kind.FLOAT, "level") is PLAIN[Kind.FLOAT]


@pytest.mark.motes
@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    [
        "SELECT id, rain, depth, moisture FROM River [NOW] WHERE depth < 0 OR moisture > -38.5",
        "SELECT SUM(depth) AS s, MIN(rain) AS m, AVG(moisture) AS a, MAX(temp) AS t FROM River [RANGE 20 SECONDS]",
    ],
)
def test_scales_reach_the_motes(text: str, tmp_path: Path) -> None:
    scales = {
        ("river", "depth"): Converter(-20, 1, True),
        ("river", "rain"): Converter(-90_000, 256, True),
        ("river", "moisture"): Converter(-40.0, 0.125),
        ("river", "temp"): Converter(5000.0, 2.0),
    }
    trial = tried(text, tmp_path, converters=scales)
    assert trial.emulation.difference is None
    assert len(trial.emulation.answer) > 3


@pytest.mark.motes
@pytest.mark.slow
def test_an_interval_that_no_midnight_is_a_multiple_of(tmp_path: Path) -> None:
    """Evaluations are at multiples of the interval, also the first one."""
    schema = SCHEMA.replace("10 SECONDS", "31 SECONDS")
    trial = tried("SELECT time, depth FROM River [NOW]", tmp_path, schema=schema)
    assert trial.emulation.difference is None
    assert trial.compilation.start % (31 * SECOND) == 0
