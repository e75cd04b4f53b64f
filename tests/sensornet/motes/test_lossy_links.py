"""Emulated motes over links that lose packets: where none is lost for good, answers are the reference's; sendings are what the planner
expects; without retries programs go on with what is left."""

from __future__ import annotations

from dataclasses import replace
from math import sqrt
from pathlib import Path
from random import Random

import numpy as np
import pytest

from nilometer.catalog.network import Network
from nilometer.dataflow.sources import MemorySources
from nilometer.engine.mote_report import what_was_lost
from nilometer.engine.motes import CompileOptions, Emulation, EmulationOptions, compile_query, emulate
from nilometer.placement import QualityOfService
from nilometer.placement.acknowledgements import Hop, hop_of
from nilometer.sensornet.motes.compilation import Compilation, run
from nilometer.sensornet.motes.emulate import CYCLES_PER_TICK, Air
from nilometer.sensornet.motes.emulate import emulate as emulate_motes
from nilometer.sensornet.motes.program import SEND_MARK
from nilometer.sensornet.motes.readings import random_readings, raw_counts
from sensornet.motes.emulated import RUNNING_EXAMPLE, ask, brook, random_grid

pytestmark = [pytest.mark.motes, pytest.mark.slow]

ONE_PACKET = "SELECT MAX(depth) AS m FROM River [NOW]"
ROWS = "RSTREAM SELECT River.time, River.depth FROM River[NOW]"


def lossy(quality: float, retries: int, back: float | None = None) -> Network:
    """The brook; all links of one quality, or of another one back (from who is nearer to the sink, by its number)."""
    network = brook()
    links = [replace(link, quality=quality) for link in network.links]
    if back is not None:
        up = [link if link.source > link.target else link.reverse for link in links]
        links = up + [replace(link.reverse, quality=back) for link in up]
    return replace(network, links=tuple(links), retries=retries)


def compiled(text: str, network: Network, beta: int, directory: Path) -> Compilation:
    return compile_query(
        ask(text), directory, CompileOptions(network, QualityOfService.of(buffering_factor=beta))
    )


def ran(text: str, compilation: Compilation, periods: int, seed: int) -> Emulation:
    """Every condition holds, so that slots have what was planned."""
    beta = compilation.placement.beta
    readings = random_readings(compilation.motes, beta * periods, 7, {"rain": 12})
    for reading in (r for series in readings.get("hilltop", {}).values() for r in series):
        reading["rain"] = 20  # type: ignore[index]  # ours to change
    return emulate(ask(text), compilation, EmulationOptions(readings=readings, seed=seed, loss=True))


@pytest.mark.parametrize(
    ("text", "beta"),
    [
        (RUNNING_EXAMPLE, 6),
        ("RSTREAM SELECT AVG(River.depth) FROM River[NOW]", 16),
        ("SELECT id, depth FROM River [RANGE 5 ROWS SLIDE 3 ROWS]", 6),
    ],
)
def test_answers_are_the_references_where_every_packet_arrives(text: str, beta: int, tmp_path: Path) -> None:
    compilation = compiled(text, lossy(0.8, 7), beta, tmp_path)
    for seed in range(5):
        emulation = ran(text, compilation, 4, seed)
        hops = [one.hops for one in emulation.run.measured.values()]
        assert emulation.run.sound, [m for m in emulation.run.measured.values() if not m.sound]
        assert emulation.run.lost == 0
        assert emulation.difference is None
        assert what_was_lost(emulation) is None
        assert emulation.arrived == emulation.expected == len(emulation.answer) > 0
        assert sum(one.taken for one in hops) == sum(one.packets for one in hops)
        assert sum(one.sendings for one in hops) > sum(one.packets for one in hops)
        assert sum(one.duplicates for one in hops) > 0


@pytest.mark.parametrize(("quality", "retries"), [(0.8, 7), (0.6, 2)])
def test_the_mean_of_sendings_is_the_planners(quality: float, retries: int, tmp_path: Path) -> None:
    """A packet a slot, in many periods; at each hop, and at all of them together, within four deviations of the mean."""
    periods = 400
    compilation = compiled(ONE_PACKET, lossy(quality, retries), 1, tmp_path)
    emulation = ran(ONE_PACKET, compilation, periods, 1)
    placement = compilation.placement
    total = expected = variance = 0.0
    for transfer in placement.agenda.transfers:
        hop = hop_of(placement.network, transfer.source, transfer.target)
        counted = emulation.run.measured[transfer.source].hops
        assert counted.packets == transfer.packets * periods == periods
        mean = hop.expected(transfer.packets, transfer.sendings)
        each = variance_of(hop)
        assert abs(counted.sendings - mean * periods) < 4 * sqrt(each * periods)
        total, expected, variance = total + counted.sendings, expected + mean, variance + each
    assert abs(total - expected * periods) < 4 * sqrt(variance * periods)


def variance_of(hop: Hop) -> float:
    """Of the sendings of one packet: geometric, and cut off."""
    numbers = np.arange(1, hop.retries + 2)
    law = hop.success * (1 - hop.success) ** (numbers - 1)
    law[-1] = (1 - hop.success) ** hop.retries
    return float(law @ numbers**2 - (law @ numbers) ** 2)


