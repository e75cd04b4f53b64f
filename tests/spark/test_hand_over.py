"""The pipes between the planner of a pipeline's rounds and their owner (spark/shared/hand_over.py)."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from nilometer.errors import ResourceError
from nilometer.spark.shared.hand_over import Given, Giver, Taker

PATIENCE = 60.0


def test_a_round_waits_until_the_one_before_is_taken(tmp_path: Path) -> None:
    taker, giver = Taker(tmp_path), Giver(tmp_path)
    taken: list[int] = []

    def plan() -> None:
        for number in range(1, 51):
            giver.give(number, tasks=number % 2)
            # The round before was taken, this one may be.
            assert len(taken) >= number - 1

    planner = threading.Thread(target=plan)
    planner.start()
    for number in range(1, 51):
        assert taker.next() == Given(number, number % 2)
        taken.append(number)
        taker.taken()
    planner.join(PATIENCE)
    assert not planner.is_alive()


def test_the_end_frees_both_sides(tmp_path: Path) -> None:
    taker, giver = Taker(tmp_path), Giver(tmp_path)
    giver.give(1, tasks=0)
    assert taker.next() == Given(1, 0)
    taker.end()
    assert taker.next() is None
    with pytest.raises(ResourceError, match="ended the run"):
        giver.give(2, tasks=0)


def test_a_planner_that_begins_after_its_owner_has_gone_does_not_wait(tmp_path: Path) -> None:
    Taker(tmp_path).close()
    with pytest.raises(ResourceError, match="ended the run"):
        Giver(tmp_path)


def test_a_planner_whose_owner_was_killed_does_not_wait(tmp_path: Path) -> None:
    taker, giver = Taker(tmp_path), Giver(tmp_path)
    giver.give(1, tasks=0)
    taker.close()
    with pytest.raises(ResourceError, match="ended the run"):
        giver.give(2, tasks=0)
