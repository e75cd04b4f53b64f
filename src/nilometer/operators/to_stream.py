"""Windows to stream: RSTREAM, ISTREAM, DSTREAM (CQL; SNEE section 4.3).

    RSTREAM at T = window(T)    ISTREAM at T = window(T) - window(T')    DSTREAM at T = window(T') - window(T)

T' is the previous evaluation (before the first, the window is empty). The minus is the bag difference over
the visible columns without the tick, NULL = NULL. Equal rows of an evaluation are numbered. A row is in the
difference if the other evaluation has no equal row with the same number. Tuples have time = tick = T, no id
and no position. The state is the last evaluation's rows.

>>> from nilometer.types import Column
>>> river = Schema((Column("depth", INT),))
>>> logic = ToStream(river, "ISTREAM").build()
>>> rows = [(1, 1, 70), (1, 1, 71), (2, 2, 71), (2, 2, 72)]  # evaluation, tick, depth
>>> logic.update(0, pl.DataFrame(rows, frames.window_dtypes(river), orient="row"))
>>> evaluations = pl.DataFrame({EVALUATION: [1, 2], TICK: [1, 2]})
>>> logic.advance(Progress(3, evaluations=(evaluations,))).rows.select(TICK, "depth").rows()
[(1, 70), (1, 71), (2, 72)]
"""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from nilometer.algebra import Relation
from nilometer.operators import frames
from nilometer.operators.limits import operator
from nilometer.operators.logic import (
    EVALUATION,
    EVALUATIONS_SCHEMA,
    ID,
    POSITION,
    TICK,
    TIME,
    Output,
    Progress,
    no_evaluations,
)
from nilometer.operators.validation import require_choice
from nilometer.types import INT, Schema, Type

_NUMBER = "@number"
_OTHER = "@other"


@dataclass(frozen=True)
class ToStream:
    """The `relation` of windows with these visible columns. `id_type` is the dtype of the (null) ids."""

    schema: Schema
    relation: str
    id_type: Type = INT

    def __post_init__(self) -> None:
        require_choice(self.relation, Relation, "a window-to-stream operator")

    def build(self) -> RStreamLogic | DifferenceLogic:
        if self.relation == Relation.RSTREAM:
            return RStreamLogic(self)
        return DifferenceLogic(self)


def as_stream(rows: pl.DataFrame, columns: frames.Dtypes) -> pl.DataFrame:
    """Converts rows with a tick to tuples of a stream."""
    tuples = rows.with_columns(
        pl.col(TICK).alias(TIME),
        pl.lit(None, dtype=columns[ID]).alias(ID),
        pl.lit(None, dtype=pl.Int64).alias(POSITION),
    )
    return tuples.select(*columns)


def bag_difference(rows: pl.DataFrame, others: pl.DataFrame, values: list[str]) -> pl.DataFrame:
    """Removes from `rows` the `others` that are equal in `values` (NULL = NULL), one for one."""
    if not rows.height or not others.height:
        return rows
    numbered, taken = (
        each.with_columns(pl.int_range(pl.len()).over(values).alias(_NUMBER)) for each in (rows, others)
    )
    left = numbered.join(
        taken.select(*values, _NUMBER),
        on=[*values, _NUMBER],
        how="anti",
        nulls_equal=True,
        maintain_order="left",
    )
    return left.drop(_NUMBER)


class RStreamLogic:
    """Emits all rows of each evaluation."""

    def __init__(self, spec: ToStream) -> None:
        self._input = frames.window_dtypes(spec.schema)
        self._columns = frames.stream_dtypes(spec.schema, spec.id_type)
        self._parts: list[pl.DataFrame] = []

    def update(self, port: int, rows: pl.DataFrame) -> None:  # noqa: ARG002 - one port
        if rows.height:
            self._parts.append(frames.conform(rows, self._input))

    @operator("ISTREAM, DSTREAM or RSTREAM")
    def advance(self, progress: Progress) -> Output:  # noqa: ARG002 - the evaluations have taken place
        rows = frames.concatenate(self._parts, self._input)
        self._parts = []
        return Output(as_stream(rows, self._columns), no_evaluations())

    def snapshot(self) -> dict[str, bytes]:
        rows = frames.concatenate(self._parts, self._input)
        return {"rows": frames.to_bytes(rows)} if rows.height else {}

    def restore(self, panes: dict[str, bytes]) -> None:
        self._parts = [frames.from_bytes(panes["rows"])] if "rows" in panes else []


class DifferenceLogic:
    """Emits the difference to the previous evaluation, in one direction or the other."""

    def __init__(self, spec: ToStream) -> None:
        self._new = spec.relation == Relation.ISTREAM
        self._input = frames.window_dtypes(spec.schema)
        self._columns = frames.stream_dtypes(spec.schema, spec.id_type)
        self._values = list(spec.schema.names)
        self._parts: list[pl.DataFrame] = []
        self._last = no_evaluations()
        self._saved = frames.Saved(), frames.Saved()

    def update(self, port: int, rows: pl.DataFrame) -> None:  # noqa: ARG002 - one port
        if rows.height:
            self._parts.append(frames.conform(rows, self._input))

    @operator("ISTREAM, DSTREAM or RSTREAM")
    def advance(self, progress: Progress) -> Output:
        (evaluations,) = progress.evaluations
        if not evaluations.height:
            return Output(frames.empty(self._columns), no_evaluations())
        rows = frames.concatenate(self._parts, self._input)
        steps = pl.concat([self._last, evaluations.select(*EVALUATIONS_SCHEMA).sort(EVALUATION)])
        changes = self._changes(rows, steps)
        self._last = steps.tail(1)
        self._parts = [rows.filter(pl.col(EVALUATION) == self._last[EVALUATION].item())]
        return Output(as_stream(changes, self._columns), no_evaluations())

    def _changes(self, rows: pl.DataFrame, steps: pl.DataFrame) -> pl.DataFrame:
        # For each evaluation, the one to compare with: the previous (whose rows are subtracted), or the next.
        shifted = steps.shift(1 if self._new else -1)
        compared = pl.DataFrame(
            [steps[EVALUATION], shifted[EVALUATION].alias(_OTHER), shifted[TICK].alias("@then")]
        )
        key = [*self._values, _NUMBER]
        numbered = rows.with_columns(
            pl.int_range(pl.len()).over([EVALUATION, *self._values]).alias(_NUMBER)
        ).join(compared, on=EVALUATION, how="inner", maintain_order="left")
        gone = numbered.join(
            numbered.select(pl.col(EVALUATION).alias(_OTHER), *key),
            on=[_OTHER, *key],
            how="anti",
            nulls_equal=True,
            maintain_order="left",
        )
        if self._new:
            # The last evaluation of earlier rounds is only compared with; its rows were emitted before.
            return gone.filter(~pl.col(EVALUATION).is_in(self._last[EVALUATION].implode()))
        # A row missing in the next evaluation left at that evaluation's tick. The last evaluation has no next
        # one yet.
        return gone.filter(pl.col("@then").is_not_null()).with_columns(pl.col("@then").alias(TICK))

    def snapshot(self) -> dict[str, bytes]:
        rows = frames.concatenate(self._parts, self._input)
        return {"rows": self._saved[0](rows), "last": self._saved[1](self._last)}

    def restore(self, panes: dict[str, bytes]) -> None:
        self._parts = [self._saved[0].load(panes["rows"])]
        self._last = self._saved[1].load(panes["last"])
