"""What one condition proves of another."""

from __future__ import annotations

import pytest

import nilometer
from nilometer.expressions import Expression
from nilometer.plan import logical
from nilometer.plan.implication import implies

DATABASE = nilometer.connect()
DATABASE.execute("CREATE STREAM s (x INT, v FLOAT) PUSHED")


def condition(text: str) -> Expression:
    plan = DATABASE.sql(f"SELECT x FROM s WHERE {text}").logical
    return next(node.predicate for node in logical.walk_plan(plan) if isinstance(node, logical.Select))


@pytest.mark.parametrize(
    ("strong", "weak", "proved"),
    [
        ("x > 60", "x > 35", True),
        ("x > 35", "x > 35", True),
        ("x >= 35", "x > 35", False),
        ("x > 35", "x >= 35", True),
        ("x = 40", "x > 35", True),
        ("35 < x AND v < 2", "x > 35", True),
        ("v > 60", "x > 35", False),
        ("x > 60 OR v > 1", "x > 35", False),
        ("x + 1 > 60 AND x > 40", "x > 35", False),
        ("x BETWEEN 3 AND 5", "x >= 2 AND x <= 6", True),
        ("x BETWEEN 3 AND 7", "x >= 2 AND x <= 6", False),
    ],
)
def test_a_proof_is_by_thresholds(strong: str, weak: str, proved: bool) -> None:
    assert implies(condition(strong), condition(weak)) is proved
