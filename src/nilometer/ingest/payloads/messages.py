"""The input and output of decoding: raw messages in, typed rows and garbled readings out.

The law: every reading received is a row or is counted in exactly one `Garbled`. A payload that holds no
reading at all counts as one garbled reading. Rows come in the order of their messages.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import polars as pl

from nilometer.ingest.payloads.field_counts import FieldCounts
from nilometer.ingest.readers.json_fields import MESSAGE, REASON

__all__ = ["MESSAGE", "REASON", "Decoded", "Garbled", "Messages", "RawReadings"]


@dataclass(frozen=True)
class Messages:
    """Payloads as they came, each with its time of arrival (microseconds) and its origin (topic or peer)."""

    payloads: Sequence[bytes]
    arrived: Sequence[int]
    sources: Sequence[str]

    def __post_init__(self) -> None:
        if not len(self.payloads) == len(self.arrived) == len(self.sources):
            raise ValueError("every payload has an arrival and a source")

    def __len__(self) -> int:
        return len(self.payloads)


@dataclass(frozen=True, slots=True)
class Garbled:
    """A garbled reading, for the dead-letter log, or a payload that could not be read at all. `count` is the number of
    garbled readings that it stands for, `message` the place of its message among those that were decoded together."""

    payload: bytes
    reason: str
    source: str = ""
    count: int = 1
    message: int | None = field(default=None, compare=False)


@dataclass(frozen=True)
class Decoded:
    """Typed rows in the stream's columns, the garbled readings, and what the payloads lack or have beyond the
    declaration."""

    rows: pl.DataFrame
    garbled: tuple[Garbled, ...] = ()
    fields: FieldCounts = field(default_factory=FieldCounts)
    messages: pl.Series | None = None
    """For each row, the number of the message that it came in."""

    @property
    def received(self) -> int:
        """The number of all readings, including the garbled ones."""
        return self.rows.height + self.garbled_count

    @property
    def garbled_count(self) -> int:
        """The number of garbled readings."""
        return sum(letter.count for letter in self.garbled)


@dataclass(frozen=True)
class RawReadings:
    """The readings that a format found in a batch of texts, before types are checked.

    `columns` has MESSAGE (Int64), possibly REASON, and a column for each declared name that was found, as
    text or typed. `broken` gives the reason for each message that is not in the format. `microseconds` is
    True if the times need no conversion. `fields` counts fields that no column reads.
    """

    columns: pl.DataFrame
    broken: dict[int, str] = field(default_factory=dict)
    microseconds: bool = False
    fields: FieldCounts = field(default_factory=FieldCounts)
