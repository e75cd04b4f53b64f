"""Random streams and windows for the joins' naive twins: what arrived, in which batches, how far time came.

Domains are small on purpose: equal times, equal values, NULLs, tuples without a source, empty sides and disorder within
the watermark all come up in a few rows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import polars as pl
from hypothesis import settings
from hypothesis import strategies as st

from nilometer.operators import frames
from nilometer.operators.logic import EVALUATIONS_SCHEMA, Progress, Spec, no_evaluations
from nilometer.types import Kind, Schema, Type

LATEST = 20

few = settings(max_examples=settings().max_examples // 2)
"""Half the profile's examples: a script is a whole run of an operator, with a restart."""


@dataclass(frozen=True)
class Row:
    """A tuple of a stream, at a port; `values` are in the order of its schema."""

    port: int
    tick: int
    time: int
    id: int | None
    position: int | None
    values: tuple[Any, ...]

    @property
    def order(self) -> tuple[Any, ...]:
        """(time, id, position), then the values; NULL first."""
        return (
            self.time,
            null_first(self.id),
            null_first(self.position),
            tuple(map(null_first, self.values)),
        )


def null_first(value: Any) -> tuple[Any, ...]:
    """A key that puts NULL before all else."""
    return (0,) if value is None else (1, value)


def values_of(type_: Type) -> st.SearchStrategy[Any]:
    """A few values of a type, and NULL."""
    match type_.kind:
        case Kind.FLOAT:
            return st.none() | st.integers(-3, 3).map(lambda number: number / 64)
        case Kind.STRING:
            return st.none() | st.sampled_from("abc")
        case Kind.BOOLEAN:
            return st.none() | st.booleans()
        case Kind.POINT:
            return st.none() | st.sampled_from([{"x": 0.0, "y": 1.0}, {"x": 0.5, "y": -1.0}])
        case _:
            return st.none() | st.integers(0, 3)


def table_rows(schema: Schema, most: int = 6) -> st.SearchStrategy[list[tuple[Any, ...]]]:
    """The rows of a table."""
    return st.lists(st.tuples(*(values_of(column.type) for column in schema)), max_size=most)


def table_frame(rows: Sequence[tuple[Any, ...]], schema: Schema) -> pl.DataFrame:
    """A table as a frame."""
    return pl.DataFrame(rows, schema=frames.dtypes(schema), orient="row")


@dataclass(frozen=True)
class Script:
    """Streams of these schemas: batches of arrivals, and the watermark after each."""

    schemas: tuple[Schema, ...]
    batches: tuple[tuple[Row, ...], ...]
    watermarks: tuple[int, ...]

    @property
    def watermark(self) -> int:
        """How far time came in the end."""
        return self.watermarks[-1]

    @property
    def first_tick(self) -> int | None:
        """The tick of the first tuple that arrived."""
        return next((row.tick for batch in self.batches for row in batch), None)

    def rows(self, port: int = 0) -> list[Row]:
        """All tuples of a port, in order of arrival."""
        return [row for batch in self.batches for row in batch if row.port == port]

    def play(self, spec: Spec, tables: Mapping[int, pl.DataFrame] = MappingProxyType({})) -> Counter[Any]:
        """What the operator's Logic makes of it, with a restart after the first batch; `tables` are there from the start."""
        logic = spec.build()
        for port, table in tables.items():
            logic.update(port, table)
        given: Counter[Any] = Counter()
        first = None
        for number, (batch, watermark) in enumerate(zip(self.batches, self.watermarks, strict=True)):
            for port, schema in enumerate(self.schemas):
                rows = [(r.tick, r.time, r.id, r.position, *r.values) for r in batch if r.port == port]
                logic.update(port, pl.DataFrame(rows, schema=frames.stream_dtypes(schema), orient="row"))
            first = first if first is not None or not batch else batch[0].tick
            output = logic.advance(Progress(watermark, first, (no_evaluations(),) * len(self.schemas)))
            given.update(frozen(row) for row in output.rows.rows())
            if number == 0:
                panes = logic.snapshot()
                logic = spec.build()
                logic.restore(panes)
        return given


