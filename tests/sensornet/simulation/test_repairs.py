"""Deaths, and the three ways to go on: each a sound placement with the right answers; local tells less than partial."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from nilometer.catalog.network import Link, Network, NetworkNode, NodeId
from nilometer.catalog.profiles import cost_profile
from nilometer.engine import connect
from nilometer.errors import CatalogError, ConfigurationError
from nilometer.laboratory.reproductions.snee_networks import AlwaysTrue
from nilometer.placement import Placement, QualityOfService, place, placement_profile
from nilometer.plan.reference import same_answer
from nilometer.sensornet.simulation import (
    Conditions,
    Kill,
    SimulationResult,
    SyntheticReadings,
    parse_kill,
    simulate,
)
from nilometer.sensornet.simulation.repair import Repair, best_repair, prepare_overlay, repairs
from nilometer.sensornet.simulation.report import report_json, report_text
from nilometer.types import DAY, HOUR, MINUTE, SECOND
from sensornet.simulation.running import QUERIES, SCHEMA, reference, some_network

EVERY = 15 * MINUTE


def placed(name: str, seed: int, size: int = 16, profile: str = "default") -> Placement:
    database = connect()
    database.execute(SCHEMA)
    asked = database.sql(QUERIES[name]).with_profile(profile)
    quality = QualityOfService.of(delivery_time=6 * HOUR)
    return place(asked.physical, some_network(seed, size), quality, placement_profile(profile))


def check_sound(repair: Repair, dead: set[int | str]) -> None:
    """A tree of living nodes over links that are there, slots that follow each other up the tree, memory that is enough."""
    placement = repair.placement
    assert placement is not None
    for child, parent in placement.routing.edges:
        assert child not in dead
        assert placement.network.link(child, parent) is not None
    sends = {transfer.source: transfer for transfer in placement.agenda.transfers}
    for transfer in placement.agenda.transfers:
        above = sends.get(transfer.target)
        assert above is None or transfer.end <= above.start
        assert placement.routing.parents[transfer.source] == transfer.target
    assert placement.agenda.delivery <= placement.agenda.period
    for site, plan in placement.sites.items():
        available = placement.network.node(site).ram
        assert available is None or plan.ram <= available


def check_what_is_told(before: Placement, found: tuple[Repair, ...]) -> None:
    """Local tells less than partial; but where a branch can be taken over by a site that is in the tree already, partial needs no
    new program, and may tell less than a stand-in and its neighbours are told. Partial leaves the programs of sites alone whose
    fragments, child branches and parent are the same. Global may tell less than either: it may find a plan of other fragments."""
    local, partial, _ = found
    if local.feasible and partial.feasible and partial.dissemination.reprogrammed:
        assert local.dissemination.packets <= partial.dissemination.packets
    if partial.placement is not None:
        after = partial.placement
        for site in partial.dissemination.reprogrammed:
            assert site not in before.placed.fragments_at or (
                _work(before, site) != _work(after, site) or before.beta != after.beta
            )


def _work(placement: Placement, site: NodeId) -> tuple[object, ...]:
    """What a site's program depends on: its fragments, and what comes in and goes out."""
    placed = placement.placed
    return (
        tuple(fragment.number for fragment in placed.fragments_at[site]),
        sorted((flow.fragment, flow.rows) for flow in placed.incoming[site]),
        sorted((flow.fragment, flow.rows) for flow in placed.outgoing[site]),
    )


@given(st.integers(0, 10**6), st.sampled_from(["select", "aggregate", "join"]), st.integers(0, 99))
@settings(max_examples=16)
def test_every_repair_answers_for_the_surviving_sources(seed: int, name: str, choice: int) -> None:
    placement = placed(name, seed)
    sites = placement.routing.post_order[:-1]
    dead = sites[choice % len(sites)]
    found = repairs(placement, {dead}, None, prepare_overlay(placement, 3))
    assert [repair.strategy for repair in found] == ["local", "partial", "global"]
    feasible = [repair for repair in found if repair.placement is not None]
    assume(feasible)
    readings = SyntheticReadings(seed)
    for repair in feasible:
        check_sound(repair, {dead})
        assert repair.placement is not None
        assert repair.dissemination.packets >= 0
        beta = repair.placement.beta
        run = simulate(repair.placement, 2 * beta * EVERY, readings=readings, begin=0)
        gone = {dead, *repair.lost}
        expected = reference(QUERIES[name], readings, repair.placement.network, 0, 2 * beta, gone)
        assert same_answer(expected, [] if run.answers is None else run.answers.rows()) is None
    check_what_is_told(placement, found)


def test_the_best_repair_lives_longest() -> None:
    placement = placed("join", 11)
    for dead in placement.routing.post_order[:-1]:
        found = repairs(placement, {dead}, None, prepare_overlay(placement, 2))
        best = best_repair(found)
        lifetimes = [repair.lifetime for repair in found if repair.lifetime is not None]
        if best is not None:
            assert best.lifetime is not None
            assert best.lifetime >= 0.999 * max(lifetimes)


