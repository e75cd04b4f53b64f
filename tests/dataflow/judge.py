"""A small world and its judge: queries as text over given logs, answered by the gateway and by the reference evaluator."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import polars as pl
from hypothesis import strategies as st

from nilometer.catalog import Catalog
from nilometer.catalog.extents import Sensor, Stream, Table, stream_columns
from nilometer.dataflow import Batch, Entry, Heartbeat, MemorySources, Run
from nilometer.language import parse
from nilometer.operators.frames import dtypes
from nilometer.optimizer import OptimizerContext, choose, optimize
from nilometer.plan import logical, physical
from nilometer.plan.bind import bind
from nilometer.plan.reference import Answer, Feed, evaluate
from nilometer.types import FLOAT, INT, SECOND, STRING, Column, Schema

COLUMNS = stream_columns((Column("x", INT), Column("v", FLOAT), Column("name", STRING)))
STREAMS = {
    "a": Stream("a", COLUMNS, delay=3 * SECOND, expect=SECOND),
    "b": Stream("b", COLUMNS),
    "s": Stream("s", COLUMNS, every=2 * SECOND, delay=2 * SECOND),
    "k": Stream("k", COLUMNS, delay=2 * SECOND, key=("id", "time")),
}
TABLE = Table("t", (Column("k", INT), Column("label", STRING), Column("weight", FLOAT)), "t.csv")
TABLE_ROWS = [
    {"k": 1, "label": "red", "weight": 0.5},
    {"k": 2, "label": "blue", "weight": 1.25},
    {"k": 2, "label": None, "weight": None},
    {"k": None, "label": "red", "weight": 2.0},
]
SENSORS = [
    Sensor(1, "s", (0.0, 0.0), (("kind", "gauge"), ("zone", 1))),
    Sensor(2, "s", (3.0, 4.0), (("kind", "rain"), ("zone", 2))),
    Sensor(3, "s", None, (("kind", "gauge"),)),
]
Logs = Mapping[str, Sequence[Any]]


def catalog() -> Catalog:
    known = Catalog()
    for stream in STREAMS.values():
        known.add_stream(stream)
    known.add_table(TABLE)
    known.add_sensors(list(SENSORS))
    return known


CATALOG = catalog()


def sources(logs: Logs) -> MemorySources:
    """The logs as batches, cut at every heartbeat."""
    streams: dict[str, list[Entry]] = {}
    for name, items in logs.items():
        entries: list[Entry] = []
        rows: list[Any] = []

        def flush(entries: list[Entry] = entries, rows: list[Any] = rows) -> None:
            if rows:
                frame = pl.DataFrame(list(rows), schema=dtypes(Schema(COLUMNS)), orient="row")
                entries.append(Batch(frame))
                rows.clear()

        for item in items:
            if isinstance(item, int):
                flush()
                entries.append(Heartbeat(item))
            else:
                rows.append(item)
        flush()
        streams[name] = entries
    table = pl.DataFrame(TABLE_ROWS, schema={"k": pl.Int64, "label": pl.String, "weight": pl.Float64})
    return MemorySources(streams, {"t": table}, {"s": SENSORS})


@cache
def bound(sql: str) -> logical.Node:
    return bind(parse(sql), CATALOG, {}, sql)  # type: ignore[arg-type]


@cache
def plans(sql: str) -> tuple[physical.Node, ...]:
    """The physical plan as it was bound, and as it was optimized, if that is another."""
    plan = bound(sql)
    optimized = optimize(plan, OptimizerContext(CATALOG)).plan
    return tuple(dict.fromkeys((choose(plan), choose(optimized))))


def judged(sql: str, logs: Logs, *, finished: bool = True) -> Answer:
    feeds = {}
    for name, items in logs.items():
        seen: set[tuple[Any, ...]] = set()
        kept = []
        for item in items:
            if not isinstance(item, int) and STREAMS[name].key:
                key = (item["id"], item["time"])
                if key in seen:
                    continue
                seen.add(key)
            kept.append(item)
        feeds[name] = Feed(tuple(kept))
    return evaluate(bound(sql), feeds, {"t": TABLE_ROWS}, {"s": SENSORS}, finished=finished)


def answer(
    plan: physical.Node,
    logs: Logs,
    batch_rows: int | None = None,
    *,
    finished: bool = True,
    restarted: bool = False,
) -> list[tuple[Any, ...]]:
    """The gateway's rows; `restarted` moves the state into a fresh run after every round."""
    run = Run(plan, sources(logs), batch_rows, finished=finished)
    if not restarted:
        return run.collect().rows()
    rows: list[tuple[Any, ...]] = []
    while not run.over:
        rows += run.step().rows()
        fresh = Run(plan, sources(logs), batch_rows, finished=finished)
        fresh.restore(run.snapshot())
        run = fresh
    return rows


# ---- random logs -----------------------------------------------------------------------------------------------------

times = st.integers(0, 40).map(lambda half: half * SECOND // 2)


@st.composite
def _log(draw: Any, most: int = 12) -> list[Any]:
    items: list[Any] = []
    now = draw(st.integers(0, 6))
    for _ in range(draw(st.integers(0, most))):
        now = max(0, now + draw(st.sampled_from((0, 0, 1, 1, 2, 3, 6, -1, -2, -4, -8))))
        if draw(st.integers(0, 15)) == 0:
            items.append(now * SECOND // 2)
            continue
        items.append(
            {
                "time": now * SECOND // 2,
                "id": draw(st.sampled_from((1, 1, 2, 2, 3, None))),
                "x": draw(st.sampled_from((0, 1, 2, 3, -7, None))),
                "v": draw(st.sampled_from((0.0, 0.25, 1.5, -2.0, 64.015625, None))),
                "name": draw(st.sampled_from(("red", "blue", "", None))),
            }
        )
    return items


logs = st.fixed_dictionaries({name: _log() for name in STREAMS})
