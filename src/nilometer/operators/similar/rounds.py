"""A round of SIMILAR: its matches, a chunk at a time -> one answer in the requested form, or a refusal that
states its size.

A chunk consists of whole probing tuples and a bounded number of matches (a single tuple may have more). So
the temporary memory does not grow with the round, and the form's limit bounds the answer. A round with too
many matches is refused before anything is built: their number is known before any match is examined. When
FLATTEN passes the limit, it builds no more and only counts the remaining combinations, chunk by chunk.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Never

import numpy as np
import polars as pl

from nilometer.algebra import SimilarForm
from nilometer.errors import ResourceError
from nilometer.kernels.arrays import Integers
from nilometer.operators.similar.forms import (
    Matches,
    combinations,
    counted,
    flattened,
    listed,
    members_of,
    paired,
    sampled,
)

MATCHES_AT_ONCE = 2_000_000

Chunk = tuple[Matches, Integers]
"""Matches, and for each of their rows the number of the round's tuple that it is."""

Answer = tuple[Integers, pl.DataFrame]
"""For each row the number of the round's tuple that it answers, and the rows."""


@dataclass(frozen=True)
class Asked:
    """The form, the size of a sample, and the most matches that a round may return."""

    form: SimilarForm
    sample: int
    limit: int

    def held(self, partners: Integers) -> int:
        """How many matches the answer would hold for tuples with these numbers of partners."""
        if self.form is SimilarForm.COUNTS:
            return 0
        return int((np.minimum(partners, self.sample) if self.sample else partners).sum())


def answered(asked: Asked, chunks: Iterable[Chunk], partners: Integers) -> Answer | None:
    """Returns the answer of a round whose tuples have these numbers of partners (or fewer, where these are
    within the limit). Returns None if no tuples are alike.
    """
    held = asked.held(partners)
    if asked.form is SimilarForm.FLATTEN:
        return _flattened(asked, chunks, held)
    if held > asked.limit:
        _refuse(asked, f"{held:,} matches", f"of {len(partners):,} readings")
    return _joined([_in_form(asked, matches, rows) for matches, rows in chunks if len(matches.probe)])


def _in_form(asked: Asked, matches: Matches, rows: Integers) -> Answer:
    match asked.form:
        case SimilarForm.LIST:
            probe, frame = listed(matches)
        case SimilarForm.PAIRS:
            probe, frame = paired(matches)
        case SimilarForm.SAMPLE:
            probe, frame = sampled(matches, asked.sample)
        case _:
            probe, frame = counted(matches)
    return rows[probe], frame


def _flattened(asked: Asked, chunks: Iterable[Chunk], held: int) -> Answer | None:
    parts: list[Answer] = []
    expected = 0.0
    for matches, rows in chunks:
        members = members_of(matches)
        expected += combinations(members)
        if expected <= asked.limit and len(matches.probe):
            probe, frame = flattened(matches, members)
            parts.append((rows[probe], frame))
    if expected > asked.limit:
        count = f"{int(expected):,}" if expected < 2**53 else f"{expected:.3g}"
        _refuse(asked, f"{count} rows", f"the matches themselves are {held:,}")
    return _joined(parts)


def _joined(parts: list[Answer]) -> Answer | None:
    if len(parts) <= 1:
        return parts[0] if parts else None
    return np.concatenate([rows for rows, _ in parts]), pl.concat([frame for _, frame in parts])


_HINTS = {
    SimilarForm.FLATTEN: "leave FLATTEN out: the members' lists say the same in less space",
    SimilarForm.SAMPLE: "ask for a smaller SAMPLE, or for COUNTS",
}


def _refuse(asked: Asked, number: str, detail: str) -> Never:
    raise ResourceError(
        f"SIMILAR ... {asked.form} would build {number} at once",
        detail=f"{detail}; the limit is {asked.limit:,}",
        hint=_HINTS.get(asked.form)
        or "ask for COUNTS, which holds none of them, for a SAMPLE, or for a shorter window",
    )
