"""SAMPLE EVERY against a dictionary of first tuples."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nilometer.errors import InternalError
from nilometer.operators.sample import Sample
from nilometer.types import FLOAT, INT, Column, Schema
from operators.twins import Script, counted, few, scripts

R = Schema((Column("R.depth", INT), Column("R.rain", FLOAT)))


def naive(script: Script, every: int) -> list[Any]:
    first: dict[tuple[int | None, int], Any] = {}
    for row in sorted(script.rows(), key=lambda row: row.order):
        if row.tick < script.watermark:
            place = (row.id, row.time // every)
            first.setdefault(place, (row.tick, row.time, row.id, row.position, *row.values))
    return list(first.values())


@few
@given(scripts(R), st.sampled_from([1, 3, 4, 8, 100]))
def test_sample_takes_the_first_of_each_interval(script: Script, every: int) -> None:
    assert script.play(Sample(R, every)) == counted(naive(script, every))


def test_refuses_to_be_built_wrong() -> None:
    with pytest.raises(InternalError, match="SAMPLE EVERY nothing"):
        Sample(R, 0)
