"""The error that a query reports when one of its operators fails. It stops the queries above that operator,
and no others.

A panic of a library in Rust, such as Polars, is no Exception: it is meant to end the process. It ends one query here.
"""

from __future__ import annotations

from polars.exceptions import PanicException

from nilometer.errors import InternalError, NilometerError, ResourceError

Caught = (Exception, PanicException)
"""The errors that stop one query, source or sink. Everything else (KeyboardInterrupt, SystemExit) ends the process."""


def failure_of(error: BaseException, where: str) -> NilometerError:
    """The error as a query reports it. `where` names the operator."""
    if isinstance(error, NilometerError):
        return error
    if isinstance(error, MemoryError):
        return ResourceError(
            f"{where} needs more memory than there is",
            detail=str(error) or None,
            hint="use a shorter window, a stricter condition or fewer groups, or bound a join with MEMORY = n ROWS",
        )
    return InternalError(f"a bug of ours: {type(error).__name__}: {error}", detail=f"in {where}")
