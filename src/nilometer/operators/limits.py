"""How much an operator may build or keep: beyond it a ResourceError with the operator's name and the number, before the memory is asked for.

The defaults stand here and nowhere else. `@operator("TIME_WINDOW")` on a Logic's `advance` gives the name: what is checked inside is told of
that operator, and so is memory that a library asks for in vain.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from contextvars import ContextVar
from typing import Concatenate, ParamSpec, TypeVar

from nilometer.errors import ResourceError

ROWS_AT_ONCE = 50_000_000
"""So many rows may an operator build in a round."""
BYTES_AT_ONCE = 2 << 30
"""So many bytes may they take, eight for each value."""
ROWS_KEPT = 500_000_000
"""So many rows may an operator keep from round to round, in one of its buffers."""
MOST_MATCHES = 10_000_000
"""So many matches (FLATTEN: rows) may SIMILAR build in a round."""

_current: ContextVar[str] = ContextVar("operator", default="an operator")

P = ParamSpec("P")
R = TypeVar("R")
Logic = TypeVar("Logic")

SMALLER = "use a shorter window, a larger SLIDE or a narrower condition; or ask for an aggregate instead of the rows"


def operator(name: str) -> Callable[[Callable[Concatenate[Logic, P], R]], Callable[Concatenate[Logic, P], R]]:
    """Gives a Logic's method the operator's name, for the errors of limits."""

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
    """Refuse to build so many rows of so many columns at once."""
    most = min(ROWS_AT_ONCE, BYTES_AT_ONCE // (8 * max(columns, 1)))
    if rows > most:
        raise ResourceError(
            f"{_current.get()} would build {int(rows):,} rows at once",
            detail=f"of {columns} columns; the limit is {most:,}",
            hint=SMALLER,
        )


def check_kept(rows: int) -> None:
    """Refuse to keep so many rows."""
    if rows > ROWS_KEPT:
        raise ResourceError(
            f"{_current.get()} would keep {rows:,} rows",
            detail=f"the limit is {ROWS_KEPT:,}",
            hint="use a shorter window, a smaller DELAY, or a condition that leaves rows out before",
        )
