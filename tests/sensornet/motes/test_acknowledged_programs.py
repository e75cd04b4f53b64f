"""Programs whose packets are acknowledged and sent again: what they take where nothing is lost, and what is theirs alone."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from nilometer.dataflow.sources import MemorySources
from nilometer.engine.mote_report import measurements
from nilometer.engine.motes import CompileOptions, compile_query
from nilometer.laboratory.mote_queries import MOTE_QUERIES, MoteQuery, measured
from nilometer.placement import QualityOfService
from nilometer.sensornet.motes.compilation import run
from nilometer.sensornet.motes.emulate import HopCounts
from nilometer.sensornet.motes.readings import random_readings
from sensornet.motes.emulated import ask, brook, check_estimates

pytestmark = [pytest.mark.motes, pytest.mark.slow]

QUICK = ("running example", "selection (Q1)", "aggregation (Q2)")


@pytest.mark.parametrize(
    "query",
    [
        pytest.param(
            replace(query, retries=3),
            id=query.name,
            marks=[] if query.name in QUICK else [pytest.mark.long],
        )
        for query in MOTE_QUERIES
    ],
)
def test_estimates_hold_and_slots_are_long_enough(query: MoteQuery, tmp_path: Path) -> None:
    """A slot has no beat to spare where no link loses anything: a beat that took longer than planned would make a task late."""
    emulation = measured(query, tmp_path)
    check_estimates(emulation)
    for row in measurements(emulation):
        assert row["sendings"] == row["packets"]
        assert row["given_up"] == row["duplicates"] == 0
    for transfer in emulation.compilation.placement.agenda.transfers:
        counted = emulation.run.measured[transfer.source].hops
        assert counted.packets <= transfer.packets * emulation.run.periods


def test_a_parent_out_of_reach_is_given_up(tmp_path: Path) -> None:
    """Nobody hangs, and a run in which links should lose nothing is not sound."""
    query, quality = ask("SELECT depth FROM River [NOW]"), QualityOfService.of(buffering_factor=2)
    compilation = compile_query(query, tmp_path, CompileOptions(replace(brook(), retries=2), quality))
    placement = compilation.placement
    first = placement.agenda.transfers[0]
    ends = {first.source, first.target}
    kept = tuple(link for link in placement.network.links if {link.source, link.target} != ends)
    network = replace(placement.network, links=kept)
    motes = replace(compilation.motes, placement=replace(placement, network=network))
    result = run(replace(compilation, motes=motes), random_readings(motes, 6, 1), MemorySources())
    assert result.measured[first.source].hops == HopCounts(packets=3, sendings=3, given_up=3)
    assert result.lost == 3
    assert not result.sound
    assert all(measured.sound for measured in result.measured.values())


def test_only_programs_that_need_them_have_acknowledgements(tmp_path: Path) -> None:
    query, quality = ask("SELECT depth FROM River [NOW]"), QualityOfService.of(buffering_factor=2)
    plain = compile_query(query, tmp_path / "plain", CompileOptions(brook(), quality))
    again = compile_query(query, tmp_path / "again", CompileOptions(replace(brook(), retries=1), quality))
    assert not any("ACKNOWLEDGEMENT" in program.text for program in plain.programs.values())
    assert all("ACKNOWLEDGEMENT" in program.text for program in again.programs.values())
