"""Spark's tests: they are marked `spark`, and land in one process (see tests/conftest.py)."""

from __future__ import annotations

import contextlib
import os

import pytest

from nilometer.errors import ResourceError
from nilometer.spark.java import java_home

# `./nilo` sets JAVA_HOME; a pytest of its own finds Java as the session does. Without it these tests are left out.
with contextlib.suppress(ResourceError):
    os.environ.setdefault("JAVA_HOME", str(java_home()))

PANDAS = "ignore:PySpark does not yet fully support pandas:FutureWarning"
"""Said at every use of Arrow, to everyone with pandas 3; these tests show that what we use works."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.get_closest_marker("spark"):
            item.add_marker(pytest.mark.filterwarnings(PANDAS))
