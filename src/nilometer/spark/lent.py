"""Runs the job of somebody who may go: in a session with settings of its own, and cancelled when they have gone."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any

from nilometer.spark.finite import Finite, run_at_once, run_finite
from nilometer.spark.java_ended import asking_java
from nilometer.spark.job import job_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LOOK = 0.2
"""Seconds from one look whether the client is still there to the next."""


def run_lent(session: SparkSession, text: str, *, at_once: bool, gone: Callable[[], bool]) -> Finite:
    """Run a packed job over finite logs. `gone`: whether who asked has gone."""
    from pyspark import InheritableThread

    tag, found = secrets.token_hex(8), Future[Finite]()
    with asking_java():
        context = session.sparkContext

        def work() -> None:
            try:
                context.addJobTag(tag)
                found.set_result((run_at_once if at_once else run_finite)(session.newSession(), job_of(text)))
            except BaseException as error:
                found.set_exception(error)

        thread = InheritableThread(target=work, name="nilometer-lent", daemon=True)
        thread.start()
        while thread.is_alive():
            thread.join(LOOK)
            if gone():
                context.cancelJobsWithTag(tag)
        return found.result()


def warm_up(session: SparkSession) -> None:
    """Run a job that does nothing, which starts the Python workers."""
    session.range(1).mapInArrow(_as_they_are, "id long").count()


def _as_they_are(batches: Iterator[Any]) -> Iterator[Any]:
    return batches
