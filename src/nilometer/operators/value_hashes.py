"""Hashes columns of values. The hash is the same on every machine and in every version.

Values that are equal in the language have one hash: an INT and a FLOAT of the same value, 0.0 and -0.0, NULL
and NULL.

>>> hashes_of(pl.Series([1, None])).tolist() == hashes_of(pl.Series([1.0, None])).tolist()
True
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from nilometer.errors import InternalError
from nilometer.kernels.arrays import Words

_NULL = 0x6E756C6C
_TRUE, _FALSE = 0x74727565, 0x66616C7365


def hashes_of_rows(columns: Sequence[pl.Series]) -> Words:
    """One hash of the values of each row."""
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
        found = hashes_of_rows([values.struct.field(field.name) for field in kind.fields])
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
