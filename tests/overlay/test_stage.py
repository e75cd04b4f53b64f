"""A stage keeps rows as long as a stream that lags behind can still join them, and no longer."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from nilometer.overlay.join_plan import JoinPlan
from nilometer.overlay.stage import StageWindows
from nilometer.types import SECOND
from overlay.test_joins import CHAIN, TRIPLE


def row(at: int, moment: int, key: int = 7) -> pl.DataFrame:
    return pl.DataFrame(
        {"@key": [key], f"@position{at}": [0], f"@time{at}": [moment], f"{at}.B": [1]},
        schema_overrides={"@key": pl.UInt64},
    )


def ours(keys: np.ndarray) -> np.ndarray:
    return np.ones(len(keys), dtype=np.bool_)


def test_a_stream_that_lags_finds_the_rows_of_the_others() -> None:
    windows = StageWindows(TRIPLE, 0, 100)
    windows.insert(0, row(0, 0), ours)
    windows.insert(1, row(1, 1), ours)
    windows.expire({"x": 100 * SECOND, "y": 100 * SECOND, "z": 0}, 0)
    assert windows.height == 2
    _, found = windows.insert(2, row(2, 2), ours)
    assert found is not None
    assert found.height == 1
    windows.expire({"x": 100 * SECOND, "y": 100 * SECOND, "z": 100 * SECOND}, 0)
    assert windows.height == 0


def test_a_row_waits_for_its_own_stage_only() -> None:
    """Readings of Z are met at the next stage; those that came before may still be there."""
    windows = StageWindows(CHAIN, 0, 100)
    windows.insert(0, row(0, 0), ours)
    windows.expire({"x": 0, "y": 0, "z": 100 * SECOND}, 0)
    assert windows.height == 1
    windows.expire({"x": 0, "y": 4 * SECOND, "z": 0}, 0)
    assert windows.height == 0


@pytest.mark.parametrize("plan", [TRIPLE, CHAIN])
def test_rows_are_one_by_their_positions_and_memory_is_bounded(plan: JoinPlan) -> None:
    windows = StageWindows(plan, 0, 1)
    windows.insert(0, row(0, 0), ours)
    new, found = windows.insert(0, row(0, 0), ours)
    assert (new.height, found, windows.height, windows.shed) == (0, None, 1, 0)
    windows.insert(0, row(0, 5).with_columns(pl.lit(1, pl.Int64).alias("@position0")), ours)
    assert (windows.height, windows.shed) == (1, 1)
