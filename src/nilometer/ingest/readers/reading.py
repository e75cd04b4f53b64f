"""The result of reading a file: the rows that could be read, and an account of those that could not.

The reader of a format makes a `RawFile`: the file's columns as they are and a way to find a row's line.
`read_rows` turns it into a `Reading` of declared columns. The law: rows + garbled = the rows of the file; the
order is the file's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import polars as pl

from nilometer.catalog.form import Format
from nilometer.errors import DataError
from nilometer.ingest.readers.epochs import refuse_mixed, too_late
from nilometer.ingest.readers.local_times import rule
from nilometer.ingest.readers.values import read_values
from nilometer.ingest.readers.vectors import vector_reasons
from nilometer.operators.frames import dtype
from nilometer.types import Column, Kind

DEAD_LETTERS = 10
"""The number of garbled rows that are kept with line and reason. All are counted."""


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """A row that could not be read: its line and the reason."""

    line: int
    reason: str

    def __str__(self) -> str:
        return f"line {self.line}: {self.reason}"


@dataclass(frozen=True)
class RawFile:
    """A file's rows before their types are checked. `broken` are those that are not even rows of the format.

    `lines` gives the 1-based lines of row numbers; it is called only if a row is garbled. `spoiled` marks
    rows with bytes that are not text. `names` are all columns of the file; `columns` may hold only the wanted
    ones. `mapped`: the columns already have the names of the declared ones.
    """

    columns: pl.DataFrame
    lines: Callable[[npt.NDArray[np.int64]], npt.NDArray[np.int64]]
    broken: tuple[DeadLetter, ...] = ()
    broken_count: int = 0
    spoiled: pl.Series | None = None
    names: tuple[str, ...] = ()
    mapped: bool = False


@dataclass(frozen=True)
class Reading:
    """Typed rows in file order, the number of garbled ones, and the first few of these. `notes` tell the user
    about other peculiarities of the file. `unknown` are its columns that are not declared."""

    rows: pl.DataFrame
    garbled: int = 0
    dead_letters: tuple[DeadLetter, ...] = field(default=())
    notes: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()

    @property
    def received(self) -> int:
        """The number of rows in the file."""
        return self.rows.height + self.garbled


def row_numbers(rows: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """The line numbers for a format without lines: the first row is 1."""
    return rows + 1


def match_columns(declared: Iterable[Column], found: Iterable[str]) -> dict[str, str]:
    """The file's column for each declared name: the same name, else the first that differs only in case."""
    exact = list(found)
    folded: dict[str, str] = {}
    for name in exact:
        folded.setdefault(name.strip().lower(), name)
    matched = {}
    for column in declared:
        here = column.name if column.name in exact else folded.get(column.name.lower())
        if here is not None:
            matched[column.name] = here
    return matched


def read_rows(
    raw: RawFile,
    declared: tuple[Column, ...],
    what: str,
    *,
    required: str | None = None,
    time_unit: int | None = None,
    format: Format | None = None,
    small: bool = False,
) -> Reading:
    """Check and convert the declared columns. Rows without a value in the `required` column are garbled
    too. `small`: the rows go on from rows whose times were small numbers (epochs.py)."""
    matched = match_columns(declared, raw.columns.columns)
    needed = next((c.name for c in declared if required is not None and c.name.lower() == required), None)
    if needed is not None and needed not in matched:
        found = ", ".join(raw.names or raw.columns.columns) or "none"
        raise DataError(
            f"{what} has no column '{needed}'",
            detail=f"columns found: {found}",
            hint=f"every reading needs its event time: name that column '{needed}' in the file"
            if needed.lower() == "time"
            else f"add the column '{needed}'",
        )
    height = raw.columns.height
    values: list[pl.Series] = []
    faults: list[tuple[Column, pl.Series]] = []
    notes: list[str] = []
    for column in declared:
        if column.name not in matched:
            values.append(pl.Series(column.name, [None], dtype=dtype(column.type)).new_from_index(0, height))
            continue
        unit = time_unit if column.name.lower() == "time" else None
        plain = format is None or format.time_format is None
        if column.name == needed and unit is None and plain:
            _refuse_mixed(raw.columns[matched[column.name]], what, small=small)
        read = read_values(raw.columns[matched[column.name]], column.type, unit, format)
        values.append(read.values.alias(column.name))
        notes += [f"{column.name} of {count} rows of {what}: {remark}" for remark, count in read.remarks]
        if column.name == needed and read.values.null_count():
            faults.append((column, read.values.is_null()))
        elif read.garbled is not None:
            faults.append((column, read.garbled))
    rows = pl.DataFrame(values)
    if not faults and raw.spoiled is None and not raw.broken_count:
        return Reading(rows, notes=tuple(notes))
    bad = raw.spoiled if raw.spoiled is not None else pl.Series([False]).new_from_index(0, height)
    for _, garbled in faults:
        bad = bad | garbled
    how = rule(format)

    def reason(column: Column, found: object) -> str:
        why = _reason(column, found)
        if column.type.kind is not Kind.TIME or found is None:
            return why
        guess = too_late(str(found), time_unit if column.name == needed else None)
        return why + how + (f": {guess}" if guess is not None else "")

    letters = [*raw.broken, *_letters(raw, matched, faults, bad, reason)]
    letters.sort(key=lambda letter: letter.line)
    count = int(bad.sum()) + raw.broken_count
    return Reading(rows.filter(~bad), count, tuple(letters[:DEAD_LETTERS]), tuple(notes))


def _refuse_mixed(times: pl.Series, what: str, *, small: bool) -> None:
    """Texts are mostly no numbers, which the first ones tell."""
    if times.dtype.is_numeric() or (
        times.dtype == pl.String and times.head(8).cast(pl.Float64, strict=False).is_not_null().any()
    ):
        refuse_mixed(times, what, small=small)


def _letters(
    raw: RawFile,
    matched: dict[str, str],
    faults: list[tuple[Column, pl.Series]],
    bad: pl.Series,
    reason: Callable[[Column, object], str],
) -> list[DeadLetter]:
    numbers = bad.arg_true().head(DEAD_LETTERS).to_numpy().astype(np.int64)
    letters = []
    for number, line in zip(numbers.tolist(), raw.lines(numbers).tolist(), strict=True):
        reasons = [
            reason(column, raw.columns[matched[column.name]][number])
            for column, garbled in faults
            if garbled[number]
        ]
        letters.append(DeadLetter(line, "; ".join(reasons) or "bytes that are not UTF-8 text"))
    return letters


def _reason(column: Column, found: object) -> str:
    if found is None:
        return f"no {column.name}"
    if column.type.kind is Kind.VECTOR:
        value = found if isinstance(found, pl.Series) else pl.Series([found])
        whole = value.implode() if isinstance(found, pl.Series) else value
        return str(vector_reasons(column, whole, pl.Series([True]))[0])
    text = f"{found:.40}" if isinstance(found, str) else str(found)[:40]
    return f"{column.name} is {text!r}, not {'an' if column.type.kind == 'INT' else 'a'} {column.type.plain}"
