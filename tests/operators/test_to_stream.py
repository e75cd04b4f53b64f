"""RSTREAM, ISTREAM and DSTREAM against counters."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nilometer.errors import InternalError
from nilometer.operators.to_stream import ToStream
from nilometer.types import FLOAT, INT, POINT, Column, Schema, list_of
from operators.twins import Evaluation, counted, evaluations, few, frozen, play_windows

R = Schema((Column("R.key", INT), Column("R.rain", FLOAT), Column("R.at", POINT)))


def naive(windows: list[Evaluation], relation: str) -> Counter[Any]:
    emitted: Counter[Any] = Counter()
    previous: Counter[Any] = Counter()
    for _, tick, bag in windows:
        window = counted(bag)
        match relation:
            case "RSTREAM":
                rows = window
            case "ISTREAM":
                rows = window - previous
            case _:
                rows = previous - window
        for values, count in rows.items():
            emitted[(tick, tick, None, None, *values)] += count
        previous = window
    return emitted


@few
@given(
    st.sampled_from(["RSTREAM", "ISTREAM", "DSTREAM"]),
    evaluations(R),
    st.lists(st.integers(0, 18), max_size=3),
)
def test_differences_to_the_previous_evaluation(
    relation: str, windows: list[Evaluation], watermarks: list[int]
) -> None:
    rows, listed = play_windows(ToStream(R, relation), (R,), (windows,), watermarks)
    assert rows == naive(windows, relation)
    assert listed == []


def test_lists_are_values_too() -> None:
    schema = Schema((Column("R.members", list_of(INT)),))
    windows: list[Evaluation] = [(0, 0, [([1, 2],), ([1, 2],), (None,)]), (1, 5, [([1, 2],), ([],)])]
    rows, _ = play_windows(ToStream(schema, "ISTREAM"), (schema,), (windows,), [3])
    assert rows[frozen((5, 5, None, None, []))] == 1
    assert rows.total() == 4


def test_refuses_to_be_built_wrong() -> None:
    with pytest.raises(InternalError, match="XSTREAM"):
        ToStream(R, "XSTREAM")
