"""`bench demand`: answers are equal, and messages are saved."""

from __future__ import annotations

from nilometer.laboratory.benchmarks import demand
from nilometer.laboratory.benchmarks.demand import FIELDS, _compared
from nilometer.types import HOUR


def test_summaries_save_messages_and_answers_are_equal() -> None:
    assert callable(demand)
    traffic, equal, answered = _compared(FIELDS["means of 10 minutes"], 3, HOUR)
    assert equal
    assert answered >= 3 * 5
    assert traffic.summaries == 3 * 5
    assert traffic.total < 3 * 60 / 4
