"""The owner's Spark session, lent to clients for questions over data at hand. A session of their own takes them half a minute.

    client                                         owner
    lend: my settings are these           ─►       starts the session once; its partitions, or a refusal
    lands the data beside the logs, with the job
    spark: the job is there               ─►       runs it; the answer is there, too
    reads the answer, deletes the folder

The laws: a client's job runs in a session with settings of its own, so that no other query notices it. The station's loop
has no part in it. A client that goes ends its job.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from nilometer.errors import ConfigurationError
from nilometer.operators.frames import to_bytes
from nilometer.spark.installed import require_spark
from nilometer.spark.settings import SparkSettings

JOB = "job"
FOLDER = ".nilometer"
AT_ONCE = 4
"""How many jobs of clients run at a time; others wait."""


class Lender:
    """The session of an owner."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._turns = threading.BoundedSemaphore(AT_ONCE)

    def warm(self) -> Any:
        """The session; starts it if it does not run yet."""
        require_spark()
        from nilometer.spark.session import spark_session

        return spark_session(SparkSettings.from_environment(self._directory).session)

    def warm_aside(self) -> None:
        """Start the session and its Python workers in a thread, so that the first client finds them."""

        def work() -> None:
            from nilometer.spark.lent import warm_up

            # Whoever asks for the session meets the error; and a server that ends meanwhile says nothing.
            with contextlib.suppress(Exception):
                warm_up(self.warm())

        threading.Thread(target=work, name="nilometer-warm", daemon=True).start()

    def lend(self, wanted: Mapping[str, str]) -> int:
        """The number of partitions of the session, for a client that would make one with these settings."""
        if dict(wanted) != SparkSettings.from_environment(self._directory).session:
            raise ConfigurationError("the owner's session has other settings")
        from nilometer.spark.java_ended import asking_java
        from nilometer.spark.job import partitions_of

        session = self.warm()
        with asking_java():
            return partitions_of(session)

    def run(self, place: Path, at_once: bool, gone: Callable[[], bool]) -> dict[str, Any]:
        """Run the job in a folder, and write the answer's frames there. `gone`: whether the client has gone."""
        from nilometer.spark.lent import run_lent

        if place.parent.resolve() != (self._directory / FOLDER).resolve():
            raise ConfigurationError(f"'{place}' is not a folder of this data directory")
        with self._turns:
            result = run_lent(self.warm(), (place / JOB).read_text(), at_once=at_once, gone=gone)
        for number, frame in enumerate(result.frames):
            (place / f"answer-{number}").write_bytes(to_bytes(frame))
        return {
            "frames": len(result.frames),
            "watermark": result.watermark,
            "counts": result.counts.as_json(),
        }
