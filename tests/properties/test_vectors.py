"""Random streams of vectors: aggregates and arithmetic on the gateway are those of the reference evaluator."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

import nilometer
from nilometer.plan.reference import same_answer

NUMBERS = st.floats(-1e6, 1e6) | st.sampled_from([0.0, -0.0, 1e300, -1e300, 5e-324])
READINGS = st.lists(
    st.fixed_dictionaries(
        {
            "time": st.integers(0, 40).map(lambda second: second * 1_000_000),
            "id": st.integers(1, 3),
            "v": st.none() | st.lists(NUMBERS, min_size=3, max_size=3),
            "n": st.none() | st.lists(st.integers(-(2**62), 2**62 - 1), min_size=2, max_size=2),
        }
    ),
    max_size=25,
)
QUERIES = (
    "SELECT id, SUM(v) AS a, AVG(n) AS b, MIN(v) AS c, MAX(n) AS d, COUNT(v) AS e FROM s {} GROUP BY id",
    "SELECT SUM(v) AS a, AVG(v) AS b, MAX(v) - MIN(v) AS c, norm(AVG(v)) AS d FROM s {}",
    "SELECT MIN(n) AS a, MEDIAN(element(v, 1)) AS b, SUM(v * 0.5) FILTER (WHERE id > 1) AS c FROM s {}",
)
WINDOWS = (
    "[RANGE 10 SECONDS SLIDE 5 SECONDS]",
    "[RANGE 7 SECONDS SLIDE 3 SECONDS]",
    "[RANGE 4 ROWS SLIDE 2 ROWS]",
)


@given(
    readings=READINGS,
    query=st.sampled_from(QUERIES),
    window=st.sampled_from(WINDOWS),
    batch=st.sampled_from([None, 1, 4]),
)
@settings(deadline=None, max_examples=20)
def test_hosts_agree(readings: list[dict[str, Any]], query: str, window: str, batch: int | None) -> None:
    database = nilometer.connect()
    database.execute("CREATE STREAM s (v FLOAT[3], n INT[2]) PUSHED DELAY 5 SECONDS")
    database.append("s", readings)
    asked = database.sql(query.format(window))
    expected = asked.run("reference")
    found = asked.run("gateway", batch_rows=batch)
    assert same_answer(expected.rows, found.rows) is None
