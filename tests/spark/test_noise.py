"""What is passed on of Spark's stderr."""

from __future__ import annotations

import os

import pytest

from nilometer.spark.noise import KEPT, Listener, without_noise


def test_what_is_said_in_every_run_is_dropped_with_the_empty_line_after_it() -> None:
    said = [
        "WARNING: Using incubator modules: jdk.incubator.vector\n",
        "Starting Streaming TransformWithStateInPandas Python worker.\n",
        "\n",
        "spark ERROR Executor: Exception in task 0.0\n",
        "\n",
        "/x/utils.py:127: FutureWarning: PySpark does not yet fully support pandas >= 3.0.0. Some features\n",
        "  require_minimum_pandas_version()\n",
        "ValueError: 3\n",
    ]
    assert list(without_noise(said)) == [
        "spark ERROR Executor: Exception in task 0.0\n",
        "\n",
        "ValueError: 3\n",
    ]


def test_workers_that_were_let_go_are_not_spoken_of() -> None:
    heading = "Traceback (most recent call last):\n"
    frames = [
        '  File "/x/pyspark/daemon.py", line 264, in manager\n',
        "    code = worker(sock, authenticated)\n",
    ]
    gone = [heading, *frames, "           ^^^^^^^^^\n", "BrokenPipeError: [Errno 32] Broken pipe\n"]
    together = [line for line in gone for _ in range(2)]
    wrong = [heading, '  File "/x/users.py", line 1, in main\n', "ValueError: 3\n"]
    assert list(without_noise([*gone, *wrong, *together, *wrong, "after\n", *gone, heading])) == [
        *wrong,
        *wrong,
        "after\n",
        heading,
    ]


def test_a_listener_passes_on_and_remembers(capsys: pytest.CaptureFixture[str]) -> None:
    reading, writing = os.pipe()
    listener = Listener(os.fdopen(reading))
    with os.fdopen(writing, "w") as pipe:
        pipe.writelines(f"line {number}\n" for number in range(KEPT + 5))
    listener.wait(30)
    assert list(listener.last) == [f"line {number}" for number in range(5, KEPT + 5)]
    assert capsys.readouterr().err.splitlines() == [f"line {number}" for number in range(KEPT + 5)]
