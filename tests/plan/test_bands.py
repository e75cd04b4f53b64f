"""Which conditions keep the values of two inputs near each other, and how near."""

from __future__ import annotations

import pytest

import nilometer
from nilometer.expressions import conjuncts
from nilometer.plan import physical
from nilometer.plan.bands import bands_of

DECLARATIONS = """
CREATE STREAM a (x INT, v FLOAT, name STRING) PUSHED;
CREATE STREAM b (x INT, v FLOAT, at TIME) PUSHED;
"""


def bands(condition: str) -> list[str]:
    database = nilometer.connect()
    database.execute(DECLARATIONS)
    plan = database.sql(f"SELECT r.x AS x FROM a r, b q WINDOW = 1 SECOND WHERE {condition}").physical
    join = next(node for node in physical.walk_plan(plan) if len(node.inputs) == 2)
    found = bands_of(
        conjuncts(join.predicate),  # type: ignore[attr-defined]
        [frozenset(child.schema.names) for child in join.inputs],
    )
    return [f"{band.low:g} <= {band.left[1]} - {band.right[1]} <= {band.high:g}" for band in found]


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("ABS(r.x - q.x) <= 3", ["-3 <= r.x - q.x <= 3"]),
        ("3 > ABS(q.x - r.x + 1)", ["-2 <= r.x - q.x <= 4"]),
        ("r.x BETWEEN q.x - 3 AND q.x + 1", ["-3 <= r.x - q.x <= 1"]),
        ("r.x - 3 < q.x AND q.x - 2 <= r.x", ["-2 <= r.x - q.x <= 3"]),
        ("-r.v <= 2 - q.v AND r.v - q.v <= 2", ["-2 <= r.v - q.v <= 2"]),
        ("ABS(r.x - q.v) < 0.5", ["-0.5 <= r.x - q.v <= 0.5"]),
        ("ABS(r.x * 2 - q.x) <= 3", ["-3 <= r.x * 2 - q.x <= 3"]),
        ("ABS(r.x - q.x) <= 5 AND r.x >= q.x", ["0 <= r.x - q.x <= 5"]),
        ("ABS(r.x - q.x) <= 5 AND ABS(r.v - q.v) <= 1", ["-5 <= r.x - q.x <= 5", "-1 <= r.v - q.v <= 1"]),
    ],
)
def test_a_band(condition: str, expected: list[str]) -> None:
    assert bands(condition) == expected


@pytest.mark.parametrize(
    "condition",
    [
        "r.x < q.x",
        "r.x + q.x < 3",
        "ABS(r.x - q.x) > 3",
        "ABS(r.x - q.x) <= q.v",
        "ABS(r.x - q.x - r.v) <= 1",
        "2 * (r.x - q.x) BETWEEN -1 AND 1",
        "r.x != q.x",
        "ABS(r.x - q.x) <= 1 OR r.x = 7",
        "ABS(r.time - q.time) <= 1 SECOND AND FALSE OR r.x > q.x",
    ],
)
def test_no_band(condition: str) -> None:
    assert not bands(condition)
