"""Queries over recorded readings in a network: what its motes answer is what the reference evaluator answers, whoever is asked."""

from __future__ import annotations

from typing import Any

import pytest

from nilometer.catalog.network import Link, Network, NetworkNode
from nilometer.catalog.profiles import cost_profile
from nilometer.engine import Database, Query, connect
from nilometer.engine.data import sensors_by_stream
from nilometer.engine.recorded import recorded_readings
from nilometer.engine.simulating import SimulationOptions, prepare, prepare_placed
from nilometer.errors import DataError
from nilometer.live.answers import Answer
from nilometer.placement import Placement, QualityOfService, place, placement_profile
from nilometer.plan.reference import same_answer
from nilometer.types import MINUTE
from placement.scenarios import brook

SENSORS = """
CREATE STREAM River (id INT, time TIME, rain INT, depth INT) SENSED EVERY 15 MINUTES;
CREATE SENSOR 5 OF River AT (1.5, 2) WITH kind = 'gauge', height = 3;
CREATE SENSOR 6 OF River AT (3, 4) WITH kind = 'radar', height = 5;
CREATE SENSOR 7 OF River WITH kind = 'gauge', height = 4;
"""  # 9 was not declared: its attributes are NULL


@pytest.fixture
def river() -> Database:
    found = connect()
    found.execute(SENSORS)
    for tick in range(8):
        found.append(
            "River",
            [
                {
                    "id": site,
                    "time": tick * 15 * MINUTE,
                    "rain": (tick + site) % 3,
                    "depth": (tick * site) % 7,
                }
                for site in (5, 6, 7, 9)
            ],
        )
    return found


@pytest.mark.parametrize(
    ("query", "sources"),
    [
        ("SELECT id, depth FROM River[NOW] WHERE id = 7", {7}),
        ("SELECT depth FROM River[NOW] WHERE id = 5 OR id = 9", {5, 9}),
        ("SELECT depth FROM River[NOW] WHERE id IN (6, 7, 99) AND depth > 2", {6, 7}),
        ("SELECT AVG(depth) FROM River[RANGE 30 MINUTES] WHERE id BETWEEN 6 AND 8", {6, 7}),
        ("SELECT depth FROM River[NOW] WHERE id % 2 = 1 AND NOT id = 9", {5, 7}),
        ("SELECT depth FROM River[NOW] WHERE kind = 'gauge' AND id > 5", {7}),
        ("SELECT id, depth FROM River[NOW] WHERE kind IS NULL", {9}),
        ("SELECT a.depth, b.rain FROM River[NOW] a, River[NOW] b WHERE a.id = 5 AND b.id = 6", {5, 6}),
        ("SELECT kind, depth FROM River[NOW]", {5, 6, 7, 9}),
        ("SELECT id, kind, height, location, depth FROM River[NOW] WHERE depth > 1", {5, 6, 7, 9}),
        ("SELECT depth FROM River[NOW] WHERE depth > height", {5, 6, 7, 9}),
        ("SELECT kind, AVG(depth) FROM River[RANGE 1 HOUR] WHERE id < 9 GROUP BY kind", {5, 6, 7}),
        ("SELECT depth FROM River[NOW] WHERE kind LIKE '%a_g%' OR depth > 4", {5, 6, 7, 9}),
    ],
)
def test_only_nodes_that_can_answer_are_asked(river: Database, query: str, sources: set[int]) -> None:
    asked = river.sql(query)
    placement = asked.placement(brook())
    assert set(placement.routing.sources) == sources
    _check_answers(asked, placement)


def _check_answers(asked: Query, placement: Placement) -> None:
    rows: list[tuple[Any, ...]] = []

    def take(answer: Answer) -> None:
        rows.extend(answer.rows)

    prepare_placed(asked, placement, 8 * 15 * MINUTE).run(take)
    expected = asked.run("reference").rows
    within = [row for row in rows if row[0] < 8 * 15 * MINUTE]  # a period may be longer than the log
    assert expected
    assert same_answer([row for row in expected if row[0] < 8 * 15 * MINUTE], within) is None


