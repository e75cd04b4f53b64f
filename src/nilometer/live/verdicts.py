"""What people say about decisions: acknowledged, or overruled. `.nilometer/decisions/<name>/audit.log`, durable.

    CREATE DECISION act ON ...   ─►  the standing query `act`, and the stream `act_audit` of these verdicts

A verdict names a decision by its position among the answers of `act`. The law: only the owner appends; a verdict is
durable before the person is told so, and enters the stream's log exactly once (VerdictsAdapter).
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from nilometer.catalog import QueryDefinition
from nilometer.catalog.extents import Stream
from nilometer.errors import ConfigurationError
from nilometer.ingest.adapters import Adapter, Clock, ReadResult, Status
from nilometer.live.kept_answers import kept_answers
from nilometer.log.json_lines import JsonLog, read_records
from nilometer.operators.frames import dtype
from nilometer.sinks.values import json_rows
from nilometer.types import SECOND, format_time

if TYPE_CHECKING:
    from nilometer.live.declarations import Declarations

PLACE = Path(".nilometer") / "decisions"
FILE = "audit.log"
ACKNOWLEDGED, OVERRULED = "acknowledged", "overruled"
POLL = SECOND // 10
LONGEST = 2_000
"""The most characters of a note."""


@dataclass(frozen=True)
class Verdict:
    """`id` is the position of the decision; `action` was decided, `instead` is what the person did."""

    time: int
    id: int
    verdict: str
    action: str
    instead: str | None
    person: str
    note: str | None


def folder_of_decision(directory: Path, name: str) -> Path:
    """Where the verdicts about a decision are."""
    return directory / PLACE / name.lower()


def verdicts_of(directory: Path, name: str) -> list[Verdict]:
    """All verdicts about a decision, oldest first."""
    return [Verdict(**record) for record in read_records(folder_of_decision(directory, name) / FILE)]


def decision_of(database: Declarations, name: str) -> QueryDefinition:
    """A declared decision."""
    for definition in database.catalog.reactions("DECISION"):
        if definition.name.lower() == name.lower():
            return definition
    known = ", ".join(one.name for one in database.catalog.reactions("DECISION")) or "none"
    raise ConfigurationError(f"there is no decision '{name}'", hint=f"declared are: {known}")


def decisions(database: Declarations, name: str, position: int | None, most: int) -> list[dict[str, Any]]:
    """Decisions from a position on (None: the newest), each with its position and the verdicts about it."""
    directory = database.data.base
    assert directory is not None, "decisions are kept in a data directory"
    kept = kept_answers(database, name, 0)
    first = max(kept.end - most if position is None else position, kept.trimmed, 0)
    kept = replace(kept, position=first)
    said: dict[int, list[dict[str, Any]]] = {}
    for verdict in verdicts_of(directory, name):
        said.setdefault(verdict.id, []).append(asdict(verdict) | {"time": format_time(verdict.time)})
    found: list[dict[str, Any]] = []
    for answer in kept if first < kept.end else ():
        for row in json_rows(answer.rows, answer.schema):
            at = first + len(found)
            evidence = {name: value for name, value in row.items() if name not in ("action", "reason")}
            found.append(
                {
                    "position": at,
                    "action": row["action"],
                    "reason": row["reason"],
                    "evidence": evidence,
                    "verdicts": said.get(at, []),
                }
            )
            if len(found) == most:
                return found
    return found


def decide(database: Declarations, definition: QueryDefinition, fields: Mapping[str, Any]) -> Verdict:
    """Record a person's verdict. Only the owner calls this."""
    directory = database.data.base
    assert directory is not None, "decisions are kept in a data directory"
    position, instead, note = int(fields["position"]), fields.get("instead"), fields.get("note")
    row = next(iter(decisions(database, definition.name, position, 1)), None)
    if row is None or row["position"] != position:
        raise ConfigurationError(
            f"'{definition.name}' has no decision {position}",
            hint="decisions are counted from 0; nilometer decisions NAME lists them",
        )
    if len(str(note or "")) > LONGEST or len(str(instead or "")) > LONGEST:
        raise ConfigurationError(f"a note has at most {LONGEST} characters")
    verdict = Verdict(
        time.time_ns() // 1_000,
        position,
        ACKNOWLEDGED if instead is None else OVERRULED,
        str(row["action"]),
        None if instead is None else str(instead),
        str(fields["by"]),
        None if note is None else str(note),
    )
    JsonLog(folder_of_decision(directory, definition.name), FILE).append(asdict(verdict))
    return verdict


class VerdictsAdapter(Adapter):
    """The source of a stream of verdicts: each line of the file once."""

    def __init__(self, stream: Stream, clock: Clock, path: Path) -> None:
        super().__init__(stream, clock)
        self._path = path
        self._looked = 0
        self._size = -1
        self._position = 0
        self.caught_up = False

    def open(self) -> None:
        """Nothing to open: the file may not be there yet."""

    def resume(self, consumed: Mapping[str, int]) -> None:
        """Go on after the verdicts that the log has."""
        self._position = consumed.get("", 0)

    def read(self) -> ReadResult:
        """The verdicts since the last read."""
        self._looked = self.clock()
        size = self._path.stat().st_size if self._path.exists() else 0
        if size != self._size:
            found = read_records(self._path)[self._position :]
            self._size = size
            if found:
                first = self._position
                self._position += len(found)
                self.caught_up = False
                rows = frame_of_verdicts(self.stream, found)
                return ReadResult(Status.NEW_VALUE, rows, arrived=self._looked, sequence=first)
        self.caught_up = True
        return self.nothing()

    @property
    def due(self) -> int:
        """The file is looked at now and then."""
        return self._looked + POLL


def frame_of_verdicts(stream: Stream, records: list[dict[str, Any]]) -> pl.DataFrame:
    """Verdicts in the columns of their stream."""
    return pl.DataFrame(records, schema={column.name: dtype(column.type) for column in stream.columns})
