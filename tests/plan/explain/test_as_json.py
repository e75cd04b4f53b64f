"""Plans as JSON."""

from __future__ import annotations

from nilometer.optimizer.choose import choose
from nilometer.plan.explain import parse_plan, to_json
from plan.explain.strategies import CATALOG

PLAN = parse_plan(
    """
    DELIVER [TICK]
      AGGREGATE [BY R.id AS id; AVG(R.depth) AS mean UNIT 'mm']
        TIME_WINDOW [RANGE 5 MINUTES]
          ACQUIRE [river AS R; id, depth; WHERE R.depth > 5; SENSORS {6, 5}]
    """,
    CATALOG,
)


def test_a_logical_plan():
    answer = to_json(PLAN)
    assert answer["operator"] == "DELIVER"
    assert answer["parameters"] == {"tick": True, "within": None}
    aggregate = answer["inputs"][0]
    assert aggregate["schema"] == [
        {"name": "id", "type": "INT"},
        {"name": "mean", "type": "FLOAT", "unit": "mm"},
    ]
    acquire = aggregate["inputs"][0]["inputs"][0]
    assert acquire["collection"] == "STREAM"
    assert acquire["parameters"]["predicate"] == "R.depth > 5"
    assert acquire["parameters"]["sensors"] == [5, 6]
    assert acquire["inputs"] == []


def test_a_physical_plan_has_its_flags():
    answer = to_json(choose(PLAN))
    operators, flags = [], []
    while True:
        operators.append(answer["operator"])
        flags.append((answer["location_sensitive"], answer["attribute_sensitive"]))
        if not answer["inputs"]:
            break
        answer = answer["inputs"][0]
    assert operators == ["DELIVER", "AGGR_EVAL", "AGGR_MERGE", "AGGR_INIT", "TIME_WINDOW", "SP_ACQUIRE"]
    # SNEE's Table 1.
    assert flags == [
        (True, False),
        (False, True),
        (False, True),
        (False, False),
        (False, False),
        (True, False),
    ]
