"""Emulated motes that are switched on apart, and told down the tree when the first evaluation is."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from nilometer.catalog.network import Link, Network
from nilometer.engine.mote_report import measurements, what_was_lost
from nilometer.engine.motes import (
    CompileOptions,
    Emulation,
    EmulationOptions,
    compile_query,
    emulate,
    write_nesc,
)
from nilometer.errors import ConfigurationError, UnsupportedError
from nilometer.laboratory.mote_queries import MOTE_QUERIES, MoteQuery
from nilometer.placement import QualityOfService
from nilometer.placement.routing_tree import RoutingTree
from nilometer.sensornet.motes.compilation import Compilation
from nilometer.sensornet.motes.emulate import CYCLES_PER_TICK, FREQUENCY, Air
from nilometer.sensornet.motes.emulate import emulate as emulate_motes
from nilometer.sensornet.motes.starting import ROUNDS, START, TURN, starting_for
from sensornet.motes.emulated import RUNNING_EXAMPLE, ask, brook, check_estimates, grid, random_grid
from sensornet.motes.test_lossy_links import ROWS, lossy

APART = 20.0
"""Seconds: two acquisition intervals."""

QUERIES = {
    query.name: query
    for query in MOTE_QUERIES
    if query.name
    in (
        "running example",
        "aggregation (Q2)",
        "row window that slides",
        "30 nodes, join",
        "30 nodes, aggregation",
        "30 nodes, row window",
    )
}


def compiled(
    query: MoteQuery, directory: Path, drift: float = 0.0, *, beta: int | None = None, waiting: bool = True
) -> Compilation:
    quality = QualityOfService.of(buffering_factor=beta or query.beta)
    return compile_query(
        ask(query.text), directory, CompileOptions(query.network, quality, drift=drift, waiting=waiting)
    )


def right(emulation: Emulation) -> bool:
    return emulation.difference is None and emulation.run.sound and len(emulation.answer) > 0


@pytest.mark.motes
@pytest.mark.slow
@pytest.mark.parametrize("name", QUERIES)
def test_motes_that_are_switched_on_apart(name: str, tmp_path: Path) -> None:
    query = QUERIES[name]
    compilation = compiled(query, tmp_path, beta=4)
    for seed in range(3):
        emulation = emulate(ask(query.text), compilation, EmulationOptions(periods=4, seed=seed, apart=APART))
        assert right(emulation), (emulation.difference, emulation.run.measured)
        assert not emulation.run.untold
    assert right(emulate(ask(query.text), compilation, EmulationOptions(periods=4)))  # all at once


@pytest.mark.motes
@pytest.mark.slow
def test_programs_that_count_from_their_reset_cannot_be_switched_on_apart(tmp_path: Path) -> None:
    query = QUERIES["running example"]
    compilation = compiled(query, tmp_path, beta=4, waiting=False)
    assert right(emulate(ask(query.text), compilation, EmulationOptions(periods=4)))
    emulation = emulate(ask(query.text), compilation, EmulationOptions(periods=4, apart=APART))
    assert emulation.difference is not None
    assert not emulation.run.sound
    assert not any("hear_start" in program.text for program in compilation.programs.values())


@pytest.mark.motes
@pytest.mark.slow
@pytest.mark.parametrize("retries", [0, 2])
def test_clocks_agree_at_the_first_evaluation(retries: int, tmp_path: Path) -> None:
    """At the end of a line, all of whose motes sense, to a twentieth of a tick."""
    line = replace(grid(12, 1, {"river": range(12)}), retries=retries)
    compilation = compile_query(
        ask(ROWS), tmp_path, CompileOptions(line, QualityOfService.of(buffering_factor=2), waiting=True)
    )
    emulation = emulate(ask(ROWS), compilation, EmulationOptions(apart=APART))
    assert right(emulation)
    began = {site: measured.began for site, measured in emulation.run.measured.items()}
    for site, depth in compilation.placement.routing.depths.items():
        assert abs((began[site] or 0) - (began[0] or 0)) < CYCLES_PER_TICK / 20, (site, depth)


@pytest.mark.motes
@pytest.mark.slow
@pytest.mark.parametrize("name", ["running example", "30 nodes, join"])
def test_with_acknowledgements_and_clocks_that_drift(name: str, tmp_path: Path) -> None:
    query = replace(QUERIES[name], retries=2)
    compilation = compiled(query, tmp_path, 1e-4, beta=4)
    for seed in range(2):
        assert right(
            emulate(ask(query.text), compilation, EmulationOptions(periods=4, seed=seed, apart=APART))
        )


@pytest.mark.motes
@pytest.mark.slow
def test_who_misses_a_round_is_told_in_a_later_one(tmp_path: Path) -> None:
    """A line of three, in which whatever a mote misses while it waits is its parent's: only who misses all is never told."""
    line = grid(3, 1, {"river": (1, 2)})
    links = tuple(replace(link, quality=0.6) for link in line.links)
    compilation = compile_query(
        ask(ROWS),
        tmp_path,
        CompileOptions(
            replace(line, links=links, retries=7),
            QualityOfService.of(buffering_factor=4),
            drift=4e-5,
            waiting=True,
        ),
    )
    told_after = set()
    for seed in range(30):
        emulation = emulate(
            ask(ROWS), compilation, EmulationOptions(periods=2, seed=seed, loss=True, apart=APART)
        )
        run = emulation.run
        assert run.sound, run.measured
        assert run.untold or run.lost or emulation.difference is None
        tellings = ROUNDS
        for site in (1, 2):
            missed = run.measured[site].missed_start
            assert (site in run.untold) == (missed == tellings)
            tellings -= missed  # so often it tells its own child
            told_after |= set() if site in run.untold else {(site, missed)}
    assert told_after == {(site, missed) for site in (1, 2) for missed in range(ROUNDS)}


