"""The tables of a stored catalog. This module imports SQLAlchemy, so it is loaded only through the store.

Names follow OGC SensorThings: datastreams with observed properties, things with locations. Networks, nodes,
links, queries, views and phenomena are our own. `position` is the order of declaration. Ids are text with their type beside
them, because a thing's id is INT or STRING.
"""

from __future__ import annotations

import sqlalchemy as sql

metadata = sql.MetaData()

catalog_version = sql.Table(
    "catalog_version",
    metadata,
    sql.Column("version", sql.Integer, nullable=False),
    sql.Column("revision", sql.BigInteger, nullable=False),
)
"""One row: the version of these tables, and a number that every change raises."""

datastreams = sql.Table(
    "datastreams",
    metadata,
    sql.Column("key", sql.Text, primary_key=True),
    sql.Column("position", sql.BigInteger, nullable=False),
    sql.Column("name", sql.Text, nullable=False),
    sql.Column(
        "kind", sql.Text, sql.CheckConstraint("kind IN ('sensed', 'pushed', 'stored')"), nullable=False
    ),
    sql.Column("url", sql.Text),
    sql.Column("sensed_every", sql.BigInteger),
    sql.Column("expect_every", sql.BigInteger),
    sql.Column("delay", sql.BigInteger),
    sql.Column("future", sql.BigInteger),
    sql.Column("key_columns", sql.JSON),
    sql.Column("time_unit", sql.BigInteger),
    sql.Column("id_declared", sql.Boolean),
    sql.Column("stored_table", sql.Text),
    sql.Column("refresh_every", sql.BigInteger),
    sql.Column("coordinates", sql.Text),
    sql.Column("form", sql.JSON(none_as_null=True)),
)
"""Streams and stored tables; `key` is the lower-case name. Durations are microseconds. `form` is form.py's."""

observed_properties = sql.Table(
    "observed_properties",
    metadata,
    sql.Column("datastream", sql.ForeignKey("datastreams.key", ondelete="CASCADE"), primary_key=True),
    sql.Column("position", sql.Integer, primary_key=True, autoincrement=False),
    sql.Column("name", sql.Text, nullable=False),
    sql.Column("type", sql.Text, nullable=False),
    sql.Column("width", sql.Integer),
    sql.Column("unit_of_measurement", sql.Text),
)
"""The columns of a datastream, with their UCUM unit."""

things = sql.Table(
    "things",
    metadata,
    sql.Column("datastream", sql.ForeignKey("datastreams.key", ondelete="CASCADE"), primary_key=True),
    sql.Column("id", sql.Text, primary_key=True),
    sql.Column("id_type", sql.Text, nullable=False),
    sql.Column("position", sql.BigInteger, nullable=False),
    sql.Column("properties", sql.JSON, nullable=False),
)
"""The sensors, with their static attributes."""

locations = sql.Table(
    "locations",
    metadata,
    sql.Column("datastream", sql.Text, primary_key=True),
    sql.Column("thing", sql.Text, primary_key=True),
    sql.Column("x", sql.Double, nullable=False),
    sql.Column("y", sql.Double, nullable=False),
    sql.ForeignKeyConstraint(["datastream", "thing"], ["things.datastream", "things.id"], ondelete="CASCADE"),
)
"""The location of a thing."""

networks = sql.Table(
    "networks",
    metadata,
    sql.Column("key", sql.Text, primary_key=True),
    sql.Column("position", sql.BigInteger, nullable=False),
    sql.Column("name", sql.Text, nullable=False),
    sql.Column("sink", sql.Text, nullable=False),
    sql.Column("sink_type", sql.Text, nullable=False),
    sql.Column("profile", sql.Text, nullable=False),
    sql.Column("profile_parameters", sql.JSON, nullable=False),
    sql.Column("retries", sql.Integer, nullable=False, server_default="0"),
)
"""Mote networks, each with its cost profile and its number of retries."""

nodes = sql.Table(
    "nodes",
    metadata,
    sql.Column("network", sql.ForeignKey("networks.key", ondelete="CASCADE"), primary_key=True),
    sql.Column("position", sql.Integer, primary_key=True, autoincrement=False),
    sql.Column("id", sql.Text, nullable=False),
    sql.Column("id_type", sql.Text, nullable=False),
    sql.Column("ram", sql.BigInteger),
    sql.Column("flash", sql.BigInteger),
    sql.Column("energy", sql.Double),
    sql.Column("x", sql.Double),
    sql.Column("y", sql.Double),
    sql.Column("streams", sql.JSON, nullable=False),
)
"""Motes: bytes, joules, place, and the streams they sense."""

links = sql.Table(
    "links",
    metadata,
    sql.Column("network", sql.ForeignKey("networks.key", ondelete="CASCADE"), primary_key=True),
    sql.Column("position", sql.Integer, primary_key=True, autoincrement=False),
    sql.Column("source", sql.Text, nullable=False),
    sql.Column("source_type", sql.Text, nullable=False),
    sql.Column("target", sql.Text, nullable=False),
    sql.Column("target_type", sql.Text, nullable=False),
    sql.Column("quality", sql.Double, nullable=False),
    sql.Column("cost", sql.Double, nullable=False),
)
"""Radio links."""

queries = sql.Table(
    "queries",
    metadata,
    sql.Column("key", sql.Text, primary_key=True),
    sql.Column("position", sql.BigInteger, nullable=False),
    sql.Column("name", sql.Text, nullable=False),
    sql.Column("text", sql.Text, nullable=False),
    sql.Column("starting", sql.Text),
    sql.Column("starting_at", sql.BigInteger),
    sql.Column("stops", sql.Boolean, nullable=False, server_default=sql.false()),
    sql.Column("made_by", sql.Text),
    sql.Column("pipeline", sql.Text),
)
"""Standing queries: `starting` is BEGINNING, or `starting_at` is a time in microseconds, or neither: from
now. `stops`: ON ERROR STOP. `made_by`: the alert or decision that it belongs to. `pipeline`: IN PIPELINE."""

views = sql.Table(
    "views",
    metadata,
    sql.Column("key", sql.Text, primary_key=True),
    sql.Column("position", sql.BigInteger, nullable=False),
    sql.Column("name", sql.Text, nullable=False),
    sql.Column("text", sql.Text, nullable=False),
    sql.Column("column_names", sql.JSON, nullable=False),
)
"""Named queries that other queries read."""

phenomena = sql.Table(
    "phenomena",
    metadata,
    sql.Column("key", sql.Text, primary_key=True),
    sql.Column("position", sql.BigInteger, nullable=False),
    sql.Column("name", sql.Text, nullable=False),
    sql.Column("text", sql.Text, nullable=False),
)
"""Definitions of phenomena, as CREATE PHENOMENON has them."""

functions = sql.Table(
    "functions",
    metadata,
    sql.Column("key", sql.Text, primary_key=True),
    sql.Column("position", sql.BigInteger, nullable=False),
    sql.Column("name", sql.Text, nullable=False),
    sql.Column("arguments", sql.JSON, nullable=False),
    sql.Column("returns", sql.Text, nullable=False),
    sql.Column("reference", sql.Text, nullable=False),
)
"""Functions in Python: pairs of an argument's name and type, the type that is given, and `module:function`."""
