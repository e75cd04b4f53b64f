"""Carries our errors intact through Spark: from a worker, through the JVM's error text, back to the driver.

>>> from nilometer.errors import DataError
>>> try:
...     with carried():
...         raise DataError("a SUM beyond 64 bits", hint="sum a FLOAT instead")
... except CarriedError as error:
...     found_in(f"org.apache.spark.SparkException: Job aborted: Traceback {error} at java.base")
DataError('a SUM beyond 64 bits')
"""

from __future__ import annotations

import json
import re
from base64 import b64decode, b64encode
from collections.abc import Iterator
from contextlib import contextmanager

import nilometer.errors
from nilometer.dataflow.failures import Caught, failure_of
from nilometer.errors import NilometerError

_MARK = re.compile(r"nilometer-error\(([A-Za-z0-9+/=]+)\)")


class CarriedError(Exception):
    """One of our errors in the form that Spark sees."""


@contextmanager
def carried(where: str | None = None) -> Iterator[None]:
    """Wraps code that runs in a worker. With `where`, also a bug there is one of our errors, and not taken for trouble of
    Spark's, which passes. What the system refuses, such as space on a disk, stays as it is."""
    try:
        yield
    except NilometerError as error:
        raise _with_mark(error) from error
    except (OSError, CarriedError):
        raise
    except Caught as error:
        if where is None:
            raise
        raise _with_mark(failure_of(error, where)) from error


def _with_mark(error: NilometerError) -> CarriedError:
    whole = [type(error).__name__, error.message, error.detail, error.hint]
    mark = b64encode(json.dumps(whole).encode()).decode()
    return CarriedError(f"{error.message} nilometer-error({mark})")


def found_in(text: str) -> NilometerError | None:
    """The error carried in a text; None if there is none."""
    found = _MARK.search(text)
    if found is None:
        return None
    name, message, detail, hint = json.loads(b64decode(found[1]))
    kind: type[NilometerError] = getattr(nilometer.errors, name, NilometerError)
    return kind(message, detail=detail, hint=hint)