@pytest.mark.motes
@pytest.mark.slow
def test_over_links_that_lose_packets(tmp_path: Path) -> None:
    compilation = compile_query(
        ask(ROWS),
        tmp_path,
        CompileOptions(lossy(0.8, 7), QualityOfService.of(buffering_factor=4), drift=4e-5, waiting=True),
    )
    whole = 0
    for seed in range(8):
        emulation = emulate(
            ask(ROWS), compilation, EmulationOptions(periods=3, seed=seed, loss=True, apart=APART)
        )
        assert emulation.run.sound, emulation.run.measured
        assert emulation.run.untold or emulation.run.lost or emulation.difference is None
        whole += right(emulation)
    assert whole > 4


@pytest.mark.motes
@pytest.mark.slow
@pytest.mark.parametrize("retries", [0, 2])
def test_others_go_on_without_a_mote_that_is_never_told(retries: int, tmp_path: Path) -> None:
    """Of a leaf's link only the way down is bad: its parent counts it as not heard, and answers have all other rows."""
    network = replace(brook(), retries=retries)
    compilation = compile_query(
        ask(ROWS), tmp_path, CompileOptions(network, QualityOfService.of(buffering_factor=4), waiting=True)
    )
    routing = compilation.placement.routing
    parent = routing.parents[9]
    down = Link(parent, 9, quality=1e-9)
    links = [link for link in network.links if {link.source, link.target} != {9, parent}]
    deaf = replace(compilation.placement.network, links=(*links, replace(down.reverse, quality=1.0), down))
    motes = replace(compilation.motes, placement=replace(compilation.placement, network=deaf))
    emulation = emulate(
        ask(ROWS), replace(compilation, motes=motes), EmulationOptions(periods=3, loss=True, apart=APART)
    )
    assert emulation.run.untold == (9,)
    assert emulation.run.sound
    assert emulation.run.lost == 0
    sensing = len(routing.sources)
    assert emulation.arrived == len(emulation.answer) == emulation.expected * (sensing - 1) // sensing
    words = what_was_lost(emulation)
    assert words is not None
    assert words.startswith("the start was told in vain to 9: ")
    if not retries:
        assert emulation.run.measured[parent].faults == {"unheard": 3}


@pytest.mark.motes
@pytest.mark.slow
@pytest.mark.parametrize("retries", [0, 3])
def test_estimates_hold(retries: int, tmp_path: Path) -> None:
    """Also of energy: the waiting is once, and no part of a period."""
    query = replace(QUERIES["aggregation (Q2)"], retries=retries)
    compilation = compiled(query, tmp_path)
    check_estimates(emulate(ask(query.text), compilation, EmulationOptions(periods=4, apart=APART)))
    plain = compiled(query, tmp_path / "plain", waiting=False)
    together = {
        row["site"]: row for row in measurements(emulate(ask(query.text), plain, EmulationOptions(periods=4)))
    }
    for row in measurements(emulate(ask(query.text), compilation, EmulationOptions(periods=4, apart=APART))):
        before = together[row["site"]]
        assert before["flash"] + 100 < row["flash"] < before["flash"] + 500
        assert row["bytes_sent"] == before["bytes_sent"]
        assert row["energy"] == pytest.approx(before["energy"], rel=0.02)


