"""Functions shared by the W-join's forms: the conditions that one tuple decides by itself, and N-tuples ->
rows of the answer.
"""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from nilometer.expressions import Call, Expression, columns_of, conjuncts, uses_now
from nilometer.kernels.arrays import Integers
from nilometer.operators.frames import Dtypes
from nilometer.operators.logic import ID, POSITION, TICK, TIME
from nilometer.operators.window_join.keys import KeyPair
from nilometer.types import BOOLEAN, Schema


def reads_now(pair: KeyPair) -> bool:
    """Whether an equality reads NOW, so that it can be tested only when the whole tuple is known."""
    return uses_now(pair[1]) or uses_now(pair[3])


def conditions_of(keys: Sequence[KeyPair], predicate: Expression | None) -> tuple[Expression, ...]:
    """The predicate's conjuncts, and the keys that read NOW, which is known only when the latest member
    is.
    """
    awkward = tuple(Call("=", (pair[1], pair[3]), BOOLEAN) for pair in keys if reads_now(pair))
    return awkward + conjuncts(predicate)


def is_local(condition: Expression, schema: Schema) -> bool:
    """Whether a tuple of one stream decides the condition by itself. A tuple that fails never joins, so it is
    not kept.
    """
    read = columns_of(condition)
    return bool(read) and read <= set(schema.names) and not uses_now(condition)


def answer(columns: Dtypes, time: Integers, values: Sequence[pl.Series]) -> pl.DataFrame:
    """N-tuples as a stream: tick and time are those of the latest member; id and position are NULL."""
    latest = pl.Series(TIME, time)
    nothing = [
        pl.Series(name, [None], dtype=columns[name]).new_from_index(0, len(time)) for name in (ID, POSITION)
    ]
    return pl.DataFrame([latest.alias(TICK), latest, *nothing, *values])
