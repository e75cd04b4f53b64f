"""Union: two inputs of equal types -> their bag union, columns by position, named as on the left.

Streams: each tuple is passed on as it arrives. It keeps its @id, unless one side has INT ids and the other
STRING ones (then it is null). Its @position is null, because positions of two streams cannot be compared.
Windows: at the union of the ticks, each side contributes its latest window at or before. Tables: the union is
returned once, and again when a side has a new version.

>>> from nilometer.types import Column
>>> a, b = Schema((Column("a.x", INT),)), Schema((Column("b.x", INT),))
>>> logic = Union(a, b, "STREAM").build()
>>> logic.update(0, pl.DataFrame([(1, 1, 5, 0, 10)], frames.stream_dtypes(a), orient="row"))
>>> logic.update(1, pl.DataFrame([(2, 2, 6, 0, 20)], frames.stream_dtypes(b), orient="row"))
>>> logic.advance(Progress(watermark=0)).rows.rows()
[(1, 1, 5, None, 10), (2, 2, 6, None, 20)]
"""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from nilometer.algebra import Collection
from nilometer.operators import frames
from nilometer.operators.limits import operator
from nilometer.operators.logic import ID, POSITION, STREAM_COLUMNS, TICK, Output, Progress, no_evaluations
from nilometer.operators.table_pair import TablePair
from nilometer.operators.validation import require, require_choice
from nilometer.operators.window_pair import WindowPair
from nilometer.types import INT, Schema, Type


@dataclass(frozen=True)
class Union:
    """The union of `left` (port 0) and `right` (port 1), both of this collection.

    `id_types` are the types of the two streams' ids, None for a stream whose tuples have none.
    """

    left: Schema
    right: Schema
    collection: str
    id_types: tuple[Type | None, Type | None] = (INT, INT)

    def __post_init__(self) -> None:
        require_choice(self.collection, Collection, "a union of")
        alike = [frames.dtype(c.type) for c in self.left] == [frames.dtype(c.type) for c in self.right]
        require(alike, f"a union of ({self.left}) and ({self.right})")

    @property
    def schema(self) -> Schema:
        """The left's columns."""
        return self.left

    @property
    def keeps_id(self) -> bool:
        """Whether the tuples of the answer have sources."""
        return len(self._kinds) <= 1

    @property
    def id_type(self) -> Type:
        """The type of the answer's ids (all NULL if they are not kept)."""
        return self._kinds[0] if len(self._kinds) == 1 else INT

    @property
    def _kinds(self) -> list[Type]:
        return list(dict.fromkeys(type_.plain for type_ in self.id_types if type_ is not None))

    def build(self) -> StreamUnion | WindowsUnion | TableUnion:
        match Collection(self.collection):
            case Collection.STREAM:
                return StreamUnion(self)
            case Collection.WINDOWS:
                return WindowsUnion(self)
            case Collection.TABLE:
                return TableUnion(self)


def _names(spec: Union) -> dict[str, str]:
    """Maps the right's column names to the left's."""
    return dict(zip(spec.right.names, spec.left.names, strict=True))


class StreamUnion:
    """Passes tuples on as they arrive."""

    def __init__(self, spec: Union) -> None:
        self._names = _names(spec)
        self._keeps_id = spec.keeps_id
        self._columns = frames.stream_dtypes(spec.left, spec.id_type)
        self._parts: list[pl.DataFrame] = []

    def update(self, port: int, rows: pl.DataFrame) -> None:
        if not rows.height:
            return
        if port == 1:
            rows = rows.select(*STREAM_COLUMNS, *self._names).rename(self._names)
        rows = rows.with_columns(pl.lit(None, dtype=pl.Int64).alias(POSITION))
        if not self._keeps_id:
            rows = rows.with_columns(pl.lit(None, dtype=self._columns[ID]).alias(ID))
        self._parts.append(frames.conform(rows, self._columns))

    @operator("UNION")
    def advance(self, progress: Progress) -> Output:  # noqa: ARG002 - nothing waits
        rows = frames.concatenate(self._parts, self._columns)
        self._parts = []
        return Output(rows, no_evaluations())

    def snapshot(self) -> dict[str, bytes]:
        rows = frames.concatenate(self._parts, self._columns)
        return {"rows": frames.to_bytes(rows)} if rows.height else {}

    def restore(self, panes: dict[str, bytes]) -> None:
        self._parts = [frames.from_bytes(panes["rows"])] if "rows" in panes else []


class WindowsUnion(WindowPair):
    """Unites both sides' latest windows."""

    def __init__(self, spec: Union) -> None:
        super().__init__(spec.left, spec.right)
        self._names = _names(spec)
        self._columns = frames.window_dtypes(spec.left)

    @operator("UNION")
    def advance(self, progress: Progress) -> Output:
        left, right = self.sides
        ticks = self.settle(progress)
        parts = [left.rows(ticks), right.rows(ticks).rename(self._names)]
        self.forget()
        rows = frames.concatenate(parts, self._columns).sort(TICK, maintain_order=True)
        return Output(rows, frames.evaluations(pl.Series(ticks)))


class TableUnion(TablePair):
    """Returns the united table in the first round, and again in every round with a new version of a side."""

    def __init__(self, spec: Union) -> None:
        super().__init__(spec.left, spec.right, spec.left)
        self._names = _names(spec)

    @operator("UNION")
    def advance(self, progress: Progress) -> Output:  # noqa: ARG002 - tables know no time
        return self.when_changed(
            lambda left, right: pl.concat([left, right.rename(self._names)], rechunk=True)
        )
