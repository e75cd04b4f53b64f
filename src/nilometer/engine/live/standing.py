"""A live query whose answers and state are durable (edge/standing): commit by commit, with a checkpoint now and then."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from hashlib import blake2b
from pathlib import Path

import polars as pl

from nilometer.edge.ledger import QueryLedger
from nilometer.edge.log import Offset, failpoints
from nilometer.edge.log.local_files import LocalFiles
from nilometer.edge.standing import Checkpoint, Checkpoints, Commit, ResultLog, recover
from nilometer.edge.standing.checkpoints import Panes
from nilometer.engine.query import Query
from nilometer.operators.frames import dtypes, empty
from nilometer.plan.explain import explain_text
from nilometer.types import SECOND

PLACE = Path(".nilometer") / "queries"
STATE_FORMAT = 1
COMMIT_EVERY = SECOND
"""A commit without answers waits so long: it only says how far the logs were read."""
CHECKPOINT_EVERY = 10 * SECOND


def version_of(query: Query) -> str:
    """Another plan, or another form of the state, is another version (design.md)."""
    text = f"{STATE_FORMAT}\n{explain_text(query.physical)}"
    return blake2b(text.encode(), digest_size=8).hexdigest()


def folder_of(directory: Path, name: str) -> Path:
    """Where a standing query is kept."""
    return directory / PLACE / name.lower()


def result_log(directory: Path, name: str, columns: Mapping[str, pl.DataType] | None = None) -> ResultLog:
    """The answers of a standing query."""
    return ResultLog(
        LocalFiles(folder_of(directory, name) / "results", failpoints.from_environment("results")), columns
    )


class Standing:
    """The durable side of one query. `recovered` is where it goes on; None: it begins where it is told to."""

    def __init__(self, directory: Path, name: str, query: Query) -> None:
        self._columns = dtypes(query.schema)
        self._version = version_of(query)
        self._results = result_log(directory, name, self._columns)
        state = LocalFiles(folder_of(directory, name) / "state", failpoints.from_environment("state"))
        self._checkpoints = Checkpoints(state)
        self.recovered = recover(self._version, self._results, self._checkpoints)
        self._number = self.recovered.number if self.recovered is not None else -1
        self._offsets: dict[str, Offset] = {}
        self._frames: list[pl.DataFrame] = []
        self._committed_at = self._saved_at = 0
        # The last commit, if there is no checkpoint of it.
        self._last: Commit | None = None

    @property
    def rows(self) -> int:
        """How many rows were ever answered."""
        return self._results.rows

    def begin(self, offsets: Mapping[str, Offset], now: int) -> None:
        """The query goes on, or begins, at these offsets: a new one says so before it reads anything."""
        self._offsets = dict(offsets)
        self._committed_at = self._saved_at = now
        if self.recovered is None or self.recovered.fresh:
            self._number += 1
            first = Commit(self._version, self._number, self._offsets, QueryLedger())
            # The checkpoint first: without its commit it counts for nothing; a commit without it just reads further back.
            self._checkpoints.save(Checkpoint(first, {}))
            self._results.commit(empty(self._columns), first)

    def commit(
        self,
        frames: list[pl.DataFrame],
        offsets: Mapping[str, Offset],
        ledger: QueryLedger,
        panes: Callable[[], Panes],
        now: int,
        *,
        all_of_it: bool = False,
    ) -> None:
        """The query has read up to these offsets and answered so; `panes` gives its state, if it is asked for."""
        self._frames += frames
        behind = bool(self._frames) or dict(offsets) != self._offsets
        if behind and not (self._frames or all_of_it or abs(now - self._committed_at) >= COMMIT_EVERY):
            return
        if behind:
            rows = pl.concat(self._frames) if self._frames else empty(self._columns)
            commit = Commit(self._version, self._number + 1, dict(offsets), ledger)
            self._results.commit(rows, commit)
            self._last, self._number, self._offsets, self._frames = commit, commit.number, dict(offsets), []
            self._committed_at = now
        due = all_of_it or (behind and abs(now - self._saved_at) >= CHECKPOINT_EVERY)
        if due and self._last is not None:
            self._checkpoints.save(Checkpoint(self._last, panes()))
            self._last, self._saved_at = None, now

    def close(self) -> None:
        """Let another process go on."""
        self._results.close()
