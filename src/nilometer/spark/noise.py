"""What Spark's processes write to stderr -> the same without what they say in every run, whether there is anything to say or not.

The JVM's own warnings come before any logging, and PySpark's workers write their protocol to stderr: no setting quiets either. So the
JVM writes into a pipe, and a thread passes on what is left. Its last lines are kept: when Java does not start, they say why.
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
"""What a Python worker says that Spark has let go, after a minute without work: line by line, for several say it at once."""
KEPT = 20
"""How many last lines are remembered."""


def without_noise(lines: Iterable[str]) -> Iterator[str]:
    """The lines that say something; an empty line after one that does not goes with it.

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
    """Passes on what comes out of a pipe until its writers are gone."""

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
        """Until the pipe's writers are gone, but not for ever."""
        self._thread.join(seconds)
