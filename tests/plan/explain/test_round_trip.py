"""Plan text reads back: exactly, whatever the plan."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from nilometer.language import parse_expression
from nilometer.optimizer import OptimizerContext, optimize
from nilometer.optimizer.choose import choose
from nilometer.plan import logical, physical
from nilometer.plan.explain import explain_text, parse_physical_plan, parse_plan, to_json
from nilometer.plan.explain.expressions import print_expression, read_expression
from nilometer.types import Column, Schema
from plan.explain.strategies import CATALOG, SCALARS, expressions, plans

COLUMNS = Schema(
    tuple(Column(f"R.{type_}" if i % 2 else f'odd "{i}', type_) for i, type_ in enumerate(SCALARS))
)


@given(st.data())
def test_expressions(data: st.DataObject):
    expression = data.draw(expressions(COLUMNS, data.draw(st.sampled_from(SCALARS)), depth=3))
    text = print_expression(expression)
    assert "\n" not in text
    assert read_expression(parse_expression(text), COLUMNS) == expression


@given(plans())
def test_plans_as_they_are_bound_chosen_and_optimized(plan: logical.Node):
    # One test, for drawing a plan takes longer than reading it.
    assert parse_plan(explain_text(plan), CATALOG) == plan
    chosen = choose(plan)
    assert chosen.schema == plan.schema
    assert parse_physical_plan(explain_text(chosen), CATALOG) == chosen
    for step in optimize(plan, OptimizerContext(CATALOG)).trace:
        if step.changed:
            read = parse_physical_plan if isinstance(step.plan, physical.Node) else parse_plan
            assert read(explain_text(step.plan), CATALOG) == step.plan
    for answer in (to_json(plan), to_json(chosen)):
        assert json.loads(json.dumps(answer)) == answer
