"""Generators: the same seed gives the same readings; the readings are what the field says they are."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest

from nilometer.ingest.readers import read_frame
from nilometer.simulated.fields import (
    GENERATORS,
    Disorder,
    Diurnal,
    Generator,
    MovingPlume,
    RandomWalk,
    TrafficLoop,
    Zipf,
)
from nilometer.types import DAY, HOUR, MINUTE

EVERY = pytest.mark.parametrize("kind", GENERATORS.values(), ids=GENERATORS)


@EVERY
def test_a_seed_decides_everything(kind: type[Generator]) -> None:
    dials = Disorder(delay=MINUTE, drop=0.1, duplicate=0.05, late=0.05, null=0.05)
    one = kind(sensor_count=7, duration=2 * HOUR, seed=11, dials=dials)
    assert one.frame().equals(replace(one).frame())
    assert not one.frame().equals(replace(one, seed=12).frame())
    assert one.sensors() == replace(one).sensors()
    assert pl.concat(one.batches(100)).equals(one.frame())


@EVERY
def test_the_frame_is_the_declared_streams(kind: type[Generator]) -> None:
    field = kind(sensor_count=3, duration=HOUR, seed=1)
    frame, stream = field.frame(), field.stream()
    assert tuple(frame.columns) == tuple(column.name for column in stream.columns)
    reading = read_frame(frame, stream)
    assert reading.garbled == 0
    assert reading.rows.equals(frame)
    assert stream.name == next(name for name, value in GENERATORS.items() if value is kind)
    assert frame["time"].is_sorted()
    assert [sensor.id for sensor in field.sensors()] == [1, 2, 3]
    assert set(frame["id"]) <= {1, 2, 3}
    for sensor in field.sensors():
        assert sensor.stream == stream.name
        assert sensor.location is not None
        assert 0 <= sensor.location[0] <= 1000
        assert 0 <= sensor.location[1] <= 1000


@EVERY
def test_values_are_multiples_of_a_sixty_fourth(kind: type[Generator]) -> None:
    frame = kind(sensor_count=3, duration=HOUR, seed=1).frame()
    for column in frame.drop("time", "id"):
        assert (column * 64 == (column * 64).round()).all()


@EVERY
def test_dials_declare_themselves(kind: type[Generator]) -> None:
    field = kind(duration=HOUR, dials=Disorder(delay=MINUTE, duplicate=0.1), name="air", sensed=True)
    stream = field.stream()
    assert (stream.name, stream.delay, stream.key, stream.every) == ("air", MINUTE, ("id", "time"), MINUTE)


def test_jitter_keeps_readings_inside_their_interval() -> None:
    frame = RandomWalk(duration=HOUR, jitter=0.9, sensor_count=4).frame()
    assert frame.height == 240
    assert frame["time"].is_sorted()
    assert frame.group_by(pl.col("time") // MINUTE).len()["len"].unique().to_list() == [4]


def test_days_are_warm_in_the_afternoon() -> None:
    frame = Diurnal(duration=3 * DAY, sensor_count=20, interval=10 * MINUTE).frame()
    hours = (
        frame.group_by(hour=pl.col("time") % DAY // HOUR)
        .agg(pl.col("temperature", "humidity").mean())
        .sort("hour")
    )
    assert hours["temperature"].arg_max() in (14, 15)
    assert hours["humidity"].arg_min() in (14, 15)
    assert abs(frame["temperature"].mean() - 15.0) < 1.0  # type: ignore[operator,arg-type]
    assert 7.0 < hours["temperature"].max() - hours["temperature"].mean() < 9.0  # type: ignore[operator]
    assert frame["humidity"].is_between(0, 100).all()


def test_a_walk_stays_in_its_room_and_moves_by_its_step() -> None:
    frame = RandomWalk(low=-5, high=5, step=0.5, sensor_count=50, duration=DAY).frame()
    assert frame["value"].is_between(-5, 5).all()
    steps = frame.sort("id", "time").with_columns(step=pl.col("value").diff().over("id"))["step"].drop_nulls()
    assert abs(float(steps.std()) - 0.5) < 0.02  # type: ignore[arg-type]
    assert abs(float(frame["value"].mean())) < 0.5  # type: ignore[arg-type]


def test_the_plume_is_where_the_wind_has_carried_it() -> None:
    field = MovingPlume(sensor_count=400, duration=HOUR, seed=5, release=2 * HOUR)
    frame = field.frame()
    places = {sensor.id: sensor.location for sensor in field.sensors()}
    for minute in (10, 20, 30):
        now = field.start + minute * MINUTE
        peak = frame.filter(pl.col("time") == now).sort("concentration", descending=True)["id"][0]
        assert np.hypot(*np.subtract(places[peak], field.center(now))) < 80
    assert frame["concentration"].min() >= 5.0  # type: ignore[operator]
    assert frame["concentration"].max() < 120.0  # type: ignore[operator]


def test_traffic_is_slow_and_dense_in_the_rush_hours_of_workdays() -> None:
    field = TrafficLoop(duration=4 * DAY, interval=5 * MINUTE, sensor_count=8)  # Thursday to Sunday
    frame = field.frame().with_columns(
        day=(pl.col("time") - field.start) // DAY, hour=pl.col("time") % DAY // HOUR
    )

    def mean(column: str, **where: int) -> Any:
        return frame.filter(**where)[column].mean()

    assert mean("speed", day=0, hour=8) < 60 < 90 < mean("speed", day=0, hour=3)
    assert mean("speed", day=2, hour=8) > 90  # Saturday
    assert mean("vehicles", day=0, hour=8) > 3 * mean("vehicles", day=0, hour=3)
    assert frame["vehicles"].min() >= 0  # type: ignore[operator]
    assert frame["speed"].min() >= 1.0  # type: ignore[operator]
    assert field.sensors()[-1].attributes == (("post", 1000.0),)


@pytest.mark.parametrize("exponent", [0.9, 1.2, 2.0])
def test_values_follow_zipfs_law_at_exponential_gaps(exponent: float) -> None:
    field = Zipf(exponent=exponent, distinct=100, sensor_count=10, duration=10 * DAY, interval=MINUTE, seed=3)
    frame = field.frame()
    assert abs(frame.height / (10 * 10 * 1440) - 1) < 0.02
    assert frame["value"].is_between(1, 100).all()
    shares = np.bincount(frame["value"].to_numpy(), minlength=101)[1:] / frame.height
    assert np.abs(shares - field.probabilities()).max() < 0.005
    gaps = frame.sort("id", "time").with_columns(gap=pl.col("time").diff().over("id"))["gap"].drop_nulls()
    assert abs(float(gaps.std()) / float(gaps.mean()) - 1) < 0.05  # type: ignore[arg-type]


def test_impossible_fields_are_refused() -> None:
    with pytest.raises(ValueError, match="needs a sensor"):
        Diurnal(sensor_count=0)
    with pytest.raises(ValueError, match="needs low < high"):
        RandomWalk(low=1, high=1)
    with pytest.raises(ValueError, match="Zipf's law"):
        Zipf(distinct=0)
    with pytest.raises(ValueError, match="jitter"):
        Diurnal(jitter=1.0)
