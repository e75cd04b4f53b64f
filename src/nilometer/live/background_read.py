"""Reads a table in the background, so that the station's loop does not wait for a database."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Protocol

import polars as pl

from nilometer.errors import NilometerError, ResourceError

TableOrError = pl.DataFrame | NilometerError
Read = Callable[[], pl.DataFrame]


class Reading(Protocol):
    """A read that is under way."""

    @property
    def outcome(self) -> TableOrError | None:
        """The rows, or the error; None while the read is under way."""


class BackgroundRead:
    """A read in its own daemon thread, which does not keep the process from ending."""

    def __init__(self, read: Read) -> None:
        self.outcome: TableOrError | None = None
        threading.Thread(target=self._run, args=(read,), name="table", daemon=True).start()

    def _run(self, read: Read) -> None:
        self.outcome = attempt(read)


def attempt(read: Read) -> TableOrError:
    """The rows that a read returns, or the error that it raises."""
    try:
        return read()
    except NilometerError as error:
        return error
    except Exception as error:
        # An exception of a database driver must not end the thread silently, nor stop the queries.
        return ResourceError(f"the table cannot be read: {type(error).__name__}", detail=str(error))
