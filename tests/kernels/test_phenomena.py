"""Phenomena against a count at the end of every period."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nilometer.kernels.phenomena import PhenomenonRule, UpdateKind, Updates, phenomenon_updates

Row = tuple[int, int, int, int]


def naive(rows: list[Row], rule: PhenomenonRule, until: int) -> list[tuple[int, int, str, int]]:
    result = []
    before: dict[int, set[int]] = {}
    first = min((time for time, *_ in rows), default=0) // rule.period
    for period in range(first, until // rule.period + 1):
        window = [
            (value, source)
            for time, value, source, arity in rows
            if arity >= rule.sensors and period - rule.periods < time // rule.period <= period
        ]
        now = {}
        for value in {value for value, _ in window}:
            sources = [source for other, source in window if other == value]
            members = {source for source in sources if sources.count(source) >= rule.strength}
            if len(members) >= rule.sensors:
                now[value] = members
        for value in sorted(before.keys() | now.keys()):
            if value not in before:
                kind = "APPEARS"
            elif value not in now:
                kind = "DISAPPEARS"
            elif before[value] != now[value]:
                kind = "MOVES"
            else:
                continue
            result.append(((period + 1) * rule.period, value, kind, len(now.get(value, ()))))
        before = now
    return result


def columns(rows: list[Row]) -> list[np.ndarray]:
    return [np.array([row[side] for row in rows], dtype=np.int64) for side in range(4)]


def said(updates: Updates) -> list[tuple[int, int, str, int]]:
    names = [UpdateKind(kind).name for kind in updates.kinds.tolist()]
    return list(
        zip(updates.ends.tolist(), updates.values.tolist(), names, updates.members.tolist(), strict=True)
    )


rules = st.builds(
    PhenomenonRule, st.integers(1, 3), st.integers(1, 3), st.sampled_from([1, 7, 10]), st.integers(1, 4)
)


@given(
    st.lists(
        st.tuples(st.integers(-30, 60), st.integers(-1, 2), st.integers(0, 3), st.integers(1, 3)), max_size=60
    ),
    rules,
    st.none() | st.integers(-40, 120),
)
def test_updates(rows: list[Row], rule: PhenomenonRule, until: int | None) -> None:
    found = said(phenomenon_updates(*columns(rows), rule, until))
    last = max((time for time, *_ in rows), default=0) if until is None else until
    # The naive count has no members that disappear below the number that makes a phenomenon.
    expected = naive(rows, rule, last)
    assert [row[:3] for row in found] == [row[:3] for row in expected]
    assert [row[3] for row in found if row[2] != "DISAPPEARS"] == [
        row[3] for row in expected if row[2] != "DISAPPEARS"
    ]


def test_they_are_counted_and_compared() -> None:
    rule = PhenomenonRule(sensors=2, strength=1, period=10, periods=1)
    rows = [(1, 7, 1, 2), (2, 7, 2, 2), (11, 7, 2, 2), (12, 7, 3, 2), (31, 9, 1, 2), (32, 9, 2, 2)]
    true = phenomenon_updates(*columns(rows), rule)
    assert [true.count(kind) for kind in UpdateKind] == [2, 1, 1]
    # Without the reading at 12 value 7 disappears a period too early.
    found = phenomenon_updates(*columns([row for row in rows if row[0] != 12]), rule)
    assert len(found) == 3
    assert found.found_of(true) == 2
    assert true.found_of(true) == len(true) == 4


def test_a_rule_that_says_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="at least 1"):
        PhenomenonRule(sensors=2, strength=0, period=10, periods=1)
