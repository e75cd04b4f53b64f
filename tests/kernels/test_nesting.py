"""Lists built from offsets against slices."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nilometer.kernels.nesting import nested


@given(st.lists(st.lists(st.none() | st.integers(0, 9), max_size=4), max_size=6))
def test_lists_are_the_slices(lists: list[list[int | None]]) -> None:
    flat = pl.Series("values", [value for part in lists for value in part], dtype=pl.Int64)
    offsets = np.cumsum([0, *map(len, lists)]).astype(np.int64)
    series = nested(flat, offsets)
    assert series.to_list() == lists
    assert series.dtype == pl.List(pl.Int64)
    twice = nested(series, np.array([0, len(lists)]))
    assert twice.to_list() == [lists]


@pytest.mark.parametrize("values", [["a", None], [{"id": 1, "times": [1, 2]}, {"id": None, "times": None}]])
def test_any_type_nests(values: list[object]) -> None:
    series = pl.Series("values", values)
    assert nested(series, np.array([0, 0, 2])).to_list() == [[], values]
    assert nested(series.clear(), np.array([0])).dtype == pl.List(series.dtype)
