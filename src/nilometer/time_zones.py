"""Time zones: moments <-> wall-clock times, and the local boundaries of days, weeks and months.

A moment is microseconds since 1970 in UTC, as TIME is. A wall-clock time is what a clock in the zone shows,
as microseconds since 1970-01-01 00:00 on that clock. The zone's offset at a moment is wall - moment.

- A wall-clock time that a clock skips (a gap, in spring) means the moment as long after the jump as the time
  is after the gap's beginning: 02:30 is 03:30.
- A wall-clock time that a clock shows twice (an overlap, in autumn) means the first of the two moments.
- A DAY, WEEK (from Monday), MONTH, QUARTER or YEAR begins at the first moment at which a clock shows 00:00 of
  its first day, or has jumped beyond it. It ends where the next one begins, so a day may have 23 or 25 hours.
- An HOUR, MINUTE or SECOND is cut by the zone's offset: a repeated hour is two hours. One that a jump of the
  clock interrupts begins at the jump.

Standard library only. Before the year 1 and after 9999, a zone keeps the offset of that end.

>>> from nilometer.types import parse_time, format_time
>>> moment = parse_time("2026-03-29T21:59Z")
>>> format_time(floor_local(moment, "DAY", "Europe/Zurich"))
'2026-03-28T23:00:00Z'
>>> format_time(next_local(moment, "DAY", "Europe/Zurich"))
'2026-03-29T22:00:00Z'
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

from nilometer.types import DAY, HOUR, MICROSECOND, MILLISECOND, MINUTE, SECOND

FIXED: Final[dict[str, int]] = {
    "MICROSECOND": MICROSECOND,
    "MILLISECOND": MILLISECOND,
    "SECOND": SECOND,
    "MINUTE": MINUTE,
    "HOUR": HOUR,
}
"""The units of a fixed length."""

CALENDAR: Final = ("DAY", "WEEK", "MONTH", "QUARTER", "YEAR")
"""The units whose length depends on the calendar and the zone."""

_EPOCH = datetime(1970, 1, 1)
_FIRST = (datetime(1, 1, 2) - _EPOCH) // timedelta(seconds=1)
_LAST = (datetime(9999, 12, 30) - _EPOCH) // timedelta(seconds=1)
_MACHINE = ("localtime", "posixrules", "Factory")


@lru_cache
def is_zone(name: str) -> bool:
    """Whether this is the name of a time zone, such as 'Europe/Zurich' or 'UTC'. Case matters."""
    if name in _MACHINE or name.startswith(("posix/", "right/")):
        return False  # these mean another time on another machine
    try:
        ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return False
    return True


def zone_names() -> tuple[str, ...]:
    """All names, sorted; for hints, as it reads the zones' directory."""
    return tuple(sorted(name for name in available_timezones() if is_zone(name)))


