"""A row window holds the rows that its definition says, in the stream's total order."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nilometer.errors import InternalError
from nilometer.operators.logic import Progress
from nilometer.operators.row_window import RowWindow
from operators.streams import (
    SCHEMA,
    Log,
    Row,
    drive,
    evaluations,
    fewer,
    frame,
    logs,
    order,
    rows,
    ways,
)


@st.composite
def windows(draw: st.DrawFn) -> RowWindow:
    end = draw(st.integers(0, 3))
    length = draw(st.one_of(st.none(), st.integers(0, 8)))
    return RowWindow(SCHEMA, None if length is None else end + length, end, draw(st.integers(1, 5)))


def check(window: RowWindow, log: Log) -> None:
    final = sorted(
        (row for row in log.rows if row.tick < log.watermark),
        key=lambda row: order((row.time, row.id, row.position, *row.values)),
    )
    ordinals = range(window.slide, len(final) + 1, window.slide)
    listed = [(n, final[n - 1].tick) for n in ordinals]
    expected = []
    for n, tick in listed:
        first = 1 if window.start is None else max(1, n - window.start)
        expected += [(n, tick, *final[k - 1].values) for k in range(first, n - window.end + 1)]
    for driven, restart in ways(log):
        outputs = drive(window, driven, restart=restart)
        assert evaluations(outputs) == listed
        assert rows(outputs) == sorted(expected, key=order)


@fewer
@given(windows(), logs())
def test_pushed(window: RowWindow, log: Log) -> None:
    check(window, log)


@fewer
@given(windows(), logs(interval=4))
def test_sensed(window: RowWindow, log: Log) -> None:
    check(window, log)


@fewer
@given(windows(), logs(unplaced=True))
def test_without_positions_the_values_decide(window: RowWindow, log: Log) -> None:
    check(window, log)


def test_state_stays_flat() -> None:
    logic = RowWindow(SCHEMA, 999, 0, 100).build()
    sizes = []
    for step in range(200):
        logic.update(0, frame([Row(step * 50 + n, step * 50 + n, 1, n, n, 0.5, "a") for n in range(50)]))
        logic.advance(Progress(step * 50, 0))
        sizes.append(sum(map(len, logic.snapshot().values())))
    assert max(sizes[100:]) <= 1.5 * max(sizes[50:100])


@pytest.mark.parametrize("wrong", [(1, 2, 1), (None, -1, 1), (5, 0, 0)])
def test_wrong_windows_cannot_be_built(wrong: tuple[int | None, int, int]) -> None:
    with pytest.raises(InternalError):
        RowWindow(SCHEMA, *wrong)
