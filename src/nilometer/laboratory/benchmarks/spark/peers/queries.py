"""The stock queries by name, and the plain forms that Spark refuses."""

from __future__ import annotations

from collections.abc import Mapping

from nilometer.laboratory.benchmarks.spark.peers.asof_join import asof_join
from nilometer.laboratory.benchmarks.spark.peers.chained_joins import chained_joins
from nilometer.laboratory.benchmarks.spark.peers.filter import filter_readings
from nilometer.laboratory.benchmarks.spark.peers.hop import hop
from nilometer.laboratory.benchmarks.spark.peers.interval_join import interval_join
from nilometer.laboratory.benchmarks.spark.peers.partners import partners
from nilometer.laboratory.benchmarks.spark.peers.refusals import plain_asof_join, plain_row_window
from nilometer.laboratory.benchmarks.spark.peers.row_window import row_window
from nilometer.laboratory.benchmarks.spark.peers.run import Query
from nilometer.laboratory.benchmarks.spark.peers.two_stages import two_stages

QUERIES: Mapping[str, Query] = {
    "filter": filter_readings,
    "hop60x5": hop(60, 5),
    "hop60x1": hop(60, 1),
    "join": interval_join,
    "join3": chained_joins(2, 3),
    "join4": chained_joins(1, 4),
    "partners": partners,
    "asof": asof_join(buckets=4),
    "rows": row_window(100, 1),
    "two_stages": two_stages,
}
PLAIN: Mapping[str, Query] = {"asof": plain_asof_join, "rows": plain_row_window}
