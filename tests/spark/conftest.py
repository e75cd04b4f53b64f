"""One Spark for all its tests: they are marked `spark`, and land in one process (see tests/conftest.py)."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

from nilometer.errors import ResourceError
from nilometer.spark.java import java_home

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# `./nilo` sets JAVA_HOME; a pytest of its own finds Java as the session does. Without it these tests are left out.
with contextlib.suppress(ResourceError):
    os.environ.setdefault("JAVA_HOME", str(java_home()))

QUICK = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""The JVM of a test run compiles little, and only once: it is gone before more would pay."""
PANDAS = "ignore:PySpark does not yet fully support pandas:FutureWarning"
"""Said at every use of Arrow, to everyone with pandas 3; these tests show that what we use works."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.get_closest_marker("spark"):
            item.add_marker(pytest.mark.filterwarnings(PANDAS))


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """The session of this test process, on its own machine's cores, with a Python worker that is warm."""
    from nilometer.spark.session import spark_session

    session = spark_session(
        {
            "spark.sql.shuffle.partitions": "2",
            "spark.driver.extraJavaOptions": QUICK,
        }
    )
    session.range(2).mapInArrow(unchanged, "id long").collect()
    yield session
    end(session)


def unchanged(batches: Iterator[Any]) -> Iterator[Any]:
    yield from batches


unchanged.__module__ = "__main__"  # workers cannot import a conftest: the function itself goes to them


def end(session: SparkSession) -> None:
    """Stop the session and its JVM, and leave nothing open that Python would complain of."""
    from pyspark import SparkContext

    session.stop()
    gateway = SparkContext._gateway
    assert gateway is not None
    gateway.shutdown()
    process = gateway.proc
    process.stdin.close()
    process.wait(60)
    SparkContext._gateway = SparkContext._jvm = None
