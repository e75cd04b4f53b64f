"""A query is a value: what it is asked for later changes nothing about it."""

from __future__ import annotations

from dataclasses import FrozenInstanceError
from pathlib import Path

import pytest

from nilometer import Query, connect
from nilometer.catalog.network_files import import_network
from nilometer.errors import ConfigurationError

NETWORK = Path(__file__).parents[1] / "catalog" / "data" / "snee.toml"


def asked(**parameters: object) -> Query:
    database = connect()
    database.execute(
        "CREATE STREAM River (id INT, time INT UNIT 's', depth INT) SENSED EVERY 15 MINUTES;"
        "CREATE STREAM Hilltop (id INT, time INT UNIT 's', rain INT) SENSED EVERY 15 MINUTES;"
    )
    where = " WHERE depth > least" if parameters else ""
    return database.sql(f"SELECT depth FROM River{where}", **parameters)


@pytest.mark.parametrize("name", ["database", "text", "tree", "parameters", "profile", "network", "quality"])
def test_nothing_about_it_can_be_set(name: str) -> None:
    query = asked()
    with pytest.raises(FrozenInstanceError):
        setattr(query, name, None)


def test_its_parameters_are_its_own() -> None:
    query = asked(least=3)
    assert dict(query.parameters) == {"least": 3}
    with pytest.raises(TypeError):
        query.parameters["least"] = 4  # type: ignore[index]


def test_another_profile_gives_another_query() -> None:
    query = asked(least=3)
    before = query.explain("physical")
    other = query.with_profile("snee-2010")
    assert (query.profile, other.profile) == ("default", "snee-2010")
    assert other.logical == query.logical
    assert other.parameters == query.parameters
    assert query.explain("physical") == before
    assert query.with_profile("default") is query
    with pytest.raises(ConfigurationError):
        query.with_profile("snee-2011").explain()


def test_a_network_is_given_where_one_is_needed() -> None:
    query = asked()
    network = import_network(NETWORK, "brook")
    text = query.explain("routing", network=network)
    assert text == query.explain_json("routing", network=network)["text"]
    with pytest.raises(ConfigurationError, match="no network"):
        query.explain("routing")