def test_what_is_lost_for_good_is_counted_and_no_difference(tmp_path: Path) -> None:
    """Where every acknowledgement arrives, what a sender gives up is what never came."""
    compilation = compiled(ROWS, lossy(0.5, 1, back=1.0), 16, tmp_path)
    emulation = ran(ROWS, compilation, 6, 3)
    hops = [one.hops for one in emulation.run.measured.values()]
    assert emulation.run.sound
    assert emulation.run.lost == sum(one.given_up for one in hops) > 0
    assert sum(one.duplicates for one in hops) == 0
    assert emulation.arrived == len(emulation.answer) < emulation.expected
    words = what_was_lost(emulation)
    assert words is not None
    assert f"{emulation.run.lost} packets" in words
    assert f"{emulation.arrived} of {emulation.expected} expected rows" in words


def test_a_packet_that_was_given_up_may_have_arrived(tmp_path: Path) -> None:
    """Only acknowledgements are lost: each packet is taken once, and the next one is not mistaken for it."""
    compilation = compiled(ROWS, lossy(1.0, 2, back=0.3), 8, tmp_path)
    emulation = ran(ROWS, compilation, 4, 1)
    hops = [one.hops for one in emulation.run.measured.values()]
    assert sum(one.given_up for one in hops) > 10
    assert sum(one.taken for one in hops) == sum(one.packets for one in hops)
    assert emulation.run.lost == 0
    assert emulation.difference is None


def test_no_sending_is_beyond_the_end_of_its_slot(tmp_path: Path) -> None:
    """Next to nothing arrives, so that every beat that is reserved is used, with all the waiting that there can be."""
    compilation = compiled(ROWS, lossy(0.01, 7), 8, tmp_path)
    emulation = ran(ROWS, compilation, 2, 1)
    assert emulation.run.sound
    agenda = compilation.placement.agenda
    full = 0
    for transfer in agenda.transfers:
        measured = emulation.run.measured[transfer.source]
        length = compilation.motes.ticks(transfer.end - transfer.start) * CYCLES_PER_TICK
        assert measured.tasks[SEND_MARK].longest <= length
        assert measured.hops.sendings <= transfer.sendings * emulation.run.periods
        full += measured.hops.sendings == transfer.sendings * emulation.run.periods
    assert full > 0


def test_without_retries_motes_go_on_with_what_is_left(tmp_path: Path) -> None:
    """A packet a slot: a parent misses its child once for each that is lost, and meets no other fault."""
    compilation = compiled(ONE_PACKET, lossy(0.7, 0), 1, tmp_path)
    emulation = ran(ONE_PACKET, compilation, 100, 1)
    measured = emulation.run.measured.values()
    assert emulation.run.sound
    assert all(one.state == "running" and one.faults.keys() <= {"unheard"} for one in measured)
    assert emulation.run.lost == sum(one.missed for one in measured) > 0
    assert emulation.run.lost == sum(one.faults.get("unheard", 0) for one in measured)
    transfers = len(compilation.placement.agenda.transfers) * 100
    assert abs(emulation.run.lost - 0.3 * transfers) < 4 * sqrt(0.3 * 0.7 * transfers)
    assert 0 < emulation.arrived < emulation.expected


def test_losses_follow_from_the_seed_alone(tmp_path: Path) -> None:
    """Not from the order in which the emulator takes the nodes."""
    compilation = compiled(ROWS, lossy(0.8, 3), 4, tmp_path)
    placement, motes = compilation.placement, compilation.motes
    readings = random_readings(motes, 8, 1)
    nothing = MemorySources()
    first, same, other = (run(compilation, readings, nothing, Air(seed, lossy=True)) for seed in (5, 5, 6))
    assert same.measured == first.measured
    assert same.answer.equals(first.answer)
    assert other.measured != first.measured
    alpha = motes.ticks(placement.agenda.alpha)
    turned = emulate_motes(
        {site: compilation.built[site].elf for site in reversed(list(compilation.built))},
        placement.network,
        raw_counts(motes, readings),
        alpha=alpha,
        ticks=alpha * 8,
        air=Air(5, lossy=True),
    )
    assert turned == first.measured
    assert run(compilation, readings, nothing).sound  # links lose nothing unless they are told to


@pytest.mark.long
@pytest.mark.parametrize("seed", range(12))
def test_random_networks(seed: int, tmp_path: Path) -> None:
    """Any tree, any qualities there and back, any retries, also with clocks that drift."""
    random = Random(seed)
    network = random_grid(random)
    links = [replace(link, quality=random.uniform(0.4, 1)) for link in network.links]
    links += [
        replace(link.reverse, quality=random.uniform(0.4, 1)) for link in links if random.random() < 0.5
    ]
    retries = random.randint(0, 7)
    text = random.choice((RUNNING_EXAMPLE, ROWS, "SELECT id, depth FROM River [RANGE 3 ROWS SLIDE 2 ROWS]"))
    compilation = compile_query(
        ask(text),
        tmp_path,
        CompileOptions(
            replace(network, links=tuple(links), retries=retries),
            QualityOfService.of(buffering_factor=random.randint(1, 8)),
            drift=random.choice((0.0, 1e-4)) if retries else 0.0,
        ),
    )
    emulation = emulate(ask(text), compilation, EmulationOptions(periods=5, seed=seed, loss=True))
    hops = [one.hops for one in emulation.run.measured.values()]
    assert emulation.run.sound, [m for m in emulation.run.measured.values() if not m.sound]
    assert emulation.run.lost > 0 or emulation.difference is None
    if retries:
        assert sum(one.given_up for one in hops) >= emulation.run.lost >= 0
