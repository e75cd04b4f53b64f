"""Migrates the tables of an older catalog in place. Imports SQLAlchemy, so only the store loads it."""

from __future__ import annotations

import sqlalchemy as sql

from nilometer.catalog.profiles import PROFILES
from nilometer.catalog.store_tables import functions, phenomena, views


def add_retries(connection: sql.Connection) -> None:
    """Version 1 -> 2: a network gets `retries`, 0 at first, and its profile gets the costs of
    acknowledgements."""
    networks = sql.table(
        "networks", *map(sql.column, ("key", "profile")), sql.column("profile_parameters", sql.JSON)
    )
    schema = connection.get_execution_options().get("schema_translate_map", {}).get(None)
    name = "networks" if schema is None else f"{schema}.networks"
    connection.execute(sql.text(f"ALTER TABLE {name} ADD COLUMN retries INTEGER DEFAULT 0 NOT NULL"))
    networks.schema = schema
    for row in connection.execute(sql.select(networks)).all():
        known = PROFILES.get(row.profile)
        if known is not None:
            whole = dict(known.parameters) | row.profile_parameters
            connection.execute(
                networks.update().where(networks.c.key == row.key).values(profile_parameters=whole)
            )


def add_views(connection: sql.Connection) -> None:
    """Version 2 -> 3: views have a table of their own."""
    views.create(connection, checkfirst=True)


def add_form(connection: sql.Connection) -> None:
    """Version 3 -> 4: a datastream gets `form`, NULL at first: its data are as declared."""
    schema = connection.get_execution_options().get("schema_translate_map", {}).get(None)
    name = "datastreams" if schema is None else f"{schema}.datastreams"
    columns = sql.inspect(connection).get_columns("datastreams", schema=schema)
    if not any(column["name"] == "form" for column in columns):
        connection.execute(sql.text(f"ALTER TABLE {name} ADD COLUMN form JSON"))


def add_coordinates(connection: sql.Connection) -> None:
    """Version 4 -> 5: a datastream gets `coordinates`, NULL at first: those of a plane without a unit."""
    schema = connection.get_execution_options().get("schema_translate_map", {}).get(None)
    name = "datastreams" if schema is None else f"{schema}.datastreams"
    columns = sql.inspect(connection).get_columns("datastreams", schema=schema)
    if not any(column["name"] == "coordinates" for column in columns):
        connection.execute(sql.text(f"ALTER TABLE {name} ADD COLUMN coordinates TEXT"))


def add_stops(connection: sql.Connection) -> None:
    """Version 5 -> 6: a query gets `stops`, false at first: a row without a value is set aside."""
    schema = connection.get_execution_options().get("schema_translate_map", {}).get(None)
    name = "queries" if schema is None else f"{schema}.queries"
    columns = sql.inspect(connection).get_columns("queries", schema=schema)
    if not any(column["name"] == "stops" for column in columns):
        connection.execute(sql.text(f"ALTER TABLE {name} ADD COLUMN stops BOOLEAN DEFAULT FALSE NOT NULL"))


def add_made_by(connection: sql.Connection) -> None:
    """Version 6 -> 7: a query gets `made_by`, NULL at first: it belongs to no alert and no decision."""
    schema = connection.get_execution_options().get("schema_translate_map", {}).get(None)
    name = "queries" if schema is None else f"{schema}.queries"
    columns = sql.inspect(connection).get_columns("queries", schema=schema)
    if not any(column["name"] == "made_by" for column in columns):
        connection.execute(sql.text(f"ALTER TABLE {name} ADD COLUMN made_by TEXT"))


def add_phenomena(connection: sql.Connection) -> None:
    """Version 7 -> 8: phenomena have a table of their own."""
    phenomena.create(connection, checkfirst=True)


def add_pipeline(connection: sql.Connection) -> None:
    """Version 8 -> 9: a query gets `pipeline`, NULL at first: it runs with all others."""
    schema = connection.get_execution_options().get("schema_translate_map", {}).get(None)
    name = "queries" if schema is None else f"{schema}.queries"
    columns = sql.inspect(connection).get_columns("queries", schema=schema)
    if not any(column["name"] == "pipeline" for column in columns):
        connection.execute(sql.text(f"ALTER TABLE {name} ADD COLUMN pipeline TEXT"))


def add_functions(connection: sql.Connection) -> None:
    """Version 9 -> 10: functions in Python have a table of their own."""
    functions.create(connection, checkfirst=True)
