"""The calendar of arrays equals that of single numbers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nilometer import time_zones
from nilometer.kernels.calendar import civil, days_of, floor_wall, iso_week, next_wall
from nilometer.plan.scalars.times import date_part
from nilometer.types import DAY

days = st.lists(st.integers(-(10**8), 10**8), min_size=1, max_size=20)


@given(days)
def test_days(found: list[int]) -> None:
    array = np.array(found, dtype=np.int64)
    year, month, day = civil(array)
    assert list(zip(year.tolist(), month.tolist(), day.tolist(), strict=True)) == [
        time_zones.civil(number) for number in found
    ]
    assert days_of(year, month, day).tolist() == found


@given(days)
def test_weeks(found: list[int]) -> None:
    year, week = iso_week(np.array(found, dtype=np.int64))
    assert year.tolist() == [date_part("isoyear", number * DAY) for number in found]
    assert week.tolist() == [date_part("week", number * DAY) for number in found]


@pytest.mark.parametrize("unit", time_zones.CALENDAR)
@given(st.lists(st.integers(-(10**17), 10**17), min_size=1, max_size=20))
def test_beginnings(unit: str, found: list[int]) -> None:
    begins = floor_wall(np.array(found, dtype=np.int64), unit)
    assert begins.tolist() == [time_zones.floor_wall(wall, unit) for wall in found]
    assert next_wall(begins, unit).tolist() == [time_zones.next_wall(wall, unit) for wall in begins.tolist()]
