"""Tables of an older catalog -> those of the next version, in place. Imports SQLAlchemy: reached only through the store."""

from __future__ import annotations

import sqlalchemy as sql

from nilometer.catalog.profiles import PROFILES


def add_retries(connection: sql.Connection) -> None:
    """Version 1 -> 2: a network has `retries`, none so far, and its profile says what acknowledgements take."""
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
