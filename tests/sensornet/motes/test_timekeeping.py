"""Emulated motes whose clocks run apart: they set them by their parents' once a period, and answers are the reference's."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from nilometer.catalog.network import Link, Network, NetworkNode, NodeId
from nilometer.dataflow.sources import MemorySources
from nilometer.engine.mote_report import measurements
from nilometer.engine.motes import CompileOptions, EmulationOptions, compile_query, emulate
from nilometer.errors import ConfigurationError, UnsupportedError
from nilometer.placement import QualityOfService
from nilometer.plan.reference import same_answer
from nilometer.sensornet.motes.compilation import Compilation, EmulatedRun, expected_rows, run
from nilometer.sensornet.motes.emulate import CYCLES_PER_TICK, Air
from nilometer.sensornet.motes.emulate import emulate as emulate_motes
from nilometer.sensornet.motes.readings import random_readings
from nilometer.sensornet.motes.starting import START
from nilometer.sensornet.motes.toolchain import build
from sensornet.motes.emulated import ERROR, SCHEMA, ask, brook
from sensornet.motes.test_lossy_links import ROWS, lossy

pytestmark = [pytest.mark.motes, pytest.mark.slow]

DRIFT = 40e-6
PERIODS = 40
"""Of two minutes: without being set, two clocks would be 0.38 s apart at the end."""

SLOWLY = SCHEMA.replace("10 SECONDS", "15 MINUTES")

CORRECTION = "if (SYNCHRONIZE) clock_set();"


def compiled(directory: Path, network: Network, beta: int = 12, drift: float = DRIFT) -> Compilation:
    quality = QualityOfService.of(buffering_factor=beta)
    return compile_query(ask(ROWS), directory, CompileOptions(network, quality, drift=drift))


def ran(
    compilation: Compilation, rates: Mapping[NodeId, float], periods: int = PERIODS
) -> tuple[EmulatedRun, bool]:
    """The run, and whether its answers are the reference's."""
    readings = random_readings(compilation.motes, periods * compilation.placement.beta, 5)
    result = run(compilation, readings, MemorySources(), Air(drift=rates))
    expected = expected_rows(compilation, readings, ask(ROWS).logical, result.periods)
    return result, same_answer(expected, result.answer.rows()) is None


def apart(compilation: Compilation, drift: float = DRIFT) -> dict[NodeId, float]:
    """Every clock is as far from its parent's as can be."""
    depths = compilation.placement.routing.depths
    return {site: drift * (-1) ** depth for site, depth in depths.items() if depth}


def test_clocks_that_are_set_once_a_period(tmp_path: Path) -> None:
    """Every packet is heard the first time, whoever is fast; and if nobody sets its clock, the same run fails."""
    compilation = compiled(tmp_path, replace(brook(), retries=3))
    alternating = apart(compilation)
    one_way = dict.fromkeys(alternating, DRIFT)
    for rates in (alternating, one_way, {site: -rate for site, rate in one_way.items()}):
        result, equal = ran(compilation, rates)
        assert result.sound, [m for m in result.measured.values() if not m.sound]
        assert equal
    changed = 0
    for source in tmp_path.glob("site_*.c"):
        text = source.read_text("utf-8")
        source.write_text(text.replace(CORRECTION, ""), "utf-8")
        build(source)
        changed += CORRECTION in text
    assert changed == len(compilation.built) - 1
    result, equal = ran(compilation, alternating)
    assert not result.sound
    assert not equal


def test_clocks_that_drift_more_than_was_said_are_noticed(tmp_path: Path) -> None:
    compilation = compiled(tmp_path, replace(brook(), retries=1))
    assert not ran(compilation, apart(compilation, 20 * DRIFT))[0].sound


