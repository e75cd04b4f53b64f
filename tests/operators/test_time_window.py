"""A time window holds what its definition says, at the ticks it says, however its input comes."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nilometer.errors import InternalError
from nilometer.operators.logic import Progress
from nilometer.operators.time_window import TimeWindow
from operators.streams import (
    SCHEMA,
    Log,
    Range,
    Round,
    Row,
    drive,
    evaluations,
    fewer,
    frame,
    logs,
    order,
    ranges,
    rows,
    ways,
)


def spec(range_: Range) -> TimeWindow:
    return TimeWindow(SCHEMA, range_.start, range_.end, range_.slide, range_.open_start, range_.interval)


def check(range_: Range, log: Log) -> None:
    ticks = range_.ticks(log)
    expected = sorted(((t, t, *row.values) for t in ticks for row in range_.content(log, t)), key=order)
    for driven, restart in ways(log):
        outputs = drive(spec(range_), driven, restart=restart)
        assert evaluations(outputs) == [(t, t) for t in ticks]
        assert rows(outputs) == expected


@fewer
@given(ranges(), logs())
def test_pushed(range_: Range, log: Log) -> None:
    check(range_, log)


@fewer
@given(ranges(interval=4), logs(interval=4))
def test_sensed(range_: Range, log: Log) -> None:
    check(range_, log)


@pytest.mark.parametrize("slide", [1_000, 700, 5_000])
def test_state_stays_flat(slide: int) -> None:
    logic = TimeWindow(SCHEMA, 2_000, 0, slide, True).build()
    sizes = []
    for step in range(200):
        batch = [Row(step * 100 + n, step * 100 + n, 1, n, n, 0.5, "a") for n in range(0, 100, 2)]
        logic.update(0, frame(batch))
        logic.advance(Progress(step * 100, 0))
        sizes.append(sum(map(len, logic.snapshot().values())))
    assert max(sizes[100:]) <= 1.5 * max(sizes[50:100])


def test_unchanged_panes_keep_their_names_and_bytes() -> None:
    logic = TimeWindow(SCHEMA, 1_000_000, 0, 100_000, True).build()
    kept: dict[str, bytes] = {}
    rewritten = 0
    for step in range(64):
        times = pl.int_range(step * 6_000, step * 6_000 + 6_000, eager=True)
        tags = dict.fromkeys(("@tick", "@time", "@id", "@position", "i"), times)
        logic.update(0, pl.DataFrame(tags | {"f": times / 64, "s": times.cast(pl.String)}))
        logic.advance(Progress(step * 6_000, 0))
        panes = logic.snapshot()
        rewritten += sum(len(data) for name, data in panes.items() if kept.get(name) is not data)
        kept = panes
    assert len(kept) < 24
    assert rewritten < 7 * sum(map(len, kept.values()))


def test_a_long_silence_is_an_array_of_evaluations() -> None:
    logic = TimeWindow(SCHEMA, 10, 0, 1, True).build()
    logic.update(0, frame([Row(0, 0, 1, 0, 1, None, None)]))
    output = logic.advance(Progress(1_000_000, 0))
    assert output.evaluations.height == 1_000_000
    assert output.rows.height == 10


def test_windows_that_are_always_empty_are_evaluated() -> None:
    log = Log((Round((Row(0, 0, 1, 0, 1, None, None),), 0), Round((), 1)))
    assert evaluations(drive(spec(Range(0, 0, None, True)), log)) == [(0, 0)]


def test_nothing_is_evaluated_before_the_first_tuple() -> None:
    log = Log((Round((), 100),))
    assert evaluations(drive(spec(Range(10, 0, 5, True)), log)) == []


@given(st.sampled_from([(1, 2, 1, True), (None, -1, None, False), (5, 0, 0, True)]))
def test_wrong_windows_cannot_be_built(wrong: tuple[int | None, int, int | None, bool]) -> None:
    with pytest.raises(InternalError):
        TimeWindow(SCHEMA, *wrong)


def test_no_visible_column() -> None:
    logic = TimeWindow(type(SCHEMA)(()), 10, 0, 5, True).build()
    logic.update(0, frame([Row(1, 1, 1, 0, 1, None, None)]).select(pl.selectors.starts_with("@")))
    assert logic.advance(Progress(11, 1)).rows.rows() == [(5, 5), (10, 10)]
