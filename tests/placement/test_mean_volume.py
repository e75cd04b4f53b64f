"""Mean volumes against a twin that counts rows one by one, over many evaluations."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nilometer.placement.costs.aggregates import passed_over
from nilometer.placement.costs.rows import Rows
from nilometer.placement.mean_volume import MeanVolume, mean_rows, mean_volume_of
from nilometer.placement.volume import Volume, volume_of
from nilometer.plan import physical
from nilometer.types import MINUTE
from placement.scenarios import physical_plan

EVERY = 15 * MINUTE


def window(text: str) -> physical.Node:
    """The window of a query, fed by an EXCHANGE."""
    plan = physical_plan(f"SELECT depth FROM River [{text}]", "default")
    found = next(
        n for n in physical.walk_plan(plan) if isinstance(n, physical.RowWindow | physical.TimeWindow)
    )
    return found.with_inputs((physical.Exchange(found.inputs[0]),))


@given(
    sites=st.integers(1, 9), length=st.integers(1, 20), slide=st.integers(1, 20), beginning=st.integers(0, 50)
)
def test_row_windows(sites: int, length: int, slide: int, beginning: int) -> None:
    """However many rows were counted before: windows close at every `slide`-th row."""
    node = window(f"RANGE {length} ROWS SLIDE {slide} ROWS")
    evaluations = 40 * slide
    counted, closed = beginning, []
    for _ in range(evaluations):
        before, counted = counted, counted + sites
        closed.append(sum(row % slide == 0 for row in range(before + 1, counted + 1)))
    found = mean_volume_of(node, EVERY, iter([MeanVolume(sites)]))
    assert found.windows == pytest.approx(sum(closed) / evaluations)
    assert found.rows == pytest.approx(length * sum(closed) / evaluations)
    # What is reserved is enough for any evaluation, and for any period.
    most = volume_of(node, EVERY, iter([Volume(sites)]))
    for beta in (1, 2, 3, 7, 10):
        periods = (sum(closed[at : at + beta]) for at in range(evaluations - beta))
        assert max(periods) * length <= most.rows * -(-beta // most.stride)


@given(readings=st.integers(1, 9), stride=st.integers(1, 9))
def test_time_windows(readings: int, stride: int) -> None:
    node = window(f"RANGE {15 * readings} MINUTES SLIDE {15 * stride} MINUTES")
    evaluations = [number for number in range(20 * stride) if number % stride == 0]
    found = mean_volume_of(node, EVERY, iter([MeanVolume(1.0)]))
    assert found.windows == pytest.approx(len(evaluations) / (20 * stride))
    assert found.rows == pytest.approx(readings * len(evaluations) / (20 * stride))


def test_an_aggregate_gives_a_row_for_each_window() -> None:
    plan = physical_plan("SELECT MAX(depth) AS m FROM River [RANGE 6 ROWS SLIDE 8 ROWS]", "default")
    init = next(n for n in physical.walk_plan(plan) if isinstance(n, physical.AggregateInit))
    fed = init.with_inputs((window("RANGE 6 ROWS SLIDE 8 ROWS"),))
    (_, counted), (_, combined) = mean_rows(fed, EVERY, (MeanVolume(4.0),))
    assert counted == Rows((4.0,), 3.0, 0.5)
    assert combined == Rows((3.0,), 0.5, 0.5)


@given(rows=st.integers(0, 12), windows=st.integers(1, 4), alike=st.booleans())
def test_groups_passed_over(rows: int, windows: int, alike: bool) -> None:
    """The twin keeps a table; no two rows are of one group, or all are."""
    looked = 0
    for _ in range(windows):
        table: list[int] = []
        for number in range(rows):
            key = 0 if alike else number
            looked += table.index(key) if key in table else len(table)
            table += [] if key in table else [key]
    groups = min(rows, 1) if alike else rows
    assert passed_over(Rows((rows * windows,), groups * windows, windows)) == pytest.approx(looked)


@pytest.mark.parametrize(
    ("query", "rows"),
    [
        ("SELECT id, MAX(depth) AS m FROM River [RANGE 1 HOUR] GROUP BY id", 1),
        ("SELECT id, rain, MAX(depth) AS m FROM River [RANGE 1 HOUR] GROUP BY id, rain", 4),
        ("SELECT rain, MAX(depth) AS m FROM River [RANGE 1 HOUR] GROUP BY rain", 4),
    ],
)
def test_groups_of_one_site(query: str, rows: int) -> None:
    """Of four readings: a site has one id, and may have found four amounts of rain."""
    plan = physical_plan(query, "default")
    init = next(n for n in physical.walk_plan(plan) if isinstance(n, physical.AggregateInit))
    assert volume_of(init, EVERY, iter(())).rows == rows
    assert mean_volume_of(init, EVERY, iter(())).rows == rows
