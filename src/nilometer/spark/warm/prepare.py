"""Imports everything that our Python processes of Spark need; called once, before the first fork."""

from __future__ import annotations

import gc
import importlib

MODULES = (
    "encodings.idna",  # of any socket
    "pyspark.sql.streaming.python_streaming_source_runner",
    "pyspark.sql.streaming.stateful_processor_api_client",
    "pyspark.sql.streaming.proto.StateMessage_pb2",
    "pyspark.sql.worker.create_data_source",
    "pyspark.sql.worker.lookup_data_sources",
    "pyspark.sql.worker.plan_data_source_read",
    "pyspark.worker",
    "nilometer.spark.planning",
    "nilometer.spark.processor",
    "nilometer.spark.shared.round_source",
    "nilometer.spark.shared.round_work",
    "nilometer.spark.source",
    "nilometer.spark.stage",
)


def prepare() -> None:
    """Import what every query needs. No thread pool is started, since a forked process would lack its
    threads.
    """
    for each in MODULES:
        importlib.import_module(each)
    from nilometer.log.checksum import checksum_of

    checksum_of(b"numba")  # which takes half a second to make itself ready for the first compiled function
    # A worker of Spark collects garbage after every task: without the modules this takes no time, with them
    # 80 ms.
    gc.collect()
    gc.freeze()