@pytest.mark.motes
@pytest.mark.slow
def test_the_emulators_time(tmp_path: Path) -> None:
    """A mote's cycles count from when it is switched on, and the run from when the sink is."""
    compilation = compiled(QUERIES["aggregation (Q2)"], tmp_path, beta=1, waiting=False)
    elves = {site: built.elf for site, built in compilation.built.items()}
    found = {
        boots: emulate_motes(elves, brook(), {}, alpha=10_240, ticks=10_240, air=Air(boots=dict(boots)))
        for boots in ((), ((9, 2.0),), tuple((site, 3.0) for site in elves))
    }
    together, one_later, all_later = found.values()
    assert all_later == together
    assert abs(together[9].cycles - one_later[9].cycles - 2 * FREQUENCY) < 100
    assert together[9].began is not None
    assert one_later[9].began == together[9].began + 2 * FREQUENCY


@pytest.mark.motes
@pytest.mark.long
@pytest.mark.parametrize("seed", range(20))
def test_random_networks(seed: int, tmp_path: Path) -> None:
    """Any tree, any number of seconds apart, with and without acknowledgements, drift and losses."""
    random = Random(seed)
    network = random_grid(random)
    links = tuple(replace(link, quality=random.uniform(0.7, 1)) for link in network.links)
    retries = random.choice((0, 1, 7))
    text = random.choice((RUNNING_EXAMPLE, ROWS, "SELECT id, depth FROM River [RANGE 3 ROWS SLIDE 2 ROWS]"))
    compilation = compile_query(
        ask(text),
        tmp_path,
        CompileOptions(
            replace(network, links=links, retries=retries),
            QualityOfService.of(buffering_factor=random.randint(1, 8)),
            drift=random.choice((0.0, 1e-4, 1e-3)) if retries else 0.0,
            waiting=True,
        ),
    )
    for loss in (False, True):
        apart = random.uniform(0, 50)
        emulation = emulate(
            ask(text), compilation, EmulationOptions(periods=4, seed=seed, loss=loss, apart=apart)
        )
        run = emulation.run
        assert run.sound, [m for m in run.measured.values() if not m.sound]
        assert run.lost or run.untold or emulation.difference is None
        assert loss or not (run.lost or run.untold)


def test_turns() -> None:
    """Parents before their children, one after the other, and the first evaluation after all of them."""
    tree = RoutingTree(0, ((1, 0), (2, 0), (3, 1), (4, 3), (5, 2)), (4, 5))
    starting = starting_for(tree)
    assert set(starting.turns) == {0, 1, 2, 3}
    turn = {site: starting.turn_of(site) for site in (0, 1, 2, 3)}
    assert turn[0] == START < turn[1] < turn[3]  # type: ignore[operator]
    assert sorted(turn.values()) == [START + number * TURN for number in range(4)]  # type: ignore[type-var]
    assert starting.turn_of(4) is starting.turn_of(5) is None
    assert starting.first == START + ROUNDS * 4 * TURN
    assert starting_for(tree, 1e-3).turn == TURN + 1
    assert starting_for(RoutingTree(0, (), (0,))).first == START


def test_what_cannot_be_is_refused(tmp_path: Path) -> None:
    network: Network = replace(grid(30, 1, {"river": (29,), "hilltop": (28,)}), retries=1)
    with pytest.raises(ConfigurationError, match="too far apart to tell motes when to begin"):
        compile_query(ask(RUNNING_EXAMPLE), tmp_path, CompileOptions(network, drift=0.01, waiting=True))
    assert not list(tmp_path.iterdir())


@pytest.mark.motes
@pytest.mark.slow
def test_nesc_does_not_wait(tmp_path: Path) -> None:
    compilation = compiled(QUERIES["aggregation (Q2)"], tmp_path)
    with pytest.raises(UnsupportedError, match="cannot wait for the start"):
        write_nesc(compilation, tmp_path)
