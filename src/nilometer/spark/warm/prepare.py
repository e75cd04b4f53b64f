"""Imports everything that our Python processes of Spark need; called once, before the first fork."""

from __future__ import annotations

import gc
import importlib
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

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

KERNELS = (
    "nilometer.log.checksum",
    "nilometer.kernels.codes",
    "nilometer.kernels.entries",
    "nilometer.kernels.slice_cover",
    "nilometer.kernels.sliding",
    "nilometer.kernels.window_table",
    "nilometer.kernels.hash_index",
)
"""The compiled functions of logs, windows and joins."""


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


def kept_code() -> Iterator[None]:
    """Load the machine code of the kernels that Numba has kept from earlier runs, a function with each step. A forked process
    then has it, where it would take 5 to 20 ms for each function that a query uses."""
    from numba.core.dispatcher import Dispatcher

    for name in KERNELS:
        for function in vars(importlib.import_module(name)).values():
            if isinstance(function, Dispatcher) and function.__module__ == name:
                for signature in _kept(function):
                    function.compile(signature)
                    yield
    gc.freeze()


def _kept(function: Any) -> list[Any]:
    """The signatures for which code is kept that this machine can run."""
    with suppress(AttributeError, OSError):  # another version of Numba, a place that cannot be read
        cache = function._cache
        index, codegen = cache._cache_file._load_index(), function.targetctx.codegen()
        return [key[0] for key in index if key == cache._index_key(key[0], codegen)]
    return []
