"""`nilometer bench guided` scores what it says: the delay of appearances, and the share of updates that were found."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from nilometer.laboratory.benchmarks.guided import _delays, _recall
from nilometer.types import MINUTE


def update(minute: int, kind: str, *members: int) -> dict[str, Any]:
    return {
        "time": datetime(2026, 1, 1, tzinfo=UTC) + timedelta(minutes=minute),
        "kind": kind,
        "members": list(members),
        "lost": [],
    }


TRUE = [update(0, "APPEAR", 1, 2), update(1, "GROW", 1, 2, 3), update(9, "APPEAR", 7, 8)]


def test_a_run_recalls_itself_at_once() -> None:
    assert _recall(TRUE, TRUE, 0) == (1.0, 1.0)
    assert _delays(TRUE, TRUE) == [0, 0]


def test_what_comes_later_and_what_never_comes() -> None:
    found = [update(2, "APPEAR", 2, 3), update(9, "APPEAR", 5, 6)]
    assert _delays(TRUE, found) == [2 * MINUTE]
    assert _recall(TRUE, found, 3 * MINUTE) == (pytest.approx(1 / 3), 0.0)
    assert _recall(TRUE, found, MINUTE) == (0.0, 0.0)


def test_one_update_recalls_only_one() -> None:
    twice = [update(0, "GROW", 1), update(1, "GROW", 1)]
    assert _recall(twice, twice[:1], 5 * MINUTE) == (0.5, 0.5)
