"""Sorting by time: in memory and on disk alike, stable, whatever the frames; rows in order are not touched."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nilometer.errors import ResourceError
from nilometer.ingest.readers.time_order import TimeOrder, merged


def frame(times: list[int]) -> pl.DataFrame:
    return pl.DataFrame(
        {"time": times, "text": [f"row {n}" for n in range(len(times))]},
        schema={"time": pl.Int64, "text": pl.String},
    )


def pieces(whole: pl.DataFrame, cuts: list[int]) -> list[pl.DataFrame]:
    ends = sorted(min(cut, whole.height) for cut in cuts)
    return [whole[a:b] for a, b in zip([0, *ends], [*ends, whole.height], strict=True)]


def displaced(times: list[int]) -> int:
    """The naive twin."""
    return sum(any(earlier > time for earlier in times[:n]) for n, time in enumerate(times))


@given(
    st.lists(st.integers(-5, 20), max_size=60),
    st.lists(st.integers(0, 60), max_size=5),
    st.sampled_from([1, 40, 200, 1 << 30]),
)
def test_the_bound_and_the_cuts_change_nothing(times: list[int], cuts: list[int], limit: int) -> None:
    whole = frame(times)
    order = TimeOrder("time", limit)
    for piece in pieces(whole, cuts):
        order.add(piece)
    naive = [row for _, row in sorted(enumerate(whole.rows()), key=lambda each: (each[1][0], each[0]))]
    assert pl.concat(order.finish()).rows() == naive
    assert order.displaced == displaced(times)


@given(
    st.lists(st.lists(st.integers(0, 9), max_size=20).map(sorted), min_size=1, max_size=5), st.integers(1, 8)
)
def test_runs_are_merged_in_their_order(runs: list[list[int]], block: int) -> None:
    frames = [
        pl.DataFrame({"time": times, "run": [n] * len(times)}, schema={"time": pl.Int64, "run": pl.Int64})
        for n, times in enumerate(runs)
    ]
    rows = [row for part in merged(frames, "time", block) for row in part.rows()]
    assert rows == sorted((time, n) for n, times in enumerate(runs) for time in times)


def test_rows_in_order_are_the_same_frames() -> None:
    one, two = frame([1, 2, 2]), frame([2, 3])
    order = TimeOrder("time")
    order.add(one)
    order.add(two)
    first, second = order.finish()
    assert first is one
    assert second is two


def test_a_disk_that_cannot_be_written_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    order = TimeOrder("time", 1)
    order.add(frame([3, 1]))
    monkeypatch.setattr("pyarrow.ipc.new_file", _full)
    with pytest.raises(ResourceError, match="cannot be sorted on disk") as raised:
        order.finish()
    assert "No space left" in str(raised.value)


def _full(*_: object) -> object:
    raise OSError(28, "No space left on device")
