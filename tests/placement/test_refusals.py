"""The nearest value that a refusal names is kept: planned again with it, the query has a plan."""

from __future__ import annotations

import re
from typing import Any

import pytest

from nilometer.engine.expectations import expectations
from nilometer.errors import InfeasibleError
from placement.scenarios import Q1, Q2, Q3, brook, database


def plan(query: str, **asked: Any) -> object:
    return database().sql(query).placement(brook(), expectations(**asked))


@pytest.mark.parametrize("query", [Q1, Q2, Q3], ids=["Q1", "Q2", "Q3"])
@pytest.mark.parametrize(
    ("word", "asked", "others"),
    [
        ("buffering_factor", 4000, {}),
        ("delivery_time", "10 MILLISECONDS", {}),
        ("delivery_time", "1 HOUR", {"buffering_factor": 7}),
        ("acquisition_interval", "100 MILLISECONDS", {}),
        ("lifetime", "9999 DAYS", {}),
        ("lifetime", "9999 DAYS", {"delivery_time": "10 SECONDS"}),
        ("lifetime", "100 DAYS", {"acquisition_interval": "500 MILLISECONDS"}),
        ("total_energy", 1.0, {}),
        ("total_energy", 1.0, {"acquisition_interval": "1 SECOND", "buffering_factor": 2}),
    ],
)
def test_the_nearest_value_is_kept(query: str, word: str, asked: Any, others: dict[str, Any]) -> None:
    with pytest.raises(InfeasibleError) as caught:
        plan(query, **{word: asked}, **others)
    if query == Q3 and "MILLISECONDS" in str([asked, *others.values()]) and word != "delivery_time":
        assert caught.value.message == "node 4 has not enough RAM"  # 15 minutes of such readings
        return
    assert word.replace("_", " ") in caught.value.message
    found = re.search(r"(?:nearest.*? is|factor of) (\d+)( [A-Z]+)?", caught.value.hint or "")
    assert found is not None, caught.value.hint
    nearest: Any = type(asked)((found[1] + (found[2] or "")).removesuffix(" J"))
    assert plan(query, **{word: nearest}, **others) is not None


def test_of_several_refusals_the_one_that_keeps_most_is_told() -> None:
    """In the network 300 ms are enough, and the lifetime fails; at the gateway 300 ms are too short."""
    with pytest.raises(InfeasibleError, match="a lifetime of 100 DAYS cannot be reached"):
        plan(Q2, acquisition_interval="300 MILLISECONDS", lifetime="100 DAYS")
