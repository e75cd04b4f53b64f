"""EXPLAIN: plans <-> text, and plans -> JSON. The text is stable and can be parsed:
`parse_plan(explain_text(p), c) == p`."""

from nilometer.plan.explain.as_json import to_json
from nilometer.plan.explain.expressions import PlanTextError
from nilometer.plan.explain.parse import parse_physical_plan, parse_plan
from nilometer.plan.explain.readers import Extents
from nilometer.plan.explain.text import PlanNode, explain_text

__all__ = [
    "explain_text",
    "parse_plan",
    "parse_physical_plan",
    "to_json",
    "PlanNode",
    "Extents",
    "PlanTextError",
]