def frozen(value: Any) -> Any:
    """A value that can be counted; floats are compared to twelve digits, of which the language promises nine."""
    if isinstance(value, dict):
        return tuple((name, frozen(part)) for name, part in value.items())
    if isinstance(value, list | tuple):
        return tuple(map(frozen, value))
    return float(f"{value:.12g}") + 0.0 if isinstance(value, float) else value


def counted(rows: Sequence[Any]) -> Counter[Any]:
    """A multiset of rows."""
    return Counter(map(frozen, rows))


@st.composite
def scripts(draw: st.DrawFn, *schemas: Schema, most: int = 12, sensed: bool = True) -> Script:
    """Streams in order of arrival, in up to four batches, with watermarks that no later tuple contradicts."""
    every = draw(st.sampled_from([None, 4])) if sensed else None
    positions = draw(st.booleans())
    seats = st.tuples(
        st.integers(0, len(schemas) - 1), st.integers(0, LATEST), st.sampled_from([1, 2, 3, None])
    )
    rows = []
    for position, (port, time, source) in enumerate(draw(st.lists(seats, max_size=most * len(schemas)))):
        values = tuple(draw(values_of(column.type)) for column in schemas[port])
        tick = time if every is None else time // every * every
        rows.append(Row(port, tick, time, source, position if positions else None, values))
    cuts = sorted(draw(st.lists(st.integers(0, len(rows)), max_size=3)))
    batches, watermarks = [], []
    watermark = -5
    for start, end in zip([0, *cuts], [*cuts, len(rows)], strict=True):
        rest = [row.tick for row in rows[end:]]
        legal = min(rest) if rest else LATEST + 12
        watermark = max(watermark, legal - draw(st.sampled_from([0, 1, 5])))
        batches.append(tuple(rows[start:end]))
        watermarks.append(watermark)
    # Time ends anywhere: what is not complete by then must not have come out.
    low = watermarks[-2] if len(watermarks) > 1 else -5
    watermarks[-1] = draw(st.integers(low, LATEST + 12))
    return Script(tuple(schemas), tuple(batches), tuple(watermarks))


Evaluation = tuple[int, int, list[tuple[Any, ...]]]
"""Number, tick and bag."""


@st.composite
def evaluations(draw: st.DrawFn, schema: Schema, most: int = 6) -> list[Evaluation]:
    """Windows, some empty, some at the tick of the one before."""
    steps = draw(st.lists(st.integers(0, 3), max_size=most))
    ticks = [sum(steps[: number + 1]) for number in range(len(steps))]
    return [(number, tick, draw(table_rows(schema, 4))) for number, tick in enumerate(ticks)]


def play_windows(
    spec: Spec,
    schemas: Sequence[Schema],
    sides: Sequence[Sequence[Evaluation]],
    watermarks: Sequence[int],
    table: tuple[int, pl.DataFrame] | None = None,
) -> tuple[Counter[Any], list[tuple[int, ...]]]:
    """What a Logic, restarted after each round, makes of windows: its rows, and its evaluations in order."""
    logic = spec.build()
    given: Counter[Any] = Counter()
    listed: list[tuple[int, ...]] = []
    before = -1
    if table is not None:
        logic.update(*table)
    for watermark in [*sorted(watermarks), 10**6]:
        named = []
        for port, (schema, side) in enumerate(zip(schemas, sides, strict=True)):
            now = [one for one in side if before <= one[1] < watermark]
            keys = [(number, tick) for number, tick, _ in now]
            named.append(pl.DataFrame(keys, schema=EVALUATIONS_SCHEMA, orient="row"))
            if table is None or port != table[0]:
                rows = [(number, tick, *values) for number, tick, bag in now for values in bag]
                logic.update(port, pl.DataFrame(rows, schema=frames.window_dtypes(schema), orient="row"))
        output = logic.advance(Progress(watermark, 0, tuple(named)))
        given.update(frozen(row) for row in output.rows.rows())
        listed += output.evaluations.rows()
        panes = logic.snapshot()
        logic = spec.build()
        logic.restore(panes)
        before = watermark
    return given, listed


def latest(side: Sequence[Evaluation], tick: int) -> list[tuple[Any, ...]]:
    """The bag of the latest window at or before a tick; empty before the first."""
    bags = [bag for _, at, bag in side if at <= tick]
    return bags[-1] if bags else []
