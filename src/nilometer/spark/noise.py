"""Passes the stderr of Spark's processes on, without the lines that come in every run.

The JVM's own warnings come before any logging, and PySpark's workers write their protocol to stderr; no
setting turns either off. So the JVM writes into a pipe, and a thread passes the other lines on. It keeps the
last lines: when Java does not start, they say why.
"""

from __future__ import annotations

import re
import sys
import threading
from collections import deque
from collections.abc import Iterable, Iterator
from typing import IO

NOISE = re.compile(
    "|".join(
        (
            r"WARNING: Using incubator modules: jdk\.incubator\.vector",
            r"WARNING: package sun\.security\.action not in java\.base",  # Java 24 and newer
            r"Setting default log level to .*|To adjust logging level use .*|Setting Spark log level to .*",
            r"Using Spark's default log4j profile: .*",
            r"(Starting )?Streaming TransformWithStateIn(Pandas|PySpark) Python worker.*",
            r".*FutureWarning: PySpark does not yet fully support pandas >= 3.*",
            r"  require_minimum_pandas_version\(\)",
        )
    )
)
TRACEBACK = "Traceback (most recent call last):"
LET_GO = re.compile(
    r' +File ".*pyspark/daemon\.py", line \d+, in (manager|worker)'
    r"| +code = worker\(sock, authenticated\)| +outfile\.flush\(\)| +\^+|BrokenPipeError: \[Errno 32\] Broken pipe"
)
"""The traceback of a Python worker that Spark released after a minute without work; matched line by line,
because several workers may print at once.
"""
KEPT = 20
"""How many last lines are kept."""


def without_noise(lines: Iterable[str]) -> Iterator[str]:
    """The lines without noise; an empty line after a noisy one is dropped, too.

    >>> list(
    ...     without_noise(
    ...         ["WARNING: Using incubator modules: jdk.incubator.vector", "", "Error: out of memory", ""]
    ...     )
    ... )
    ['Error: out of memory', '']
    """
    dropped = False
    headings: list[str] = []
    for line in lines:
        text = line.rstrip("\r\n")
        if text == TRACEBACK:
            headings.append(line)
        elif LET_GO.fullmatch(text):
            headings = []
        else:
            yield from headings
            headings = []
            dropped = NOISE.fullmatch(text) is not None or (dropped and not text)
            if not dropped:
                yield line
    yield from headings


class Listener:
    """Passes on the output of a pipe until its writers are gone."""

    def __init__(self, pipe: IO[str]) -> None:
        self.last: deque[str] = deque(maxlen=KEPT)
        self._pipe = pipe
        self._thread = threading.Thread(target=self._listen, name="spark-stderr", daemon=True)
        self._thread.start()

    def _listen(self) -> None:
        with self._pipe:
            for line in without_noise(self._pipe):
                self.last.append(line.rstrip())
                try:
                    sys.stderr.write(line)
                    sys.stderr.flush()
                except (
                    ValueError
                ):  # closed, as at the end of the process: go on reading, or the JVM would block
                    continue

    def wait(self, seconds: float) -> None:
        """Wait until the pipe's writers are gone, but at most this long."""
        self._thread.join(seconds)
