"""Decides from a result log and a checkpoint where a standing query goes on.

After a crash, the result log is ahead of the checkpoint or equal to it. The query takes the checkpoint's
state and reads the stream logs again from the checkpoint's offsets to those of the last commit. It discards
its answers on the way, because the result log has them. The batches into which the logs are cut do not
matter, since an answer depends on the offsets alone (dataflow/run.py).

A query with another plan begins at the old version's committed offsets with an empty state, as design.md says.
A query whose streams are declared otherwise goes on with its state (versions.py).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from nilometer.errors import DataError
from nilometer.live.checkpoints import Checkpoints, Panes
from nilometer.log import StreamLog
from nilometer.log.gaps import LostEnd, repair_of
from nilometer.log.results.result_log import Commit, Offsets, ResultLog
from nilometer.log.segment import SegmentId


@dataclass(frozen=True)
class Before:
    """The last saved state of the version before, and how far it had read."""

    panes: Panes
    offsets: Offsets


@dataclass(frozen=True)
class Recovered:
    """How a query goes on: it reads from `start`, with the state in `panes` (none: an empty state).

    Its answers are in the result log already until it has reached `committed` in every stream. `last` is the
    last commit. `fresh`: it is a new version, which has committed nothing yet. `layout` is the identity of the
    physical plan whose state the panes are; empty if an older release saved them.
    """

    panes: Panes
    start: Offsets
    committed: Offsets
    last: Commit
    fresh: bool = False
    layout: str = ""

    @property
    def number(self) -> int:
        """The number of the last commit."""
        return self.last.number

    def has_state_of(self, layout: str, fits: Callable[[Panes], bool]) -> bool:
        """Whether the panes are a state of the plan with this layout. If not, the state is made again from the logs."""
        return self.layout in ("", layout) and fits(self.panes)

    def within(self, logs: Mapping[str, StreamLog]) -> Recovered:
        """The same, without the entries that retention was forced to delete: they are skipped."""
        committed = {key: max(self.committed[key], log.start) for key, log in logs.items()}
        start = {key: max(min(self.start.get(key, at), at), logs[key].start) for key, at in committed.items()}
        return replace(self, start=start, committed=committed)

    def at(self, stands: Offsets) -> Recovered:
        """The same, for a query that stands there: a new version may read other streams than the last commit did."""
        return self if stands == self.committed else replace(self, committed=stands)


def check_ends(name: str, committed: Offsets, logs: Mapping[str, StreamLog]) -> None:
    """Refuse to go on if a stream's log ends before what the query has answered for: new readings would get
    the positions of the lost ones, and the query would skip them."""
    for key, log in logs.items():
        end, at = log.end, committed.get(key)
        if at is not None and at > end:
            found = LostEnd(
                SegmentId(end.number, end.position), SegmentId(at.number, at.position), f"query '{name}'"
            )
            raise found.error(log.files.place)


def recover(
    version: str,
    results: ResultLog,
    checkpoints: Checkpoints,
    *,
    changed: bool = False,
    same: Callable[[str], bool] | None = None,
) -> Recovered | None:
    """Where the query goes on; None if it has never committed, so that it begins where it is told to.

    `changed`: the columns of its answers have changed and go into another log, so it is a new version
    whatever its name. `same` says whether a version takes over the state of another one.
    """
    same = same or (lambda found: found == version)
    last = results.last
    if last is None:
        return None
    if not same(last.version) or changed:
        return Recovered({}, last.offsets, last.offsets, last, fresh=True)
    saved = checkpoints.load()
    if saved is not None and same(saved.commit.version):
        if saved.commit.number > last.number:
            # A commit is durable before its checkpoint is written.
            raise DataError(
                f"answers are lost: its checkpoint is of commit {saved.commit.number},"
                f" and its result log ends with commit {last.number}",
                detail=results.place,
                hint=f"put the missing bytes back; or {repair_of(results.place)} moves the checkpoint aside, and the"
                " query answers again after its last commit; sinks that have the lost commits say so",
            )
        return Recovered(saved.panes, saved.commit.offsets, last.offsets, last, layout=saved.layout)
    # No checkpoint, or a damaged one.
    return from_its_beginning(results, last)


def from_its_beginning(results: ResultLog, last: Commit) -> Recovered:
    """A query whose state cannot be taken back reads everything again since its version was installed."""
    if last.began is not None:
        return Recovered({}, last.began, last.offsets, last)
    first = last
    before = None
    for commit in results.commits():
        if commit.version == last.version and commit.version != before:
            first = commit
        before = commit.version
    return Recovered({}, first.offsets, last.offsets, last)
