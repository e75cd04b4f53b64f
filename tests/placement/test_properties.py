"""Random networks and queries: whatever is planned can be carried out."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nilometer.engine import connect
from nilometer.errors import InfeasibleError
from nilometer.laboratory.scenarios import QUERIES, random_network
from nilometer.placement import Placement, QualityOfService, place, placement_profile
from nilometer.plan import physical
from nilometer.types import HOUR, MINUTE
from placement.scenarios import SCHEMA
from placement.valid_agenda import check_placement

OTHERS = (
    "SELECT id, MAX(depth) FROM River[RANGE 1 HOUR SLIDE 30 MINUTES] GROUP BY id",
    "SELECT COUNT(*), SUM(depth), MIN(rain) FROM River[FROM NOW - 45 MINUTES TO NOW]",
    "SELECT AVG(depth) FROM River[RANGE 7 ROWS SLIDE 3 ROWS]",
    "SELECT COUNT(*) FROM River[NOW] r, Hilltop[NOW] h WHERE r.rain = h.rain",
    "SELECT depth, rain * 2 + 1 AS twice FROM River WHERE rain > 3 AND depth < 9",
    "SELECT STDEV(depth) FROM River[NOW]",
    "ISTREAM SELECT depth FROM River[RANGE 1 HOUR]",
    "SELECT id, depth FROM River[NOW] UNION SELECT id, rain FROM Hilltop[NOW]",
)


def _plans() -> dict[tuple[str, str], physical.Node]:
    database = connect()
    database.execute(SCHEMA)
    found = {}
    for text in (*(query.format(every="15 MINUTES") for query in QUERIES.values()), *OTHERS):
        for profile in ("default", "snee-2010"):
            found[text, profile] = database.sql(text).with_profile(profile).physical
    return found


PLANS = _plans()

KEYS = sorted(PLANS)


@settings(max_examples=60, deadline=None)
@given(
    key=st.sampled_from(KEYS),
    seed=st.integers(0, 10_000),
    size=st.integers(3, 26),
    hours=st.sampled_from((1, 6, 24)),
    costs=st.sampled_from(("snee-2010", "mica2", "nrf52840")),
    retries=st.sampled_from((0, 0, 3)),
)
def test_what_is_planned_can_be_carried_out(
    key: tuple[str, str], seed: int, size: int, hours: int, costs: str, retries: int
) -> None:
    placement = _place(key, seed, size, hours, costs, retries)
    if placement is not None:
        check_placement(placement)


def _place(
    key: tuple[str, str], seed: int, size: int, hours: int, costs: str, retries: int = 0
) -> Placement | None:
    if costs == "nrf52840":
        return _placed(key, seed, size, hours, costs, 262_144, retries)
    return _placed(key, seed, size, hours, costs, 4096, retries)


def _placed(
    key: tuple[str, str], seed: int, size: int, hours: int, costs: str, ram: int, retries: int = 0
) -> Placement | None:
    network = random_network(random.Random(seed), size, costs=costs)
    if retries:
        drawn = random.Random(seed)
        links = tuple(replace(link, quality=drawn.uniform(0.5, 1)) for link in network.links)
        network = replace(network, links=links, retries=retries)
    nodes = tuple(replace(node, ram=ram if node.id != 0 else node.ram) for node in network.nodes)
    quality = QualityOfService.of(delivery_time=hours * HOUR)
    refused = ""
    try:
        return place(PLANS[key], replace(network, nodes=nodes), quality, placement_profile(key[1]))
    except InfeasibleError as error:
        refused = str(error)
    assert "detail:" in refused  # what binds
    assert "hint:" in refused  # and what could be kept
    return None


@pytest.mark.long
@settings(max_examples=400, deadline=None)
@given(key=st.sampled_from(KEYS), seed=st.integers(0, 10**6), size=st.integers(3, 80))
def test_what_is_planned_can_be_carried_out_in_larger_networks(
    key: tuple[str, str], seed: int, size: int
) -> None:
    placement = _place(key, seed, size, 24, "snee-2010")
    if placement is not None:
        check_placement(placement)


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10_000), minutes=st.integers(15, 600))
def test_a_longer_delivery_time_never_shortens_the_life(seed: int, minutes: int) -> None:
    network = random_network(random.Random(seed), 15)
    plan = PLANS[QUERIES["Q1"], "default"]
    lives = []
    for delivery in (minutes, 2 * minutes):
        placement = place(plan, network, QualityOfService.of(delivery_time=delivery * MINUTE))
        lives.append(placement.estimate.lifetime_without_board or 0.0)
    assert lives[1] >= 0.99 * lives[0]  # to what "alike" means
