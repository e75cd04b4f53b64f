"""A query over the data at hand, pushed into a graph as if it came now: how live queries run."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import replace

import polars as pl

from nilometer.dataflow import BATCH_ROWS, Batch, Entry
from nilometer.dataflow.graph import Graph
from nilometer.dataflow.schedulers import Scheduler
from nilometer.engine import Query
from nilometer.engine.gateway import DatabaseSources
from nilometer.live.answers import Answer
from nilometer.operators.frames import dtypes, empty
from nilometer.plan import physical

NAME = "query"


def run_pushed(
    query: Query, finished: bool, batch_rows: int | None, scheduler: Scheduler | None = None
) -> Answer:
    """The whole answer, as one frame. The stream that is furthest behind is pushed next, so that none runs ahead."""
    sources = DatabaseSources(query.database, query.physical)
    graph = Graph(sources, scheduler=scheduler)
    graph.install(NAME, query.physical)
    streams = physical.streams_of(query.physical)
    logs = {
        name: deque(_cut(sources.entries(stream), BATCH_ROWS if batch_rows is None else batch_rows))
        for name, stream in streams.items()
    }
    graph.run()
    frames = graph.answers(NAME)
    while logs:
        name = min(logs, key=lambda stream: graph.stream_watermark(NAME, stream))
        if logs[name]:
            graph.push(name, logs[name].popleft())
        else:
            del logs[name]
            if finished:
                graph.end(name)
        graph.run()
        frames += graph.answers(NAME)
    ledgers = {name: graph.stream_ledger(NAME, name) for name in streams}
    frame = pl.concat(frames) if frames else empty(dtypes(query.schema))
    books = {name: {"read": ledger.received} | ledger.as_dict() for name, ledger in ledgers.items()}
    return Answer(query.schema, frame, graph.watermark(NAME), books)


def _cut(entries: Iterable[Entry], rows: int) -> list[Entry]:
    """The log in batches of so many rows."""
    cut: list[Entry] = []
    for entry in entries:
        if not isinstance(entry, Batch) or entry.rows.height <= rows:
            cut.append(entry)
            continue
        cut.append(replace(entry, rows=entry.rows[:rows]))
        for first in range(rows, entry.rows.height, rows):
            cut.append(replace(entry, rows=entry.rows[first : first + rows], garbled=0))
    return cut
