"""Rows that have no answer, because a value that they need cannot be given: an INT overflow, a CAST of what is no number.

Where somebody collects letters (`collecting`), such rows are set aside: each is in a letter, with the reason, and the
others go on. Where nobody does, the first of them is an error that stops the query. A question that is only asked collects
the rows for which a function in Python raises (FunctionFailedError), and stops at all others. The law: which rows are set aside
depends on each row alone, or on each group of a window, never on how the rows are cut into batches.

>>> rows = pl.DataFrame({"n": [1, 2, 3]})
>>> with collecting() as letters:
...     kept = without(rows, pl.Series([False, True, False]), DataError("no value"))
>>> kept.rows(), letters[0].reason, letters[0].rows.rows()
([(1,), (3,)], 'no value', [(2,)])
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

import polars as pl

from nilometer.errors import DataError

KEPT_ROWS = 100
"""A letter shows so many rows at most; all of them are counted."""


@dataclass(frozen=True)
class Letter:
    """`count` rows for which there is no value. `rows` are the first of them. `derived`: the operator has made them, as
    the answer of a window; otherwise they were given to it, and it did not take them."""

    error: DataError
    count: int
    rows: pl.DataFrame
    derived: bool = False

    @property
    def reason(self) -> str:
        """Why there is no value."""
        return self.error.message


_LETTERS: ContextVar[tuple[list[Letter], type[DataError]] | None] = ContextVar("letters", default=None)
_DERIVED: ContextVar[bool] = ContextVar("derived", default=False)


@contextmanager
def collecting(kind: type[DataError] = DataError) -> Iterator[list[Letter]]:
    """Collect the letters of the rows that are set aside within the `with`, for errors of this kind."""
    letters: list[Letter] = []
    before = _LETTERS.set((letters, kind))
    try:
        yield letters
    finally:
        _LETTERS.reset(before)


@contextmanager
def derived() -> Iterator[None]:
    """Rows that are set aside within the `with` were made by the operator."""
    before = _DERIVED.set(True)
    try:
        yield
    finally:
        _DERIVED.reset(before)


def set_aside(rows: pl.DataFrame, error: DataError) -> None:
    """Write a letter about these rows. Raises the error if nobody collects letters about such errors."""
    letters, kind = _LETTERS.get() or (None, DataError)
    if letters is None or not isinstance(error, kind):
        raise error
    if rows.height:
        letters.append(Letter(error, rows.height, rows.head(KEPT_ROWS), _DERIVED.get()))


def without(rows: pl.DataFrame, failing: pl.Series, error: DataError) -> pl.DataFrame:
    """The rows that do not fail; the others are set aside."""
    set_aside(rows.filter(failing), error)
    return rows.filter(~failing)


def failing_rows(rows: pl.DataFrame, found: Iterable[tuple[pl.Series, DataError]]) -> pl.Series | None:
    """The rows in which one of these checks fails, set aside once each, for the first reason. None if there are none."""
    failing: pl.Series | None = None
    for mask, error in found:
        new = mask if failing is None else mask & ~failing
        set_aside(rows.filter(new), error)
        failing = mask if failing is None else failing | mask
    return failing
