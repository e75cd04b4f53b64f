"""A result log and a checkpoint -> where a standing query goes on.

After a crash the result log is ahead of the checkpoint, or equal to it. The query takes the checkpoint's state, reads the
stream logs again from the checkpoint's offsets to those of the last commit, and throws away what it answers on the way:
the result log has it. How the logs were cut does not matter, since an answer depends on the offsets alone (gateway/run.py).

A query of another version (its plan has changed) begins at the old one's committed offsets with an empty state, as
design.md has it.
"""

from __future__ import annotations

from dataclasses import dataclass

from nilometer.live.checkpoints import Checkpoints, Panes
from nilometer.log.results.result_log import Commit, Offsets, ResultLog


@dataclass(frozen=True)
class Recovered:
    """How a query goes on: with `panes` (none: an empty state) it reads from `start`; what it answers before it has
    reached `committed` in every stream is in the result log already. `last` is the last commit. `fresh`: it is a new
    version, which has committed nothing yet."""

    panes: Panes
    start: Offsets
    committed: Offsets
    last: Commit
    fresh: bool = False

    @property
    def number(self) -> int:
        """That of the last commit."""
        return self.last.number


def recover(
    version: str, results: ResultLog, checkpoints: Checkpoints, *, changed: bool = False
) -> Recovered | None:
    """Where the query goes on; None if it never committed anything: it begins where it is told to. `changed`: its answers
    are of other columns now, and go into another log, so it is a new version whatever its name."""
    last = results.last
    if last is None:
        return None
    if last.version != version or changed:
        return Recovered({}, last.offsets, last.offsets, last, fresh=True)
    saved = checkpoints.load()
    if saved is not None and saved.commit.version == version and saved.commit.number <= last.number:
        return Recovered(saved.panes, saved.commit.offsets, last.offsets, last)
    # No checkpoint, or a damaged one.
    return from_its_beginning(version, results, last)


def from_its_beginning(version: str, results: ResultLog, last: Commit) -> Recovered:
    """A query whose state cannot be taken back reads everything again since its version was installed."""
    if last.began is not None:
        return Recovered({}, last.began, last.offsets, last)
    first = last
    before = None
    for commit in results.commits():
        if commit.version == version and commit.version != before:
            first = commit
        before = commit.version
    return Recovered({}, first.offsets, last.offsets, last)
