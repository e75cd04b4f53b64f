"""The ids of a stream against a naive twin."""

from __future__ import annotations

import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from nilometer.ingest.manager.known_ids import KnownIds

BATCHES = st.lists(st.lists(st.none() | st.integers(0, 12), max_size=8), max_size=6)


@given(BATCHES, st.integers(0, 8), st.booleans())
def test_known_ids_are_always_taken_and_new_ones_while_there_is_room(
    batches: list[list[int | None]], most: int, text: bool
) -> None:
    ids, seen = KnownIds(most), set[int]()
    for batch in batches:
        series = pl.Series(batch, dtype=pl.Int64)
        refused = ids.beyond(series.cast(pl.String) if text else series)
        expected = []
        for identifier in batch:
            if identifier is not None and identifier not in seen and len(seen) < most:
                seen.add(identifier)
            expected.append(identifier is not None and identifier not in seen)
        assert (refused.to_list() if refused is not None else [False] * len(batch)) == expected
        assert len(ids) == len(seen)
