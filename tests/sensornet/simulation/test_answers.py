"""The law of the simulator: where nothing is lost, the answers at the sink are the reference evaluator's."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nilometer.engine import connect
from nilometer.errors import NilometerError
from nilometer.placement import Placement, QualityOfService, place, placement_profile
from nilometer.plan.reference import same_answer
from nilometer.sensornet.simulation import Conditions, SyntheticReadings, simulate
from nilometer.types import HOUR, MINUTE
from sensornet.simulation.running import QUERIES, SCHEMA, reference, some_network

EVERY = 15 * MINUTE


def placed(query: str, seed: int, profile: str, beta: int | None = None, size: int = 12) -> Placement:
    database = connect()
    database.execute(SCHEMA)
    asked = database.sql(query).with_profile(profile)
    quality = QualityOfService.of(delivery_time=24 * HOUR, buffering_factor=beta)
    return place(asked.physical, some_network(seed, size), quality, placement_profile(profile))


@given(
    st.integers(0, 10**6),
    st.sampled_from(sorted(QUERIES)),
    st.sampled_from(["default", "snee-2010"]),
    st.integers(2, 5),
)
@settings(max_examples=40)
def test_answers_are_the_references(seed: int, name: str, profile: str, periods: int) -> None:
    try:
        placement = placed(QUERIES[name], seed, profile, beta=1 + seed % 5)
    except NilometerError:
        placement = placed(QUERIES[name], seed, "default", beta=1)
    readings = SyntheticReadings(seed)
    duration = periods * placement.beta * EVERY
    found = simulate(placement, duration, Conditions(seed=seed), readings=readings, begin=0)
    expected = reference(QUERIES[name], readings, placement.network, 0, periods * placement.beta)
    assert found.answers is not None or not expected
    given_rows = [] if found.answers is None else found.answers.rows()
    assert same_answer(expected, given_rows) is None
    assert found.packets_lost == 0


@pytest.mark.parametrize("name", sorted(QUERIES))
def test_perfect_links_hop_by_hop_are_the_same_as_straight_to_the_target(name: str) -> None:
    """The two ways rows travel agree on answers, packets, bytes and energy."""
    placement = placed(QUERIES[name], 5, "default")
    duration = 3 * placement.beta * EVERY
    straight = simulate(placement, duration, Conditions(seed=1), begin=0)
    by_hops = simulate(placement, duration, Conditions(seed=1, losses=True), begin=0)
    assert straight.answers is not None
    assert by_hops.answers is not None
    assert same_answer(straight.answers.rows(), by_hops.answers.rows()) is None
    assert straight.packets == by_hops.packets > 0
    assert straight.radio.bytes.tolist() == by_hops.radio.bytes.tolist()
    assert straight.ledger.joules.tolist() == by_hops.ledger.joules.tolist()


@pytest.mark.parametrize("profile", ["default", "snee-2010"])
@pytest.mark.parametrize("name", ["select", "aggregate"])
def test_where_every_predicate_is_true_the_estimate_is_what_happens(name: str, profile: str) -> None:
    """Packets and energy of the cost model, and those of the run, are the same numbers found in two ways."""
    placement = placed(QUERIES[name], 7, profile)
    found = simulate(placement, 4 * placement.beta * EVERY, Conditions(repair="none"))
    assert found.periods == 4
    assert found.packets == 4 * placement.estimate.packets
    assert found.energy() == pytest.approx(4 * placement.estimate.energy)
    for site, plan in placement.sites.items():
        assert found.ledger.of(site).total == pytest.approx(4 * plan.energy.total)


def test_answers_do_not_depend_on_how_the_run_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    placement = placed(QUERIES["join"], 3, "default")
    conditions = Conditions(seed=4, losses=True)
    lossy = place_with_losses(placement)
    whole = simulate(lossy, 6 * placement.beta * EVERY, conditions)
    monkeypatch.setattr("nilometer.sensornet.simulation.run.ROWS_AT_ONCE", 1)
    pieces = simulate(lossy, 6 * placement.beta * EVERY, conditions)
    assert whole.packets_lost == pieces.packets_lost > 0
    assert whole.answers is not None
    assert pieces.answers is not None
    assert same_answer(whole.answers.rows(), pieces.answers.rows()) is None
    assert whole.ledger.joules.sum() == pytest.approx(pieces.ledger.joules.sum())


def place_with_losses(placement: Placement) -> Placement:
    """The same placement in a network whose links lose a fifth of their packets."""
    from dataclasses import replace

    links = tuple(replace(link, quality=0.8) for link in placement.network.links)
    return replace(placement, network=replace(placement.network, links=links))
