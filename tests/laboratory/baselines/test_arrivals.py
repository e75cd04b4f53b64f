"""What cannot be fed to a join."""

from __future__ import annotations

from typing import Any

import pytest

from nilometer.errors import InternalError
from nilometer.laboratory.baselines import (
    Arrivals,
    HashMergeTree,
    HashMergeTreeSpec,
    MJoin,
    MJoinSpec,
    SymmetricHashJoin,
    SymmetricHashJoinSpec,
)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (([1, 2], [0], [5], [0]), r"columns of lengths \[1, 2\]"),
        (([1], [0], [float("nan")], [0]), "not a number"),
        (([2**61], [0], [5], [0]), "beyond 73,000 years"),
    ],
)
def test_wrong_arrivals_cannot_be_made(columns: tuple[Any, Any, Any, Any], message: str) -> None:
    with pytest.raises(InternalError, match=message):
        Arrivals.of(*columns)


def test_a_stream_that_the_join_does_not_have() -> None:
    with pytest.raises(InternalError, match="streams 0 to 2 in a join of 2"):
        SymmetricHashJoin(SymmetricHashJoinSpec(5)).feed(Arrivals.of([1, 1], [0, 2], [5, 5], [0, 1]))


def test_two_streams_may_be_out_of_step_but_none_may_go_back() -> None:
    join = SymmetricHashJoin(SymmetricHashJoinSpec(5))
    assert join.feed(Arrivals.of([9, 4], [0, 1], [5, 5], [0, 1])).tolist() == [[0, 1]]
    with pytest.raises(InternalError, match="times of source 1 that fall"):
        join.feed(Arrivals.of([3], [1], [5], [2]))


@pytest.mark.parametrize(
    "join",
    [MJoin(MJoinSpec(2, 5, outer=True)), HashMergeTree(HashMergeTreeSpec(2, 5))],
    ids=["mjoin", "tree"],
)
def test_many_streams_are_merged_by_time(join: MJoin | HashMergeTree) -> None:
    with pytest.raises(InternalError, match="merge the streams by time first"):
        join.feed(Arrivals.of([9, 4], [0, 1], [5, 5], [0, 1]))
