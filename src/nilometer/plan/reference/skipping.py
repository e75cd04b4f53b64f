"""What a standing query means for a row that has no value: an INT overflow, a CAST of what is no number.

A condition that has no value does not hold. A row that has no value for an item of SELECT, a key or an argument of an
aggregate is left out there, and a group that has no value for an aggregate is left out. Without `skip_rows` each of
these is an error.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

from nilometer.errors import DataError

Found = TypeVar("Found")

_SKIPS: ContextVar[bool] = ContextVar("skips", default=False)


@contextmanager
def skip_rows(skips: bool) -> Iterator[None]:
    """Within the `with`, rows without a value are left out, or are errors."""
    before = _SKIPS.set(skips)
    try:
        yield
    finally:
        _SKIPS.reset(before)


def attempt(compute: Callable[[], Found]) -> list[Found]:
    """The value, or nothing if there is none and such rows are left out."""
    try:
        return [compute()]
    except DataError:
        if _SKIPS.get():
            return []
        raise
