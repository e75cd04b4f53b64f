"""Time zones against the zones' own tables, and the laws of local boundaries over every jump of the clock."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo, _zoneinfo  # type: ignore[attr-defined]

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from nilometer.time_zones import (
    CALENDAR,
    FIXED,
    civil,
    days_of,
    floor_local,
    is_zone,
    next_local,
    offset_at,
    to_local,
    to_utc,
    transitions,
    zone_names,
)
from nilometer.types import DAY, HOUR, INT_MAXIMUM, INT_MINIMUM, MINUTE, SECOND, format_time, parse_time

ZONES = (
    "UTC",
    "Europe/Zurich",
    "America/New_York",
    "Australia/Lord_Howe",  # half an hour of summer time
    "America/St_Johns",  # put back at 00:01 until 2011
    "America/Sao_Paulo",  # put forward at 00:00 until 2018
    "Pacific/Apia",  # without 2011-12-30
    "Asia/Kathmandu",
    "Africa/Casablanca",
)
UNITS = (*FIXED, *CALENDAR)

moments = st.integers(parse_time("1970-01-02") // SECOND, parse_time("2060-01-01") // SECOND).map(
    lambda second: second * SECOND
)


def near_jumps(zone: str) -> list[int]:
    starts, _ = transitions(zone, parse_time("1980-01-01"), parse_time("2030-01-01"))
    return starts[1:]


@st.composite
def places(draw: st.DrawFn) -> tuple[str, int]:
    """A zone and a moment, often within a day of a jump of its clock."""
    zone = draw(st.sampled_from(ZONES))
    jumps = near_jumps(zone)
    if jumps and draw(st.booleans()):
        return zone, draw(st.sampled_from(jumps)) + draw(st.integers(-DAY, DAY))
    return zone, draw(moments)


def naive_offset(moment: int, zone: str) -> int:
    clock = (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=moment)).astimezone(ZoneInfo(zone))
    offset = clock.utcoffset()
    assert offset is not None
    return offset // timedelta(microseconds=1)


@pytest.mark.parametrize(
    ("name", "known"),
    [
        ("Europe/Zurich", True),
        ("UTC", True),
        ("Etc/GMT-2", True),
        ("europe/zurich", False),
        ("Europe", False),
        ("", False),
        ("../x", False),
        ("localtime", False),
        ("right/Europe/Zurich", False),
        ("Europe/Zurich\0", False),
    ],
)
def test_is_zone(name: str, known: bool) -> None:
    assert is_zone(name) is known


def test_zone_names_are_zones() -> None:
    assert "Europe/Zurich" in zone_names()
    assert "localtime" not in zone_names()


@pytest.mark.parametrize(
    ("wall", "moment"),
    [
        ("2026-03-29T01:59", "2026-03-29T00:59Z"),
        ("2026-03-29T02:30", "2026-03-29T01:30Z"),  # in the gap: 03:30 on the clock
        ("2026-03-29T03:00", "2026-03-29T01:00Z"),
        ("2026-10-25T02:30", "2026-10-25T00:30Z"),  # twice: the first
        ("2026-10-25T03:00", "2026-10-25T02:00Z"),
    ],
)
def test_wall_clock_to_moment(wall: str, moment: str) -> None:
    assert format_time(to_utc(parse_time(wall), "Europe/Zurich")) == format_time(parse_time(moment))


@pytest.mark.parametrize(
    ("zone", "unit", "moment", "begins", "ends"),
    [
        ("Europe/Zurich", "DAY", "2026-03-29T12:00Z", "2026-03-28T23:00Z", "2026-03-29T22:00Z"),
        ("Europe/Zurich", "DAY", "2026-10-25T12:00Z", "2026-10-24T22:00Z", "2026-10-25T23:00Z"),
        ("Europe/Zurich", "HOUR", "2026-10-25T00:30Z", "2026-10-25T00:00Z", "2026-10-25T01:00Z"),
        ("Europe/Zurich", "HOUR", "2026-10-25T01:30Z", "2026-10-25T01:00Z", "2026-10-25T02:00Z"),
        ("Europe/Zurich", "WEEK", "2026-11-18T12:00Z", "2026-11-15T23:00Z", "2026-11-22T23:00Z"),
        ("Europe/Zurich", "MONTH", "2026-03-31T22:00Z", "2026-03-31T22:00Z", "2026-04-30T22:00Z"),
        ("Europe/Zurich", "QUARTER", "2026-03-31T21:59Z", "2025-12-31T23:00Z", "2026-03-31T22:00Z"),
        ("Europe/Zurich", "YEAR", "2026-12-31T23:00Z", "2026-12-31T23:00Z", "2027-12-31T23:00Z"),
        # Midnight is left out: the day begins at 01:00.
        ("America/Sao_Paulo", "DAY", "2018-11-04T12:00Z", "2018-11-04T03:00Z", "2018-11-05T02:00Z"),
        # 00:00 comes twice, and 23:30 again after it.
        ("America/St_Johns", "DAY", "2010-11-07T02:45Z", "2010-11-07T02:30Z", "2010-11-08T03:30Z"),
        # A day that there was not.
        ("Pacific/Apia", "DAY", "2011-12-30T09:59Z", "2011-12-29T10:00Z", "2011-12-30T10:00Z"),
        ("Pacific/Apia", "DAY", "2011-12-30T10:00Z", "2011-12-30T10:00Z", "2011-12-31T10:00Z"),
        # Half an hour is left out: the hour from 02:00 begins at 02:30 on the clock.
        ("Australia/Lord_Howe", "HOUR", "2026-10-03T15:45Z", "2026-10-03T15:30Z", "2026-10-03T16:00Z"),
    ],
)
def test_local_units(zone: str, unit: str, moment: str, begins: str, ends: str) -> None:
    at = parse_time(moment)
    found = (format_time(floor_local(at, unit, zone)), format_time(next_local(at, unit, zone)))
    assert found == (format_time(parse_time(begins)), format_time(parse_time(ends)))


@given(places(), st.sampled_from(UNITS))
@example(("America/St_Johns", parse_time("2010-11-07T02:45Z")), "DAY")
def test_units_divide_time(place: tuple[str, int], unit: str) -> None:
    zone, moment = place
    begins, ends = floor_local(moment, unit, zone), next_local(moment, unit, zone)
    assert begins <= moment < ends
    for inside in (begins, (begins + ends) // 2, ends - 1):
        assert (floor_local(inside, unit, zone), next_local(inside, unit, zone)) == (begins, ends)
    assert floor_local(ends, unit, zone) == ends


@given(places(), st.sampled_from(CALENDAR))
def test_calendar_units_begin_at_midnight_unless_it_is_left_out(place: tuple[str, int], unit: str) -> None:
    zone, moment = place
    begins = floor_local(moment, unit, zone)
    clock = to_local(begins, zone) % DAY
    assert clock == 0 or offset_at(begins - 1, zone) < offset_at(begins, zone)


@given(places())
def test_moment_to_wall_clock_and_back(place: tuple[str, int]) -> None:
    zone, moment = place
    wall = to_local(moment, zone)
    assert wall - moment == naive_offset(moment, zone)
    back = to_utc(wall, zone)
    assert back == moment or (back < moment and to_local(back, zone) == wall)


@given(places(), st.integers(0, 40 * 365 * DAY))
def test_transitions_find_every_offset(place: tuple[str, int], length: int) -> None:
    zone, first = place
    starts, offsets = transitions(zone, first, first + length)
    for moment in (first, first + length, first + length // 3):
        found = max(index for index, start in enumerate(starts) if start <= moment)
        assert offsets[found] == naive_offset(moment, zone)


@pytest.mark.parametrize("zone", [*ZONES, *zone_names()[::60]])
def test_transitions_miss_none_of_the_zone(zone: str) -> None:
    first, last = parse_time("1940-01-02"), parse_time("2037-01-01")
    moments = {second * SECOND for second in _zoneinfo.ZoneInfo.no_cache(zone)._trans_utc}
    expected = {m for m in moments if first < m < last and offset_at(m - 1, zone) != offset_at(m, zone)}
    assert expected <= set(transitions(zone, first, last)[0])


@given(st.integers(-(10**9), 10**9))
def test_the_calendar_counts_its_days(days: int) -> None:
    year, month, day = civil(days)
    assert days_of(year, month, day) == days
    assume(1 <= year <= 9999)
    assert datetime(1970, 1, 1) + timedelta(days=days) == datetime(year, month, day)


@pytest.mark.parametrize(
    "moment", [INT_MINIMUM, INT_MAXIMUM, parse_time("9999-12-31"), parse_time("0001-01-01")]
)
@pytest.mark.parametrize("unit", UNITS)
def test_the_ends_of_time(moment: int, unit: str) -> None:
    for zone in ("Europe/Zurich", "America/New_York"):
        assert floor_local(moment, unit, zone) <= moment < next_local(moment, unit, zone)
        assert abs(offset_at(moment, zone)) < 15 * HOUR + MINUTE
