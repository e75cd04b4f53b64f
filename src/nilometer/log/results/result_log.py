"""The log of a query's answers: each commit is one record, with the offsets it was made from.

A commit holds rows of a query's answer. The record's note holds the commit's number, how far each stream's
log had been read, and the query's books. Rows and note are written together or not at all, so the books of a
query balance after a crash, too. A commit that the log has is not written twice. (One log rather than
design.md's file per batch: a gateway commits several times a second; see docs/decisions.)
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from nilometer.dataflow.ledger import QueryLedger
from nilometer.errors import DataError, InternalError
from nilometer.log import LogSettings, Offset, StreamLog
from nilometer.log.files import Files
from nilometer.log.formats import STAMP, check_format
from nilometer.log.reader import schema_of
from nilometer.log.results.answer_types import Types
from nilometer.log.results.eras import Era
from nilometer.log.schema import arrow_schema, check_change
from nilometer.log.segment import segment_ids

Offsets = Mapping[str, Offset]
"""By the stream's lower-case name: everything before the offset has been answered for."""


FORMAT = 1
"""The format of a commit's note."""

OLDEST_TYPES = {"time": "TIME", "tick": "TIME"}
"""The types of commits written before commits recorded their types."""


@dataclass(frozen=True)
class Commit:
    """The note of a commit.

    `version` is the query's: another plan is another version. `ledger` is that version's; `earlier` that of
    all versions before it. `trimmed` counts the readings that were deleted by force before any version read
    them. `eras` says how its streams were declared (eras.py). `types` are the types that the dtypes of its rows do not tell (answer_types.py). `began` is where
    the version began to read, which retention may have deleted from the log; None in commits written before
    commits recorded it.
    """

    version: str
    number: int
    offsets: Offsets
    ledger: QueryLedger
    earlier: QueryLedger = field(default_factory=QueryLedger)
    trimmed: int = 0
    types: Types = field(default_factory=dict)
    began: Offsets | None = None
    eras: tuple[Era, ...] = ()

    def note(self) -> dict[str, Any]:
        """The note in its JSON form."""
        note: dict[str, Any] = {
            STAMP: FORMAT,
            "version": self.version,
            "number": self.number,
            "offsets": _written(self.offsets),
            "ledger": self.ledger.as_dict(),
            "earlier": self.earlier.as_dict(),
            "trimmed": self.trimmed,
            "types": dict(self.types),
        }
        if self.eras:
            note["eras"] = [era.note() for era in self.eras]
        return note if self.began is None else note | {"began": _written(self.began)}

    @staticmethod
    def of(note: Mapping[str, Any]) -> Commit:
        """The inverse of `note`. Refuses a note of an unknown format."""
        check_format(note, FORMAT, "a commit of the result log")
        return Commit(
            note["version"],
            note["number"],
            _read(note["offsets"]),
            QueryLedger(**note["ledger"]),
            QueryLedger(**note.get("earlier", {})),
            note.get("trimmed", 0),
            note.get("types", OLDEST_TYPES),
            _read(note["began"]) if "began" in note else None,
            tuple(Era.of(era) for era in note.get("eras", ())),
        )


def _written(offsets: Offsets) -> dict[str, list[int]]:
    return {name: [at.number, at.position] for name, at in offsets.items()}


def _read(written: Mapping[str, Any]) -> dict[str, Offset]:
    return {name: Offset(number, position) for name, (number, position) in written.items()}


class ResultLog:
    """The answers of one query."""

    def __init__(
        self,
        files: Files,
        columns: Mapping[str, pl.DataType] | None = None,
        settings: LogSettings | None = None,
    ) -> None:
        self._log = StreamLog(files, columns, settings)

    @property
    def last(self) -> Commit | None:
        """The last commit; None before the first."""
        note = self._log.note
        return None if note is None else Commit.of(note)

    @property
    def exists(self) -> bool:
        """Whether anything was ever written."""
        return self._log.exists

    @property
    def place(self) -> str:
        """Where the log is, for messages."""
        return self._log.files.place

    @property
    def rows(self) -> int:
        """The number of rows ever answered."""
        return self._log.end.position

    @property
    def columns(self) -> dict[str, pl.DataType]:
        """The columns of the answers: as given, or as last written."""
        return self._log.columns

    def fits(self, columns: Mapping[str, pl.DataType]) -> bool:
        """Whether the log can also hold rows of these columns: none of them has another type in it."""
        wanted = arrow_schema(columns)
        for segment in reversed(segment_ids(self._log.files)):
            found = schema_of(self._log.files, segment)
            if found == wanted:
                return True  # and in all older ones, else it could not have been written
            try:
                check_change(found, wanted)
            except DataError:
                return False
        return True

    def commit(self, rows: pl.DataFrame, commit: Commit) -> None:
        """Append a commit, durably. Repeating the last commit does nothing; a new commit is never mistaken
        for a repeat.
        """
        token = self._log.append(rows, producer=commit.version, sequence=commit.number, note=commit.note())
        self._log.flush()
        if token.duplicate and self.last != commit:
            last = self.last
            raise InternalError(
                f"commit {commit.number} was taken for a repeat, and its answers were not kept",
                detail=f"the result log ends with commit {None if last is None else last.number}",
                hint="two processes must have run the query at once: stop both, then run it again",
            )

    def commits(self) -> Iterator[Commit]:
        """All commits that the log still holds, oldest first."""
        return (Commit.of(entry.note) for entry in self._log.read() if entry.note is not None)

    @property
    def trimmed(self) -> int:
        """The number of rows that retention has deleted."""
        return self._log.start.position

    def answers(self, position: int = 0) -> Iterator[pl.DataFrame]:
        """The rows from a position on."""
        return self._log.scan(position)

    def close(self) -> None:
        """Let another process write."""
        self._log.close()

    def abandon(self) -> None:
        """Let go as a crash of the process would."""
        self._log.abandon()
