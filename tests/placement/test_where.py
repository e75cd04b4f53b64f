"""Where fragments go: confluence, recursive merging, sources in odd places."""

from __future__ import annotations

from dataclasses import replace

from nilometer.catalog.network import Link, Network, NetworkNode
from nilometer.catalog.profiles import cost_profile
from nilometer.placement import RoutingTree, place, placement_profile
from nilometer.placement.where import deepest_confluence
from placement.scenarios import Q1, Q2, SCHEMA, brook, line_network, physical_plan, placed
from placement.valid_agenda import check_placement


def test_the_deepest_confluence_is_the_lowest_common_ancestor() -> None:
    tree = RoutingTree(0, ((1, 0), (2, 1), (3, 1), (4, 3), (5, 3)), ())
    assert deepest_confluence(tree, (4, 5)) == 3
    assert deepest_confluence(tree, (2, 5)) == 1
    assert deepest_confluence(tree, (3, 5)) == 3
    assert deepest_confluence(tree, (5,)) == 5
    assert deepest_confluence(tree, (0, 5)) == 0


def test_merges_are_where_branches_meet_and_evaluation_follows_the_last() -> None:
    found = placed(Q2, "snee-2010")
    assert found.placed.sites_of == {0: (0,), 1: (3,), 2: (7, 5, 3), 3: (9, 7, 5, 6)}
    merged = {
        (flow.source, flow.target) for flow in found.placed.flows if flow.fragment == flow.consumer == 2
    }
    assert merged == {(7, 5), (5, 3)}
    assert all(flow.rows == 1 for flow in found.placed.flows)


def test_one_source_alone_merges_where_it_is() -> None:
    found = place(physical_plan(Q2), line_network(2), profile=placement_profile("motes"))
    check_placement(found)
    assert found.placed.sites_of[2] == (1,)


def test_groups_add_up() -> None:
    query = "SELECT id, AVG(depth) FROM River[NOW] GROUP BY id"
    found = place(physical_plan(query, "snee-2010"), line_network(5), profile=placement_profile("snee-2010"))
    rows = {instance.site: instance.rows for instance in found.placed.instances if instance.fragment == 2}
    assert rows == {1: 4, 2: 3, 3: 2}


def test_the_sink_may_sense_too() -> None:
    network = brook()
    nodes = tuple(replace(n, streams=("River", "Hilltop")) if n.id in (0, 3) else n for n in network.nodes)
    for query in (Q1, Q2, "SELECT r.depth FROM River[NOW] r, Hilltop[NOW] h WHERE r.rain < h.rain"):
        for profile in ("default", "snee-2010"):
            found = place(
                physical_plan(query, profile), replace(network, nodes=nodes), None, placement_profile(profile)
            )
            check_placement(found)


def test_a_network_of_the_sink_alone() -> None:
    network = Network("alone", 0, (NetworkNode(0, streams=("River",)),), (), cost_profile("snee-2010"))
    found = place(physical_plan(Q2), network)
    check_placement(found)
    assert found.agenda.transfers == ()
    assert found.estimate.lifetime is None


def test_nodes_may_have_names_and_no_limits() -> None:
    nodes = (
        NetworkNode("gate"),
        NetworkNode("weir", streams=("River",)),
        NetworkNode("mill", streams=("River",)),
    )
    network = Network(
        "named", "gate", nodes, (Link("gate", "weir"), Link("weir", "mill", 0.7)), cost_profile("nrf52840")
    )
    for profile in ("default", "snee-2010"):
        check_placement(place(physical_plan(Q1, profile), network, None, placement_profile(profile)))


def test_the_branches_of_a_union_keep_their_own_sensors() -> None:
    schema = SCHEMA.replace(" OF River;", " OF River WITH kind = 'radar';").replace("'radar'", "'gauge'", 1)
    query = "SELECT depth FROM River[NOW] WHERE kind = 'gauge' UNION SELECT depth FROM River[NOW] WHERE kind = 'radar'"
    found = place(physical_plan(query, "default", schema), brook())
    check_placement(found)
    leaves = [set(found.placed.sites_of[fragment.number]) for fragment in found.fragments.leaves]
    assert leaves == [{5}, {6, 7, 9}]


def test_a_window_that_slides_by_hours_is_sent_by_hours() -> None:
    query = "SELECT AVG(depth) FROM River[RANGE 1 HOUR SLIDE 1 HOUR]"
    found = place(physical_plan(query), line_network(4))
    check_placement(found)
    flow = found.placed.flows[0]
    assert flow.stride == 4
    assert [flow.tuples(beta) for beta in (1, 4, 5, 8)] == [1, 1, 2, 2]