def offset_at(moment: int, zone: str) -> int:
    """Wall-clock time minus moment, in microseconds."""
    return _offset(moment // SECOND, zone) * SECOND


def to_local(moment: int, zone: str) -> int:
    """The local time of the zone at the moment."""
    return moment + offset_at(moment, zone)


def to_utc(wall: int, zone: str) -> int:
    """The moment at which a clock in the zone shows `wall`; in an overlap the first, in a gap one after it."""
    return wall - _earlier_offset(wall, zone)


def floor_local(moment: int, unit: str, zone: str) -> int:
    """The moment at which the zone's `unit` that holds the moment begins."""
    if unit in FIXED:
        floor = moment - to_local(moment, zone) % FIXED[unit]
        if offset_at(floor, zone) == offset_at(moment, zone):
            return floor
        return _jump(floor, moment, zone)
    wall = floor_wall(to_local(moment, zone), unit)
    later = next_wall(wall, unit)
    # A clock that is put back over midnight shows the evening again after the new day has begun.
    return _begins(later if _begins(later, zone) <= moment else wall, zone)


def next_local(moment: int, unit: str, zone: str) -> int:
    """The moment at which the zone's next `unit` begins, later than `moment`."""
    if unit in FIXED:
        end = moment - to_local(moment, zone) % FIXED[unit] + FIXED[unit]
        return end if offset_at(end, zone) == offset_at(moment, zone) else _jump(moment, end, zone)
    wall = next_wall(floor_wall(to_local(moment, zone), unit), unit)
    while _begins(wall, zone) <= moment:
        wall = next_wall(wall, unit)
    return _begins(wall, zone)


def transitions(zone: str, first: int, last: int) -> tuple[list[int], list[int]]:
    """The zone's offsets from moment `first` to `last`: where each begins, and the offset in microseconds.

    The first entry holds at `first` and before, so that a search in the beginnings finds every offset.
    """
    starts, offsets = [first], [offset_at(first, zone)]
    for year in range(_year(first), _year(last) + 1):
        for start, offset in _changes(zone, year):
            if start * SECOND > first and offset * SECOND != offsets[-1]:
                starts.append(start * SECOND)
                offsets.append(offset * SECOND)
    return starts, offsets


# ---- the calendar of wall-clock times --------------------------------------------------------------------------------


def civil(days: int) -> tuple[int, int, int]:
    """Year, month and day of a number of days since 1970-01-01, in the Gregorian calendar of all years.

    >>> civil(20_000)
    (2024, 10, 4)
    """
    # Years begin in March, so that the leap day is their last day; 146,097 days are 400 years.
    era, day_of_era = divmod(days + 719_468, 146_097)
    year_of_era = (day_of_era - day_of_era // 1_460 + day_of_era // 36_524 - day_of_era // 146_096) // 365
    day_of_year = day_of_era - (365 * year_of_era + year_of_era // 4 - year_of_era // 100)
    months_since_march = (5 * day_of_year + 2) // 153
    day = day_of_year - (153 * months_since_march + 2) // 5 + 1
    month = months_since_march + 3 if months_since_march < 10 else months_since_march - 9
    return year_of_era + era * 400 + (month <= 2), month, day


def days_of(year: int, month: int, day: int) -> int:
    """The number of days since 1970-01-01; a month beyond 12 or below 1 counts on into other years.

    >>> days_of(2024, 10, 4), days_of(2023, 22, 4)
    (20000, 20000)
    """
    year, month = year + (month - 1) // 12, (month - 1) % 12 + 1
    year -= month <= 2
    era, year_of_era = divmod(year, 400)
    day_of_year = (153 * (month - 3 if month > 2 else month + 9) + 2) // 5 + day - 1
    return era * 146_097 + year_of_era * 365 + year_of_era // 4 - year_of_era // 100 + day_of_year - 719_468


def floor_wall(wall: int, unit: str) -> int:
    """The beginning of the unit on a clock without jumps."""
    if unit in FIXED:
        return wall - wall % FIXED[unit]
    days = wall // DAY
    year, month, _ = civil(days)
    return _FLOOR_DAYS[unit](days, year, month) * DAY


_FLOOR_DAYS: dict[str, Callable[[int, int, int], int]] = {
    "DAY": lambda days, _year, _month: days,
    "WEEK": lambda days, _year, _month: days - (days + 3) % 7,  # 1970-01-01 was a Thursday
    "MONTH": lambda _days, year, month: days_of(year, month, 1),
    "QUARTER": lambda _days, year, month: days_of(year, month - (month - 1) % 3, 1),
    "YEAR": lambda _days, year, _month: days_of(year, 1, 1),
}

_MONTHS = {"MONTH": 1, "QUARTER": 3, "YEAR": 12}


def next_wall(wall: int, unit: str) -> int:
    """The beginning of the next unit, given the beginning of one, on a clock without jumps."""
    if unit in FIXED:
        return wall + FIXED[unit]
    if unit in ("DAY", "WEEK"):
        return wall + (DAY if unit == "DAY" else 7 * DAY)
    year, month, _ = civil(wall // DAY)
    return days_of(year, month + _MONTHS[unit], 1) * DAY


# ---- offsets ---------------------------------------------------------------------------------------------------------


def _offset(second: int, zone: str) -> int:
    """The offset in seconds at a second since 1970."""
    moment = _EPOCH + timedelta(seconds=min(max(second, _FIRST), _LAST))
    offset = moment.replace(tzinfo=UTC).astimezone(ZoneInfo(zone)).utcoffset()
    assert offset is not None
    return round(offset.total_seconds())


def _earlier_offset(wall: int, zone: str) -> int:
    """The offset in microseconds that a wall-clock time has: in an overlap and in a gap the one before."""
    clock = _EPOCH + timedelta(seconds=min(max(wall // SECOND, _FIRST), _LAST))
    offset = clock.replace(tzinfo=ZoneInfo(zone)).utcoffset()  # fold=0: the offset before the change
    assert offset is not None
    return round(offset.total_seconds()) * SECOND


def _begins(wall: int, zone: str) -> int:
    """The first moment at which a clock shows `wall`; where a jump leaves it out, the moment of the jump."""
    moment = to_utc(wall, zone)
    if to_local(moment, zone) == wall:
        return moment
    skipped = to_local(moment, zone) - wall
    return _jump(moment - skipped, moment, zone)


def _jump(before: int, after: int, zone: str) -> int:
    """The first moment, to the second, at which the offset is no longer the one at `before`."""
    low, high = before // SECOND, after // SECOND
    offset = _offset(low, zone)
    while high - low > 1:
        middle = (low + high) // 2
        if _offset(middle, zone) == offset:
            low = middle
        else:
            high = middle
    return high * SECOND


def _year(moment: int) -> int:
    return civil(min(max(moment // SECOND, _FIRST), _LAST) * SECOND // DAY)[0]


@lru_cache(maxsize=20_000)
def _changes(zone: str, year: int) -> tuple[tuple[int, int], ...]:
    """(second, offset from there on) of each change in a year; no zone has two within three days."""
    changes: list[tuple[int, int]] = []
    second, end = (max(min(days_of(y, 1, 1) * 86_400, _LAST), _FIRST) for y in (year, year + 1))
    offset = _offset(second - 1, zone)
    if _offset(second, zone) != offset:
        offset = _offset(second, zone)
        changes.append((second, offset))
    while second < end - 1:
        following = min(second + 3 * 86_400, end - 1)
        if _offset(following, zone) != offset:
            start = _jump(second * SECOND, following * SECOND, zone) // SECOND
            offset = _offset(start, zone)
            changes.append((start, offset))
        second = following
    return tuple(changes)
