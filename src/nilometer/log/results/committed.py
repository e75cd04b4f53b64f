"""The offsets up to which the standing queries of a data directory have answered, from their result logs.

A log that ends before one of them has lost readings that were answered for. The law: a query counts whether
or not it runs now, and on whichever host it ran.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path

from nilometer.errors import DataError
from nilometer.log.local_files import LocalFiles
from nilometer.log.notes import last_note
from nilometer.log.results.numbers import first_number
from nilometer.log.results.result_log import Commit
from nilometer.log.results.shared_log import index_at
from nilometer.log.segment import SegmentId

QUERIES = Path(".nilometer") / "queries"


class CommittedOffsets:
    """The committed offsets of a data directory, as they were when first asked for."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def __call__(self, stream: str) -> Mapping[str, SegmentId]:
        """The offsets in a stream's log, by the query that has committed them."""
        return {
            f"query '{name}'": SegmentId(at.number, at.position)
            for name, commit in self._last.items()
            for key, at in commit.offsets.items()
            # Queries that were dropped or replayed since do not count: the log may have begun again, too.
            if key == stream and commit.number >= first_number(self._directory, name)
        }

    @cached_property
    def _last(self) -> dict[str, Commit]:
        place = self._directory / QUERIES
        folders = sorted(place.iterdir()) if place.is_dir() else []
        found = ((folder.name, last_commit(folder)) for folder in folders)
        own = {name: commit for name, commit in found if commit is not None}
        with contextlib.suppress(DataError, OSError):
            index = index_at(self._directory)
            for name in index.places:
                at = index.place(name)
                if at is not None:
                    own[name] = at.commit
        return own


def last_commit(folder: Path) -> Commit | None:
    """The last commit of a query that can be read; None if there is none."""
    commits = []
    for results in folder.glob("results*"):
        # A damaged result log stops its own query only.
        with contextlib.suppress(DataError, OSError, ValueError, KeyError, TypeError):
            note = last_note(LocalFiles(results))
            if note is not None:
                commits.append(Commit.of(note))
    return max(commits, key=lambda commit: commit.number, default=None)
