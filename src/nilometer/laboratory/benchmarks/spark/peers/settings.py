"""The settings of a stock query: durable state in RocksDB, like ours, and otherwise what was fastest for
stock Spark.

These were tried on two cores (docs/benchmarks.md). For windows, the number of shuffle partitions (one, two or
four), larger caches and write buffers, and counting rows made no difference beyond the noise. For the join it
helps not to count rows, which saves a look-up for every put. The join's newest state format does make a
difference. It is an internal setting of Spark's (not public, 2 by default), so it is measured separately.
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
        """The settings by Spark's names. All of them can be set in a running session."""
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
    """Other settings of stock Spark with which a query is measured as well, by name."""
    if not query.startswith("join"):
        return {}
    return {NEW_JOIN_STATE: StockSettings(more={"spark.sql.streaming.join.stateFormatVersion": "4"})}


def session_for(session: SparkSession, settings: StockSettings) -> SparkSession:
    """A session of its own in the same JVM, with these settings."""
    own = session.newSession()
    for name, value in settings.as_spark().items():
        own.conf.set(name, value)
    return own
