"""A read that may take long -> its outcome, when it is there: the station's loop waits for no database."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Protocol

import polars as pl

from nilometer.errors import NilometerError, ResourceError

TableOrError = pl.DataFrame | NilometerError
Read = Callable[[], pl.DataFrame]


class Reading(Protocol):
    """A read that has begun."""

    @property
    def outcome(self) -> TableOrError | None:
        """The rows, or what kept it from them; None: it is not over."""


class BackgroundRead:
    """In a thread of its own, which does not keep the process from ending."""

    def __init__(self, read: Read) -> None:
        self.outcome: TableOrError | None = None
        threading.Thread(target=self._run, args=(read,), name="table", daemon=True).start()

    def _run(self, read: Read) -> None:
        self.outcome = attempt(read)


def attempt(read: Read) -> TableOrError:
    """What a read gives, or why it gave nothing."""
    try:
        return read()
    except NilometerError as error:
        return error
    except Exception as error:
        # A driver's own: it must not end the thread without a word, nor the queries.
        return ResourceError(f"the table cannot be read: {type(error).__name__}", detail=str(error))
