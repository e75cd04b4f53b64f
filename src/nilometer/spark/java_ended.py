"""Errors of a Java that has ended -> one ResourceError. It passes: the next session starts a new Java (session.py).

A Java that is killed says nothing. Whoever asks it finds a closed socket, an empty answer, or an object that it no longer
knows. What PySpark raises then depends on the call.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from nilometer.errors import NilometerError, ResourceError

JAVA_ENDED = "Spark's Java process ended"
HINT = "ask again: a new one is started; the system's log may say what ended it, such as too little memory"


@contextmanager
def asking_java() -> Iterator[None]:
    """Turn the errors of a Java that has ended into one of ours."""
    process = java_process()
    if _is_over(process):
        raise ResourceError(JAVA_ENDED, hint=HINT)  # py4j would log pages about it
    try:
        yield
    except NilometerError:
        raise
    except Exception as error:
        if not (_says_so(error) or _is_over(process)):
            raise
        raise ResourceError(JAVA_ENDED, detail=str(error)[:500] or repr(error), hint=HINT) from error


def _is_over(process: Any) -> bool:
    return process is not None and process.poll() is not None


def java_process() -> Any:
    """The process of this process's session; None: there is none, or somebody else started it."""
    from pyspark import SparkContext

    return getattr(SparkContext._gateway, "proc", None)


def _says_so(error: Exception) -> bool:
    """Whether an error is that of a connection without anybody at its other end."""
    from py4j.protocol import Py4JError, Py4JJavaError  # type: ignore[import-untyped]

    if isinstance(error, ConnectionError):
        return True
    # A Java that lives explains what it could not do.
    return (
        isinstance(error, Py4JError) and not isinstance(error, Py4JJavaError) and "Trace:" not in str(error)
    )
