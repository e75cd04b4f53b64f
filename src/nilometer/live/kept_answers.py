"""Reads the answers that are kept of a standing query, in the order of their commits; nothing need be
running.

Positions count the rows of all versions. The law: rows are shown in the columns of the query's last version.
Rows of an older version whose columns had other types are left out, and counted.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from nilometer.errors import ConfigurationError
from nilometer.live.answers import Answer
from nilometer.live.control import PLACE, folder_of
from nilometer.live.standing import result_log, result_logs, shared_logs
from nilometer.log.results import schema_of
from nilometer.log.results.shared_log import index_at
from nilometer.types import Schema

if TYPE_CHECKING:
    import polars as pl

    from nilometer.live.declarations import Declarations
    from nilometer.log.results import ResultLog
    from nilometer.log.results.shared_results import SharedResults


@dataclass(frozen=True)
class KeptAnswers:
    """Iterate for the rows.

    `end` is the position after the last row. `left_out` counts rows of other types. `shed` counts readings
    that joins with bounded memory, or the stages before them, gave up, so that rows may be missing. `trimmed`
    counts the oldest rows, which retention has deleted.
    """

    schema: Schema
    end: int
    left_out: int
    position: int
    _logs: tuple[tuple[int, ResultLog | SharedResults], ...]
    shed: int = 0
    trimmed: int = 0

    def __iter__(self) -> Iterator[Answer]:
        for first, log in self._logs:
            if first + log.rows > self.position:
                for frame in log.answers(max(0, self.position - first)):
                    yield Answer(self.schema, frame)


def frame_of(kept: KeptAnswers) -> pl.DataFrame:
    """All rows as one frame: TIME in microseconds."""
    import polars as pl

    frames = [answer.given for answer in kept if isinstance(answer.given, pl.DataFrame) and len(answer)]
    return pl.concat(frames) if frames else pl.DataFrame(schema=dict.fromkeys(kept.schema.names, pl.Null))


def directory_of(database: Declarations, name: str) -> Path:
    """The data directory that keeps a standing query's answers; an error if there is no such query."""
    directory: Path | None = database.data.base
    if directory is None:
        raise ConfigurationError(
            "answers are kept in a data directory, and there is none", hint="give one: --data DIR"
        )
    there = folder_of(directory, name).is_dir() or bool(shared_logs(directory, name))
    if database.catalog.query(name) is None and not there:
        ran = {path.name for path in (directory / PLACE).iterdir()} if (directory / PLACE).is_dir() else set()
        ran |= {*index_at(directory).places}
        known = sorted({query.name.lower() for query in database.catalog.queries()} | ran)
        raise ConfigurationError(
            f"no standing query '{name}'",
            detail=f"there are: {', '.join(known) or 'none'}",
            hint=f"declare it in schema.sql: CREATE QUERY {name} AS SELECT ...",
        )
    return directory


def kept_answers(database: Declarations, name: str, position: int = 0) -> KeptAnswers:
    """The answers of a standing query from a position on."""
    directory = directory_of(database, name)
    definition = database.catalog.query(name)
    declared = Schema(()) if definition is None else database.sql(definition.text).schema
    newest = result_log(directory, name)
    columns, last = newest.columns, newest.last
    schema = schema_of(columns, last.types) if last is not None else declared
    first, left_out, trimmed, logs = 0, 0, 0, []
    for log in result_logs(directory, name, columns or None):
        if log.fits(columns):
            logs.append((first, log))
        else:
            left_out += log.rows - log.trimmed
        trimmed += log.trimmed
        first += log.rows
    shed = 0 if last is None else (last.earlier + last.ledger).shed
    return KeptAnswers(schema, first, left_out, position, tuple(logs), shed, trimmed)
