"""names -> extents, sensors, functions, sites, topology, statistics. No parsing, no planning.

Quick to import: SQLAlchemy is loaded by the store alone, when one is opened.
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
