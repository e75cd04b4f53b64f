"""UNIT: a stream -> the rows that a unit of a user's makes of it, in a worker process.

The unit is given rows in the order of (time, id, position), once the watermark has passed them. Rows without an id, or
with a NULL among the columns that it takes, are left out. The state is what the unit saves, within the memory of its
process, and the rows that wait for the watermark.

>>> from nilometer.algebra.table_functions.unit import UNIT
>>> from nilometer.types import FLOAT, INT, Column
>>> options = {
...     "USING": "nilometer.workers.example_unit:Differences",
...     "WITH": (0.0,),
...     "GIVES": "change FLOAT, travelled FLOAT",
... }
>>> call = FunctionCall(UNIT, "u", INT, ("a.x",), UNIT.settle(options), None)
>>> logic = Unit(call, Schema((Column("a.x", FLOAT),))).build()
>>> rows = [(0, 0, 7, 0, 1.0), (10, 10, 7, 1, 4.0)]  # tick, time, id, position, a.x
>>> columns = frames.stream_dtypes(Schema((Column("a.x", FLOAT),)), INT)
>>> logic.update(0, pl.DataFrame(rows, columns, orient="row"))
>>> logic.advance(Progress(watermark=20, first_tick=0)).rows.select("u.time", "u.change").rows()
[(0, 0.0), (10, 3.0)]
"""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from nilometer.algebra.table_function import FunctionCall
from nilometer.operators import frames
from nilometer.operators.limits import operator
from nilometer.operators.logic import ID, POSITION, TICK, TIME, Output, Progress, no_evaluations
from nilometer.operators.order import stream_order
from nilometer.operators.unit_rows import arguments_of, columns_of
from nilometer.operators.validation import require
from nilometer.operators.waiting import Waiting
from nilometer.types import Schema
from nilometer.workers.units import Rows, UnitProcess


@dataclass(frozen=True)
class Unit:
    """The rows that a unit makes of a stream."""

    call: FunctionCall
    input: Schema

    def __post_init__(self) -> None:
        require(isinstance(self.call["USING"], str), "a unit without a name")
        require(isinstance(self.call["GIVES"], str), "a unit without columns")

    @property
    def schema(self) -> Schema:
        """The columns of its rows."""
        return self.call.schema(self.input)

    def build(self) -> UnitLogic:
        return UnitLogic(self)


class UnitLogic:
    """The unit's process, which begins with the first row, and the rows that wait."""

    def __init__(self, spec: Unit) -> None:
        call = spec.call
        self._reference = str(call["USING"])
        numbers = call["WITH"]
        assert isinstance(numbers, tuple)
        self._numbers = [float(number) for number in numbers]  # type: ignore[arg-type]
        self._columns = list(call.columns)
        self._types = [spec.input[name].type.plain for name in self._columns]
        self._id = call.id_type.plain
        self._output = frames.stream_dtypes(spec.schema, self._id)
        self._names = spec.schema.names
        self._given = tuple(spec.schema)[2:]
        kept = {name: frames.dtype(type_) for name, type_ in zip(self._columns, self._types, strict=True)}
        columns = {TICK: pl.Int64(), TIME: pl.Int64(), ID: frames.dtype(self._id), POSITION: pl.Int64()}
        self._waiting = Waiting(columns | kept)
        self._process: UnitProcess | None = None

    def update(self, port: int, rows: pl.DataFrame) -> None:  # noqa: ARG002 - one port
        known = pl.all_horizontal(
            pl.col(ID).is_not_null(), *(pl.col(name).is_not_null() for name in self._columns)
        )
        self._waiting.add(rows.filter(known))

    @operator("UNIT")
    def advance(self, progress: Progress) -> Output:
        rows = self._waiting.release(progress.watermark)
        if not rows.height:
            return Output(frames.empty(self._output), no_evaluations())
        rows = stream_order(rows, self._columns)
        taken = list(zip(self._columns, self._types, strict=True))
        found = self._unit().update(arguments_of(rows, TIME, ID, self._id, taken), rows.height)
        return Output(self._rows(rows, found), no_evaluations())

    def _unit(self) -> UnitProcess:
        if self._process is None:
            self._process = UnitProcess(self._reference, self._numbers)
        return self._process

    def _rows(self, rows: pl.DataFrame, found: Rows) -> pl.DataFrame:
        of = rows.select(TICK, TIME, ID, POSITION)[found.places]
        own = [of[TIME].alias(self._names[0]), of[ID].alias(self._names[1])]
        own += columns_of(self._given, found)
        return frames.conform(of.hstack(own), self._output)

    def snapshot(self) -> dict[str, bytes]:
        state = {} if self._process is None else {"unit": self._process.snapshot()}
        return self._waiting.snapshot("waiting") | state

    def restore(self, panes: dict[str, bytes]) -> None:
        self._waiting.restore("waiting", panes)
        if "unit" in panes:
            self._unit().restore(panes["unit"])
