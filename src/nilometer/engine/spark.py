"""The Spark host behind the engine: a query's physical plan over the data at hand, landed in logs of its own."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from nilometer.catalog import Stream
from nilometer.engine.answers import Answer
from nilometer.engine.gateway import DatabaseSources
from nilometer.operators.frames import dtypes, empty
from nilometer.plan import physical

if TYPE_CHECKING:
    from nilometer.engine.query import Query
    from nilometer.spark.job import TablesAtHand

BATCH_ROWS = 1_000_000
"""Of a micro-batch, unless told. The fixed cost of a micro-batch is a good part of a second."""


def run_on_spark(query: Query, finished: bool, batch_rows: int | None) -> Answer:
    """The whole answer, as one frame."""
    from nilometer.spark.finite import run_finite
    from nilometer.spark.landing import land

    sources = DatabaseSources(query.database, query.physical)
    streams = streams_of(query.physical)
    with tempfile.TemporaryDirectory(prefix="nilometer-") as folder:
        ledgers = {name: land(Path(folder), s, sources.entries(s)) for name, s in streams.items()}
        result = run_finite(
            query.physical,
            streams,
            extents_of(query, streams),
            folder,
            max_rows=BATCH_ROWS if batch_rows is None else batch_rows,
            ends=finished,
        )
    frame = pl.concat(result.frames) if result.frames else empty(dtypes(query.schema))
    books = {name: {"read": ledger.received} | ledger.as_dict() for name, ledger in ledgers.items()}
    return Answer(query.schema, frame, result.watermark, books)


def streams_of(plan: physical.Node) -> dict[str, Stream]:
    """The streams that a plan reads, by their lower-case names."""
    return {
        node.stream.name.lower(): node.stream
        for node in physical.walk_plan(plan)
        if isinstance(node, physical.SpAcquire)
    }


def extents_of(query: Query, streams: Mapping[str, Stream]) -> TablesAtHand:
    """The tables as they are now and the sensors of the streams."""
    from nilometer.spark.job import TablesAtHand

    sources = DatabaseSources(query.database, query.physical)
    tables = {
        node.table.name.lower(): sources.table(node.table)
        for node in physical.walk_plan(query.physical)
        if isinstance(node, physical.StoredScan)
    }
    return TablesAtHand.of(tables, {name: tuple(sources.sensors(s)) for name, s in streams.items()})
