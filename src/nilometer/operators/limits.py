"""How much an operator may build or keep. Beyond that, a ResourceError with the operator's name and the
number is raised before the memory is allocated.

Limits in bytes are a part of the memory of the process (memory.py); the others are defined here and nowhere else. The decorator `@operator("TIME_WINDOW")` on a Logic's
`advance` sets the name. Errors of the checks inside it carry that name, and so does the error for a library's
failed memory allocation.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from contextvars import ContextVar
from typing import Concatenate, ParamSpec, TypeVar

from nilometer.errors import ResourceError
from nilometer.memory import budget

ROWS_AT_ONCE = 50_000_000
"""The most rows that an operator may build in a round."""
BYTES_AT_ONCE = 1 << 40
"""The most bytes that these rows may take, at eight per value, if the memory of the process allows more."""
ROWS_KEPT = 500_000_000
"""The most rows that an operator may keep from round to round in one of its buffers. The memory of the process may
allow fewer, at eight bytes a row."""
MOST_MATCHES = 10_000_000
"""The most matches (FLATTEN: rows) that SIMILAR may build in a round."""
MOST_LISTED = 10_000_000
"""The most rows that ARRAY_AGG and STRING_AGG may list in a round."""

_current: ContextVar[str] = ContextVar("operator", default="an operator")

P = ParamSpec("P")
R = TypeVar("R")
Logic = TypeVar("Logic")

SMALLER = "use a shorter window, a larger SLIDE or a narrower condition; or ask for an aggregate instead of the rows"


def operator(name: str) -> Callable[[Callable[Concatenate[Logic, P], R]], Callable[Concatenate[Logic, P], R]]:
    """Decorates a Logic's method with the operator's name, which the errors of limits then state."""

    def named(method: Callable[Concatenate[Logic, P], R]) -> Callable[Concatenate[Logic, P], R]:
        @functools.wraps(method)
        def run(logic: Logic, /, *arguments: P.args, **options: P.kwargs) -> R:
            token = _current.set(name)
            try:
                return method(logic, *arguments, **options)
            except MemoryError as error:
                raise ResourceError(
                    f"{name} needs more memory than there is", detail=str(error) or None, hint=SMALLER
                ) from error
            finally:
                _current.reset(token)

        return run

    return named


def check_built(rows: float, columns: int) -> None:
    """Refuse to build more rows of this many columns at once than the limits allow."""
    most = min(ROWS_AT_ONCE, min(BYTES_AT_ONCE, budget().operators) // (8 * max(columns, 1)))
    if rows > most:
        raise ResourceError(
            f"{_current.get()} would build {int(rows):,} rows at once",
            detail=f"of {columns} columns; the limit is {most:,}",
            hint=SMALLER,
        )


def check_kept(rows: int) -> None:
    """Refuse to keep more rows than the limit allows."""
    most = min(ROWS_KEPT, budget().operators // 8)
    if rows > most:
        raise ResourceError(
            f"{_current.get()} would keep {rows:,} rows",
            detail=f"the limit is {most:,}",
            hint="use a shorter window, a smaller DELAY, or a condition that leaves rows out before",
        )


def check_listed(rows: int, what: str) -> None:
    """Refuse to list more rows than the limit allows."""
    if rows > MOST_LISTED:
        raise ResourceError(
            f"{what} would list {rows:,} values at once",
            detail=f"the limit is {MOST_LISTED:,}",
            hint=SMALLER,
        )
