"""Thousands of queries are frozen for the garbage collector, and let go once they have left."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from nilometer.live.still_heap import MANY, StillHeap


@pytest.fixture(autouse=True)
def thawed() -> Iterator[None]:
    """The freeze concerns the whole process. Other parts of it may have frozen objects before."""
    gc.unfreeze()
    yield
    gc.unfreeze()


def test_few_queries_are_left_alone() -> None:
    heap = StillHeap()
    heap.came(MANY)
    assert gc.get_freeze_count() == 0


def test_many_queries_are_frozen_until_a_quarter_has_left() -> None:
    heap = StillHeap()
    heap.came(MANY * 4)
    frozen = gc.get_freeze_count()
    assert frozen > 0
    kept = [[number] for number in range(1_000)]
    heap.came(MANY * 5)  # not more than a quarter more
    assert gc.get_freeze_count() <= frozen
    heap.came(MANY * 5 + 1)
    assert gc.get_freeze_count() >= frozen + len(kept)
    for _ in range(MANY):
        heap.left()
    assert gc.get_freeze_count() > 0
    heap.left(MANY)
    assert gc.get_freeze_count() == 0


def test_nothing_is_frozen_where_the_collector_is_off() -> None:
    gc.disable()
    try:
        StillHeap().came(MANY * 4)
        assert gc.get_freeze_count() == 0
    finally:
        gc.enable()


def test_the_end_thaws() -> None:
    heap = StillHeap()
    heap.came(MANY * 4)
    heap.thaw()
    assert gc.get_freeze_count() == 0
