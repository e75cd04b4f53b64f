"""A stage keeps rows as long as a stream that lags behind can still join them, and no longer."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from nilometer.overlay.join_plan import JoinPlan
from nilometer.overlay.stage import StageWindows
from nilometer.types import SECOND
from overlay.test_joins import CHAIN, PAIR, TRIPLE


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


@pytest.mark.parametrize("policy", ["", "RANDOM", "PROB", "LIFE"])
def test_memory_bounds_each_input_and_what_goes_is_counted(policy: str) -> None:
    """Copies are bounded by themselves, and are not counted as shed. PROB and LIFE keep the rows that have partners."""
    plan = replace(PAIR, memory=(4, None), policy=policy)
    windows = StageWindows(plan, 0, 1_000)

    def rows(at: int, keys: list[int]) -> pl.DataFrame:
        return pl.DataFrame(
            {
                "@key": keys,
                f"@position{at}": range(len(keys)),
                f"@time{at}": range(len(keys)),
                f"{at}.B": keys,
            },
            schema_overrides={"@key": pl.UInt64},
        )

    def below_50(keys: np.ndarray) -> np.ndarray:
        return np.asarray(keys < 50)

    windows.insert(1, rows(1, [3, 3, 7]), below_50)
    windows.insert(0, rows(0, [*range(10), *range(60, 70)]), below_50)
    assert (windows.height, windows.shed) == (3 + 4 + 4, 6)
    kept = windows.rows_of(0, below_50)
    assert kept is not None
    if policy in ("PROB", "LIFE"):
        assert {3, 7} <= set(kept.get_column("@key"))
    if not policy:
        assert kept.get_column("@key").to_list() == [6, 7, 8, 9]
