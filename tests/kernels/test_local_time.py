"""Local times of arrays equal those of single moments, over every jump of the clock."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from nilometer import time_zones
from nilometer.kernels.local_time import Offsets, floor_local, to_local, to_utc
from nilometer.types import DAY, parse_time

ZONES = (
    "UTC",
    "Europe/Zurich",
    "America/St_Johns",
    "Australia/Lord_Howe",
    "America/Sao_Paulo",
    "Pacific/Apia",
)
FIRST, LAST = parse_time("1975-01-01"), parse_time("2045-01-01")
UNITS = (*time_zones.FIXED, *time_zones.CALENDAR)


def offsets_of(zone: str) -> Offsets:
    starts, offsets = time_zones.transitions(zone, parse_time("1970-01-02"), parse_time("2050-01-01"))
    return Offsets(np.array(starts, dtype=np.int64), np.array(offsets, dtype=np.int64))


@st.composite
def places(draw: st.DrawFn) -> tuple[str, list[int]]:
    zone = draw(st.sampled_from(ZONES))
    jumps = [start for start in offsets_of(zone).starts.tolist() if FIRST < start < LAST] or [0]
    near = st.builds(int.__add__, st.sampled_from(jumps), st.integers(-DAY, DAY))
    return zone, draw(st.lists(st.integers(FIRST, LAST) | near, min_size=1, max_size=10))


@given(places(), st.sampled_from(UNITS))
def test_equals_the_single_moments(place: tuple[str, list[int]], unit: str) -> None:
    zone, found = place
    moments, offsets = np.array(found, dtype=np.int64), offsets_of(zone)
    assert to_local(moments, offsets).tolist() == [time_zones.to_local(moment, zone) for moment in found]
    assert to_utc(moments, offsets).tolist() == [time_zones.to_utc(wall, zone) for wall in found]
    floors = floor_local(moments, time_zones.FIXED.get(unit, unit), offsets)
    assert floors.tolist() == [time_zones.floor_local(moment, unit, zone) for moment in found]
