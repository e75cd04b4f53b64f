"""Blocks hold every entry, in few panes, of which few change."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nilometer.operators import blocks
from nilometer.operators.blocks import Blocks


def entries(low: int, high: int) -> pl.DataFrame:
    return pl.DataFrame({"number": pl.int_range(low, high, eager=True)})


@given(st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40)), max_size=12))
def test_all_entries_are_there(steps: list[tuple[int, int]]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(blocks, "LARGEST", 16)
        patch.setattr(blocks, "SMALLEST", 2)
        made = Blocks()
        begin = end = 0
        for more, gone in steps:
            end += more
            begin = min(begin + gone, end)
            panes = made.snapshot("x", begin, end, entries)
            resumed = Blocks()
            found = [n for frame in resumed.restore("x", panes, end) for n in frame["number"]]
            assert found[len(found) - (end - begin) :] == list(range(begin, end))
            assert len(panes) <= -(-(end - begin) // 16) + 5
            assert resumed.snapshot("x", begin, end, entries) == panes


def test_few_new_entries_change_a_small_pane() -> None:
    made = Blocks()
    old = made.snapshot("x", 0, 1_000_000, entries)
    new = made.snapshot("x", 10, 1_000_005, entries)
    changed = sum(len(data) for name, data in new.items() if old.get(name) is not data)
    assert changed < 20_000
    assert made.snapshot("x", 10, 1_000_005, entries) == new
