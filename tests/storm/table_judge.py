"""What a standing query has answered, held against the reference over the logs of its streams and of its tables' versions."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nilometer.engine import Database
from nilometer.live.control import folder_of
from nilometer.live.standing import result_log
from nilometer.live.stored_tables import Kept
from nilometer.live.table_log import Version
from nilometer.log import LogDirectory, Offset
from nilometer.plan import physical
from nilometer.plan.reference import Feed, TableVersion, evaluate, same_answer


@dataclass(frozen=True)
class Judged:
    """How many rows were right, and which later versions of tables there were."""

    answers: int
    later: list[TableVersion]


def versions_of(database: Database, folder: Path, query: str, table: str) -> list[Version]:
    """All recorded versions of a table."""
    (found,) = (each for each in database.catalog.tables() if each.name == table)
    return list(Kept(folder_of(folder, query), "").log(found).versions())


def later_versions(database: Database, folder: Path, query: str) -> list[TableVersion]:
    """Those that hold from a tick on, of all tables."""
    return [
        TableVersion(version.holds_from, {table.name.lower(): version.rows.to_dicts()})
        for table in database.catalog.tables()
        for version in versions_of(database, folder, query, table.name)
        if version.holds_from is not None
    ]


def judge(folder: Path, database: Database, sql: str, name: str = "q") -> Judged:
    """Its result log holds the answers up to its last commit, each once; it has read its streams from their beginning."""
    results = result_log(folder, name)
    assert results.last is not None
    catalog = database.catalog
    feeds = {
        stream: _feed(LogDirectory(folder).log(catalog.stream(stream)), end)
        for stream, end in results.last.offsets.items()
    }
    query = database.sql(sql)
    first = {
        table: versions_of(database, folder, name, table)[0].rows.to_dicts()
        for table in physical.tables_of(query.physical)
    }
    later = later_versions(database, folder, name)
    assert len({version.holds_from for version in later}) == len(later), "two versions at one tick"
    expected = evaluate(query.logical, feeds, first, versions=later, finished=False)
    given = [row for frame in results.answers() for row in frame.rows()]
    difference = same_answer(expected.rows, given)
    assert difference is None, difference
    return Judged(len(given), later)


def _feed(log: Any, end: Offset) -> Feed:
    items: list[Any] = []
    for entry in log.read():
        if Offset(entry.after.number - 1, entry.position) >= end:
            break
        if entry.rows is None:
            items.append(entry.tick)
        else:
            items += entry.rows[: max(0, end.position - entry.position)].to_dicts()
    return Feed(tuple(items))
