"""names -> extents, sensors, functions, sites, topology, statistics. No parsing, no planning.

Here is what every query needs, quick to import. The rest is imported where it is used: `functions` (signatures), `units`
(UCUM), `statistics`, `sensors_file` and `network_files` (what files declare), `profiles` (costs), and `store` (a database
that keeps the catalog), which alone loads SQLAlchemy, and only when one is opened.
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
