"""Divides rows among buckets by the hash of their keys. The hash is the same on every machine and in every
version.

Values that are equal in the language have one hash: an INT and a FLOAT of the same value, 0.0 and -0.0, NULL
and NULL. The law: rows with equal keys go to one bucket, whichever columns and fragments they come from; each
bucket's rows keep their order.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from nilometer.errors import DataError, InternalError
from nilometer.expressions import Expression, type_of
from nilometer.kernels.arrays import Words
from nilometer.operators.evaluate.evaluate import Evaluator, compile_expression
from nilometer.operators.frames import dtype
from nilometer.spark.layout.stripes import Stripes

_NULL = 0x6E756C6C
_TRUE, _FALSE = 0x74727565, 0x66616C7365


def divide(
    rows: pl.DataFrame, keys: Sequence[Expression], buckets: int, stripes: Stripes | None = None
) -> list[tuple[int, pl.DataFrame]]:
    """The buckets that get rows, ascending, each with its rows. Without keys, bucket 0 gets them all. With
    stripes, a row may be in several buckets.
    """
    if not rows.height:
        return []
    if buckets == 1 or not keys:
        return [(0, rows)]
    from nilometer.kernels.stable_hash import in_buckets

    order: npt.NDArray[Any]
    if stripes is None:
        order, starts = in_buckets(_hashes([_values(rows, key) for key in keys]), buckets)
    else:
        order, starts = stripes.spread(_values(rows, keys[0]), buckets)
    filled = np.flatnonzero(np.diff(starts))
    if len(filled) == 1:
        return [(int(filled[0]), rows)]
    ordered = rows.select(pl.all().gather(pl.Series(order)))
    return [(int(b), ordered[int(starts[b]) : int(starts[b + 1])]) for b in filled]


def _values(rows: pl.DataFrame, key: Expression) -> pl.Series:
    values = _evaluated(rows, compile_expression(key), dtype(type_of(key)))
    return values.new_from_index(0, rows.height) if len(values) == 1 < rows.height else values


def _evaluated(rows: pl.DataFrame, key: Evaluator, kind: pl.DataType) -> pl.Series:
    """The key of each row, NULL if it is an error. The key may be evaluated here for rows for which the plan
    never evaluates it, because a condition above drops them. If the plan does evaluate it, the error is
    raised there.
    """
    try:
        return key(rows)
    except DataError:
        if rows.height == 1:
            return pl.Series([None], dtype=kind)
        half = rows.height // 2
        return pl.concat([_evaluated(part, key, kind) for part in (rows[:half], rows[half:])])


def _hashes(columns: Sequence[pl.Series]) -> Words:
    from nilometer.kernels.stable_hash import fold

    first, *others = map(hashes_of, columns)
    for other in others:
        first = fold(first, other)
    return first


def hashes_of(values: pl.Series) -> Words:
    """The hash of each value."""
    from nilometer.kernels.stable_hash import hash_floats, hash_words

    values = values.rechunk()
    kind = values.dtype
    if kind == pl.Null():
        return hash_words(np.full(len(values), _NULL, dtype=np.uint64))
    if kind.is_integer():
        found = hash_words(values.cast(pl.Int64).fill_null(0).to_numpy())
    elif kind.is_float():
        found = hash_floats(values.cast(pl.Float64).fill_null(0.0).to_numpy())
    elif kind == pl.Boolean():
        found = hash_words(np.where(values.fill_null(False).to_numpy(), np.uint64(_TRUE), np.uint64(_FALSE)))
    elif kind == pl.String():
        found = _hashes_of_texts(values.fill_null(""))
    elif isinstance(kind, pl.Struct):
        found = _hashes([values.struct.field(field.name) for field in kind.fields])
    elif isinstance(kind, pl.List):
        found = _hashes_of_lists(values)
    else:
        raise InternalError(f"no hash of {kind}")
    if values.null_count():
        found[values.is_null().to_numpy()] = hash_words(np.array([_NULL], dtype=np.uint64))[0]
    return found


def _hashes_of_texts(values: pl.Series) -> Words:
    from nilometer.kernels.stable_hash import hash_texts

    # Not as views, which is how Polars holds text: all bytes in one buffer, and the offset of each text.
    array = values.to_arrow(compat_level=pl.CompatLevel.oldest())
    _, offsets, data = array.buffers()
    starts = np.frombuffer(offsets, dtype=np.int64)[array.offset : array.offset + len(array) + 1]
    return hash_texts(np.frombuffer(data or b"", dtype=np.uint8), starts)


def _hashes_of_lists(values: pl.Series) -> Words:
    from nilometer.kernels.stable_hash import fold_runs

    lengths = values.list.len().fill_null(0).to_numpy()
    members = values.filter(pl.Series(lengths > 0)).explode()
    return fold_runs(hashes_of(members), np.concatenate(([0], np.cumsum(lengths))).astype(np.int64))
