"""The hashes of columns equal the reference evaluator's, one value at a time."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nilometer.operators.value_hashes import hashes_of
from nilometer.plan.reference.sketches import hash_of


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        (pl.Int64(), st.integers(-(2**63), 2**63 - 1)),
        (pl.Float64(), st.floats(allow_nan=False, allow_infinity=False) | st.integers(-9, 9).map(float)),
        (pl.String(), st.text(max_size=20)),
        (pl.Boolean(), st.booleans()),
    ],
    ids=str,
)
@given(data=st.data())
def test_hashes_are_the_references(
    kind: pl.DataType, values: st.SearchStrategy[Any], data: st.DataObject
) -> None:
    drawn = data.draw(st.lists(values, min_size=1, max_size=8))
    assert hashes_of(pl.Series(drawn, dtype=kind)).tolist() == list(map(hash_of, drawn))
