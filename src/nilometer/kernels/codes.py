"""Encodes whole numbers as 0, 1, 2, ... in order of first appearance, in a hash table with open addressing.

>>> codes = Codes()
>>> codes.encode(np.array([7, 9, 7]), None)
(array([0, 1, 0]), array([7, 9]))
>>> codes.encode(np.array([9, 5]), np.array([True, False]))
(array([1, 2]), array([0]))
>>> codes.null
2
"""

from __future__ import annotations

import numba
import numpy as np

from nilometer.kernels.arrays import Booleans, Integers
from nilometer.kernels.read_only import read_only

_SMALLEST = 1024


class Codes:
    """The codes assigned so far; `null` is the code of the missing value, None before there is one."""

    def __init__(self) -> None:
        self.null: int | None = None
        self._count = 0
        self._values: Integers = np.empty(_SMALLEST, dtype=np.int64)
        self._codes: Integers = np.full(_SMALLEST, -1, dtype=np.int64)

    def encode(self, values: Integers, known: Booleans | None) -> tuple[Integers, Integers]:
        """Each value's code, and the new values in the order of their codes (0 stands for the missing
        value)."""
        values = read_only(values)
        everything = read_only(np.ones(0, dtype=np.bool_) if known is None else known)
        codes = np.empty(len(values), dtype=np.int64)
        new: list[Integers] = []
        done = 0
        while done < len(values):
            if 2 * self._count >= len(self._codes):
                self._grow()
            room = len(self._codes) // 2 - self._count + 1
            before = self._count
            null = -1 if self.null is None else self.null
            done, self._count, null, fresh = encode_integers(
                values, everything, codes, done, self._values, self._codes, self._count, null, room
            )
            self.null = None if null < 0 else int(null)
            new.append(fresh[: self._count - before])
        return codes, np.concatenate(new) if new else np.empty(0, dtype=np.int64)

    def assign(self, values: Integers, codes: Integers) -> None:
        """Assign these codes to these distinct values, in an empty table; `null` may hold one more code."""
        self._count = len(codes) + (self.null is not None)
        size = _SMALLEST
        while size < 4 * self._count:
            size *= 2
        self._values, self._codes = np.empty(size, dtype=np.int64), np.full(size, -1, dtype=np.int64)
        insert_integers(read_only(values), read_only(codes.astype(np.int64)), self._values, self._codes)

    def _grow(self) -> None:
        held = self._codes >= 0
        values, codes = self._values[held], self._codes[held]
        size = 4 * len(self._codes)
        self._values, self._codes = np.empty(size, dtype=np.int64), np.full(size, -1, dtype=np.int64)
        insert_integers(read_only(values), read_only(codes), self._values, self._codes)


@numba.njit(cache=True)
def _place(value, table_values, table_codes):  # type: ignore[no-untyped-def]
    """The place of a value, or where it would be: Fibonacci hashing, then linear probing."""
    mask = len(table_codes) - 1
    mixed = np.uint64(value) * np.uint64(0x9E3779B97F4A7C15)
    place = np.int64((mixed >> np.uint64(32)) & np.uint64(mask))
    while table_codes[place] >= 0 and table_values[place] != value:
        place = (place + 1) & mask
    return place


@numba.njit(cache=True)
def encode_integers(  # type: ignore[no-untyped-def]
    values, known, codes, done, table_values, table_codes, count, null, room
):
    """Encode values[done:] until they end or `room` new ones have come. Returns how far it came, the count,
    null's code and the new values."""
    fresh = np.empty(room, dtype=np.int64)
    added = 0
    masked = len(known) > 0
    while done < len(values):
        if masked and not known[done]:
            if null < 0:
                if added == room:
                    break
                null = count
                fresh[added] = 0
                added += 1
                count += 1
            codes[done] = null
        else:
            value = values[done]
            place = _place(value, table_values, table_codes)
            code = table_codes[place]
            if code < 0:
                if added == room:
                    break
                code = count
                table_values[place] = value
                table_codes[place] = code
                fresh[added] = value
                added += 1
                count += 1
            codes[done] = code
        done += 1
    return done, count, null, fresh


@numba.njit(cache=True)
def insert_integers(values, codes, table_values, table_codes):  # type: ignore[no-untyped-def]
    """Put distinct values into a table that has room for them."""
    for index in range(len(values)):
        place = _place(values[index], table_values, table_codes)
        table_values[place] = values[index]
        table_codes[place] = codes[index]
