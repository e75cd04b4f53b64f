"""Aggregates of the ring in the station: the stream of their answers, and the plan that reads it.

An answer of a tick is one reading per group, numbered, with the columns of AGGR_INIT. A window that holds exactly one tick
gives them to AGGR_MERGE; after a tick's last reading, the stream promises that no earlier one comes.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import polars as pl

from nilometer.catalog import Stream, stream_columns
from nilometer.catalog.peer_streams import FUTURE, RESULTS
from nilometer.expressions import ColumnReference
from nilometer.live.peers.adapters import ResultsAdapter
from nilometer.operators.frames import dtype
from nilometer.overlay.tally.overlaid_tally import values_of
from nilometer.overlay.tally.tally_plan import TallyPlan
from nilometer.plan import physical
from nilometer.plan.logical import Projection
from nilometer.types import INT, Column

PLACE, TICK = "p0", "p1"


@dataclass
class TallyQuestion:
    """A question of ours to the ring whose answers are aggregates."""

    name: str
    key: str
    node: physical.AggregateInit
    plan: TallyPlan
    stream: Stream
    adapter: ResultsAdapter | None = None
    waiting: list[tuple[pl.DataFrame, int]] = field(default_factory=list)
    too_large: int = 0
    """Ticks with a sum or count that is too large for an INT: they have no answer."""

    def take_adapter(self, adapter: ResultsAdapter) -> None:
        """The answers go here from now on."""
        self.adapter = adapter
        for frame, promise in self.waiting:
            adapter.came(frame, promise)
        self.waiting.clear()

    def came(self, tick: int, rows: pl.DataFrame) -> None:
        """The answer of a tick has come."""
        values = values_of(self.node, rows)
        try:
            typed = [
                series.cast(dtype(column.type)).alias(f"c{at}")
                for at, (series, column) in enumerate(zip(values, self.node.schema, strict=True))
            ]
        except pl.exceptions.PolarsError:
            self.too_large += 1
            return
        frame = pl.DataFrame(
            [
                pl.int_range(rows.height, dtype=pl.Int64, eager=True).alias(PLACE),
                *(
                    pl.Series(name, [tick], dtype=pl.Int64).new_from_index(0, rows.height)
                    for name in (TICK, "time")
                ),
                *typed,
            ]
        )
        if self.adapter is None:
            self.waiting.append((frame, tick + 1))
        else:
            self.adapter.came(frame, tick + 1)


def answers_stream(query: str, node: physical.AggregateInit) -> Stream:
    """The stream of an aggregate's answers: in order, each tick once. KEY drops what peers compute again."""
    values = tuple(Column(f"c{at}", column.type.plain, column.unit) for at, column in enumerate(node.schema))
    return Stream(
        f"overlay_{query}",
        stream_columns((Column(PLACE, INT), Column(TICK, INT), *values), INT),
        url=f"{RESULTS}{query}",
        key=(PLACE, TICK),
        future=FUTURE,
    )


def over_answers(node: physical.AggregateInit, plan: TallyPlan, stream: Stream) -> physical.Node:
    """In the place of AGGR_INIT: the readings of the stream at each tick, under the names that AGGR_MERGE uses."""
    columns = tuple(column for column in stream.columns if column.name.startswith("c"))
    leaf = physical.SpAcquire(stream, "J", columns)
    window = physical.TimeWindow(leaf, plan.slide, 0, plan.slide, open_start=True)
    items = [
        Projection(wanted.name, ColumnReference(column.name, column.type), wanted.unit)
        for column, wanted in zip(leaf.schema, node.schema, strict=True)
    ]
    return physical.Project(window, tuple(items))
