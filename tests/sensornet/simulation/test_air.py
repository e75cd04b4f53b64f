"""What goes wrong on the air: links that lose packets, clocks that run apart."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nilometer.catalog.network import Link, Network, NetworkNode
from nilometer.catalog.profiles import cost_profile
from nilometer.engine import connect
from nilometer.placement import Placement, QualityOfService, WireFormat, place
from nilometer.placement.packets import Load, packets_for
from nilometer.sensornet.simulation import Clocks, Conditions, simulate
from nilometer.sensornet.simulation.packing import pack
from nilometer.types import HOUR, MINUTE
from sensornet.simulation.running import QUERIES, SCHEMA

EVERY = 15 * MINUTE


def chain(quality: float, hops: int = 2, beta: int = 4) -> Placement:
    """River sensed at the end of a chain, over links of one quality."""
    database = connect()
    database.execute(SCHEMA)
    nodes = [NetworkNode(0), *(NetworkNode(number, 4096, energy=31320.0) for number in range(1, hops + 1))]
    nodes[-1] = replace(nodes[-1], streams=("River",))
    links = tuple(Link(number, number - 1, quality) for number in range(1, hops + 1))
    network = Network("chain", 0, tuple(nodes), links, cost_profile("snee-2010"))
    quality_of_service = QualityOfService.of(delivery_time=24 * HOUR, buffering_factor=beta)
    return place(database.sql(QUERIES["select"]).physical, network, quality_of_service)


def test_as_many_packets_are_lost_as_the_links_lose() -> None:
    """Over two hops of quality 0.8 a tuple arrives with probability 0.64."""
    placement = chain(0.8)
    periods = 1500
    duration = periods * placement.beta * EVERY
    once = simulate(placement, duration, Conditions(seed=3, losses=True, batteries=False))
    evaluations = periods * placement.beta
    assert once.answer_rows / evaluations == pytest.approx(0.64, abs=0.03)
    assert once.answer_rows + once.tuples_lost == evaluations
    assert once.lost_by_reason == {"link": once.packets_lost, "slot": 0, "clock": 0, "death": 0}
    assert not once.radio.acknowledged.any()


def test_a_run_depends_on_its_seed_alone() -> None:
    placement = chain(0.7)
    runs = [
        simulate(placement, 40 * placement.beta * EVERY, Conditions(seed=seed, losses=True))
        for seed in (1, 1, 2)
    ]
    assert runs[0].packets_lost == runs[1].packets_lost != runs[2].packets_lost


def test_clocks_that_drift_lose_packets_unless_the_receiver_listens_longer() -> None:
    placement = chain(1.0, beta=8)
    duration = 30 * placement.beta * EVERY
    exact = simulate(placement, duration, Conditions(seed=2))
    wide = simulate(placement, duration, Conditions(seed=2, clocks=Clocks(50e-6)))
    narrow = simulate(placement, duration, Conditions(seed=2, clocks=Clocks(50e-6, guard=0.005)))
    assert exact.packets_lost == wide.packets_lost == 0
    assert wide.energy() > exact.energy()
    assert narrow.packets_lost == narrow.lost_by_reason["clock"] > 0
    assert narrow.answer_rows < exact.answer_rows


@given(
    st.lists(st.lists(st.tuples(st.integers(0, 30), st.integers(1, 20)), max_size=4), min_size=1, max_size=4),
    st.booleans(),
)
@settings(max_examples=25)
def test_packing_is_that_of_placement(slots: list[list[tuple[int, int]]], shared: bool) -> None:
    """The columnar packing agrees with `placement.packets`, slot by slot, and no packet holds more than it can."""
    wire = WireFormat(aligned=False, evaluation_size=1, shared=shared, segment_size=1 if shared else 0)
    groups = [
        (slot, rank, count, size)
        for slot, loads in enumerate(slots)
        for rank, (count, size) in enumerate(loads)
        if count
    ]
    columns = np.array(groups, dtype=np.int64).reshape(-1, 4).T
    found = pack(*columns, len(slots), 23, wire)
    for slot, loads in enumerate(slots):
        expected = packets_for([Load(count, size) for count, size in loads if count], 1, 23, wire)
        assert found.packets[slot] == expected
    filled: dict[tuple[int, int], int] = {}
    for group, (slot, _, count, size) in enumerate(groups):
        inside = {int(found.packet(np.array([group]), np.array([tuple_]))[0]) for tuple_ in range(count)}
        assert inside <= set(range(int(found.packets[slot])))
        for tuple_ in range(count):
            packet = (slot, int(found.packet(np.array([group]), np.array([tuple_]))[0]))
            filled[packet] = filled.get(packet, 0) + size
        for packet_number in inside:
            filled[slot, packet_number] += wire.segment_size
    assert all(content <= 23 for content in filled.values())
