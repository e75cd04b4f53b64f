"""The settings of a stock query: durable state in RocksDB, as ours, and otherwise what was fastest for stock Spark.

Tried on two cores (docs/benchmarks.md): one, two and four shuffle partitions, larger caches and write buffers, and counting rows or not made
no difference beyond the noise for windows; not counting them, which saves a look-up for every put, helps the join. What did make a
difference is the join's newest state format, which is an internal setting of Spark's (not public, 2 by default): it is measured beside.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from pyspark.sql import SparkSession

ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
LOCAL_CHECKPOINTS = (
    "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
)


@dataclass(frozen=True)
class StockSettings:
    """`more` are Spark settings that override these."""

    shuffle_partitions: int = 2
    provider: str = ROCKSDB
    more: Mapping[str, str] = field(default_factory=dict)

    def as_spark(self) -> dict[str, str]:
        """By Spark's names; all of them can be set in a session that runs."""
        state = "spark.sql.streaming.stateStore"
        found = {
            "spark.sql.shuffle.partitions": str(self.shuffle_partitions),
            "spark.sql.session.timeZone": "UTC",
            "spark.sql.streaming.checkpointFileManagerClass": LOCAL_CHECKPOINTS,
            # The last windows close in a batch without data.
            "spark.sql.streaming.noDataMicroBatches.enabled": "true",
            f"{state}.providerClass": self.provider,
        }
        if self.provider == ROCKSDB:
            found |= {
                f"{state}.rocksdb.changelogCheckpointing.enabled": "true",
                f"{state}.rocksdb.trackTotalNumberOfRows": "false",
            }
        return found | dict(self.more)


NEW_JOIN_STATE = "Spark v4"
"""The join's state by time, new in 4.2."""


def variants(query: str) -> dict[str, StockSettings]:
    """Other settings of stock Spark that a query is measured with as well, by their names."""
    if not query.startswith("join"):
        return {}
    return {NEW_JOIN_STATE: StockSettings(more={"spark.sql.streaming.join.stateFormatVersion": "4"})}


def session_for(session: SparkSession, settings: StockSettings) -> SparkSession:
    """A session of its own in the same JVM, with these settings."""
    own = session.newSession()
    for name, value in settings.as_spark().items():
        own.conf.set(name, value)
    return own
