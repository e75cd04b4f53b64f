"""Aggregates of sessions, fused: stream -> windows (Aggregate · [NOW] · Select? · SESSION).

    Aggregate(keys, items) · TimeWindow [NOW] · Select(predicate) · SESSION(stream)   =>   SessionAggregate

A session's tuples are never kept: each becomes part of a partial of its session and group as soon as the watermark has
passed it. The state is one partial for each open session and group, however long the session is. The kinds of partials are
those of window aggregates: sums, correlations, areas over time, sketches, and the deciding rows of FIRST and LAST. An
aggregate that needs all rows (MEDIAN, ARRAY_AGG) is not fused.

A key reads the columns of the window, or those of the tuples. The predicate and the aggregates read the tuples.

>>> import polars as pl
>>> from nilometer.expressions import Aggregate, ColumnReference
>>> from nilometer.operators.frames import stream_dtypes
>>> from nilometer.operators.logic import Progress
>>> from nilometer.types import INT, TIME, Column
>>> start = ("from", ColumnReference("Q.window_start", TIME))
>>> most = ("most", Aggregate("max", ColumnReference("v", INT), False, INT))
>>> logic = SessionAggregate(Schema((Column("v", INT),)), 10, "Q", keys=(start,), items=(most,)).build()
>>> rows = [(0, 0, 1, 0, 7), (8, 8, 1, 1, 8), (19, 19, 1, 2, 9)]  # tick, time, id, position, v
>>> logic.update(0, pl.DataFrame(rows, stream_dtypes(Schema((Column("v", INT),))), orient="row"))
>>> logic.advance(Progress(watermark=19)).rows.select("@tick", "from", "most").rows()
[(18, 0, 8)]
"""

from __future__ import annotations

from dataclasses import dataclass

from nilometer.algebra.table_functions.session import WINDOW_COLUMNS
from nilometer.errors import InternalError
from nilometer.expressions import ColumnReference, Expression, walk
from nilometer.operators.aggregate_items import NamedAggregate, NamedExpression, check_items, output_schema
from nilometer.operators.frames import Dtypes, stream_dtypes
from nilometer.operators.logic import ID, TICK, TIME, Logic
from nilometer.types import INT, Schema, Type


@dataclass(frozen=True)
class SessionAggregate:
    """Spec.

    Parameters
    ----------
    input, pause, alias, id_type, sessions_of
        The sessions, as in `Session`; `sessions_of` are its keys.
    keys
        (name, expression) pairs, over the input's columns or `alias.window_start` and the others.
    items
        (name, aggregate) pairs, over the input's columns.
    predicate
        Which tuples of a session count; None for all.
    time
        The column that holds the time of each tuple, if areas over it may be made from partials.
    """

    input: Schema
    pause: int
    alias: str
    id_type: Type = INT
    sessions_of: tuple[str, ...] = ()
    keys: tuple[NamedExpression, ...] = ()
    items: tuple[NamedAggregate, ...] = ()
    predicate: Expression | None = None
    time: str | None = None

    def __post_init__(self) -> None:
        check_items(self.keys, self.items)
        if any(self._reads(expression) == {True, False} for _, expression in self.keys):
            raise InternalError("a key of a session's window and its tuples at once")

    def _reads(self, expression: Expression) -> set[bool]:
        """For each column that it reads, whether that is a column of the window."""
        names = {node.name for node in walk(expression) if isinstance(node, ColumnReference)}
        return {name in self.window_columns for name in names}

    @property
    def window_columns(self) -> tuple[str, ...]:
        """The names of the window's columns: start, end, and the last millisecond."""
        return tuple(f"{self.alias}.{name}" for name in WINDOW_COLUMNS)

    @property
    def window_keys(self) -> tuple[NamedExpression, ...]:
        """The keys that read the window."""
        return tuple(key for key in self.keys if self._reads(key[1]) == {True})

    @property
    def row_keys(self) -> tuple[NamedExpression, ...]:
        """The other keys."""
        return tuple(key for key in self.keys if self._reads(key[1]) != {True})

    @property
    def schema(self) -> Schema:
        """The visible columns of the answer."""
        return output_schema(self.keys, self.items)

    @property
    def completeness(self) -> None:
        """Sessions have no expected number of readings."""
        return None

    @property
    def selective(self) -> bool:
        """Whether FIRST and LAST may be made from the rows that decide them."""
        return True

    @property
    def sieves_early(self) -> bool:
        """Whether a row without a value may be set aside before anything else sees it: it decides when a session ends."""
        return False

    @property
    def needed(self) -> Dtypes:
        """The columns without which no tuple has a session."""
        columns = stream_dtypes(self.input, self.id_type)
        return {name: columns[name] for name in (TICK, TIME, ID, *self.sessions_of)}

    def build(self) -> Logic:
        """Returns a fresh Logic."""
        from nilometer.operators.session_aggregate.deciding_rows import DecidingRowsLogic
        from nilometer.operators.session_aggregate.session_partials import SessionPartialsLogic
        from nilometer.operators.window_aggregate.combined import parted
        from nilometer.operators.window_aggregate.components import slides

        if slides(self.items):
            return SessionPartialsLogic(self)
        return parted(self) or DecidingRowsLogic(self)
