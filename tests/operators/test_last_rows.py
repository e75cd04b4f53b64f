"""The last rows of each key against a dictionary."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nilometer.operators import last_rows
from nilometer.operators.frames import Dtypes
from nilometer.operators.last_rows import LastRows

COLUMNS: Dtypes = {"key": pl.Int64(), "at": pl.Int64()}
keys = st.one_of(st.none(), st.integers(0, 9))


@given(st.lists(st.lists(keys, max_size=6), max_size=12), st.lists(keys, max_size=5))
def test_like_a_dictionary(batches: list[list[int | None]], wanted: list[int | None]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(last_rows, "SMALL", 2)
        last, twin = LastRows(["key"], COLUMNS, "at"), dict[int | None, list[int]]()
        for number, batch in enumerate(batches):
            rows = [(key, 10 * number + place) for place, key in enumerate(batch)]
            last.put(pl.DataFrame(rows, schema=COLUMNS, orient="row"))
            twin |= {key: [at for other, at in rows if other == key] for key in batch}
            panes = last.snapshot("x")
            assert len(panes) <= 5
            last = LastRows(["key"], COLUMNS, "at")
            last.restore("x", panes)
        found = last.of(pl.DataFrame({"key": wanted}, schema={"key": pl.Int64}))
        expected = [(key, at) for key in dict.fromkeys(wanted) for at in twin.get(key, [])]
        assert sorted(found.rows(), key=repr) == sorted(expected, key=repr)


def test_without_a_key_the_last_put_counts() -> None:
    last = LastRows([], COLUMNS, "at")
    for at in (1, 2):
        last.put(pl.DataFrame({"key": [5], "at": [at]}))
    assert last.of(pl.DataFrame({"key": [7]})).rows() == [(5, 2)]
    last.expire(3)
    assert not last.snapshot("x")
