"""The accounts after an answer: what was lost, and what no evaluation has reached yet."""

from __future__ import annotations

import pytest

import nilometer
from nilometer.engine.accounts import lost_in


def database() -> nilometer.Database:
    made = nilometer.connect()
    made.execute("CREATE STREAM a (v INT) PUSHED; CREATE STREAM b (w INT) PUSHED DELAY 10 MINUTES")
    for name, column, last in (("a", "v", 50), ("b", "w", 20)):
        times = [f"2026-01-01T00:{minute:02}:00Z" for minute in range(0, last, 5)]
        made.append(name, [{"time": time, "id": 1, column: n} for n, time in enumerate(times)])
    return made


@pytest.mark.parametrize("host", ["gateway", "reference"])
@pytest.mark.parametrize(
    ("sql", "held"),
    [
        ("SELECT a.v, b.w FROM a ASOF JOIN b ON a.id = b.id WITHIN 1 HOUR", {"a": 9, "b": 3}),
        ("SELECT id, DELTA(w) AS d FROM b", {"b": 3}),
        ("SELECT COUNT(*) FROM a [RANGE 10 MINUTES SLIDE 10 MINUTES]", {"a": 1}),
        ("SELECT v FROM a", {}),
    ],
)
def test_readings_whose_tick_is_not_complete_are_unanswered(
    host: str, sql: str, held: dict[str, int]
) -> None:
    query = database().sql(sql)
    so_far = query.run(host, finished=False)
    assert {name: counts["unanswered"] for name, counts in lost_in(so_far).items()} == held
    assert lost_in(query.run(host)) == {}


def test_late_readings_are_lost_and_duplicates_are_not() -> None:
    made = nilometer.connect()
    made.execute("CREATE STREAM a (v INT) PUSHED KEY (id, time)")
    made.append("a", [{"time": t, "id": 1, "v": 1} for t in (5, 5, 3)])
    answer = made.sql("SELECT v FROM a").run()
    assert lost_in(answer) == {"a": {"late": 1}}
    assert answer.ledgers["a"]["duplicate"] == 1
