"""Events: the total order of what is due."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nilometer.errors import InternalError
from nilometer.sensornet.radio_network import Events


@given(st.lists(st.integers(0, 9), max_size=30), st.integers(0, 9))
def test_events_come_by_time_and_then_as_they_were_asked_for(times: list[int], until: int) -> None:
    events = Events()
    seen: list[tuple[int, int]] = []
    for place, time in enumerate(times):
        events.at(time, lambda place=place: seen.append((events.now, place)))
    expected = sorted((time, place) for place, time in enumerate(times))
    events.run(until)
    assert seen == [each for each in expected if each[0] <= until]
    assert events.now == until
    events.run()
    assert seen == expected


def test_nothing_is_done_in_the_past() -> None:
    events = Events(start=10)
    with pytest.raises(InternalError, match="past"):
        events.at(9, lambda: None)
