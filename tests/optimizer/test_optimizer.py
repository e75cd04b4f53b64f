"""The whole optimizer: SNEE's running example, figure by figure, and what the runner guards."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from language.papers import PAPER_QUERIES
from nilometer.errors import ConfigurationError, InternalError
from nilometer.language import parse
from nilometer.optimizer import PROFILES, RULES, OptimizerContext, explain_verbose, optimize
from nilometer.optimizer.optimizer import apply_rule
from nilometer.plan import logical
from nilometer.plan.bind import bind
from nilometer.plan.explain import explain_text, parse_plan
from optimizer.plan_specs import catalog_of

HERE = Path(__file__).parent

# Figs. 2 and 3: River is sensed at sites 5, 6, 7 and 9, Hilltop at 4.
DEPLOYMENT = """
CREATE STREAM River (id INT, time TIME, rain INT(16), depth INT(16)) SENSED EVERY 15 MINUTES;
CREATE STREAM Hilltop (id INT, time TIME, rain INT(16)) SENSED EVERY 15 MINUTES;
CREATE SENSOR 5 OF River; CREATE SENSOR 6 OF River; CREATE SENSOR 7 OF River; CREATE SENSOR 9 OF River;
CREATE SENSOR 4 OF Hilltop;
"""


@pytest.fixture
def context() -> OptimizerContext:
    return OptimizerContext(catalog_of(DEPLOYMENT))


@pytest.fixture
def running_example(context: OptimizerContext) -> logical.Node:
    query = PAPER_QUERIES["snee fig. 5"].rstrip().rstrip(";") + " DELIVER WITHIN 24 HOURS"
    return bind(parse(query), context.catalog)


def test_the_running_example_is_that_of_the_paper(
    running_example: logical.Node, context: OptimizerContext, rewrite: bool
):
    # Fig. 7 is the logical plan after the rules, Fig. 8 the physical one: SELECT in SP_ACQUIRE, no [NOW], no RSTREAM,
    # NL_JOIN. Under snee-2010 River keeps its columns and Hilltop is the left input, as Fig. 22 needs it.
    sections = [f"=== bound\n{explain_text(running_example)}"]
    for name in PROFILES:
        optimized = optimize(running_example, context, name)
        sections.append(f"=== fig. 7: logical, profile {name}\n{explain_text(optimized.plan)}")
        sections.append(f"=== fig. 8: physical, profile {name}\n{explain_text(optimized.physical)}")
    _compare(HERE / "snee_running_example.txt", "\n\n".join(sections) + "\n", rewrite)


def test_verbose_shows_the_plan_after_each_rule(
    running_example: logical.Node, context: OptimizerContext, rewrite: bool
):
    text = explain_verbose(running_example, optimize(running_example, context))
    _compare(HERE / "snee_verbose.txt", text + "\n", rewrite)


def _compare(path: Path, text: str, rewrite: bool) -> None:
    if rewrite:
        path.write_text(text)
    assert text == path.read_text()


def test_the_trace_has_every_rule_in_order(running_example: logical.Node, context: OptimizerContext):
    trace = optimize(running_example, context).trace
    names = list(dict.fromkeys(step.rule for step in trace))
    assert names == [rule.__name__ for phase in RULES for rule in phase.rules]
    assert all(step.seconds >= 0 for step in trace)
    before: object = running_example
    for step in trace:
        assert step.changed == (step.plan != before)
        before = step.plan


def test_optimizing_twice_changes_nothing_more(running_example: logical.Node, context: OptimizerContext):
    once = optimize(running_example, context)
    assert optimize(once.plan, context).plan == once.plan


def test_a_profile_may_leave_rules_out(running_example: logical.Node, context: OptimizerContext):
    profile = replace(PROFILES["default"], without=frozenset(("remove_rstream", "push_projection_down")))
    optimized = optimize(running_example, context, profile)
    assert "RSTREAM" in explain_text(optimized.physical)
    assert not {"remove_rstream", "push_projection_down"} & {step.rule for step in optimized.trace}


def test_an_unknown_profile_is_refused(running_example: logical.Node, context: OptimizerContext):
    with pytest.raises(ConfigurationError, match="no profile 'snee'"):
        optimize(running_example, context, "snee")


def test_a_rule_that_changes_the_schema_is_caught(running_example: logical.Node, context: OptimizerContext):
    def drop_a_column(plan: logical.Node, _context: OptimizerContext) -> logical.Node:
        def change(node: logical.Node) -> logical.Node:
            return replace(node, items=node.items[1:]) if isinstance(node, logical.Project) else node

        return logical.transform_plan(plan, change)

    with pytest.raises(InternalError, match="drop_a_column changed the schema"):
        apply_rule(drop_a_column, running_example, context)


def test_a_rule_that_changes_the_delivery_is_caught(running_example: logical.Node, context: OptimizerContext):
    def drop_the_tick(plan: logical.Node, _context: OptimizerContext) -> logical.Node:
        assert isinstance(plan, logical.Deliver)
        return replace(plan, tick=False)

    with pytest.raises(InternalError, match="drop_the_tick changed what is delivered"):
        apply_rule(drop_the_tick, running_example, context)


def test_a_join_without_sensors_keeps_the_order_of_from():
    catalog = catalog_of(DEPLOYMENT.split("CREATE SENSOR")[0])
    plan = parse_plan(
        """
        PROJECT [R.depth AS depth]
          JOIN [INNER; ON R.id = H.id]
            TIME_WINDOW [NOW]
              ACQUIRE [River AS R; id, depth]
            TIME_WINDOW [NOW]
              ACQUIRE [Hilltop AS H; id]
        """,
        catalog,
    )
    assert optimize(plan, OptimizerContext(catalog)).plan == plan
    assert optimize(plan, OptimizerContext(catalog), "snee-2010").plan != plan


def test_planning_loads_none_of_the_heavy_libraries():
    code = """
import sys
import nilometer.optimizer, nilometer.plan.explain, nilometer.plan.bind, nilometer.language
heavy = {'polars', 'pyarrow', 'numba', 'numpy', 'pandas', 'pyspark', 'sqlalchemy'} & set(sys.modules)
assert not heavy, heavy
"""
    subprocess.run([sys.executable, "-c", code], check=True)
