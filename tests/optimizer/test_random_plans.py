"""Any plan over any log: optimized, it has the same answer. The queries that a user could write are tested elsewhere;
here are also the plans that the binder never makes."""

from __future__ import annotations

from random import Random
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from nilometer import algebra
from nilometer.errors import DataError
from nilometer.optimizer import PROFILES, OptimizerContext, optimize
from nilometer.plan import logical
from nilometer.plan.explain import explain_text
from nilometer.plan.reference import evaluate, same_answer
from optimizer.as_logical import as_logical
from optimizer.random_feeds import random_feeds, random_tables
from plan.explain.strategies import CATALOG, plans

SENSORS = {stream.name.lower(): CATALOG.sensors(stream.name) for stream in CATALOG.streams()}


@given(plans(), st.sampled_from(sorted(PROFILES)), st.integers(0, 1_000))
def test_optimizing_keeps_the_answer(plan: logical.Node, profile: str, seed: int):
    optimized = optimize(plan, OptimizerContext(CATALOG), profile)
    random = Random(seed)
    feeds, tables = random_feeds(CATALOG, random), random_tables(CATALOG, random)

    def answer(node: logical.Node) -> Any:
        body = node.input if isinstance(node, logical.Deliver) else node
        delivered = logical.Deliver(body, tick=body.collection is not algebra.Collection.TABLE)
        return evaluate(delivered, feeds, tables, SENSORS, finished=seed % 3 > 0)

    try:
        expected = answer(plan)
    except DataError:
        return  # an overflow: a row that causes it may have been filtered out before
    for other in (optimized.plan, as_logical(optimized.physical)):
        try:
            given = answer(other)
        except DataError:
            continue  # a condition that was behind another may have come before it
        assert same_answer(expected, given) is None, explain_text(optimized.plan)