def test_a_stand_in_takes_over_without_a_new_program() -> None:
    """In a ladder every rung has a spare; the one prepared needs one packet, its neighbours one each."""
    for seed in range(60):
        placement = placed("select", seed, 24)
        overlay = prepare_overlay(placement, 1)
        covered = [site for site, spares in overlay.spares.items() if spares]
        if covered:
            break
    (local, partial, _) = repairs(placement, {covered[0]}, None, overlay)
    assert local.placement is not None
    assert local.dissemination.activated == overlay.spares[covered[0]]
    assert not local.dissemination.reprogrammed
    assert local.placement.agenda.delivery == placement.agenda.delivery
    assert partial.dissemination.packets >= local.dissemination.packets


def test_a_killed_node_is_mended_and_reported() -> None:
    placement = placed("aggregate", 4)
    inner = next(site for site in placement.routing.post_order if placement.routing.children[site])
    seen: list[int] = []
    result = simulate(
        placement,
        4 * DAY,
        Conditions(seed=1, kills=(Kill(inner, DAY + 5 * HOUR),)),
        watch=lambda done, whole: seen.append(done * 100 // whole),
    )
    assert [(death.node, death.after, death.reason) for death in result.deaths] == [
        (inner, DAY + 5 * HOUR, "killed")
    ]
    (mended,) = result.mended
    assert mended.chosen is not None
    assert mended.chosen in mended.weighed
    assert result.answers is not None
    assert seen == sorted(seen)
    assert result.duration >= 4 * DAY
    spent = result.ledger.of(inner).total
    assert 0 < spent < placement.sites[inner].energy.total * result.periods


def test_sites_that_keep_their_program_keep_their_memory() -> None:
    """A leaf dies; from the next period on, answers are the reference's over the surviving sources, also those that look back."""
    placement = placed("join", 21)
    leaf = next(
        site
        for site in placement.routing.post_order
        if not placement.routing.children[site] and "River" in placement.network.node(site).streams
    )
    readings = AlwaysTrue()  # so that every evaluation has an answer
    period = placement.beta * EVERY
    conditions = Conditions(kills=(Kill(leaf, period // 2),), repair="local")
    found = simulate(placement, 4 * period, conditions, readings=readings, begin=0)
    (mended,) = found.mended
    assert mended.chosen is not None
    assert mended.chosen.strategy == "local"
    assert not mended.chosen.dissemination.reprogrammed
    expected = reference(QUERIES["join"], readings, placement.network, 0, 4 * placement.beta, {leaf})
    assert found.answers is not None
    after = [row for row in found.answers.rows() if row[0] >= period]
    assert after[0][0] == period
    assert same_answer([row for row in expected if row[0] >= period], after) is None


def test_without_a_repair_what_is_behind_the_dead_is_lost() -> None:
    placement = placed("select", 4)
    inner = next(site for site in placement.routing.post_order if placement.routing.children[site])
    conditions = Conditions(kills=(Kill(inner, DAY),), repair="none")
    whole = simulate(placement, 3 * DAY)
    broken = simulate(placement, 3 * DAY, conditions)
    assert broken.answer_rows < whole.answer_rows
    assert broken.tuples_lost > 0
    assert broken.mended[0].chosen is None
    mended = simulate(placement, 3 * DAY, Conditions(kills=(Kill(inner, DAY),)))
    assert broken.answer_rows < mended.answer_rows


def test_batteries_run_dry_when_the_estimate_says() -> None:
    placement = placed("select", 2)
    lifetime = placement.estimate.lifetime
    assert lifetime is not None
    result = simulate(placement, int(lifetime * 1.05) * 1_000_000, Conditions(repair="none"))
    first = min(result.deaths, key=lambda death: death.after)
    assert first.reason == "battery"
    assert first.after / 1e6 == pytest.approx(lifetime, rel=0.01)


def test_what_cannot_be_killed() -> None:
    placement = placed("select", 2)
    with pytest.raises(ConfigurationError, match="the sink cannot be killed"):
        simulate(placement, DAY, Conditions(kills=(Kill(0, HOUR),)))
    with pytest.raises(CatalogError, match="has no node 'nobody'"):
        simulate(placement, DAY, Conditions(kills=(Kill("nobody", HOUR),)))
    with pytest.raises(ConfigurationError, match="does not say which node dies, and when"):
        parse_kill("7 at noon")
    with pytest.raises(ConfigurationError, match="no repair 'prayer'"):
        simulate(placement, DAY, Conditions(repair="prayer"))
    assert parse_kill("gate@2 DAYS") == Kill("gate", 2 * DAY)


def _chain(*, for_hours: int, kills: tuple[Kill, ...], repair: str = "best") -> SimulationResult:
    """0 - 1 - 2, of which 2 senses."""
    nodes = (NetworkNode(0), NetworkNode(1), NetworkNode(2, streams=("River",)))
    network = Network("chain", 0, nodes, (Link(0, 1), Link(1, 2)), cost_profile("snee-2010"))
    database = connect()
    database.execute(SCHEMA)
    found = place(database.sql(QUERIES["select"]).physical, network, QualityOfService.of(buffering_factor=4))
    return simulate(found, for_hours * HOUR, Conditions(kills=kills, repair=repair))


def test_a_source_that_is_cut_off_is_not_said_to_be_gone() -> None:
    found = _chain(for_hours=4, kills=(Kill(1, HOUR),))
    assert found.ended == "no way to the sink is left for who senses 'River': '2'"
    assert _chain(for_hours=4, kills=(Kill(2, HOUR),)).ended == "nobody senses 'River' any more"


def test_each_death_is_told_once() -> None:
    found = _chain(for_hours=8, kills=(Kill(1, HOUR), Kill(2, 3 * HOUR)), repair="none")
    assert [mended.dead for mended in found.mended] == [(1,), (2,)]


def test_spares_are_prepared_only_for_deaths_in_the_run() -> None:
    placement = placed("aggregate", 3)
    victim = next(site for site in placement.routing.post_order if site != placement.network.sink)
    period = round(placement.estimate.period * SECOND)

    def prepared(after: int) -> int:
        result = simulate(placement, period + 1, Conditions(kills=(Kill(victim, after),)))
        return 0 if result.prepared is None else result.prepared.packets

    assert prepared(2 * period - 1) > 0  # a run has whole periods
    assert prepared(2 * period) == 0


def test_a_lifetime_does_not_depend_on_how_long_was_simulated() -> None:
    """Stand-ins are prepared once, not once in every run's length."""
    placement = placed("aggregate", 2, 30)
    victim = next(node.id for node in placement.network.nodes if node.id not in placement.routing)
    period = round(placement.estimate.period * SECOND)
    short, long = (
        simulate(placement, periods * period, Conditions(kills=(Kill(victim, 0),))) for periods in (1, 100)
    )
    relays = [site for site in placement.routing.post_order if site != placement.network.sink]
    assert short.ledger.once[short.ledger.rows(relays)].any()
    assert short.lifetimes() == pytest.approx(long.lifetimes(), rel=1e-4)


def test_sources_that_a_repair_leaves_behind_are_told() -> None:
    """1 - 0 - 2 - 3: when 2 dies, 3 lives on and is heard by nobody."""
    nodes = (NetworkNode(0), *(NetworkNode(n, streams=("River",)) for n in (1, 2, 3)))
    links = (Link(0, 1), Link(0, 2), Link(2, 3))
    network = Network("fork", 0, nodes, links, cost_profile("snee-2010"))
    database = connect()
    database.execute(SCHEMA)
    found = place(database.sql(QUERIES["select"]).physical, network, QualityOfService.of(buffering_factor=4))
    result = simulate(found, 4 * HOUR, Conditions(kills=(Kill(2, HOUR),)))
    assert "no way to the sink is left for '3': what they sense is missing" in report_text(result)
    assert report_json(result)["repairs"][0]["cut_off"] == [3]


@pytest.mark.parametrize("turned", [False, True])
def test_a_union_goes_on_with_the_branch_that_is_left(turned: bool) -> None:
    """Under the names of the first one, whichever that is."""
    branches = ["SELECT id, rain AS wet FROM River [NOW]", "SELECT id, rain FROM Hilltop [NOW]"]
    database = connect()
    database.execute(SCHEMA)
    asked = database.sql(" UNION ".join(f"({branch})" for branch in (branches[::-1] if turned else branches)))
    nodes = tuple(NetworkNode(n, 4096, streams=(stream,)) for n, stream in ((1, "River"), (2, "Hilltop")))
    links = (Link(1, 0), Link(0, 1), Link(2, 0), Link(0, 2))
    star = Network("star", 0, (NetworkNode(0, 4096), *nodes), links, cost_profile("snee-2010"))
    placement = place(asked.physical, star, QualityOfService.of(buffering_factor=1))
    readings = SyntheticReadings(3)
    result = simulate(
        placement,
        10 * EVERY,
        Conditions(kills=(Kill(2, 4 * EVERY + MINUTE),)),
        readings=readings,
        begin=0,
    )
    (mended,) = result.mended
    assert mended.chosen is not None
    assert mended.chosen.strategy == "global"
    assert all("nobody senses 'Hilltop'" in repair.reason for repair in mended.weighed if not repair.feasible)
    answer = result.answers
    assert answer is not None
    assert answer.columns == ["tick", "id", "rain" if turned else "wet"]
    assert answer.filter(pl.col("id") == 1).get_column("tick").to_list() == [n * EVERY for n in range(10)]
    assert answer.filter(pl.col("id") == 2).height == 5  # the last of them a minute before it died
