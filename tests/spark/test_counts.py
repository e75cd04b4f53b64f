"""What is counted in a micro-batch adds up, and travels as JSON."""

from __future__ import annotations

import doctest
import json

from nilometer.spark import counts
from nilometer.spark.counts import Counts


def test_the_example_is_right() -> None:
    assert doctest.testmod(counts).failed == 0


def test_counts_add_up_by_name_and_by_stream() -> None:
    parts = [
        Counts(5, 3, 1, 1, late_of={"a": 1}),
        Counts(2, 2, shed_of={"a": 1}),
        Counts(state_bytes=9, state_panes=2),
    ]
    whole = sum(parts, Counts())
    assert whole == Counts(7, 5, 1, 1, 9, 2, {"a": 1}, {"a": 1})
    assert whole.shed == 1
    assert sum(reversed(parts), Counts()) == whole


def test_a_stream_may_have_any_name() -> None:
    """None is parsed out of a text."""
    told = Counts(late_of={"shed of air": 2}, shed_of={"late of air and water": 3})
    assert Counts.of_json(json.loads(json.dumps(told.as_json()))) == told
    assert Counts.of_json(json.loads(json.dumps(Counts().as_json()))) == Counts()
