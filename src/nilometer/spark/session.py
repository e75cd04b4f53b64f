"""Settings -> the one SparkSession of this process.

`local[*]` by default, any master URL by configuration; whatever the user sets wins over what is chosen here.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from nilometer.spark.java import java_home

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

STATE_STORE = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
CHECKPOINT_FILES = (
    "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
)


def spark_session(settings: Mapping[str, str] | None = None) -> SparkSession:
    """The session of this process: made with these settings, or the one that is there already."""
    os.environ.setdefault("JAVA_HOME", str(java_home()))
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    from pyspark.sql import SparkSession

    builder = SparkSession.builder
    for key, value in (default_settings() | dict(settings or {})).items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


def default_settings() -> dict[str, str]:
    """What a session has unless told otherwise."""
    cores = os.cpu_count() or 1
    return {
        "spark.master": "local[*]",
        "spark.app.name": "nilometer",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.extraJavaOptions": f"-Dlog4j2.configurationFile={Path(__file__).with_name('log4j2.properties').as_uri()}",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": str(min(cores, 4)),
        "spark.sql.streaming.stateStore.providerClass": STATE_STORE,
        "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
        "spark.sql.streaming.checkpointFileManagerClass": CHECKPOINT_FILES,
    }
