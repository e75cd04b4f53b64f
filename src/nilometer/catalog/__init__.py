"""The catalog: names -> extents, sensors, functions, sites, topology, statistics. No parsing, no planning.

This module exports what every query needs and is quick to import. Other modules are imported where they are
used: `functions` (signatures), `units` (UCUM), `statistics`, `sensors_file` and `network_files` (declarations
in files), `profiles` (costs), and `store` (a database that keeps the catalog). Only `store` loads SQLAlchemy,
and only when a database is opened.
"""

from nilometer.catalog.catalog import Catalog, QueryDefinition
from nilometer.catalog.extents import Extent, Sensor, Stream, Table, stream_columns
from nilometer.catalog.network import CostProfile, Link, Network, NetworkNode

__all__ = [
    "Catalog",
    "QueryDefinition",
    "Extent",
    "Stream",
    "Table",
    "Sensor",
    "stream_columns",
    "Network",
    "NetworkNode",
    "Link",
    "CostProfile",
]
