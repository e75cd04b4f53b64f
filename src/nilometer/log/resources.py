"""Errors of the operating system -> ResourceErrors, whose messages say what to do."""

from __future__ import annotations

import contextlib
import errno
from collections.abc import Iterator

from nilometer.errors import ResourceError


@contextlib.contextmanager
def resources(place: str) -> Iterator[None]:
    """Turn errors of the operating system into ResourceErrors."""
    try:
        yield
    except (BlockingIOError, ResourceError):
        raise
    except OSError as error:
        if error.errno == errno.ENOSPC:
            raise ResourceError(
                f"the disk is full: the log at {place} takes no more",
                detail="what failed left nothing behind",
                hint="make space (nilometer log trim), then try again",
            ) from error
        raise ResourceError(f"the log at {place} cannot be written", detail=str(error)) from error
