"""The Fjord host behind the engine: a query's physical plan over the data at hand, pushed as if it came now."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

import polars as pl

from nilometer.dataflow import BATCH_ROWS, Batch, Entry
from nilometer.dataflow.fjord import Fjord, Scheduler
from nilometer.engine.gateway import DatabaseSources
from nilometer.live.answers import Answer
from nilometer.operators.frames import dtypes, empty
from nilometer.plan import physical

if TYPE_CHECKING:
    from nilometer.engine.query import Query

NAME = "query"


def run_on_fjord(
    query: Query, finished: bool, batch_rows: int | None, scheduler: Scheduler | None = None
) -> Answer:
    """The whole answer, as one frame. The stream that is furthest behind is pushed next, so that none runs ahead."""
    sources = DatabaseSources(query.database, query.physical)
    fjord = Fjord(sources, scheduler=scheduler)
    fjord.install(NAME, query.physical)
    streams = physical.streams_of(query.physical)
    logs = {
        name: deque(_cut(sources.entries(stream), BATCH_ROWS if batch_rows is None else batch_rows))
        for name, stream in streams.items()
    }
    fjord.run()
    frames = fjord.answers(NAME)
    while logs:
        name = min(logs, key=lambda stream: fjord.stream_watermark(NAME, stream))
        if logs[name]:
            fjord.push(name, logs[name].popleft())
        else:
            del logs[name]
            if finished:
                fjord.end(name)
        fjord.run()
        frames += fjord.answers(NAME)
    ledgers = {name: fjord.stream_ledger(NAME, name) for name in streams}
    frame = pl.concat(frames) if frames else empty(dtypes(query.schema))
    books = {name: {"read": ledger.received} | ledger.as_dict() for name, ledger in ledgers.items()}
    return Answer(query.schema, frame, fjord.watermark(NAME), books)


def _cut(entries: Iterable[Entry], rows: int) -> list[Entry]:
    """The log in batches of so many rows."""
    cut: list[Entry] = []
    for entry in entries:
        if not isinstance(entry, Batch) or entry.rows.height <= rows:
            cut.append(entry)
            continue
        cut.append(replace(entry, rows=entry.rows[:rows]))
        for first in range(rows, entry.rows.height, rows):
            cut.append(replace(entry, rows=entry.rows[first : first + rows], garbled=0, duplicate=0))
    return cut
