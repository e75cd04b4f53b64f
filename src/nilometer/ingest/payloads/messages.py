"""What comes in and what comes out: raw messages -> typed rows and garbled ones.

The law: every reading received is a row or is counted in exactly one `Garbled`; a payload that holds no reading at all
counts as one garbled reading. Rows come in the order of their messages.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import polars as pl

MESSAGE = "@message"
"""The number of the message that a raw reading came in."""

REASON = "@reason"
"""Why a raw reading is garbled; NULL where it is sound."""


@dataclass(frozen=True)
class Messages:
    """Payloads as they came, each with the moment of its arrival (microseconds) and where it came from (topic, peer)."""

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
    """A payload that was not, or not wholly, understood: for the dead-letter log. `count` is its garbled readings."""

    payload: bytes
    reason: str
    source: str = ""
    count: int = 1


@dataclass(frozen=True)
class Decoded:
    """Typed rows in the stream's columns, and what could not be read."""

    rows: pl.DataFrame
    garbled: tuple[Garbled, ...] = ()

    @property
    def received(self) -> int:
        """All readings, the garbled ones included."""
        return self.rows.height + self.garbled_count

    @property
    def garbled_count(self) -> int:
        """The garbled readings."""
        return sum(letter.count for letter in self.garbled)


@dataclass(frozen=True)
class RawReadings:
    """What a format found in a batch of texts, before types are checked.

    `columns` has MESSAGE (Int64), perhaps REASON, and a column for each declared name that was found, as text or typed.
    `broken` gives a reason for each message that is not of the format. `microseconds`: the times are final already.
    """

    columns: pl.DataFrame
    broken: dict[int, str] = field(default_factory=dict)
    microseconds: bool = False
