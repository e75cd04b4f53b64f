"""The result of a round, as it goes from the process that ran it to the owner: columns, not an object for each query.

A round of a thousand filters has a thousand answers, accounts and watermarks. Pickled one by one they cost more than the
round itself. Their numbers are therefore packed into arrays, and the answers that are parts of a shared frame into one list
of places in it.

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

Numbers = npt.NDArray[np.int64]
Accounts = tuple[list[str], Numbers]
Watermarks = dict[int | None, list[str]]
Answers = tuple[list[pl.DataFrame], list[str], Numbers, dict[str, list[Rows]]]
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
    """The shared frames; the queries whose whole answer is one part of such a frame, each with the frame's number and the
    part's beginning and height; and the other answers as they are."""
    numbers, frames = IdentityMap[pl.DataFrame, int](), list[pl.DataFrame]()
    names, places, others = list[str](), list[tuple[int, int, int]](), dict[str, list[Rows]]()
    for name, rows in answers.items():
        part = rows[0]
        if len(rows) == 1 and isinstance(part, Part):
            number = numbers.get(part.frame)
            if number is None:
                number = numbers[part.frame] = len(frames)
                frames.append(part.frame)
            names.append(name)
            places.append((number, part.start, part.height))
        else:
            others[name] = rows
    return frames, names, np.array(places, dtype=np.int64).reshape(len(places), 3), others


def unpacked_answers(packed: Answers) -> dict[str, list[Rows]]:
    """The answers by name. Parts of one frame are parts of one frame again."""
    frames, names, places, others = packed
    widths = [frame.width for frame in frames]
    found: dict[str, list[Rows]] = {
        name: [Part(frames[number], start, height, widths[number])]
        for name, (number, start, height) in zip(names, places.tolist(), strict=True)
    }
    return found | others


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
