"""The hosts that can answer a query, by name. Each is imported when it is first used, so that EXPLAIN stays
fast.

This is the only list of hosts: options, errors and documents name these hosts and no others
(tests/engine/test_hosts.py).

>>> host_name("gateway"), host_name("fjord")
('gateway', 'gateway')
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from nilometer.catalog.near_misses import near_misses
from nilometer.errors import ConfigurationError, FunctionFailedError
from nilometer.live.answers import Answer

if TYPE_CHECKING:
    from nilometer.engine.query import Query

Host = Callable[["Query", bool, int | None], Answer]


def reference(query: Query, finished: bool, batch_rows: int | None) -> Answer:
    """The naive evaluator, over the bound plan, before any optimizer rule."""
    del batch_rows
    from nilometer.dataflow import Batch
    from nilometer.engine.data import feed_of, sensors_by_stream, tables_of
    from nilometer.plan import logical
    from nilometer.plan.reference import evaluate

    database = query.database
    leaves = list(logical.walk_plan(query.logical))
    streams = {node.stream.name.lower(): node.stream for node in leaves if isinstance(node, logical.Acquire)}
    feeds = {name: feed_of(database.data, stream) for name, stream in streams.items()}
    tables = tables_of(query.logical, database.data, database.catalog)
    answer = evaluate(
        query.logical,
        feeds,
        tables,
        sensors_by_stream(database.catalog),
        finished=finished,
        skipping=FunctionFailedError,
    )
    ledgers = {}
    for occurrence in answer.occurrences:
        received = database.data.received(streams[occurrence.stream.lower()])
        batches = [entry for entry in received if isinstance(entry, Batch)]
        garbled = sum(batch.garbled for batch in batches)
        read = sum(batch.rows.height for batch in batches) + garbled
        duplicate = read - garbled - occurrence.read
        ledgers[occurrence.alias] = {
            "read": read,
            "garbled": garbled,
            "duplicate": duplicate,
            "late": occurrence.late,
        }
    return Answer(query.schema, answer.rows, answer.watermark, ledgers)


def gateway(query: Query, finished: bool, batch_rows: int | None) -> Answer:
    """The columnar host, in this process."""
    from nilometer.engine.gateway import run_on_gateway

    return run_on_gateway(query, finished, batch_rows)


def spark(query: Query, finished: bool, batch_rows: int | None) -> Answer:
    """The Spark host."""
    from nilometer.engine.spark import run_on_spark

    return run_on_spark(query, finished, batch_rows)


HOSTS: dict[str, Host] = {"gateway": gateway, "spark": spark, "reference": reference}
LIVE_HOSTS = ("gateway", "spark")
"""The hosts that run live queries."""
ALIASES = {"fjord": "gateway"}
"""Other names of hosts."""


def host_name(name: str) -> str:
    """The name of the host with that name or alias; refuses an unknown name."""
    found = ALIASES.get(name, name)
    if found not in HOSTS:
        raise ConfigurationError(f"no host '{name}'", hint=near_misses(name, HOSTS))
    return found
