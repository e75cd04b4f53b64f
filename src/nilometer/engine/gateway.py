"""The gateway host behind the engine: runs a query's physical plan over the available data."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from nilometer.catalog import Sensor, Stream, Table
from nilometer.dataflow import BATCH_ROWS, Entry, Run
from nilometer.dataflow.dead_rows import lines_of, notes_of
from nilometer.errors import FunctionFailedError
from nilometer.live.answers import Answer
from nilometer.operators.set_aside import collecting
from nilometer.plan import physical

if TYPE_CHECKING:
    from nilometer.engine.database import Database
    from nilometer.engine.query import Query


@dataclass(frozen=True)
class DatabaseSources:
    """Answers the gateway's requests from a database."""

    database: Database
    plan: physical.Node

    def entries(self, stream: Stream) -> Iterable[Entry]:
        """The log of a stream, with time, id and the columns that the plan reads."""
        wanted = {"time", "id"}
        for node in physical.walk_plan(self.plan):
            if isinstance(node, physical.SpAcquire) and node.stream.name == stream.name:
                wanted |= {column.name.lower() for column in node.columns + node.reads}
        return self.database.data.entries(stream, frozenset(wanted))

    def table(self, table: Table) -> pl.DataFrame:
        """The snapshot of a stored table."""
        return self.database.data.table(table, self.database.catalog)

    def sensors(self, stream: Stream) -> Sequence[Sensor]:
        """The declared sensors of a stream."""
        return self.database.catalog.sensors(stream.name)


def run_on_gateway(query: Query, finished: bool, batch_rows: int | None) -> Answer:
    """The whole answer, as one frame."""
    run = Run(
        query.physical,
        DatabaseSources(query.database, query.physical),
        BATCH_ROWS if batch_rows is None else batch_rows,
        finished=finished,
    )
    with collecting(FunctionFailedError) as letters:
        frame = run.collect()
    summary = run.summary
    ledgers = {name: {"read": ledger.received} | ledger.as_dict() for name, ledger in summary.ledgers.items()}
    for name, shed in summary.shed.items():
        ledgers[name] = ledgers.get(name, {}) | {"shed": shed}
    return Answer(query.schema, frame, summary.watermark, ledgers, notes_of(lines_of(letters)))
