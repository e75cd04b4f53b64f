"""SILENT against a look at every moment: is anybody overdue now?"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nilometer.errors import InternalError
from nilometer.operators.logic import Progress
from nilometer.operators.silent import Silent
from nilometer.types import INT, Column, Schema
from operators.twins import LATEST, Script, counted, few, scripts

R = Schema((Column("R.depth", INT),))


def naive(script: Script, duration: int, declared: frozenset[int]) -> list[Any]:
    """Moment by moment, with a state per sensor."""
    events = []
    heard = {row.id for row in script.rows() if row.id is not None}
    for sensor in heard | declared:
        times = {row.time for row in script.rows() if row.id == sensor}
        last, due = None, None
        if sensor in declared and script.first_tick is not None:
            due = script.first_tick + duration
        silent = False
        for now in range(-1, LATEST + 50):
            if now in times:
                if silent:
                    events.append((now, sensor, "returned", last))
                last, due, silent = now, now + duration, False
            if now == due:
                if any(time <= now for time in times if last is None or time > last):
                    continue
                events.append((now, sensor, "silent", last))
                silent = True
    return [
        (time, time, sensor, None, time, sensor, state, last)
        for time, sensor, state, last in events
        if time < script.watermark
    ]


@few
@given(
    scripts(R),
    st.integers(1, 9),
    st.frozensets(st.sampled_from([1, 2, 7]), max_size=3),
)
def test_silent_tells_who_is_overdue(script: Script, duration: int, declared: frozenset[int]) -> None:
    spec = Silent(duration, "Q", INT, frozenset(declared))
    assert script.play(spec) == counted(naive(script, duration, declared))


def test_the_first_tick_counts_once_all_extents_are_heard() -> None:
    logic = Silent(5, "Q", INT, frozenset({1})).build()
    for watermark, first_tick in ((-(2**63), 100), (90, 90), (95, 90)):
        assert not logic.advance(Progress(watermark, first_tick)).rows.height
    assert logic.advance(Progress(96, 90)).rows.rows() == [(95, 95, 1, None, 95, 1, "silent", None)]


def test_refuses_to_be_built_wrong() -> None:
    with pytest.raises(InternalError, match="SILENT for no time"):
        Silent(0, "Q")
