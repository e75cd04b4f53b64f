"""Dead letters <-> the body of a LETTERS record: readings that were refused, with the reason and the bytes.

The law: a letter is never lost once its reading counts as garbled. After a crash between the two steps it may
be there twice.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple, dataclass
from functools import cache
from typing import Any

import polars as pl
import pyarrow as pa

from nilometer.log.files import Files
from nilometer.log.reader import batch_of
from nilometer.log.record import Header, RecordKind, Records
from nilometer.log.schema import Packer, arrow_schema
from nilometer.log.segment import OnDamage, look, refuse, segment_ids

COLUMNS = {
    "arrived": pl.Int64(),
    "source": pl.String(),
    "reason": pl.String(),
    "payload": pl.Binary(),
    "count": pl.Int64(),
}


@cache
def schema() -> Any:
    """The Arrow schema. It is not made at import: a process that forks afterwards must not have used Polars."""
    return arrow_schema(COLUMNS)


@dataclass(frozen=True, slots=True)
class Letter:
    """A refused payload: its arrival, its source, the reason, its bytes, and the number of readings in it."""

    arrived: int | None
    source: str
    reason: str
    payload: bytes
    count: int = 1


@cache
def _none() -> pl.DataFrame:
    return pl.DataFrame(schema=COLUMNS)


def frame_of(letters: Sequence[Letter]) -> pl.DataFrame:
    """The letters as a frame."""
    if not letters:
        return _none()  # most batches have none, and building a frame takes as long as appending one
    return pl.DataFrame([astuple(letter) for letter in letters], schema=COLUMNS, orient="row")


def to_bytes(letters: pl.DataFrame) -> Any:
    """The body of a record."""
    return Packer(schema()).pack(letters).serialize()


def from_record(header: Header, run: Records) -> Any:
    """The letters of a record, as a record batch."""
    return batch_of(header, run, schema())


def last_letters(files: Files, limit: int | None = None, on_damage: OnDamage = refuse) -> pl.DataFrame:
    """The last `limit` letters of a log (None: all), oldest first. Reads backwards, one segment at a time."""
    found: list[Any] = []
    left = limit
    for segment in reversed(segment_ids(files)):
        if left is not None and left <= 0:
            break
        try:
            _, contents = look(files, segment, on_damage=on_damage)
        except FileNotFoundError:  # retention has deleted it meanwhile
            continue
        batches = [from_record(h, run) for h, run in contents if h.kind == RecordKind.LETTERS and h.rows]
        found = batches + found
        if left is not None:
            left -= sum(batch.num_rows for batch in batches)
    letters = pl.DataFrame(pl.from_arrow(pa.Table.from_batches(found, schema())))
    return letters if limit is None else letters.tail(limit)
