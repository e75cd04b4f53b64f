"""The hosts that can answer a query, by name. Each is imported when it is first used, so that EXPLAIN stays quick."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from nilometer.live.answers import Answer

if TYPE_CHECKING:
    from nilometer.engine.query import Query

Host = Callable[["Query", bool, int | None], Answer]


def reference(query: Query, finished: bool, batch_rows: int | None) -> Answer:
    """The naive evaluator, on the plan as it was bound: no rule has touched it."""
    del batch_rows
    from nilometer.engine.data import feed_of, sensors_by_stream, tables_of
    from nilometer.plan import logical
    from nilometer.plan.reference import evaluate

    database = query.database
    leaves = list(logical.walk_plan(query.logical))
    streams = {node.stream.name.lower(): node.stream for node in leaves if isinstance(node, logical.Acquire)}
    feeds = {name: feed_of(database.data, stream) for name, stream in streams.items()}
    tables = tables_of(query.logical, database.data, database.catalog)
    answer = evaluate(query.logical, feeds, tables, sensors_by_stream(database.catalog), finished=finished)
    ledgers = {o.alias: {"read": o.read, "late": o.late} for o in answer.occurrences}
    return Answer(query.schema, answer.rows, answer.watermark, ledgers)


def gateway(query: Query, finished: bool, batch_rows: int | None) -> Answer:
    """The columnar host, in this process."""
    from nilometer.engine.gateway import run_on_gateway

    return run_on_gateway(query, finished, batch_rows)


def spark(query: Query, finished: bool, batch_rows: int | None) -> Answer:
    """The data pipeline."""
    from nilometer.engine.spark import run_on_spark

    return run_on_spark(query, finished, batch_rows)


HOSTS: dict[str, Host] = {"gateway": gateway, "fjord": gateway, "spark": spark, "reference": reference}
