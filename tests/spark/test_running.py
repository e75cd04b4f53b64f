"""Spark's error texts become errors that say what a user can do."""

from __future__ import annotations

import pytest

from nilometer.spark.running import error_of


@pytest.mark.parametrize(
    "text",
    [
        "Job aborted\nCaused by: java.io.IOException: Stream closed\n\tat java.base",
        "org.apache.spark.SparkException: Python worker exited unexpectedly (crashed)",
        "Caused by: java.net.SocketException: Connection reset",
    ],
)
def test_a_worker_that_died_is_named(text: str) -> None:
    error = error_of(text)
    assert error.message == "a Python process of Spark died at its work"
    assert "max_rows" in (error.hint or "")


def test_another_cause_is_the_last_one() -> None:
    error = error_of("Job aborted\nCaused by: java.lang.Exception: first\nCaused by: x.YError: No space left")
    assert (error.message, error.detail) == ("Spark stopped the query", "No space left")
