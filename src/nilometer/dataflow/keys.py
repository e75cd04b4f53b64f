"""The identity of a stream's readings, which is its KEY: its columns, the keys of readings, and the search for
duplicates (NULL = NULL).

The law: of the readings with the same key the first one in log order counts, and the others are its
duplicates. A reading without a time is no reading and has no key.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt
import polars as pl

from nilometer.catalog.extents import Stream
from nilometer.errors import DataError
from nilometer.operators.frames import dtype
from nilometer.operators.logic import ID, TICK, TIME

_SEED = 7

_SYSTEM = {"time": TIME, "tick": TICK, "id": ID}
_ROW = "@row"


def key_columns(stream: Stream, names: Iterable[str]) -> list[str]:
    """The columns that the names in a KEY refer to; time, id and tick are system columns."""
    columns = []
    for name in names:
        column = stream.column(name)
        if name.lower() in _SYSTEM:
            columns.append(_SYSTEM[name.lower()])
        elif column is not None:
            columns.append(column.name)
        else:
            raise DataError(
                f"the KEY of '{stream.name}' names '{name}', which is not a column of it",
                hint=f"its columns are {', '.join(c.name for c in stream.columns)}",
            )
    return list(dict.fromkeys(columns))


def identity_of(stream: Stream) -> tuple[str, ...]:
    """The names of what identifies a reading: the declared KEY. Without one: (id, tick) for a sensed stream,
    nothing for a pushed stream (design.md)."""
    return stream.key or (("id", "tick") if stream.sensed else ())


def is_timed(columns: Iterable[str]) -> bool:
    """Whether equal keys of these columns have equal ticks."""
    return bool({TIME, TICK} & set(columns))


def read_for(columns: Sequence[str]) -> set[str]:
    """The columns of a reading, in lower case, that its key is made of, plus its time and id."""
    stored = {system: name for name, system in _SYSTEM.items() if name != "tick"} | {TICK: "time"}
    return {"time", "id", *(stored.get(column, column.lower()) for column in columns)}


def key_frame(stream: Stream, rows: pl.DataFrame) -> pl.DataFrame:
    """Readings with the system columns that a KEY may name."""
    time = rows.get_column(column_of(stream, "time")).cast(pl.Int64)
    tick = time if stream.every is None else time // stream.every * stream.every
    source = rows.get_column(column_of(stream, "id")).cast(dtype(stream.id_type))
    return rows.with_columns(tick.alias(TICK), time.alias(TIME), source.alias(ID))


def doubles_among(keys: pl.DataFrame) -> npt.NDArray[np.intp]:
    """The rows, in order, whose key an earlier row already has. Only keys whose fingerprint occurs twice are
    compared."""
    prints = prints_of(keys)
    ordered = np.sort(prints)
    twice = ordered[1:][ordered[1:] == ordered[:-1]]
    if not twice.size:
        return np.empty(0, dtype=np.intp)
    suspects = keys.with_row_index(_ROW).filter(pl.Series(np.isin(prints, np.unique(twice))))
    first = suspects.unique(keys.columns, keep="first")
    rows, kept = (frame.get_column(_ROW).to_numpy() for frame in (suspects, first))
    return np.setdiff1d(rows, kept, assume_unique=True).astype(np.intp)


def prints_of(keys: pl.DataFrame) -> npt.NDArray[np.uint64]:
    """An eight-byte fingerprint of each key. Equal keys have equal fingerprints."""
    return keys.hash_rows(_SEED).to_numpy()


def column_of(stream: Stream, name: str) -> str:
    """The column's name as the stream spells it."""
    column = stream.column(name)
    assert column is not None, f"a stream without {name}"
    return column.name
