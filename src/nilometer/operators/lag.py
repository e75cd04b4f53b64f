"""LAG, DELTA, RATE: a stream -> its tuples with columns computed from the source's earlier tuples.

Each source's tuples are in the order (time, position). A NULL id is a source of its own. With x' the value n
tuples before:

    LAG(x, n) = x'        DELTA(x) = x - x'        RATE(x) = (x - x') / seconds between them, NULL for none

The result is NULL where there is no such tuple, or (DELTA, RATE) where either value is NULL. An INT
difference that overflows is a DataError. A tuple waits until its tick is complete. Tuples leave in the order
(time, id, position), which is also the order of the ticks. The state is the waiting tuples and each source's
last n values.

>>> depth = ColumnReference("depth", INT)
>>> river = Schema((Column("depth", INT),))
>>> logic = Lag(river, (Lagged("before", Shift.LAG, depth), Lagged("change", Shift.DELTA, depth))).build()
>>> rows = [(0, 0, 2, 0, 40), (0, 0, 1, 1, 70), (1, 1, 2, 2, 45), (1, 1, 1, 3, 71)]  # tick, time, id, ...
>>> logic.update(0, pl.DataFrame(rows, frames.stream_dtypes(river), orient="row"))
>>> logic.advance(Progress(watermark=2)).rows.select(TIME, ID, "depth", "before", "change").rows()
[(0, 1, 70, None, None), (0, 2, 40, None, None), (1, 1, 71, 70, 1), (1, 2, 45, 40, 5)]
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from nilometer.algebra import Lagged, Shift
from nilometer.expressions import Call, ColumnReference, Expression, type_of
from nilometer.operators import frames
from nilometer.operators.evaluate.evaluate import compile_expression
from nilometer.operators.gathering import gather
from nilometer.operators.last_rows import LastRows
from nilometer.operators.limits import operator
from nilometer.operators.logic import ID, TIME, Output, Progress, no_evaluations
from nilometer.operators.order import stream_order
from nilometer.operators.validation import require, require_choice, require_columns
from nilometer.operators.waiting import Waiting
from nilometer.types import FLOAT, INT, SECOND, Column, Schema, Type

_RANK = "@rank"
_LEFT = "@left"
_PLACE = "@place"


@dataclass(frozen=True)
class Lag:
    """Adds `items` to the tuples of a stream."""

    input: Schema
    items: tuple[Lagged, ...]
    id_type: Type = INT

    def __post_init__(self) -> None:
        for item in self.items:
            require_choice(item.function, Shift, "a function over earlier tuples")
            require_columns(item.expression, self.input, item.function)
            require(item.offset >= 1, "LAG by less than one tuple")
            require(item.offset == 1 or item.function == Shift.LAG, "only LAG has an offset")

    @property
    def schema(self) -> Schema:
        """The stream's columns and then the items."""
        return self.input + Schema(tuple(Column(item.name, item.type) for item in self.items))

    def build(self) -> LagLogic:
        return LagLogic(self)


class LagLogic:
    """The tuples that wait, and the last values of each source."""

    def __init__(self, spec: Lag) -> None:
        self._columns = frames.stream_dtypes(spec.schema, spec.id_type)
        self._visible = list(spec.input.names)
        self._waiting = Waiting(frames.stream_dtypes(spec.input, spec.id_type))
        self._depth = max((item.offset for item in spec.items), default=0)
        self._items = spec.items
        self._values = [
            (f"@value{number}", compile_expression(item.expression)) for number, item in enumerate(spec.items)
        ]
        self._results = [compile_expression(_result(number, item)) for number, item in enumerate(spec.items)]
        types = [frames.dtype(type_of(item.expression)) for item in spec.items]
        names = [name for name, _ in self._values]
        self._kept = {ID: self._columns[ID], TIME: pl.Int64()} | dict(zip(names, types, strict=True))
        self._last = LastRows([ID], self._kept, TIME)

    def update(self, port: int, rows: pl.DataFrame) -> None:  # noqa: ARG002 - one port
        self._waiting.add(rows)

    @operator("LAG")
    def advance(self, progress: Progress) -> Output:
        rows = self._waiting.release(progress.watermark)
        if not rows.height:
            return Output(frames.empty(self._columns), no_evaluations())
        rows = stream_order(rows, self._visible)
        fresh = rows.select(TIME, ID).with_columns(
            pl.int_range(pl.len(), dtype=pl.Int64).alias(_PLACE),
            *(evaluator(rows).alias(name) for name, evaluator in self._values),
        )
        # Tuples emitted earlier come first, because their ticks were complete.
        ordered = _number(pl.concat([self._last.of(rows.select(ID)), fresh], how="diagonal"))
        shifted = ordered.with_columns(
            column
            for number, item in enumerate(self._items)
            for column in (
                _earlier(f"@value{number}", item.offset).alias(f"@earlier{number}"),
                ((pl.col(TIME) - _earlier(TIME, item.offset)) / SECOND).alias(f"@seconds{number}"),
            )
        ).filter(pl.col(_PLACE).is_not_null())
        lagged = pl.DataFrame(
            [
                evaluator(shifted).alias(item.name)
                for item, evaluator in zip(self._items, self._results, strict=True)
            ]
        )
        self._last.put(ordered.filter(pl.col(_LEFT) < self._depth))
        # Back from the order by source to the order of the stream.
        back = np.empty(rows.height, np.int64)
        back[shifted[_PLACE].to_numpy()] = np.arange(rows.height)
        return Output(rows.hstack(gather(lagged, back)).select(*self._columns), no_evaluations())

    def snapshot(self) -> dict[str, bytes]:
        return self._waiting.snapshot("waiting") | self._last.snapshot("last")

    def restore(self, panes: dict[str, bytes]) -> None:
        self._waiting.restore("waiting", panes)
        self._last.restore("last", panes)


def _result(number: int, item: Lagged) -> Expression:
    """The item as an expression over this tuple's value, the earlier value and the seconds between them."""
    plain = type_of(item.expression).plain
    value, earlier = (ColumnReference(f"@{which}{number}", plain) for which in ("value", "earlier"))
    if item.function == Shift.LAG:
        return earlier
    difference = Call("-", (value, earlier), plain)
    if item.function == Shift.DELTA:
        return difference
    amount = difference if plain == FLOAT else Call("float", (difference,), FLOAT)
    return Call("/", (amount, ColumnReference(f"@seconds{number}", FLOAT)), FLOAT)


def _number(rows: pl.DataFrame) -> pl.DataFrame:
    """Sorts the rows by source and numbers each row within its source, from the start and from the end."""
    ordered = rows.sort(ID, maintain_order=True)
    place = pl.int_range(pl.len(), dtype=pl.Int64)
    first = pl.col(ID).ne_missing(pl.col(ID).shift()) | (place == 0)
    last = pl.col(ID).ne_missing(pl.col(ID).shift(-1)) | (place == pl.len() - 1)
    return ordered.with_columns(
        (place - pl.when(first).then(place).forward_fill()).alias(_RANK),
        (pl.when(last).then(place).backward_fill() - place).alias(_LEFT),
    )


def _earlier(column: str, offset: int) -> pl.Expr:
    """The value `offset` rows before in the same source."""
    return pl.when(pl.col(_RANK) >= offset).then(pl.col(column).shift(offset))
