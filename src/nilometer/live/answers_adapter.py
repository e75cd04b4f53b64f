"""The answers of a standing query as the source of a stream: each commit is read from the result log, once.

The law: a row of the answers is numbered by its position, so it enters the stream's log exactly once, however often
the process is killed. After `queries replay` the answers are others, with numbers of their own.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import polars as pl

from nilometer.catalog.answer_streams import TICK
from nilometer.catalog.extents import Stream
from nilometer.ingest.adapters import Adapter, Clock, ReadResult, Status
from nilometer.live.control import next_aside
from nilometer.live.standing import result_files
from nilometer.operators.frames import dtype
from nilometer.sinks.commits import Commits
from nilometer.types import SECOND

POLL = SECOND // 10


class AnswersAdapter(Adapter):
    """Follows the result logs of the query that the stream is named after."""

    def __init__(self, stream: Stream, clock: Clock, directory: Path) -> None:
        super().__init__(stream, clock)
        self._directory = directory
        self._looked = 0
        self._part = ""
        self._position = 0
        self._commits: Commits | None = None
        self.caught_up = False

    def open(self) -> None:
        """Look for the result logs."""
        name = self.stream.name
        self._part = str(next_aside(self._directory, name))
        self._commits = Commits(lambda: result_files(self._directory, name))

    def resume(self, consumed: Mapping[str, int]) -> None:
        """Go on after the rows that the log has."""
        assert self._commits is not None, "resumed before it was opened"
        self._position = consumed.get(self._part, 0)
        self._commits.seek_row(self._position)

    def read(self) -> ReadResult:
        """The answers that were committed since the last read."""
        assert self._commits is not None, "read before it was opened"
        self._looked = self.clock()
        while found := self._commits.read(1):
            ((answered, _),) = found
            skipped = max(0, self._position - answered.position)
            if answered.rows.height <= skipped:
                continue
            rows = readings_of(self.stream, answered.rows[skipped:])
            first = answered.position + skipped
            self._position = first + rows.height
            self.caught_up = False
            return ReadResult(Status.NEW_VALUE, rows, arrived=self._looked, sequence=first, part=self._part)
        self.caught_up = True
        return self.nothing()

    @property
    def due(self) -> int:
        """The result log is looked at now and then."""
        return self._looked + POLL


def readings_of(stream: Stream, answers: pl.DataFrame) -> pl.DataFrame:
    """Answers in the columns of their stream. Those of an older version may lack some."""
    if any(name.lower() == TICK for name in answers.columns):
        answers = answers.rename({name: "time" for name in answers.columns if name.lower() == TICK})
    there = {name.lower(): name for name in answers.columns}
    return answers.select(
        (pl.col(there[c.name.lower()]) if c.name.lower() in there else pl.lit(None))
        .cast(dtype(c.type))
        .alias(c.name)
        for c in stream.columns
    )
