"""STEAM's W-join over N streams (section 6.2): the N-tuples within every bound that satisfy the predicate.

    (x_1, ..., x_N)  with  |time x_i - time x_j| <= w_ij  for every bound,  equal keys,  and the predicate

Each stream's tuples are kept in panes (panes.py), and each round adds the deltas of algorithms, section 9.3,

    R_1' ... R_{i-1}' ⋈ ΔR_i ⋈ R_{i+1} ... R_N        (primes: with this round's tuples)

so that each result is found once, in the round in which its last member arrives. A delta is extended stream
by stream (steps.py). The form decides the order and the searches (plan.py): nested loops, hashes, or a merge.
Where all streams share the same equal keys, one compiled table finds the results (table.py).

The widths that the bounds *imply*, none wider than those given, decide which tuples join and when a tuple can
be forgotten. A silent stream delays nothing as long as its heartbeats move the watermark. Results do not wait
for the watermark: a result is emitted as soon as it exists, with tick = time = its latest member's time, no
id and no position.

>>> from nilometer.expressions import ColumnReference
>>> from nilometer.types import Column
>>> a, b = Schema((Column("a.k", INT),)), Schema((Column("b.k", INT),))
>>> equal = (0, ColumnReference("a.k", INT), 1, ColumnReference("b.k", INT))
>>> logic = WindowJoin((a, b), ((0, 1, 5),), (equal,)).build()
>>> logic.update(0, pl.DataFrame([(1, 1, 1, 0, 7), (2, 2, 1, 1, 8)], frames.stream_dtypes(a), orient="row"))
>>> logic.update(1, pl.DataFrame([(4, 4, 2, 0, 7), (9, 9, 2, 1, 8)], frames.stream_dtypes(b), orient="row"))
>>> logic.advance(Progress(watermark=0)).rows.select(TIME, "a.k", "b.k").rows()
[(4, 7, 7)]
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce

import numpy as np
import polars as pl

from nilometer.expressions import Expression, conjunction
from nilometer.kernels.arrays import Integers
from nilometer.kernels.window_bounds import UNCONNECTED, implied_widths
from nilometer.operators import frames
from nilometer.operators.evaluate.evaluate import Predicate, compile_predicate
from nilometer.operators.limits import check_built, operator
from nilometer.operators.logic import TIME, Output, Progress, no_evaluations
from nilometer.operators.panes import Panes
from nilometer.operators.shedding.shedding import NUMBERED, Shedder, Shedding
from nilometer.operators.validation import require, require_columns, require_condition
from nilometer.operators.window_join.keys import KeyClass, KeyPair, classes_of
from nilometer.operators.window_join.parts import answer, conditions_of, is_local, reads_now
from nilometer.operators.window_join.plan import Form, Graph, Steps, plan_steps
from nilometer.operators.window_join.steps import Members, Side, column_of, extend, times_of
from nilometer.operators.window_join.table import WindowTableLogic, one_table
from nilometer.types import INT, INT_MINIMUM, Schema, Type

Bound = tuple[int, int, int]

_PANES_PER_WINDOW = {Form.NLW: 16, Form.HW: 1, Form.MW: 16}
"""With short panes, a search examines few rows in vain. A hash finds its rows directly and is faster with few
panes.
"""


@dataclass(frozen=True)
class WindowJoin:
    """A join of streams with these schemas, at ports 0, 1, ...

    `bounds` are (left, right, width): |time of left - time of right| <= width. They must connect all streams.
    `keys` are (left, expression, right, expression): equalities between two streams. `predicate` is the rest
    of the condition; NOW in it is the result's time. `id_type` is the dtype of the (null) ids. `form` selects
    the algorithm and never changes the answer. `shedding` bounds the memory (shedding.py).
    """

    streams: tuple[Schema, ...]
    bounds: tuple[Bound, ...]
    keys: tuple[KeyPair, ...] = ()
    predicate: Expression | None = None
    id_type: Type = INT
    form: Form = Form.HW
    shedding: Shedding | None = None

    def __post_init__(self) -> None:
        ports = set(range(len(self.streams)))
        require(len(ports) >= 2, "a WINDOW join of fewer than two streams")
        for left, right, width in self.bounds:
            require(left != right and {left, right} <= ports, f"a window between {left} and {right}")
            require(width >= 0, "a negative window")
        require(bool((self.widths < UNCONNECTED).all()), "windows that do not connect all streams")
        for left, left_key, right, right_key in self.keys:
            require(left != right and {left, right} <= ports, f"a key between {left} and {right}")
            require_columns(left_key, self.streams[left], "a WINDOW join's key")
            require_columns(right_key, self.streams[right], "a WINDOW join's key")
        if self.predicate is not None:
            require_condition(self.predicate, self.schema, "a WINDOW join's predicate")

    @property
    def schema(self) -> Schema:
        """All streams' columns."""
        return Schema(tuple(column for schema in self.streams for column in schema))

    @cached_property
    def widths(self) -> Integers:
        """The implied width between every two streams."""
        return implied_widths(len(self.streams), self.bounds)

    def build(self) -> WindowJoinLogic | WindowTableLogic:
        ports = range(len(self.streams))
        conditions = conditions_of(self.keys, self.predicate)
        local = [tuple(c for c in conditions if is_local(c, self.streams[port])) for port in ports]
        filters = [compile_predicate(conjunction(parts)) for parts in local]
        graph = Graph(
            tuple(frozenset(schema.names) for schema in self.streams),
            self.widths,
            classes_of([pair for pair in self.keys if not reads_now(pair)]),
            tuple(c for c in conditions if not any(c in parts for parts in local)),
        )
        steps = [plan_steps(graph, start, self.form) for start in ports]
        # A table can drop only its oldest rows. Shedding by worth needs panes.
        if self.form is not Form.MW and self.shedding is None and one_table(graph):
            columns = frames.stream_dtypes(self.schema, self.id_type)
            return WindowTableLogic(self.streams, columns, graph, steps, filters, hashed=self.form is Form.HW)
        return WindowJoinLogic(self, steps, filters, graph.classes)


