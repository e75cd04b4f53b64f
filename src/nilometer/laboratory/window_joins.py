"""The W-join in the form that the laboratory measures: fed with `Arrivals`, like the joins it is compared
with.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
import polars as pl

from nilometer.expressions import ColumnReference
from nilometer.kernels.arrays import Integers
from nilometer.kernels.window_table import WindowTable
from nilometer.laboratory.baselines import Arrivals
from nilometer.operators.logic import ID, POSITION, TICK, TIME, Progress
from nilometer.operators.window_join.plan import Form
from nilometer.operators.window_join.window_join import WindowJoin
from nilometer.types import INT, Column, Schema

_AT_ONCE = 1_000_000


class Joining(Protocol):
    """A join that takes arrivals batch by batch."""

    def feed(self, arrivals: Arrivals) -> Integers:
        """The new N-tuples, a column of rows for each stream."""
        ...


class KernelJoin:
    """The W-join's table, by hashes or in one bucket. Expired tuples are removed after every batch."""

    def __init__(self, streams: int, window: int, *, hashed: bool) -> None:
        widths = np.full((streams, streams), window, dtype=np.int64)
        orders = np.array([[j for j in range(streams) if j != i] for i in range(streams)])
        self._table = WindowTable(widths, orders, hashed=hashed)
        self._streams, self._window = streams, window

    def feed(self, arrivals: Arrivals) -> Integers:
        """The new N-tuples, a column of row numbers for each stream; the rows of a stream are numbered in the
        order of arrival."""
        found = list(
            self._table.feed(arrivals.sources, arrivals.times, arrivals.keys.view(np.uint64), _AT_ONCE)
        )
        self._table.expire(np.full(self._streams, int(arrivals.times[-1]) - self._window))
        return np.concatenate(found, axis=1).T if found else np.empty((0, self._streams), dtype=np.int64)


class OperatorJoin:
    """The W-join operator, fed like the rivals. It takes frames, and the watermark is the latest time so
    far."""

    def __init__(self, streams: int, window: int, form: Form) -> None:
        schemas = tuple(Schema((Column(f"s{i}.item", INT), Column(f"s{i}.row", INT))) for i in range(streams))
        bounds = tuple((i, j, window) for j in range(streams) for i in range(j))
        items = [ColumnReference(f"s{i}.item", INT) for i in range(streams)]
        keys = tuple((i, items[i], i + 1, items[i + 1]) for i in range(streams - 1))
        self._logic = WindowJoin(schemas, bounds, keys, form=form).build()
        self._streams = streams

    def feed(self, arrivals: Arrivals) -> Integers:
        """The new N-tuples, a column of rows for each stream."""
        for port in range(self._streams):
            mine = np.flatnonzero(arrivals.sources == port)
            times = arrivals.times[mine]
            columns = {TICK: times, TIME: times, ID: mine, POSITION: mine}
            values = {f"s{port}.item": arrivals.values[mine], f"s{port}.row": arrivals.rows[mine]}
            self._logic.update(port, pl.DataFrame(columns | values))
        found = self._logic.advance(Progress(int(arrivals.times[-1]))).rows
        return np.column_stack([found[f"s{port}.row"].to_numpy() for port in range(self._streams)])


def in_arrival_numbers(join: Joining, found: Integers, given: Arrivals) -> Integers:
    """The N-tuples in the arrivals' own row numbers, sorted. The table numbers rows stream by stream."""
    if isinstance(join, KernelJoin):
        own = [given.rows[given.sources == port] for port in range(found.shape[1])]
        found = np.column_stack([rows[found[:, port]] for port, rows in enumerate(own)])
    return found[np.lexsort(found.T)]
