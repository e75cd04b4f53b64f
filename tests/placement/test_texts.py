"""Text tests: what EXPLAIN shows of a placement, and what is said to what cannot be placed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import golden
from nilometer.catalog.network import Link, Network, NetworkNode
from nilometer.catalog.profiles import PROFILES, cost_profile
from nilometer.engine.expectations import expectations
from nilometer.engine.placing import PLACEMENT_STAGES, stage_text
from nilometer.errors import NilometerError
from nilometer.placement import place, placement_profile
from nilometer.placement.text import summary_text
from placement.scenarios import DAY, Q1, Q2, Q3, SCHEMA, brook, database, physical_plan

MORE = """
CREATE STREAM Wells (level INT) PUSHED FROM 'mqtt://localhost/wells' EXPECT EVERY 1 MINUTE;
CREATE STREAM Springs (flow INT) SENSED EVERY 10 MINUTES;
CREATE STREAM Gauges (depth INT) SENSED EVERY 15 MINUTES;
CREATE SENSOR 8 OF Gauges WITH kind = 'gauge';
CREATE STREAM Marks (id STRING, depth INT, colour STRING) SENSED EVERY 15 MINUTES;
"""

NAMES = {"Q1": Q1, "Q2": Q2, "Q3": Q3}


def test_stages(rewrite: bool) -> None:
    def answer(text: str) -> str:
        head, _, query = text.partition("\n")
        stage, profile = head.split()
        plan = physical_plan(NAMES.get(query, query), profile, SCHEMA + MORE)
        found = place(plan, brook(), DAY, placement_profile(profile))
        assert stage in (*PLACEMENT_STAGES, "summary")
        return summary_text(found) if stage == "summary" else stage_text(found, stage)

    golden.read(Path(__file__).with_name("stages.txt")).check(answer, rewrite=rewrite)


def test_what_is_refused(rewrite: bool) -> None:
    def answer(text: str) -> str:
        lines = text.split("\n")
        settings = dict(line.split(": ", 1) for line in lines if ": " in line)
        query = next(line for line in lines if ": " not in line)
        try:
            network = _network(settings.pop("network"))
            profile = settings.pop("profile", "default")
            asked = database(SCHEMA + MORE).sql(NAMES.get(query, query)).with_profile(profile)
            quality = expectations(
                acquisition_interval=settings.get("acquisition_interval"),
                delivery_time=settings.get("delivery_time"),
                lifetime=settings.get("lifetime"),
                goal=settings.get("goal"),
                total_energy=float(settings["total_energy"]) if "total_energy" in settings else None,
                buffering_factor=int(settings["buffering_factor"])
                if "buffering_factor" in settings
                else None,
            )
            found = asked.placement(network, quality)
        except NilometerError as error:
            return str(error)
        return f"beta {found.beta}, {found.fragments[0].host}"

    golden.read(Path(__file__).with_name("errors.txt")).check(answer, rewrite=rewrite)


def _network(name: str) -> Network:
    network = brook()
    match name:
        case "island":
            nodes = (NetworkNode(0), NetworkNode(1), NetworkNode(2, streams=("River",)))
            return Network("island", 0, nodes, (Link(0, 1),))
        case "tired":  # the only way to the sink is over a node without energy
            nodes = (
                NetworkNode(0),
                NetworkNode(1, energy=0.0),
                NetworkNode(2, energy=9.0, streams=("River",)),
            )
            return Network("tired", 0, nodes, (Link(0, 1), Link(1, 2)), network.profile)
        case "narrow":
            return replace(network, profile=cost_profile("snee-2010", {"packet_payload": 8.0}))
        case "small":
            return replace(network, nodes=tuple(replace(node, ram=440) for node in network.nodes))
        case "tiny":  # the runtime alone does not fit
            return replace(network, nodes=tuple(replace(node, ram=300) for node in network.nodes))
        case "boundless":
            return replace(network, nodes=tuple(replace(node, ram=None) for node in network.nodes))
        case "named":
            return Network(
                "named",
                "sink",
                (NetworkNode("sink"), NetworkNode("a", streams=("Marks",))),
                (Link("sink", "a"),),
                network.profile,
            )
        case "names" | "numbers":
            node, stream = ("a", "River") if name == "names" else (1, "Marks")
            nodes = (NetworkNode(0), NetworkNode(node, streams=(stream,)))
            return Network(name, 0, nodes, (Link(0, node),), network.profile)
        case "powerless":
            return replace(network, nodes=tuple(replace(node, energy=None) for node in network.nodes))
        case "two-rates":
            nodes = tuple(
                replace(n, streams=(*n.streams, "Springs") if n.id == 8 else n.streams) for n in network.nodes
            )
            return replace(network, nodes=nodes)
        case _:
            nodes = tuple(replace(n, streams=("Gauges",)) if n.id == 8 else n for n in network.nodes)
            return replace(network, nodes=nodes)


def test_the_document_shows_what_the_program_prints() -> None:
    document = (Path(__file__).parents[2] / "docs" / "placement.md").read_text(encoding="utf-8")
    found = place(physical_plan(Q3), brook(), DAY)
    assert stage_text(found, "agenda") in document
    for option in (
        "--acquisition-interval",
        "--delivery-time",
        "--lifetime",
        "--total-energy",
        "--buffering-factor",
    ):
        assert option in document
    for name in PROFILES:
        assert f"`{name}`" in document
