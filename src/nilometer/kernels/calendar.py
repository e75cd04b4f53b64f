"""Days since 1970 <-> year, month and day, and the beginnings of calendar units, for whole arrays.

The Gregorian calendar of all years, past and future. The arithmetic wraps around at the ends of 64 bits.

>>> import numpy as np
>>> [int(part[0]) for part in civil(np.array([20_000]))]
[2024, 10, 4]
"""

from __future__ import annotations

from typing import Any

import numpy as np

from nilometer.kernels.arrays import Integers

DAY = 86_400_000_000
"""A day in microseconds."""

_MONTHS = {"MONTH": 1, "QUARTER": 3, "YEAR": 12}


def civil(days: Integers) -> tuple[Integers, Integers, Integers]:
    """Year, month and day of each number of days since 1970-01-01."""
    # Years begin in March, so that the leap day is their last day; 146,097 days are 400 years.
    shifted = days + 719_468
    era = shifted // 146_097
    day_of_era = shifted - era * 146_097
    year_of_era = (day_of_era - day_of_era // 1_460 + day_of_era // 36_524 - day_of_era // 146_096) // 365
    day_of_year = day_of_era - (365 * year_of_era + year_of_era // 4 - year_of_era // 100)
    months_since_march = (5 * day_of_year + 2) // 153
    day = day_of_year - (153 * months_since_march + 2) // 5 + 1
    month = np.where(months_since_march < 10, months_since_march + 3, months_since_march - 9)
    return year_of_era + era * 400 + (month <= 2), month, day


def days_of(year: Integers, month: Integers, day: Integers | int) -> Integers:
    """The number of days since 1970-01-01; a month beyond 12 counts on into the next year."""
    year = year + (month - 1) // 12
    month = (month - 1) % 12 + 1
    year = year - (month <= 2)
    era = year // 400
    year_of_era = year - era * 400
    day_of_year = (153 * np.where(month > 2, month - 3, month + 9) + 2) // 5 + day - 1
    result: Any = (
        era * 146_097 + year_of_era * 365 + year_of_era // 4 - year_of_era // 100 + day_of_year - 719_468
    )
    return np.asarray(result, dtype=np.int64)


def iso_week(days: Integers) -> tuple[Integers, Integers]:
    """The year and the number of each day's week after ISO-8601: the week belongs to its Thursday's year."""
    thursday = days - (days + 3) % 7 + 3
    year = civil(thursday)[0]
    return year, (thursday - days_of(year, np.ones_like(year), 1)) // 7 + 1


def floor_wall(wall: Integers, unit: str | int) -> Integers:
    """The beginning of each unit: a number of microseconds, or DAY, WEEK, MONTH, QUARTER, YEAR."""
    if isinstance(unit, int):
        return wall - wall % unit
    days = wall // DAY
    if unit == "DAY":
        return days * DAY
    if unit == "WEEK":
        return (days - (days + 3) % 7) * DAY
    year, month, _ = civil(days)
    length = _MONTHS[unit]
    return days_of(year, month - (month - 1) % length, 1) * DAY


def next_wall(wall: Integers, unit: str) -> Integers:
    """The beginning of the next calendar unit, given the beginning of one."""
    if unit in ("DAY", "WEEK"):
        return wall + (DAY if unit == "DAY" else 7 * DAY)
    year, month, _ = civil(wall // DAY)
    return days_of(year, month + _MONTHS[unit], 1) * DAY


def add_months(moments: Integers, count: int) -> Integers:
    """The same day and clock `count` months later, or the last day of that month if it is shorter."""
    days = moments // DAY
    year, month, day = civil(days)
    first = days_of(year, month + count, 1)
    last = days_of(year, month + count + 1, 1) - 1
    found: Integers = np.minimum(first + day - 1, last) * DAY + (moments - days * DAY)
    return found
