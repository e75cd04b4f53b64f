"""Which of a flow's results go to which of its queries: as by looking at each result and query."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import numpy as np
import polars as pl
import pytest

from nilometer.kernels.window_bounds import closure
from nilometer.overlay.flow import Flow, Query
from nilometer.overlay.ring import contact
from nilometer.overlay.wanted import wanted
from overlay.test_joins import PAIR, TRIPLE

ME = contact("me", "me")


@pytest.mark.parametrize("seed", range(20))
def test_each_query_gets_what_its_own_stage_would_find(seed: int) -> None:
    random = Random(seed)
    flow = Flow(TRIPLE, 100)
    for number in range(6):
        widths = closure(
            np.array([[0 if i == j else random.randint(1, 9) for j in range(3)] for i in range(3)])
        )
        plan = replace(TRIPLE, widths=tuple(tuple(map(int, row)) for row in widths))
        flow.begin(Query(f"q{number}", ME, random.choice((0, 5, 8)), plan))
    rows = [{f"@time{at}": random.randint(0, 20) for at in range(3)} for _ in range(200)]
    times = [[row[f"@time{at}"] for at in range(3)] for row in rows]
    near = [one for one in times if _within(one, flow.plan.widths)]
    found = {
        query.id: part.rows()
        for queries, part in wanted(
            flow, pl.DataFrame(near, schema=list(rows[0]), orient="row"), list(flow.queries.values()), {}, 0
        )
        for query in queries
    }
    assert found == {
        query.id: [tuple(one) for one in near if min(one) >= query.start and _within(one, query.plan.widths)]
        for query in flow.queries.values()
    }
    assert sum(map(len, found.values())) > 0


def test_a_result_that_the_asker_may_have_forgotten_is_not_sent() -> None:
    """The narrow query's own stage would have dropped those rows; the wide one's has them, and its query gets them."""
    flow = Flow(PAIR, 100)
    narrow, wide = (
        Query(name, ME, 0, replace(PAIR, widths=((0, width), (width, 0))))
        for name, width in (("narrow", 2), ("wide", 500))
    )
    for query in (narrow, wide):
        flow.begin(query)
    rows = pl.DataFrame({"@time0": [100, 889], "@time1": [101, 890]})
    for watermarks, expected in (
        ({"x": 1_000, "y": 1_000}, {"narrow": 1, "wide": 2}),
        ({"x": 900, "y": 1_000}, {"narrow": 1, "wide": 2}),
        ({"x": 892, "y": 1_000}, {"narrow": 1, "wide": 2}),
        ({"x": 203, "y": 1_000}, {"narrow": 2, "wide": 2}),
        ({"x": 1_003, "y": 1_003}, {"narrow": 0, "wide": 2}),
        ({"x": 1_003}, {"narrow": 2, "wide": 2}),
    ):
        parts = wanted(flow, rows, [narrow, wide], watermarks, 110)
        assert {query.id: part.height for queries, part in parts for query in queries} == expected


def _within(times: list[int], widths: tuple[tuple[int, ...], ...]) -> bool:
    count = len(times)
    return all(times[j] - times[i] <= widths[i][j] for i in range(count) for j in range(count))
