"""The result of a round, as it goes from the process that ran it to the owner: columns, not an object for each query.

A round of a thousand filters has a thousand answers, accounts and watermarks. Pickled one by one they cost more than the
round itself. Their numbers are therefore packed into arrays, and the answers that are parts of a shared frame into one list
of places in it. Frames travel as Arrow: Polars' own pickling of 125,000 rows takes 8 ms, this 0.5.

>>> from nilometer.spark.shared.packed_results import packed_accounts, unpacked_accounts
>>> unpacked_accounts(packed_accounts({"hot": QueryLedger(5, 3, 2), "cold": QueryLedger(5, 0, 5)}))["hot"]
QueryLedger(read=5, delivered=3, filtered=2, late=0, shed=0, failed=0, errors=0)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from operator import attrgetter
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from nilometer.algebra.identity_map import IdentityMap
from nilometer.dataflow.ledger import QueryLedger
from nilometer.dataflow.part import Part, Rows
from nilometer.operators.frames import from_bytes, to_bytes

Numbers = npt.NDArray[np.int64]
Accounts = tuple[list[str], Numbers]
Watermarks = dict[int | None, list[str]]
Place = tuple[int, int, int]
"""A part of a frame: the frame's number, the part's beginning and height."""
Answers = tuple[list[bytes], list[str], Numbers, dict[str, list[Place | int]]]
_COUNTS = attrgetter(*(field.name for field in fields(QueryLedger)))
_WIDTH = len(fields(QueryLedger))


def packed_accounts(books: Mapping[str, QueryLedger]) -> Accounts:
    """The names, and a row of counters for each."""
    counts = np.array([_COUNTS(book) for book in books.values()], dtype=np.int64)
    return list(books), counts.reshape(len(books), _WIDTH)


def unpacked_accounts(packed: Accounts) -> dict[str, QueryLedger]:
    """The accounts by name."""
    names, counts = packed
    return {name: QueryLedger(*row) for name, row in zip(names, counts.tolist(), strict=True)}


def packed_watermarks(watermarks: Mapping[str, int | None]) -> Watermarks:
    """The names by watermark: most queries have that of others."""
    found: Watermarks = {}
    for name, watermark in watermarks.items():
        found.setdefault(watermark, []).append(name)
    return found


def unpacked_watermarks(packed: Watermarks) -> dict[str, int | None]:
    """The watermarks by name."""
    return {name: watermark for watermark, names in packed.items() for name in names}


def packed_answers(answers: Mapping[str, list[Rows]]) -> Answers:
    """The frames; the queries whose whole answer is one part of a frame, each with its place; and the other answers, as places
    and numbers of frames."""
    frames = _Frames()
    names, places, others = list[str](), list[Place](), dict[str, list[Place | int]]()
    for name, rows in answers.items():
        part = rows[0]
        if len(rows) == 1 and isinstance(part, Part):
            names.append(name)
            places.append(frames.place(part))
        else:
            others[name] = [
                frames.place(each) if isinstance(each, Part) else frames.number(each) for each in rows
            ]
    return frames.data, names, np.array(places, dtype=np.int64).reshape(len(places), 3), others


class _Frames:
    """The bytes of the frames so far. Each is written once."""

    def __init__(self) -> None:
        self.data: list[bytes] = []
        self._numbers = IdentityMap[pl.DataFrame, int]()

    def number(self, frame: pl.DataFrame) -> int:
        """The number of a frame."""
        number = self._numbers.get(frame)
        if number is None:
            number = self._numbers[frame] = len(self.data)
            self.data.append(to_bytes(frame))
        return number

    def place(self, part: Part) -> Place:
        """The place of a part."""
        return self.number(part.frame), part.start, part.height


def unpacked_answers(packed: Answers) -> dict[str, list[Rows]]:
    """The answers by name. Parts of one frame are parts of one frame again."""
    data, names, places, others = packed
    frames = [from_bytes(each) for each in data]
    widths = [frame.width for frame in frames]

    def part(place: Place | list[int]) -> Part:
        number, start, height = place
        return Part(frames[number], start, height, widths[number])

    found: dict[str, list[Rows]] = {
        name: [part(place)] for name, place in zip(names, places.tolist(), strict=True)
    }
    return found | {
        name: [frames[each] if isinstance(each, int) else part(each) for each in rows]
        for name, rows in others.items()
    }


def packed(state: Mapping[str, Any]) -> dict[str, Any]:
    """The attributes of a result, packed."""
    return {
        **state,
        "answers": packed_answers(state["answers"]),
        "books": packed_accounts(state["books"]),
        "watermarks": packed_watermarks(state["watermarks"]),
    }


def unpacked(state: Mapping[str, Any]) -> dict[str, Any]:
    """The attributes of a result."""
    return {
        **state,
        "answers": unpacked_answers(state["answers"]),
        "books": unpacked_accounts(state["books"]),
        "watermarks": unpacked_watermarks(state["watermarks"]),
    }
