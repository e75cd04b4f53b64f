"""Routes against all simple paths; messages arrive when their packets have, and are counted."""

from __future__ import annotations

from itertools import pairwise, permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nilometer.errors import ConfigurationError
from nilometer.sensornet.radio_network import (
    Events,
    Message,
    Network,
    Radio,
    Traffic,
    TrafficMeter,
    Trip,
    find_routes,
    linked_topology,
)

NODES = 5
qualities = st.sampled_from([0.25, 0.5, 1.0])
links = st.dictionaries(
    st.tuples(st.integers(0, NODES - 1), st.integers(0, NODES - 1)).filter(lambda pair: pair[0] < pair[1]),
    st.tuples(qualities, qualities),
)


def cheapest(costs: dict[tuple[int, int], float], source: int, target: int) -> tuple[float, int] | None:
    """Cost and hops of the best simple path."""
    if source == target:
        return 0.0, 0
    others = [node for node in range(NODES) if node not in (source, target)]
    best = None
    for length in range(len(others) + 1):
        for middle in permutations(others, length):
            steps = list(pairwise((source, *middle, target)))
            if all(step in costs for step in steps):
                found = (sum(costs[step] for step in steps), len(steps))
                best = found if best is None else min(best, found)
    return best


@given(links)
def test_routes_take_the_fewest_expected_transmissions_then_hops(
    given_links: dict[tuple[int, int], tuple[float, float]],
) -> None:
    topology = linked_topology(NODES, [(a, b, *quality) for (a, b), quality in given_links.items()])
    costs = {}
    for (a, b), (there, back) in given_links.items():
        costs[a, b] = costs[b, a] = 1 / (there * back)
    for source in range(NODES):
        routes = find_routes(topology, source)
        for target in range(NODES):
            expected = cheapest(costs, source, target)
            assert routes.reaches(target) == (expected is not None)
            if expected is not None:
                path = routes.path(target)
                assert (routes.transmissions[target], routes.hops[target]) == expected
                assert sum(costs[step] for step in pairwise(path)) == expected[0]
                assert (path[0], path[-1], len(path) - 1) == (source, target, expected[1])


def test_a_node_that_cannot_be_reached_is_named() -> None:
    with pytest.raises(ConfigurationError, match="no route from node 0 to node 1"):
        find_routes(linked_topology(2, []), 0).path(1)


def test_messages_arrive_after_their_packets_and_are_counted() -> None:
    radio = Radio(bytes_per_second=1_000_000, latency=7, packet=10, header=2)
    events, meter = Events(), TrafficMeter(radio)
    network = Network(linked_topology(3, [(0, 1, 0.5, 1), (1, 2, 1, 1)]), radio, events, (meter,))
    seen: list[tuple[int, str]] = []
    network.send(Message(0, 2, "probe", 15, "far"), lambda payload: seen.append((events.now, payload)))
    network.send(Message(1, 1, "probe", 15, "self"), lambda payload: seen.append((events.now, payload)))
    network.send(Message(1, 2, "note", 1, "near"), lambda payload: seen.append((events.now, payload)))
    events.run()
    # 15 bytes are two packets, 19 bytes on the air, three expected transmissions over two hops.
    assert seen == [(0, "self"), (7 + 3, "near"), (2 * 7 + 3 * 19, "far")]
    assert meter.kinds == {"probe": Traffic(1, 2, 38, 6.0, 71), "note": Traffic(1, 1, 3, 1.0, 10)}
    assert meter.total == Traffic(2, 3, 41, 7.0, 81)
    assert network.delay(0, 2, 15) == 71


def test_a_radio_sends_one_message_at_a_time() -> None:
    radio = Radio(bytes_per_second=1_000_000, latency=7, packet=100, header=0)
    events, meter = Events(), TrafficMeter(radio)
    network = Network(linked_topology(3, [(0, 1, 1, 1), (1, 2, 1, 1)]), radio, events, (meter,))
    seen: list[tuple[int, str]] = []
    for name, source, size in (("first", 0, 100), ("second", 0, 50), ("other", 1, 20)):
        network.send(Message(source, 2, name, size, name), lambda payload: seen.append((events.now, payload)))
    events.run()
    # Node 0 sends 0-100 and 100-150; node 1 sends 0-20, 107-207 and, when it is free, what came at 157.
    assert seen == [(27, "other"), (214, "first"), (264, "second")]
    assert {kind: traffic.waited for kind, traffic in meter.kinds.items()} == {
        "other": 0,
        "first": 0,
        "second": 100 + 50,
    }


@given(
    st.lists(
        st.tuples(st.integers(0, 60), st.integers(0, 3), st.integers(0, 3), st.integers(0, 40)), max_size=12
    )
)
def test_messages_take_what_they_take_alone_and_what_they_wait(
    sendings: list[tuple[int, int, int, int]],
) -> None:
    radio = Radio(bytes_per_second=1_000_000, latency=3, packet=10, header=1)
    trips: list[tuple[int, Trip]] = []
    events = Events()

    class Arrived:
        def carried(self, trip: Trip) -> None:
            trips.append((events.now, trip))

    links = [(0, 1, 1, 0.5), (1, 2, 1, 1), (2, 3, 0.5, 1), (3, 0, 1, 0.25)]
    network = Network(linked_topology(4, links), radio, events, (Arrived(),))
    for time, source, target, size in sendings:
        message = Message(source, target, "probe", size, time)
        events.at(time, lambda message=message: network.send(message, lambda _: None))
    events.run()
    assert len(trips) == sum(source != target for _, source, target, _ in sendings)
    sent: dict[int, int] = {}
    for now, trip in trips:
        message = trip.message
        alone = network.delay(message.source, message.target, message.size)
        assert trip.delay == alone + trip.waited == now - message.payload
        for node, link in zip(trip.path, network.links(message.source, message.target), strict=False):
            sent[node] = sent.get(node, 0) + radio.airtime(message.size, link)
    # No radio can have sent more than there was time for.
    if trips:
        last, first = max(now for now, _ in trips), min(time for time, *_ in sendings)
        assert all(airtime <= last - first for airtime in sent.values())


def test_a_network_is_rerouted_when_nodes_go() -> None:
    topology = linked_topology(4, [(0, 1, 1, 1), (1, 2, 1, 1), (0, 3, 1, 0.5), (3, 2, 1, 1)])
    network = Network(topology, Radio(), Events())
    assert network.path(0, 2) == (0, 1, 2)
    network.reroute(topology.without([1]))
    assert network.path(0, 2) == (0, 3, 2)


@pytest.mark.parametrize("wrong", [{"bytes_per_second": 0}, {"packet": 0}, {"latency": -1}, {"header": -1}])
def test_impossible_radios_are_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(ConfigurationError):
        Radio(**wrong)
