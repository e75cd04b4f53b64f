"""What is said of a node is said of where it occurs, though the same sub-plan, or the same object, may occur twice."""

from __future__ import annotations

from nilometer.algebra import JoinKind
from nilometer.placement.abilities import forced_to_the_gateway
from nilometer.placement.node_paths import walk_with_paths
from nilometer.placement.partition import partition
from nilometer.placement.sources import sources_of
from nilometer.plan import physical
from nilometer.types import MINUTE
from placement.scenarios import brook, physical_plan


def _twice() -> physical.Node:
    """A join of one object with itself, over which the aliases are those of a self-join."""
    plan = physical_plan("SELECT a.depth FROM River[NOW] a, River[NOW] b WHERE a.depth < b.depth")
    (join,) = (node for node in physical.walk_plan(plan) if isinstance(node, physical.NlJoin))
    left = join.left
    join = physical.NlJoin(left, physical.Rename(left, "again"), JoinKind.INNER, None)
    return plan.with_inputs((join,))


def test_paths_tell_occurrences_apart() -> None:
    plan = _twice()
    nodes = list(walk_with_paths(plan))
    assert [node for _, node in nodes] == list(physical.walk_plan(plan))
    assert len({path for path, _ in nodes}) == len(nodes) > len({id(node) for _, node in nodes})
    for path, node in nodes:
        found = plan
        for number in path:
            found = found.inputs[number]
        assert found is node


def test_one_of_two_equal_occurrences_is_left_to_the_gateway() -> None:
    plan = _twice()
    sources = sources_of(plan, brook())
    forced = forced_to_the_gateway(
        plan, sources, lambda node, _: "no renaming" if isinstance(node, physical.Rename) else None
    )
    assert forced.keys() == {(0,), (0, 1)}
    fragments = partition(plan, 15 * MINUTE, at_sink=forced)
    assert [node.operator for node in fragments[0].operators] == ["DELIVER", "NL_JOIN", "RENAME"]
    assert [exchange.producer for exchange in fragments[0].exchanges] == [1, 2]
    assert fragments[1].operators == fragments[2].operators


def test_an_exchange_knows_whose_rows_come_in() -> None:
    query = "SELECT AVG(a.depth) FROM River[NOW] a, Hilltop[NOW] b WHERE a.rain < b.rain"
    fragments = partition(physical_plan(query), 15 * MINUTE)
    assert len(fragments) > 3
    for fragment in fragments:
        assert tuple(exchange.producer for exchange in fragment.exchanges) == fragment.producers
        for exchange in fragment.exchanges:
            assert exchange.input == fragments[exchange.producer].root
