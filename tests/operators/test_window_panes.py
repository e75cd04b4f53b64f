"""Panes against a list: what is taken is taken once, also after a restart, and what is stored stays as it is."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nilometer.operators import panes as window_panes
from nilometer.operators.frames import Dtypes
from nilometer.operators.panes import Panes
from nilometer.operators.waiting import Waiting

COLUMNS: Dtypes = {"@tick": pl.Int64(), "name": pl.String()}


def rows(ticks: list[int], name: str) -> pl.DataFrame:
    return pl.DataFrame({"@tick": ticks, "name": [name] * len(ticks)}, schema=COLUMNS)


@given(st.lists(st.tuples(st.lists(st.integers(0, 9), max_size=6), st.integers(0, 4)), max_size=12))
def test_every_row_is_released_once(steps: list[tuple[list[int], int]]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(window_panes, "SMALL", 2)
        patch.setattr(window_panes, "SEALED", 8)
        waiting, twin, watermark = Waiting(COLUMNS), list[tuple[int, str]](), 0
        for number, (ticks, further) in enumerate(steps):
            added = rows([watermark + tick for tick in ticks], f"a name of some length {number}")
            waiting.add(added)
            twin += added.rows()
            watermark += further
            assert sorted(waiting.release(watermark).rows()) == sorted(r for r in twin if r[0] < watermark)
            twin = [row for row in twin if row[0] >= watermark]
            assert len(waiting) == len(twin)
            panes = waiting.snapshot("x")
            waiting = Waiting(COLUMNS)
            waiting.restore("x", panes)
            assert waiting.snapshot("x") == panes


def test_a_stored_pane_is_not_written_again_when_rows_of_it_go() -> None:
    panes = Panes("@tick", COLUMNS, None)
    panes.append(rows(list(range(5_000)), "x"))
    before = panes.snapshot("p")
    assert panes.take(2_000).height == 2_000
    after = panes.snapshot("p")
    assert all(after[name] is before[name] for name in after)
    assert panes.begun
    assert panes.between(None, 9_999).height == 3_000
    panes.expire(5_000)
    assert panes.snapshot("p") == {}
