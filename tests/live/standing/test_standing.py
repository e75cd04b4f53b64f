"""A query that crashes anywhere goes on with nothing lost and nothing doubled in its result log."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from log.logs import CrashError, FailAt, scratch
from nilometer.dataflow.ledger import QueryLedger
from nilometer.errors import InternalError
from nilometer.live.checkpoints import Checkpoint, Checkpoints
from nilometer.live.recovery import recover
from nilometer.log import Offset, StreamLog
from nilometer.log.failpoints import nothing
from nilometer.log.local_files import LocalFiles
from nilometer.log.results import Commit, ResultLog

COLUMNS: dict[str, pl.DataType] = {"time": pl.Int64(), "total": pl.Int64()}


class RunningTotal:
    """The simplest query with a state: after each reading, the sum so far. One incarnation of its process."""

    def __init__(self, folder: Path, version: str, failpoint: FailAt | None) -> None:
        self.stream = StreamLog(LocalFiles(folder / "stream"))
        files = LocalFiles(folder / "query", failpoint if failpoint is not None else nothing)
        self.results = ResultLog(files, COLUMNS)
        self.checkpoints = Checkpoints(LocalFiles(folder / "state", files._failpoint))
        self.version = version
        try:
            self._begin()
        except CrashError:
            self.results._log.abandon()
            raise

    def _begin(self) -> None:
        found = recover(self.version, self.results, self.checkpoints)
        self.total, self.read, self.number = 0, 0, 0
        self.at = Offset()
        if found is None or found.fresh:
            self.at = Offset() if found is None else found.start["s"]
            self.number = 0 if found is None else found.number + 1
            first = self.commit_of()
            self.checkpoints.save(Checkpoint(first, {}))
            self.results.commit(pl.DataFrame(schema=COLUMNS), first)
            return
        self.number = found.number
        self.at = found.start["s"]
        if found.panes:
            self.total, self.read = (int(found.panes["q"][name]) for name in ("total", "read"))
        self.answers(found.committed["s"])  # which the result log has

    def commit_of(self) -> Commit:
        ledger = QueryLedger(read=self.read, delivered=self.read)
        return Commit(self.version, self.number, {"s": self.at}, ledger)

    def answers(self, until: Offset) -> pl.DataFrame:
        rows = []
        for entry in self.stream.read(self.at):
            if entry.after > until:
                break
            assert entry.rows is not None
            for time, value in entry.rows.iter_rows():
                self.total += value
                self.read += 1
                rows.append((time, self.total))
            self.at = entry.after
        return pl.DataFrame(rows, schema=COLUMNS, orient="row")

    def step(self, *, checkpoint: bool) -> None:
        rows = self.answers(self.stream.end)
        self.number += 1
        self.results.commit(rows, self.commit_of())
        if checkpoint:
            panes = {"q": {"total": str(self.total).encode(), "read": str(self.read).encode()}}
            self.checkpoints.save(Checkpoint(self.commit_of(), panes))


def feed(folder: Path, values: list[int]) -> None:
    with StreamLog(folder / "stream", {"time": pl.Int64(), "v": pl.Int64()}) as log:
        start = log.end.position
        log.append(pl.DataFrame({"time": range(start, start + len(values)), "v": values}))


STEPS = st.lists(
    st.tuples(st.lists(st.integers(-9, 9), min_size=1, max_size=3), st.booleans()), min_size=1, max_size=6
)


@given(steps=STEPS, crashes=st.lists(st.integers(0, 60), max_size=4))
def test_a_crash_anywhere_neither_loses_nor_doubles(
    steps: list[tuple[list[int], bool]], crashes: list[int]
) -> None:
    with scratch() as name:
        folder = Path(name)
        left = list(crashes)
        feed(folder, steps[0][0])
        query: RunningTotal | None = None
        for values, checkpoint in steps:
            feed(folder, values)
            while True:
                try:
                    if query is None:
                        fail = FailAt(CrashError, left.pop()) if left else None
                        query = RunningTotal(folder, "v1", fail)
                    query.step(checkpoint=checkpoint)
                    break
                except CrashError:
                    if query is not None:
                        query.results._log.abandon()
                    query = None
        assert query is not None
        query.results._log.abandon()
        results = ResultLog(LocalFiles(folder / "query"), COLUMNS)
        got = pl.concat(list(results.answers()))["total"].to_list()
        every = [v for values in [steps[0][0], *(values for values, _ in steps)] for v in values]
        assert got == [sum(every[: n + 1]) for n in range(len(every))]
        last = results.last
        assert last is not None
        assert last.ledger.balanced
        assert last.ledger.read == len(every)


def test_another_version_begins_where_the_old_one_ended() -> None:
    with scratch() as name:
        folder = Path(name)
        feed(folder, [1, 2, 3])
        first = RunningTotal(folder, "v1", None)
        first.step(checkpoint=True)
        first.results.close()
        feed(folder, [10])
        second = RunningTotal(folder, "v2", None)
        second.step(checkpoint=False)
        second.results.close()
        feed(folder, [100])
        again = RunningTotal(folder, "v2", None)
        again.step(checkpoint=False)
        again.results.close()
        results = ResultLog(LocalFiles(folder / "query"), COLUMNS)
        assert pl.concat(list(results.answers()))["total"].to_list() == [1, 3, 6, 10, 110]


@pytest.mark.parametrize("damage", ["manifest.json", "panes"])
def test_a_damaged_checkpoint_is_made_again_from_the_logs(damage: str) -> None:
    with scratch() as name:
        folder = Path(name)
        feed(folder, [1, 2])
        query = RunningTotal(folder, "v1", None)
        query.step(checkpoint=True)
        query.results.close()
        place = folder / "state" / damage
        for file in [place] if place.is_file() else place.iterdir():
            file.write_bytes(b"0" + file.read_bytes()[1:])
        assert query.checkpoints.load() is None
        feed(folder, [3])
        again = RunningTotal(folder, "v1", None)
        again.step(checkpoint=True)
        assert again.total == 6
        again.results.close()


def test_a_checkpoint_writes_only_the_panes_that_changed() -> None:
    with scratch() as name:
        folder = Path(name)
        checkpoints = Checkpoints(LocalFiles(folder))
        commit = Commit("v", 1, {}, QueryLedger())
        checkpoints.save(Checkpoint(commit, {"a": {"x": b"1" * 100, "y": b"2" * 100}}))
        before = checkpoints.written
        checkpoints.save(Checkpoint(commit, {"a": {"x": b"1" * 100, "y": b"3" * 50}}))
        assert (before, checkpoints.written) == (200, 250)
        assert len(list((folder / "panes").iterdir())) == 2


def test_a_new_commit_is_never_taken_for_a_repeat() -> None:
    with scratch() as name:
        results = ResultLog(LocalFiles(Path(name)), COLUMNS)
        rows = pl.DataFrame({"time": [1], "total": [1]}, schema=COLUMNS)
        mine = Commit("v1", 7, {"s": Offset(1, 1)}, QueryLedger(read=1, delivered=1))
        results.commit(rows, mine)
        results.commit(rows, mine)  # tried again, as after a flush that failed
        assert results.rows == 1
        other = Commit("v1", 7, {"s": Offset(2, 2)}, QueryLedger(read=2, delivered=2))
        with pytest.raises(InternalError, match="commit 7 was taken for a repeat"):
            results.commit(rows, other)
        results.close()
