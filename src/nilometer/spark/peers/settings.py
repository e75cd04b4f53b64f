"""The settings of a stock query: durable state in RocksDB, as ours, and otherwise what was fastest for stock Spark.

Tried on two cores, 1M readings, 250k a micro-batch (docs/benchmarks.md): as many shuffle partitions as cores; no count of
the rows in the state, which costs a look-up for every put; and the join's state in one column family each (format 3).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from pyspark.sql import SparkSession

ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
IN_MEMORY = "org.apache.spark.sql.execution.streaming.state.HDFSBackedStateStoreProvider"
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


def session_for(session: SparkSession, settings: StockSettings) -> SparkSession:
    """A session of its own in the same JVM, with these settings."""
    own = session.newSession()
    for name, value in settings.as_spark().items():
        own.conf.set(name, value)
    return own