def test_a_simulation_keeps_its_answers_or_hands_them_on(river: Database) -> None:
    asked = river.sql("SELECT id, depth FROM River[NOW] WHERE depth > 1")
    options = SimulationOptions(8 * 15 * MINUTE, brook(), QualityOfService.of(buffering_factor=4))
    taken: list[tuple[Any, ...]] = []
    simulation = prepare(asked, options)
    result = simulation.run(lambda answer: taken.extend(answer.rows))
    assert (result.answers, result.duration) == (None, simulation.end)
    kept = asked.simulate(options).answers
    assert kept is not None
    assert kept.columns == list(asked.columns)
    assert kept.rows() == taken != []


@pytest.mark.parametrize(
    "query",
    [
        "SELECT id, depth FROM River[NOW] WHERE id <> 'mill'",
        "SELECT id, AVG(depth) FROM River[RANGE 30 MINUTES] GROUP BY id",
        "SELECT MAX(id), COUNT(id) FROM River[NOW] WHERE depth > 2",
        "SELECT a.id, b.depth FROM River[NOW] a, River[AT NOW - 15 MINUTES] b WHERE a.id = b.id AND a.depth > b.depth",
        "SELECT upper(id) AS name, kind, depth FROM River[NOW] WHERE id LIKE 'm%' OR depth > height",
    ],
)
@pytest.mark.parametrize("profile", ["default", "motes"])
def test_nodes_that_have_names(query: str, profile: str) -> None:
    nodes = (
        NetworkNode("gateway"),
        NetworkNode("ford", streams=("River",)),
        NetworkNode("mill", streams=("River",)),
        NetworkNode("weir", streams=("River",)),
    )
    links = (Link("gateway", "ford"), Link("ford", "mill"), Link("mill", "weir"))
    network = Network("valley", "gateway", nodes, links, cost_profile("mica2"))
    database = connect()
    database.execute(
        "CREATE STREAM River (id STRING, time TIME, depth INT) SENSED EVERY 15 MINUTES;"
        "CREATE SENSOR 'mill' OF River WITH kind = 'gauge', height = 3"
    )
    names = ("ford", "mill", "weir")
    database.append(
        "River",
        [
            {"id": name, "time": tick * 15 * MINUTE, "depth": (tick * (place + 2)) % 5}
            for tick in range(8)
            for place, name in enumerate(names)
        ],
    )
    asked = database.sql(query)
    placement = place(
        asked.physical,
        network,
        QualityOfService.of(buffering_factor=4),
        placement_profile(profile),
        sensors=sensors_by_stream(database.catalog),
    )
    _check_answers(asked, placement)


def test_recorded_readings_are_those_of_the_nodes_that_are_asked(river: Database) -> None:
    query = river.sql("SELECT depth FROM River[NOW] WHERE id IN (5, 7)")
    found = recorded_readings(query, brook(), 100)
    assert found.start == 0
    assert {site: len(series) for site, series in found.readings["river"].items()} == {5: 8, 7: 8}
    assert found.missing == (0,) * 8
    assert len(recorded_readings(query, brook(), 3).missing) == 3


def test_what_no_node_senses_is_not_looked_for_among_readings(river: Database) -> None:
    river.execute("CREATE STREAM Lake (id INT, time TIME, depth INT) SENSED EVERY 15 MINUTES")
    query = river.sql("SELECT id, depth FROM River[NOW] UNION ALL SELECT id, depth FROM Lake[NOW]")
    found = recorded_readings(query, brook(), 100)  # the rest is for `compile_query` to refuse
    assert set(found.readings) == {"river"}


def test_attributes_are_not_looked_for_among_readings(river: Database) -> None:
    query = river.sql("SELECT height, depth FROM River[NOW] WHERE depth >= 0 OR height > 3")
    found = recorded_readings(query, brook(), 100)
    assert sum(found.missing) == 0
    assert {column for _, column in found.converters} <= {"depth"}


def test_a_stream_that_was_not_recorded(river: Database) -> None:
    river.execute("CREATE STREAM Hilltop (id INT, time TIME, rain INT) SENSED EVERY 15 MINUTES")
    query = river.sql("SELECT r.depth FROM River[NOW] r, Hilltop[NOW] h WHERE r.rain < h.rain")
    with pytest.raises(DataError, match="there are no readings of 'Hilltop' from a node that senses it"):
        recorded_readings(query, brook(), 100)
