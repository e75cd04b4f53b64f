"""What a standing query means for a row that has no value: an INT overflow, a CAST of what is no number.

A condition that has no value does not hold. A row that has no value for an item of SELECT, a key or an argument of an
aggregate is left out there, and a group that has no value for an aggregate is left out. Without `skip_rows` each of
these is an error, and with a kind of error those of other kinds are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

from nilometer.errors import DataError

Found = TypeVar("Found")

_SKIPS: ContextVar[type[DataError] | None] = ContextVar("skips", default=None)


@contextmanager
def skip_rows(skips: type[DataError] | None) -> Iterator[None]:
    """Within the `with`, rows without a value because of such an error are left out."""
    before = _SKIPS.set(skips)
    try:
        yield
    finally:
        _SKIPS.reset(before)


def attempt(compute: Callable[[], Found]) -> list[Found]:
    """The value, or nothing if there is none and such rows are left out."""
    try:
        return [compute()]
    except DataError as error:
        skips = _SKIPS.get()
        if skips is None or not isinstance(error, skips):
            raise
        return []
