"""Where plans are cut and what divides them: EXPLAIN's text of layouts, and what holds of every layout."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest

import golden
import nilometer
from nilometer.errors import InternalError
from nilometer.plan import physical
from nilometer.spark.layout import Fragment, Layout, lay_out, text_of
from nilometer.spark.layout.combining import combining
from nilometer.spark.layout.fragments import held, received
from nilometer.spark.layout.lifting import lifted
from nilometer.spark.layout.nodes import JoinCombine, StageCombine

HERE = Path(__file__).parent
DECLARATIONS = (HERE / "declarations.sql").read_text(encoding="utf-8")


def plan_of(query: str) -> physical.Node:
    database = nilometer.connect()
    database.execute(DECLARATIONS)
    return database.sql(query).physical


def test_combining_readers(rewrite: bool) -> None:
    golden.read(HERE / "combined.txt").check(
        lambda query: text_of(lay_out(plan_of(query), 16, combine=True)), rewrite=rewrite
    )


@pytest.mark.parametrize("name", ["readers", "one_stage", "two_stages", "one_bucket"])
def test_layouts(name: str, rewrite: bool) -> None:
    golden.read(HERE / f"{name}.txt").check(
        lambda query: text_of(lay_out(plan_of(query), 16)), rewrite=rewrite
    )


QUERIES = [
    block.input
    for name in ("readers", "one_stage", "two_stages", "one_bucket", "combined")
    for block in golden.read(HERE / f"{name}.txt").blocks
]


@pytest.mark.parametrize("query", QUERIES)
def test_what_holds_of_every_layout(query: str) -> None:
    plan = plan_of(query)
    for buckets, combine in ((1, False), (4, False), (4, True)):
        layout = lay_out(plan, buckets, combine=combine)
        assert pickle.loads(pickle.dumps(layout)) == layout
        assert layout.buckets == buckets
        assert layout.stages == max(fragment.stage for fragment in layout.fragments)
        assert [fragment.number for fragment in layout.fragments] == list(range(len(layout.fragments)))
        assert [fragment.target for fragment in layout.fragments].count(None) == 1
        assert layout.fragments[-1].target is None
        for fragment in layout.fragments:
            check(fragment, layout)
        wanted = combining(lifted(plan)) if combine else lifted(plan)
        assert whole(layout.fragments[-1].plan) == wanted


def check(fragment: Fragment, layout: Layout) -> None:
    exchanges = list(received(fragment.plan))
    assert len(exchanges) == len(fragment.inputs)
    for exchange, number in zip(exchanges, fragment.inputs, strict=True):
        below = layout.fragments[number]
        assert (exchange.input, exchange.keys) == (below.plan, below.keys)
        assert below.target == fragment.number
        assert below.stage < fragment.stage
    acquired = [node for node in held(fragment.plan) if isinstance(node, physical.SpAcquire)]
    if fragment.stage == 0:
        assert not fragment.inputs
        assert len(acquired) <= 1
        assert fragment.buckets == 1
    else:
        assert not acquired
        assert fragment.buckets in (1, layout.buckets)
    functions = [node for node in held(fragment.plan) if isinstance(node, physical.TableFunction)]
    if fragment.buckets > 1:
        assert len(fragment.sensors) == sum(node.call.function.sensors for node in functions)


def whole(plan: physical.Node) -> physical.Node:
    """The plan without its exchanges, and with AGGR_INIT where a first stage combines."""

    def change(node: physical.Node) -> physical.Node:
        if isinstance(node, StageCombine | JoinCombine):
            return physical.AggregateInit(node.input, node.keys, node.items)
        return node.input if isinstance(node, physical.Exchange) else node

    return physical.transform_plan(plan, change)


def test_exchanges_of_an_earlier_layout_do_not_count() -> None:
    plan = plan_of("SELECT id, AVG(depth) AS d FROM river [RANGE 1 HOUR] GROUP BY id")
    layout = lay_out(plan, 4)
    assert lay_out(layout.fragments[-1].plan, 4) == layout


def test_a_layout_has_buckets() -> None:
    with pytest.raises(InternalError):
        lay_out(plan_of("SELECT depth FROM river"), 0)
