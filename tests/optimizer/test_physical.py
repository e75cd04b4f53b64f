"""The physical algebra: what Table 1 of the SNEE paper says of it, and partial results."""

from __future__ import annotations

import inspect

import pytest

from nilometer.errors import InternalError
from nilometer.expressions import Aggregate, ColumnReference
from nilometer.optimizer.choose import choose
from nilometer.plan import physical
from nilometer.plan.explain import parse_plan
from nilometer.plan.logical import AggregateItem
from nilometer.types import FLOAT, INT
from optimizer.plan_specs import catalog_of

CATALOG = catalog_of("CREATE STREAM river (rain INT, depth INT) SENSED EVERY 1 MINUTE;")

NODES = {
    cls.operator: cls
    for _, cls in inspect.getmembers(physical, inspect.isclass)
    if issubclass(cls, physical.Node) and cls.operator
}


def test_table_1():
    location = {name for name, cls in NODES.items() if cls.location_sensitive}
    assert location == {"SP_ACQUIRE", "DELIVER", "STORED_SCAN"}
    for name in ("ROW_WINDOW", "NL_JOIN", "AGGR_MERGE", "AGGR_EVAL"):
        assert NODES[name].attribute_sensitive
    for name in ("TIME_WINDOW", "RSTREAM", "AGGR_INIT", "SELECT", "PROJECT", "EXCHANGE"):
        assert not NODES[name].attribute_sensitive


def test_the_chain_of_an_aggregate_passes_partial_results():
    plan = parse_plan(
        """
        AGGREGATE [BY R.id AS id; AVG(R.depth) AS mean, STDEV(R.depth) AS spread, MAX(R.rain) AS most; COMPLETENESS AS c BY R.id EVERY 1 MINUTE]
          TIME_WINDOW [NOW]
            ACQUIRE [river AS R; id, rain, depth]
        """,
        CATALOG,
    )
    evaluate = choose(plan)
    assert evaluate.schema == plan.schema
    (merge,) = evaluate.inputs
    (init,) = merge.inputs
    assert merge.schema == init.schema
    assert init.schema.names == (
        "id",
        "mean#sum",
        "mean#count",
        "spread#count",
        "spread#mean",
        "spread#deviations",
        "most#max",
        "c#count",
    )
    assert init.schema["most#max"].type == INT


def test_wrong_nodes_cannot_be_built():
    acquire = choose(parse_plan("ACQUIRE [river AS R; id, depth]", CATALOG))
    median = AggregateItem("m", Aggregate("median", ColumnReference("R.depth", INT), False, FLOAT))
    with pytest.raises(InternalError, match="partial MEDIAN"):
        physical.AggregateInit(acquire, (), (median,))
    with pytest.raises(InternalError, match="takes no input"):
        acquire.with_inputs((acquire,))
    with pytest.raises(InternalError, match="takes one input"):
        physical.Rename(acquire, "x").with_inputs(())
