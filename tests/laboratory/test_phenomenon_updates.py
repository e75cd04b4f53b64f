"""Updates of phenomena of equal values: against a count at every evaluation, and against PHENOMENA itself."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import nilometer
from nilometer.laboratory.central_join import central_answers
from nilometer.laboratory.phenomenon_updates import PhenomenonRule, UpdateKind, Updates, phenomenon_updates
from nilometer.laboratory.reproductions.snjoin_field import occurrences
from nilometer.sensornet.snjoin import sensed
from nilometer.types import SECOND

Row = tuple[int, int, int]


def naive(rows: list[Row], rule: PhenomenonRule, until: int) -> list[tuple[int, int, str]]:
    result = []
    before: dict[int, set[int]] = {}
    first = -(-min((time for time, *_ in rows), default=0) // rule.slide) * rule.slide
    for tick in range(first, until + 1, rule.slide):
        window = [(value, source) for time, value, source in rows if tick - rule.range < time <= tick]
        now = {}
        for value in {value for value, _ in window}:
            sources = [source for other, source in window if other == value]
            members = {source for source in sources if sources.count(source) >= rule.strength}
            if len(members) >= rule.members:
                now[value] = members
        for value in sorted(before.keys() | now.keys()):
            old, new = before.get(value, set()), now.get(value, set())
            if old & new:
                if old != new:
                    result.append((tick, value, "MOVES"))
                continue
            if new:
                result.append((tick, value, "APPEARS"))
            if old:
                result.append((tick, value, "DISAPPEARS"))
        before = now
    return result


def columns(rows: list[Row]) -> list[np.ndarray]:
    return [np.array([row[side] for row in rows], dtype=np.int64) for side in range(3)]


def said(updates: Updates) -> list[tuple[int, int, str]]:
    names = [UpdateKind(kind).name for kind in updates.kinds.tolist()]
    return list(zip(updates.ticks.tolist(), updates.values.tolist(), names, strict=True))


rules = st.builds(
    PhenomenonRule,
    st.integers(1, 3),
    st.integers(1, 3),
    st.sampled_from([1, 7, 20, 25]),
    st.sampled_from([1, 7, 10]),
)


@given(
    st.lists(st.tuples(st.integers(-30, 60), st.integers(-1, 2), st.integers(0, 3)), max_size=60),
    rules,
    st.none() | st.integers(-40, 120),
)
def test_updates(rows: list[Row], rule: PhenomenonRule, until: int | None) -> None:
    found = said(phenomenon_updates(*columns(rows), rule, until))
    assert found == naive(rows, rule, 200 if until is None else until)


@settings(max_examples=15)
@given(
    st.lists(st.tuples(st.integers(1, 40), st.integers(0, 2), st.integers(0, 4)), min_size=1, max_size=40),
    st.integers(1, 2),
    st.integers(2, 3),
)
def test_they_are_those_of_the_language(rows: list[Row], strength: int, members: int) -> None:
    """GROW, SHRINK and MOVE are one kind in the paper: it changes its location."""
    rule = PhenomenonRule(members, strength, 10 * SECOND, 5 * SECOND)
    database = nilometer.connect()
    database.execute("CREATE STREAM s (x INT) PUSHED DELAY 1 HOUR")
    database.append("s", [{"time": time * SECOND, "id": source, "x": value} for time, value, source in rows])
    told = database.sql(
        f"SELECT time, kind, value FROM PHENOMENA(ON s.x EQUAL RANGE 10 SECONDS SLIDE 5 SECONDS STRENGTH {strength} MEMBERS {members})"
    ).run("reference")
    kinds = {"APPEAR": "APPEARS", "DISAPPEAR": "DISAPPEARS"}
    expected = sorted((time, value, kinds.get(kind, "MOVES")) for time, kind, value in told.rows)
    times, values, sources = columns(rows)
    assert said(phenomenon_updates(times * SECOND, values, sources, rule)) == expected


@given(
    st.lists(st.tuples(st.integers(0, 60), st.integers(0, 2), st.integers(0, 5)), max_size=60, unique=True),
    st.integers(1, 2),
    st.integers(2, 3),
)
def test_a_join_with_the_same_window_tells_them_all(rows: list[Row], strength: int, members: int) -> None:
    rule = PhenomenonRule(members, strength, 10, 4)
    times, values, sources = columns(rows)
    joined = central_answers(sensed(sources, times, values), rule.range)
    from_join = phenomenon_updates(*occurrences(joined), rule)
    # An occurrence is known by its sensor, time and value, so equal readings of one sensor at a time count once.
    assert said(from_join) == said(phenomenon_updates(times, values, sources, rule))


def test_three_sensors_that_agree_within_the_window_are_a_phenomenon() -> None:
    """The definition that this one replaces found nothing here."""
    rule = PhenomenonRule(members=3, strength=1, range=10, slide=10)
    assert said(phenomenon_updates(*columns([(1, 7, 1), (2, 7, 2), (3, 7, 3)]), rule)) == [
        (10, 7, "APPEARS"),
        (20, 7, "DISAPPEARS"),
    ]


def test_they_are_counted_and_compared() -> None:
    rule = PhenomenonRule(members=2, strength=1, range=10, slide=10)
    rows = [(1, 7, 1), (2, 7, 2), (11, 7, 2), (12, 7, 3), (31, 9, 1), (32, 9, 2)]
    true = phenomenon_updates(*columns(rows), rule, until=40)
    assert [true.count(kind) for kind in UpdateKind] == [2, 1, 1]
    # Without the reading at 12 value 7 disappears an evaluation too early.
    found = phenomenon_updates(*columns([row for row in rows if row[0] != 12]), rule, until=40)
    assert len(found) == 3
    assert found.found_of(true) == 2
    assert true.found_of(true) == len(true) == 4


def test_a_rule_that_says_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="at least 1"):
        PhenomenonRule(members=2, strength=0, range=10, slide=10)
