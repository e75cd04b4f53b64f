"""SNEE's running example over links that lose packets, which SNEE leaves out (section 6: no communication
failures).

Q1 of Fig. 25 runs every minute and its tuples are sent at once (beta is 1). A week is simulated, with all
links of one quality. For each number of retries it gives the share of the tuples that reach the sink, and how
long the first node lasts.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

from nilometer.catalog.network import Network
from nilometer.catalog.profiles import cost_profile
from nilometer.laboratory.placement_comparison import placed
from nilometer.laboratory.reproductions.verdict import claimed
from nilometer.laboratory.scenarios import running_example
from nilometer.placement import QualityOfService
from nilometer.placement.text.tables import table
from nilometer.sensornet.simulation import Conditions, simulate
from nilometer.types import DAY, MINUTE, format_duration

QUALITIES = (1.0, 0.95, 0.9, 0.8, 0.7, 0.6, 0.5)
RETRIES = (0, 1, 3)
DAYS = 7
EVERY = MINUTE
MOTES = {"mica2": (4096, 31_320.0), "nrf52840": (262_144, 2_430.0)}
"""Profiles, with RAM in bytes and energy in joules: two AA cells as in SNEE, and a coin cell (CR2032: 225 mAh
at 3 V)."""

PAPER = "SNEE's experiments assume that no communication fails (section 6); robuster plans are its future work (section 7, c)."


@dataclass(frozen=True)
class Found:
    """The outcome of a run: the share of the tuples that arrived, the days until the first node dies, and the
    transmissions per packet."""

    complete: float
    days: float
    sendings: float


def snee_losses(days: int = DAYS, qualities: tuple[float, ...] = QUALITIES) -> dict[str, Any]:
    """A table for each kind of mote."""
    figures = {}
    for costs in MOTES:
        found = {
            (quality, retries): run(costs, quality, retries, days)
            for quality in qualities
            for retries in RETRIES
        }
        figures[f"Q1 on motes of the profile {costs}"] = claimed(
            PAPER, "\n".join(_lines(found, qualities)), bears_out(found, qualities)
        )
    return {
        "name": "snee-losses",
        "title": f"SNEE's running example where links lose packets: {days} days, without retries, with one, with three",
        "figures": figures,
        "assumptions": [
            "sensor boards are switched off between readings, else they take most of a Mica2's energy",
            "a link is as good for acknowledgements as for packets; each sending is lost or not by itself",
            "a receiver listens to the end of a reserved slot, used or not: that is what retries cost",
            "every minute, and nothing is buffered (beta is 1): radios take most; where readings may wait, retries cost next to no life",
        ],
    }


def lossy_example(costs: str, quality: float, retries: int) -> Network:
    """The ten motes of SNEE's Fig. 3 with links of one quality, and sensor boards that can be switched
    off."""
    network = running_example("Q1").network
    ram, energy = MOTES[costs]
    nodes = tuple(node if node.id == 0 else replace(node, ram=ram, energy=energy) for node in network.nodes)
    links = tuple(replace(link, quality=quality) for link in network.links)
    profile = cost_profile(costs, {"sensor_board": 0.0})
    return replace(network, nodes=nodes, links=links, profile=profile, retries=retries)


def run(costs: str, quality: float, retries: int, days: int = DAYS) -> Found:
    """Simulate one setting."""
    example = running_example("Q1")
    schema = example.schema.replace(format_duration(example.interval), format_duration(EVERY))
    scenario = replace(example, schema=schema, network=lossy_example(costs, quality, retries))
    placement = placed(scenario, "default", QualityOfService.of(buffering_factor=1))
    result = simulate(placement, days * DAY, Conditions(seed=1, losses=True, batteries=False))
    evaluations = result.periods * placement.beta
    sources = len(placement.routing.sources)
    return Found(
        result.answer_rows / (evaluations * sources),
        min(result.lifetimes().values()) / 86400,
        float(result.radio.sent.sum() / result.radio.packets.sum()),
    )


def bears_out(found: dict[tuple[float, int], Found], qualities: tuple[float, ...]) -> bool:
    """Whether retries deliver more and cost lifetime, and three of them deliver nearly everything if seven
    packets in ten arrive."""
    columns = [[found[quality, retries] for retries in RETRIES] for quality in qualities]
    return (
        all(one.complete <= more.complete for row in columns for one, more in pairwise(row))
        and all(one.days >= more.days for row in columns for one, more in pairwise(row))
        and all(row[-1].complete > 0.95 for row, q in zip(columns, qualities, strict=True) if q >= 0.7)
    )


def _lines(found: dict[tuple[float, int], Found], qualities: tuple[float, ...]) -> list[str]:
    rows = []
    for quality in qualities:
        row = [f"{quality:g}"]
        for retries in RETRIES:
            one = found[quality, retries]
            row += [f"{one.complete:.1%}", f"{one.days:.0f}", f"{one.sendings:.2f}"]
        rows.append(row)
    columns = ["quality"]
    for retries in RETRIES:
        columns += [f"retries {retries}: complete", "days", "sendings"]
    return table(columns, rows, left=())
