"""Disorder: deterministic, within its bounds, and as much of it as was asked for."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nilometer.catalog.extents import Stream, stream_columns
from nilometer.dataflow.door import Door
from nilometer.dataflow.sources import Batch, without_doubles
from nilometer.simulated.disorder import Disorder, disorder
from nilometer.types import FLOAT, MINUTE, SECOND, Column


def calm(sensors: int = 5, moments: int = 2000) -> pl.DataFrame:
    times = np.repeat(np.arange(moments) * SECOND, sensors)
    return pl.DataFrame(
        {"time": times, "id": np.tile(np.arange(sensors), moments), "value": np.arange(times.size) / 64}
    )


def door(delay: int, key: tuple[str, ...] = ()) -> Door:
    return Door(Stream("s", stream_columns((Column("value", FLOAT),)), delay=delay, key=key))


@given(seed=st.integers(0, 2**32), delay=st.integers(0, 20 * SECOND), duplicate=st.sampled_from([0.0, 0.2]))
def test_without_late_readings_none_is_late(seed: int, delay: int, duplicate: float) -> None:
    rows = disorder(calm(2, 50), Disorder(delay=delay, duplicate=duplicate), seed)
    entrance = door(delay, ("id", "time"))
    (batch,) = without_doubles(entrance.stream, [Batch(rows)])
    assert isinstance(batch, Batch)
    accepted = entrance.admit_batch(batch)
    assert entrance.ledger.late == 0
    assert accepted.sort("time", "id").select("time", "id", "value").equals(calm(2, 50), null_equal=True)


def test_the_same_seed_gives_the_same_frame_and_another_another() -> None:
    dials = Disorder(delay=5 * SECOND, drop=0.1, duplicate=0.1, late=0.1, null=0.1, silent=0.1)
    assert disorder(calm(), dials, 1).equals(disorder(calm(), dials, 1))
    assert not disorder(calm(), dials, 1).equals(disorder(calm(), dials, 2))


def test_as_much_of_it_as_was_asked_for() -> None:
    rows = calm()
    assert abs(disorder(rows, Disorder(drop=0.2), 3).height / rows.height - 0.8) < 0.02
    assert abs(disorder(rows, Disorder(duplicate=0.3), 3).height / rows.height - 1.3) < 0.02
    assert abs(disorder(rows, Disorder(null=0.25), 3)["value"].null_count() / rows.height - 0.25) < 0.02
    entrance = door(5 * SECOND)
    entrance.admit(disorder(rows, Disorder(delay=5 * SECOND, late=0.1), 3))
    assert abs(entrance.ledger.late / rows.height - 0.1) < 0.02


def test_silence_comes_in_runs() -> None:
    rows = calm(50, 5000)
    heard = disorder(rows, Disorder(silent=0.3, silence=2 * MINUTE), 4)
    assert abs(heard.height / rows.height - 0.7) < 0.05
    gaps = (
        heard.sort("id", "time")
        .with_columns(gap=pl.col("time").diff().over("id"))
        .filter(pl.col("gap") > SECOND)
    )
    assert gaps["gap"].min() >= 2 * MINUTE  # type: ignore[operator]


def test_dials_are_checked() -> None:
    with pytest.raises(ValueError, match="drop is a fraction"):
        Disorder(drop=1.5)
    with pytest.raises(ValueError, match="below zero"):
        Disorder(delay=-1)
