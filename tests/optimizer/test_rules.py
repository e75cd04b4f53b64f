"""Every rule against its plan specs: the text after it, and the answer before and after it.

`--rewrite` writes the plans that the rules give; read the diff.
"""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import pytest

from nilometer import algebra
from nilometer.errors import DataError
from nilometer.optimizer import PROFILES, RULES, OptimizerContext
from nilometer.optimizer.choose import choose
from nilometer.optimizer.optimizer import Rule, apply_rule
from nilometer.plan import logical, physical
from nilometer.plan.explain import explain_text, parse_physical_plan, parse_plan
from nilometer.plan.reference import evaluate, same_answer
from optimizer.as_logical import as_logical
from optimizer.plan_specs import UNCHANGED, Case, Spec, read_spec
from optimizer.random_feeds import random_feeds, random_tables

HERE = Path(__file__).parent
RULES_DIRECTORY = Path(__import__("nilometer.optimizer.rules", fromlist=["rules"]).__file__).parent

NAMED: dict[str, Rule] = {rule.__name__: rule for phase in RULES for rule in phase.rules}
PHYSICAL = {
    rule.__name__ for phase in RULES[[p.name for p in RULES].index("choice") + 1 :] for rule in phase.rules
}

SPECS = {
    name: read_spec(HERE / ("." if rule is choose else "rules") / f"{name}.txt")
    for name, rule in NAMED.items()
}
CASES = [
    pytest.param(name, case, id=f"{name}: {case.title}")
    for name, spec in SPECS.items()
    for case in spec.cases
]


def plan_before(spec: Spec, case: Case, name: str) -> Any:
    parse: Any = parse_physical_plan if name in PHYSICAL else parse_plan
    return parse(case.before, spec.catalog)


def result(name: str, case: Case) -> str:
    """What the rule makes of a case."""
    spec = SPECS[name]
    context = OptimizerContext(spec.catalog, PROFILES[case.profile])
    step = apply_rule(NAMED[name], plan_before(spec, case, name), context)
    return explain_text(step.plan) if step.changed else UNCHANGED


def test_every_rule_has_its_file_its_place_and_its_spec():
    files = {path.stem for path in RULES_DIRECTORY.glob("*.py")} - {"__init__"}
    assert files == set(NAMED) - {"choose"}
    assert files == {path.stem for path in (HERE / "rules").glob("*.txt")}
    for name in files:
        assert NAMED[name].__module__ == f"nilometer.optimizer.rules.{name}"
        assert "=>" in (NAMED[name].__doc__ or "")  # its algebraic law


@pytest.mark.parametrize("name", SPECS)
def test_a_rule_gives_the_plans_of_its_spec(name: str, rewrite: bool):
    spec = SPECS[name]
    results = [result(name, case) for case in spec.cases]
    if rewrite:
        spec.path.write_text(spec.rewritten(results))
        return
    for case, after in zip(spec.cases, results, strict=True):
        assert after == case.after, case.title


@pytest.mark.parametrize(("name", "case"), CASES)
def test_a_rule_does_not_change_the_answer(name: str, case: Case):
    spec = SPECS[name]
    catalog = spec.catalog
    before = plan_before(spec, case, name)
    after = NAMED[name](before, OptimizerContext(catalog, PROFILES[case.profile]))
    one, other = (as_logical(p) if isinstance(p, physical.Node) else p for p in (before, after))
    sensors = {stream.name.lower(): catalog.sensors(stream.name) for stream in catalog.streams()}
    for seed in range(4):
        random = Random(f"{name} {case.title} {seed}")
        feeds, tables = random_feeds(catalog, random), random_tables(catalog, random)
        for finished in (True, False):
            answers = []
            for plan in (one, other):
                try:
                    answers.append(evaluate(_delivered(plan), feeds, tables, sensors, finished=finished).rows)
                except DataError as error:
                    answers.append(((error.message,),))
            assert same_answer(*answers) is None


def _delivered(plan: logical.Node) -> logical.Node:
    """With the ticks of its rows, which are part of the answer."""
    if isinstance(plan, logical.Deliver):
        return plan
    return logical.Deliver(plan, tick=plan.collection is not algebra.Collection.TABLE)


@pytest.mark.parametrize(("name", "case"), CASES)
def test_plan_text_reads_back(name: str, case: Case):
    spec = SPECS[name]
    before = plan_before(spec, case, name)
    after = NAMED[name](before, OptimizerContext(spec.catalog, PROFILES[case.profile]))
    for plan in (before, after):
        read: Any = parse_physical_plan if isinstance(plan, physical.Node) else parse_plan
        assert read(explain_text(plan), spec.catalog) == plan
