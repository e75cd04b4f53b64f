"""`bench queries`: together and one each give the same answers; how long it takes is not asserted."""

from __future__ import annotations

import polars as pl
import pytest

from nilometer.errors import ConfigurationError
from nilometer.laboratory.benchmarks.queries import BATCH, PARTS, QUERIES, _equal, measure, queries


def test_together_and_one_each_answer_the_same() -> None:
    result = measure(BATCH, 0, "comparisons", (1, 2))
    together = next(one for one in result.measurements if one.task == "2 comparisons beside one each")
    assert together.equal
    assert together.rows_out > 0
    assert together.peer is not None


def test_another_answer_is_noticed() -> None:
    rows = pl.DataFrame({"id": [1, 2], "x": [1.0, 2.0]})
    assert _equal(rows, rows[::-1])
    assert not _equal(rows, rows[:1])
    assert not _equal(rows, rows.with_columns(x=pl.col("x") + 1e-9))


def test_parts() -> None:
    assert set(QUERIES) <= set(PARTS.values())
    with pytest.raises(ConfigurationError, match="no part 'lanes'"):
        queries(1_000, 1, ("lanes",))
