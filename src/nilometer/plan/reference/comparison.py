"""Compares two answers: answers are multisets of rows, and floats are compared with a tolerance.

>>> same_answer([(1, 0.1 + 0.2), (2, None)], [(2, None), (1, 0.3)]) is None
True
>>> print(same_answer([(1, 0.5)], [(1, 0.25)]))
1 row expected, 1 given; first difference:
  missing: (1, 0.5)
  surplus: (1, 0.25)
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from nilometer.plan.reference.answer import Answer
from nilometer.plan.reference.rows import order_key

Rows = Answer | Iterable[Sequence[Any]]

DIGITS = 9


def normalise(rows: Rows) -> list[tuple[Any, ...]]:
    """The rows in a canonical order and form: lists, structs and points as tuples, nine significant digits.

    The rows of two hosts normalise alike unless a float lies at the edge between two roundings; `same_answer`
    decides then.
    """
    return sorted((_rounded(row) for row in _plain(rows)), key=order_key)


def same_answer(expected: Rows, given: Rows, tolerance: float = 1e-9) -> str | None:
    """None if both are the same multiset of rows, else a text that shows the first difference.

    Types matter: 1 is not 1.0, and true is not 1. Floats may differ by `tolerance`, relative or absolute.
    """
    left, right = _plain(expected), _plain(given)
    missing, surplus = _unmatched(left, right, tolerance)
    if not missing and not surplus:
        return None
    lines = [f"{_rows(len(left))} expected, {len(right)} given; first difference:"]
    lines += [f"  missing: {row!r}" for row in missing[:1]]
    lines += [f"  surplus: {row!r}" for row in surplus[:1]]
    return "\n".join(lines)


def rows_in_common(expected: Rows, given: Rows, tolerance: float = 1e-9) -> int:
    """How many of the expected rows were given, compared as `same_answer` does."""
    left = _plain(expected)
    return len(left) - len(_unmatched(left, _plain(given), tolerance)[0])


def _rows(count: int) -> str:
    return f"{count} row" if count == 1 else f"{count} rows"


def _plain(rows: Rows) -> list[tuple[Any, ...]]:
    found = list(rows.rows if isinstance(rows, Answer) else rows)
    if any(isinstance(row, Mapping) for row in found):
        # The items of a dictionary are its keys, so all answers with the same number of rows would be equal.
        raise TypeError("rows are compared as tuples, not as dictionaries: give the answer's `rows`")
    return [tuple(_plain_value(value) for value in row) for row in found]


def _plain_value(value: Any) -> Any:
    """Lists, structs and points as tuples, whatever form a host gives them."""
    if isinstance(value, Mapping):
        return tuple(_plain_value(part) for part in value.values())
    if isinstance(value, Sequence) and not isinstance(value, str):
        return tuple(_plain_value(part) for part in value)
    return value


def _rounded(value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(_rounded(part) for part in value)
    if isinstance(value, float):
        return float(f"{value:.{DIGITS}g}") + 0.0  # adding 0.0 turns -0.0 into 0.0
    return value


def _unmatched(
    left: Sequence[tuple[Any, ...]], right: Sequence[tuple[Any, ...]], tolerance: float
) -> tuple[list[tuple[Any, ...]], list[tuple[Any, ...]]]:
    """The rows of each side without a partner on the other, in order. Partners agree in all but their
    floats."""
    groups: dict[Any, tuple[list[tuple[Any, ...]], list[tuple[Any, ...]]]] = {}
    for side, rows in enumerate((left, right)):
        for row in rows:
            groups.setdefault(_skeleton(row), ([], []))[side].append(row)
    missing, surplus = [], []
    for mine, theirs in groups.values():
        alone, spare = _pair(sorted(mine, key=order_key), sorted(theirs, key=order_key), tolerance)
        missing += alone
        surplus += spare
    return sorted(missing, key=order_key), sorted(surplus, key=order_key)


def _skeleton(value: Any) -> Any:
    """The value without its floats, with the types."""
    if isinstance(value, tuple):
        return tuple(_skeleton(part) for part in value)
    return (type(value), None if isinstance(value, float) else value)


def _pair(
    mine: list[tuple[Any, ...]], theirs: list[tuple[Any, ...]], tolerance: float
) -> tuple[list[tuple[Any, ...]], list[tuple[Any, ...]]]:
    """The rows that a maximum matching between close rows leaves over.

    Sorted rows nearly always match one by one. They do not if two floats of a row trade places; then partners
    are exchanged along augmenting paths.
    """
    if len(mine) == len(theirs) and all(
        _close(one, other, tolerance) for one, other in zip(mine, theirs, strict=True)
    ):
        return [], []
    partner: dict[int, int] = {}  # of theirs, in mine

    def place(index: int, tried: set[int]) -> bool:
        for candidate, other in enumerate(theirs):
            if candidate not in tried and _close(mine[index], other, tolerance):
                tried.add(candidate)
                if candidate not in partner or place(partner[candidate], tried):
                    partner[candidate] = index
                    return True
        return False

    alone = [row for index, row in enumerate(mine) if not place(index, set())]
    return alone, [row for index, row in enumerate(theirs) if index not in partner]


def _close(one: Any, other: Any, tolerance: float) -> bool:
    if isinstance(one, tuple):
        return all(_close(left, right, tolerance) for left, right in zip(one, other, strict=True))
    if isinstance(one, float):
        return math.isclose(one, other, rel_tol=tolerance, abs_tol=tolerance)
    return bool(one == other)