def test_estimates_hold_and_clocks_are_drawn_from_the_seed(tmp_path: Path) -> None:
    compilation = compiled(tmp_path, replace(brook(), retries=3))
    emulations = [
        emulate(ask(ROWS), compilation, EmulationOptions(periods=4, seed=seed)) for seed in (1, 1, 2)
    ]
    assert all(emulation.difference is None and emulation.run.sound for emulation in emulations)
    assert emulations[0].run.measured == emulations[1].run.measured
    assert emulations[0].run.measured[9].cycles != emulations[2].run.measured[9].cycles
    for row in measurements(emulations[0]):
        for what in ("busy", "ram", "flash"):
            assert row[f"{what}_estimate"] == pytest.approx(row[what], rel=ERROR), (row["site"], what)
        assert row["busy"] <= row["reserved"]


def test_clocks_are_set_though_links_lose_packets(tmp_path: Path) -> None:
    compilation = compiled(tmp_path, lossy(0.8, 7))
    for seed in range(3):
        emulation = emulate(ask(ROWS), compilation, EmulationOptions(periods=12, seed=seed, loss=True))
        assert emulation.run.sound
        assert emulation.run.lost == 0
        assert emulation.difference is None


def test_a_mote_that_was_not_told_the_time_for_some_periods_is_heard_again(tmp_path: Path) -> None:
    """Links lose as much as with clocks that agree: nobody is out of its slot, after however many periods in which all was lost."""
    nodes = [NetworkNode(at, 4096, 131_072, streams=("River",) if at else ()) for at in range(3)]
    links = (Link(1, 0, quality=0.7), Link(2, 1, quality=0.7))
    chain = Network("chain", 0, tuple(nodes), links, retries=1)
    arrived = {}
    for drift in (0.0, DRIFT):
        compilation = compile_query(
            ask(ROWS, SLOWLY),
            tmp_path,
            CompileOptions(chain, QualityOfService.of(buffering_factor=1), drift=drift),
        )
        emulation = emulate(ask(ROWS, SLOWLY), compilation, EmulationOptions(periods=100, seed=2, loss=True))
        assert emulation.run.sound
        arrived[drift] = emulation.arrived
    assert arrived[DRIFT] == arrived[0.0] > 100


def test_the_emulators_time(tmp_path: Path) -> None:
    """A mote that is fast by a hundredth has counted a hundredth more; one without drift, what it always has."""
    alone = Network("alone", 0, (NetworkNode(0, 4096, 131_072, streams=("River",)),), ())
    compilation = compile_query(
        ask("SELECT depth FROM River [NOW]"),
        tmp_path,
        CompileOptions(alone, QualityOfService.of(buffering_factor=1)),
    )
    elves, ticks = {0: compilation.built[0].elf}, 100 * 10 * 1024 - START
    cycles = {
        drift: emulate_motes(
            elves, alone, {}, alpha=10_240, ticks=ticks, air=Air(drift={} if drift is None else {0: drift})
        )[0]
        for drift in (None, 0.0, 0.01)
    }
    assert cycles[None] == cycles[0.0]
    whole = (START + ticks) * CYCLES_PER_TICK
    assert abs(cycles[0.0].cycles - whole) < 100
    assert abs(cycles[0.01].cycles - whole * 1.01) < 100
    assert cycles[0.01].conversions == cycles[0.0].conversions + 1


def test_what_cannot_be_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UnsupportedError, match="by acknowledgements, and there are none"):
        compiled(tmp_path, brook())
    again = replace(brook(), retries=1)
    with pytest.raises(ConfigurationError, match="no clock drifts by 100000 ppm"):
        compiled(tmp_path, again, drift=0.1)
    with pytest.raises(ConfigurationError, match="too far apart for this acquisition interval"):
        compiled(tmp_path, again, beta=30, drift=0.01)
    with pytest.raises(ConfigurationError, match="too far apart to set them by acknowledgements"):
        compile_query(
            ask(ROWS, SLOWLY),
            tmp_path,
            CompileOptions(again, QualityOfService.of(buffering_factor=1), drift=0.01),
        )
    assert not list(tmp_path.iterdir())
