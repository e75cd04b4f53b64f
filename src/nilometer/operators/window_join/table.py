"""The HW- and NLW-join where all streams share the same equal keys: one table of N streams, whose N-tuples
one compiled loop finds.

Each stream's rows are in a store (row_store.py), under the numbers that the table (kernels/window_table.py)
gives them. A round's tuples of all streams are merged by time, and each looks for matches among the tuples
before it. No partial tuples are kept or built. The rest of the condition is tested on whole tuples. With
three or more streams this join is therefore chosen only if no condition is left to test.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

import numpy as np
import polars as pl

from nilometer.expressions import Expression, columns_of, conjunction
from nilometer.kernels.arrays import Integers, Words
from nilometer.kernels.stable_order import stable_order
from nilometer.kernels.window_table import WindowTable
from nilometer.operators import frames
from nilometer.operators.evaluate.evaluate import Predicate, compile_predicate
from nilometer.operators.gathering import gather, gathered
from nilometer.operators.limits import check_built, operator
from nilometer.operators.logic import TICK, TIME, Output, Progress, no_evaluations
from nilometer.operators.panes import Pane
from nilometer.operators.row_store import RowStore
from nilometer.operators.window_join.keys import KeyClass, combined
from nilometer.operators.window_join.parts import answer
from nilometer.operators.window_join.plan import Graph, Steps
from nilometer.types import INT_MINIMUM, Schema

RESULTS_AT_ONCE = 1_000_000


def one_table(graph: Graph) -> bool:
    """Whether every equality is between all streams, and no other test is needed before the tuples are
    whole.
    """
    streams = range(len(graph.columns))
    shared = all(one.hashed and one.ports == frozenset(streams) for one in graph.classes)
    return bool(graph.classes) and shared and (len(streams) == 2 or not graph.conditions)


class WindowTableLogic:
    """Per port, the rows that may still join, in a store and in the table, and the rows that came since the
    last round.
    """

    def __init__(
        self,
        streams: Sequence[Schema],
        columns: frames.Dtypes,
        graph: Graph,
        steps: Sequence[Steps],
        filters: Sequence[Predicate],
        *,
        hashed: bool,
    ) -> None:
        self._columns = columns
        self._inputs: list[frames.Dtypes] = [{TIME: pl.Int64()} | frames.dtypes(one) for one in streams]
        self._names = [list(schema.names) for schema in streams]
        self._filters = filters
        self._classes = graph.classes
        # An integer is its own hash: for integer keys every row found is equal.
        self._compared = () if len(graph.classes) == 1 and graph.classes[0].exact else graph.classes
        self._condition, self._read = _condition(graph.conditions, streams)
        orders = np.array([[step.port for step in one.steps] for one in steps], dtype=np.int64)
        self._reach = graph.widths.max(axis=1)
        self._table = WindowTable(graph.widths, orders, hashed=hashed)
        self._stores = [RowStore(dtypes) for dtypes in self._inputs]
        self._fresh: list[list[pl.DataFrame]] = [[] for _ in streams]

    def update(self, port: int, rows: pl.DataFrame) -> None:
        fit = self._filters[port](frames.conform(rows, self._inputs[port]))
        if fit.height:
            self._fresh[port].append(fit)

    @operator("a join by WINDOW")
    def advance(self, progress: Progress) -> Output:
        found = self._joined() if any(self._fresh) else []
        self._table.expire(max(progress.watermark, INT_MINIMUM // 2) - self._reach)
        self._trim()
        rows = frames.concatenate(found, self._columns) if found else frames.empty(self._columns)
        return Output(rows, no_evaluations())

    @property
    def shed_by_port(self) -> tuple[int, ...]:
        """The number of tuples shed per port: always 0, because the memory is not bounded."""
        return tuple(0 for _ in self._stores)

    @property
    def heights(self) -> tuple[int, ...]:
        """How many tuples of each port are kept."""
        return tuple(self._table.tables.held.tolist())

    @property
    def height(self) -> int:
        """How many tuples are kept."""
        return len(self._table)

    def times(self) -> Integers:
        """The times of all tuples that are kept."""
        return np.concatenate([self._table.times(port) for port in range(len(self._stores))])

    def forget(self, horizon: int) -> None:
        """Drop the tuples of earlier times, even if tuples that would join with them may still come."""
        self._table.forget(horizon)
        self._trim()

    def _trim(self) -> None:
        for store, first in zip(self._stores, self._table.first.tolist(), strict=True):
            store.forget(first)

    def _joined(self) -> list[pl.DataFrame]:
        ports, times, numbers = [], [], []
        for port, fresh in enumerate(self._taken()):
            if not fresh.height:
                continue
            pane, hashes = self._hashed(port, fresh)
            self._stores[port].append(pane.rows)
            ports.append(np.full(len(pane.order), port))
            times.append(pane.order)
            numbers.append(hashes)
        self._fresh = [[] for _ in self._fresh]
        if not ports:
            return []
        time = np.concatenate(times)
        order = stable_order(time)
        found = self._table.feed(
            np.concatenate(ports)[order],
            time[order],
            np.concatenate(numbers)[order],
            RESULTS_AT_ONCE,
        )
        # Each store has one frame, which is read once for all chunks.
        tables = [store.rows for store in self._stores]
        bases = [store.base for store in self._stores]
        answers = (
            self._results(tables, [rows - base for rows, base in zip(chunk, bases, strict=True)])
            for chunk in found
        )
        kept = []
        total = 0
        for one in answers:
            total += one.height
            check_built(total, len(self._columns))
            if one.height:
                kept.append(one)
        return kept

    def _taken(self) -> list[pl.DataFrame]:
        return [
            frames.concatenate(part, dtypes) for part, dtypes in zip(self._fresh, self._inputs, strict=True)
        ]

    def _hashed(self, port: int, rows: pl.DataFrame) -> tuple[Pane, Words]:
        """Returns the rows that have a key, in the order of time, and a hash of each. NULL equals nothing, so
        rows without a key are dropped.
        """
        times = rows.get_column(TIME)
        if not times.is_sorted():
            rows = pl.DataFrame(gather(rows, stable_order(times.to_numpy())))
        pane = Pane(0, rows, rows.get_column(TIME).to_numpy())
        numbers, known = combined([one.hashes(port, pane) for one in self._classes])
        if known is not None:
            rows = rows.filter(pl.Series(known))
            pane, numbers = Pane(0, rows, rows.get_column(TIME).to_numpy()), numbers[known]
        return pane, numbers

    def _results(self, tables: list[pl.DataFrame], rows: list[Integers]) -> pl.DataFrame:
        """Returns the N-tuples of these rows that satisfy the rest of the condition."""
        for one in self._compared:
            rows = self._equal(one, tables, rows)
        times = [
            gathered(table.get_column(TIME), at).to_numpy() for table, at in zip(tables, rows, strict=True)
        ]
        time = reduce(np.maximum, times)
        if self._condition is not None:
            columns = [gathered(tables[port].get_column(name), rows[port]) for port, name in self._read]
            holds = self._condition.mask(pl.DataFrame([pl.Series(TICK, time), *columns])).to_numpy()
            rows, time = [at[holds] for at in rows], time[holds]
        values = [
            gathered(table.get_column(name), at)
            for table, at, names in zip(tables, rows, self._names, strict=True)
            for name in names
        ]
        return answer(self._columns, time, values)

    def _equal(self, one: KeyClass, tables: list[pl.DataFrame], rows: list[Integers]) -> list[Integers]:
        """Keeps the rows found whose keys are really equal, because equal hashes do not imply equal keys."""
        first, *others = (
            one.of(
                port, pl.DataFrame([gathered(table[name], at) for name in (TIME, *sorted(one.columns(port)))])
            )
            for port, (table, at) in enumerate(zip(tables, rows, strict=True))
        )
        holds = reduce(np.logical_and, [(first == other).to_numpy() for other in others])
        return rows if holds.all() else [at[holds] for at in rows]

    # ---- state -------------------------------------------------------------------------------------------------------

    def snapshot(self) -> dict[str, bytes]:
        panes: dict[str, bytes] = {}
        for port, (store, fresh) in enumerate(zip(self._stores, self._taken(), strict=True)):
            panes |= store.snapshot(f"kept{port}")
            if fresh.height:
                panes[f"fresh{port}"] = frames.to_bytes(fresh)
        return panes

    def restore(self, panes: dict[str, bytes]) -> None:
        for port, store in enumerate(self._stores):
            store.restore(f"kept{port}", panes)
            rows = store.rows
            pane = Pane(0, rows, rows.get_column(TIME).to_numpy())
            numbers, _ = combined([one.hashes(port, pane) for one in self._classes])
            self._table.insert(port, pane.order, numbers)
            fresh = panes.get(f"fresh{port}")
            self._fresh[port] = [] if fresh is None else [frames.from_bytes(fresh)]


def _condition(
    conditions: Sequence[Expression], streams: Sequence[Schema]
) -> tuple[Predicate | None, list[tuple[int, str]]]:
    """The condition that is tested on whole tuples, and the columns (port, name) that it reads."""
    whole = conjunction(conditions)
    if whole is None:
        return None, []
    read = columns_of(whole)
    return compile_predicate(whole), [
        (port, name) for port, schema in enumerate(streams) for name in schema.names if name in read
    ]
