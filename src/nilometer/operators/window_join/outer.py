"""LEFT and FULL joins of two streams within a WINDOW: the pairs of the inner join, and each tuple of a kept side
that has no partner, once, when none can come any more.

    l without a partner  ->  (l, NULLs) at time(l) + width, when the watermark has passed it

The tuples of a kept side are numbered, and wait beside the inner join (window_join.py), which carries the
numbers to its results. A number in a result has a partner. So a row with NULLs never comes for a tuple that has
one, and none is lost: the inner join has seen every partner before the tuple's time is over, because a partner
at time(l) + width or earlier is not late until then.

>>> from nilometer.expressions import ColumnReference
>>> a, b = Schema((Column("a.k", INT),)), Schema((Column("b.k", INT),))
>>> equal = (0, ColumnReference("a.k", INT), 1, ColumnReference("b.k", INT))
>>> logic = OuterWindowJoin(WindowJoin((a, b), ((0, 1, 5),), (equal,)), "LEFT").build()
>>> logic.update(0, pl.DataFrame([(1, 1, 1, 0, 7), (2, 2, 1, 1, 8)], frames.stream_dtypes(a), orient="row"))
>>> logic.update(1, pl.DataFrame([(4, 4, 2, 0, 7)], frames.stream_dtypes(b), orient="row"))
>>> logic.advance(Progress(watermark=7)).rows.select(TIME, "a.k", "b.k").rows()
[(4, 7, 7)]
>>> logic.advance(Progress(watermark=8)).rows.select(TIME, "a.k", "b.k").rows()
[(7, 8, None)]
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import polars as pl

from nilometer.algebra import JoinKind
from nilometer.operators import frames
from nilometer.operators.limits import operator
from nilometer.operators.logic import TICK, TIME, Output, Progress, no_evaluations
from nilometer.operators.matching import join_kind
from nilometer.operators.validation import require
from nilometer.operators.waiting import Waiting
from nilometer.operators.window_join.window_join import WindowJoin
from nilometer.types import INT, Column, Schema


@dataclass(frozen=True)
class OuterWindowJoin:
    """The LEFT or FULL form of an inner join of two streams, without shedding."""

    join: WindowJoin
    kind: str

    def __post_init__(self) -> None:
        require(join_kind(self.kind) in (JoinKind.LEFT, JoinKind.FULL), f"a {self.kind} WINDOW join")
        require(len(self.join.streams) == 2, "an outer WINDOW join of more than two streams")
        require(self.join.shedding is None, "an outer WINDOW join that sheds")

    @property
    def schema(self) -> Schema:
        """Both streams' columns."""
        return self.join.schema

    @property
    def kept(self) -> tuple[int, ...]:
        """The ports whose tuples come without a partner, too."""
        return (0, 1) if self.kind == JoinKind.FULL else (0,)

    def build(self) -> OuterWindowJoinLogic:
        return OuterWindowJoinLogic(self)


class OuterWindowJoinLogic:
    """The inner join, the tuples that wait for a partner, and the numbers of those that have found one."""

    def __init__(self, spec: OuterWindowJoin) -> None:
        join = spec.join
        self._columns = frames.stream_dtypes(join.schema, join.id_type)
        streams = list(join.streams)
        self._sides = {port: _Side(port, streams[port], int(join.widths[0][1])) for port in spec.kept}
        for port, side in self._sides.items():
            streams[port] = side.schema
        self._inner = replace(join, streams=tuple(streams)).build()

    def update(self, port: int, rows: pl.DataFrame) -> None:
        if port in self._sides:
            rows = self._sides[port].numbered(rows)
        self._inner.update(port, rows)

    @operator("an outer join by WINDOW")
    def advance(self, progress: Progress) -> Output:
        found = self._inner.advance(progress).rows
        parts = [found.select(*self._columns)]
        for side in self._sides.values():
            side.meet(found)
            parts.append(self._alone(side.release(progress.watermark), side.gate))
        return Output(frames.concatenate(parts, self._columns), no_evaluations())

    def _alone(self, rows: pl.DataFrame, gate: str) -> pl.DataFrame:
        """Rows of one side as rows of the answer: at the end of their patience, with NULLs for the others."""
        names = dict.fromkeys((TICK, TIME), gate)
        return rows.select(
            (pl.col(names.get(name, name)) if name in names or name in rows.columns else pl.lit(None))
            .cast(dtype)
            .alias(name)
            for name, dtype in self._columns.items()
        )

    def snapshot(self) -> dict[str, bytes]:
        panes = {f"inner {name}": data for name, data in self._inner.snapshot().items()}
        for side in self._sides.values():
            panes |= side.snapshot()
        return panes

    def restore(self, panes: dict[str, bytes]) -> None:
        prefix = "inner "
        self._inner.restore({n.removeprefix(prefix): p for n, p in panes.items() if n.startswith(prefix)})
        for side in self._sides.values():
            side.restore(panes)


class _Side:
    """The tuples of a kept side. Each has a number, and a gate: its time plus the window."""

    def __init__(self, port: int, schema: Schema, width: int) -> None:
        self.gate = f"@gate{port}"
        self._number = f"@number{port}"
        self._port = port
        self._width = width
        own = (Column(self._number, INT), Column(self.gate, INT))
        self.schema = schema + Schema(own)
        """The tuples' columns, with those two."""
        self._waiting = Waiting(frames.dtypes(self.schema), gate=self.gate)
        self._met = Waiting(frames.dtypes(Schema(own)), gate=self.gate)
        self._next = 0

    def numbered(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Let new tuples wait. Returns them with their numbers and gates."""
        first, self._next = self._next, self._next + rows.height
        rows = rows.with_columns(
            pl.int_range(first, self._next, eager=True).alias(self._number),
            (pl.col(TIME) + self._width).alias(self.gate),
        )
        self._waiting.add(rows)
        return rows

    def meet(self, found: pl.DataFrame) -> None:
        """Note the tuples that are in results of the inner join, each once."""
        met = found.select(self._number, self.gate).unique()
        if met.height:
            gates = met.get_column(self.gate).to_numpy()
            known = self._met.between(int(gates.min()), int(gates.max()))
            self._met.add(met.join(known, on=self._number, how="anti"))

    def release(self, watermark: int) -> pl.DataFrame:
        """The tuples whose time is over and that have met nobody."""
        over, met = self._waiting.release(watermark), self._met.release(watermark)
        return over.join(met, on=self._number, how="anti", maintain_order="left")

    def snapshot(self) -> dict[str, bytes]:
        panes = self._waiting.snapshot(f"waiting{self._port}") | self._met.snapshot(f"met{self._port}")
        return panes | {f"next{self._port}": str(self._next).encode()}

    def restore(self, panes: dict[str, bytes]) -> None:
        self._waiting.restore(f"waiting{self._port}", panes)
        self._met.restore(f"met{self._port}", panes)
        self._next = int(panes[f"next{self._port}"])