class WindowJoinLogic:
    """Per port, the tuples that may still join and the tuples that came since the last round."""

    def __init__(
        self,
        spec: WindowJoin,
        steps: Sequence[Steps],
        filters: Sequence[Predicate],
        classes: Sequence[KeyClass],
    ) -> None:
        ports = range(len(spec.streams))
        self._columns = frames.stream_dtypes(spec.schema, spec.id_type)
        own = {} if spec.shedding is None else NUMBERED
        self._inputs: list[frames.Dtypes] = [
            {TIME: pl.Int64()} | frames.dtypes(one) | own for one in spec.streams
        ]
        self._names = [list(schema.names) for schema in spec.streams]
        self._filters = filters
        self._steps = steps
        # A tuple is needed while any other stream may bring a tuple within the implied width of it.
        self._reach = [int(spec.widths[port].max()) for port in ports]
        self._kept = [
            Panes(TIME, columns, reach // _PANES_PER_WINDOW[spec.form])
            for columns, reach in zip(self._inputs, self._reach, strict=True)
        ]
        self._fresh: list[list[pl.DataFrame]] = [[] for _ in ports]
        self._shedder: Shedder | None = None
        if spec.shedding is not None:
            self._shedder = Shedder(spec.shedding, classes, self._reach)

    @property
    def shed_by_port(self) -> tuple[int, ...]:
        """The number of tuples shed per port, that is, given up although they might still have joined."""
        return tuple(0 for _ in self._kept) if self._shedder is None else tuple(self._shedder.shed)

    def update(self, port: int, rows: pl.DataFrame) -> None:
        if self._shedder is not None:
            rows = self._shedder.number(port, rows)
        fit = self._filters[port](frames.conform(rows, self._inputs[port]))
        if fit.height:
            self._fresh[port].append(fit)

    @operator("a join by WINDOW")
    def advance(self, progress: Progress) -> Output:
        found: list[pl.DataFrame] = []
        if any(self._fresh):
            fresh = self._fresh_rows()
            self._fresh = [[] for _ in self._fresh]
            if self._shedder is None:
                found = self._join(fresh)
            else:
                for part, reached in self._shedder.slices(fresh, progress.watermark):
                    found += self._join_and_shed(self._shedder, part, reached)
        self._expire(progress.watermark)
        if self._shedder is not None:
            self._shedder.reached = progress.watermark
        return Output(self._results(found) if found else frames.empty(self._columns), no_evaluations())

    def _join(self, fresh: list[pl.DataFrame], reached: int = INT_MINIMUM) -> list[pl.DataFrame]:
        """Joins the new tuples and keeps them from now on. Returns the results."""
        sides = [
            Side(kept, kept.pane(rows) if rows.height else None)
            for kept, rows in zip(self._kept, fresh, strict=True)
        ]
        new = [side.new for side in sides]
        if self._shedder is not None:
            self._shedder.came(new, self._kept)
            self._shedder.remember(new, self._kept, reached)
        found: list[pl.DataFrame] = []
        total = 0
        for members in self._members(sides):
            found.append(self._values(members))
            total += found[-1].height
            check_built(total, len(self._columns))
            if self._shedder is not None:
                self._shedder.found(members)
        for port, side in enumerate(sides):
            pane = side.new
            if pane is not None and self._shedder is not None:
                pane = self._shedder.evict(port, pane, side.old)
            if pane is not None:
                side.old.add(pane)
        return found

    def _members(self, sides: Sequence[Side]) -> Iterator[Members]:
        """Yields the N-tuples of the new tuples with the tuples in memory at their arrival."""
        for steps in self._steps:
            for members in extend(sides, steps):
                known = members if self._shedder is None else self._shedder.in_memory(members)
                if known is not None:
                    yield known

    def _join_and_shed(self, shedder: Shedder, fresh: list[pl.DataFrame], reached: int) -> list[pl.DataFrame]:
        if shedder.before_probing:
            fresh = shedder.thin(fresh, self._kept)
        found = self._join(fresh, reached)
        self._expire(reached)
        shedder.cut(self._kept)
        return found

    def _expire(self, watermark: int) -> None:
        for kept, reach in zip(self._kept, self._reach, strict=True):
            kept.expire(max(watermark - reach, INT_MINIMUM))

    @property
    def heights(self) -> tuple[int, ...]:
        """How many tuples of each port are kept."""
        return tuple(map(len, self._kept))

    @property
    def height(self) -> int:
        """How many tuples are kept."""
        return sum(self.heights)

    def times(self) -> Integers:
        """The times of all tuples that are kept."""
        found = [pane.order[pane.start :] for kept in self._kept for pane in kept]
        return np.concatenate([np.empty(0, dtype=np.int64), *found])

    def forget(self, horizon: int) -> None:
        """Drop the tuples of earlier times, even if tuples that would join with them may still come."""
        for kept in self._kept:
            kept.expire(horizon)

    def _fresh_rows(self) -> list[pl.DataFrame]:
        return [
            frames.concatenate(part, dtypes) for part, dtypes in zip(self._fresh, self._inputs, strict=True)
        ]

    def _values(self, members: Members) -> pl.DataFrame:
        time = reduce(np.maximum, map(times_of, members.values()))
        parts = [
            column_of(member, member[0].rows.get_column(name))
            for port, member in sorted(members.items())
            for name in self._names[port]
        ]
        return pl.DataFrame([pl.Series(TIME, time), *parts])

    def _results(self, found: list[pl.DataFrame]) -> pl.DataFrame:
        time, *values = frames.concatenate(found, {}).get_columns()
        return answer(self._columns, time.to_numpy(), values)

    # ---- state -------------------------------------------------------------------------------------------------------

    def snapshot(self) -> dict[str, bytes]:
        panes: dict[str, bytes] = {}
        for port, (kept, fresh) in enumerate(zip(self._kept, self._fresh_rows(), strict=True)):
            panes |= kept.snapshot(f"kept{port}")
            if fresh.height:
                panes[f"fresh{port}"] = frames.to_bytes(fresh)
        return panes if self._shedder is None else panes | self._shedder.snapshot()

    def restore(self, panes: dict[str, bytes]) -> None:
        for port, kept in enumerate(self._kept):
            kept.restore(f"kept{port}", panes)
            fresh = panes.get(f"fresh{port}")
            self._fresh[port] = [] if fresh is None else [frames.from_bytes(fresh)]
        if self._shedder is not None:
            self._shedder.restore(panes)
            self._expire(self._shedder.reached)  # expired tuples would take memory again
