"""Judges a data directory after the storm: the log holds what was acknowledged, the results what the log says.

The laws: every acknowledged reading is in the stream's log, as it was sent, or in its books as garbled,
future or double; a log holds nothing that was not sent. The result log of every version of every query holds
the answer of the reference evaluator over what that version read, each row once. The books balance. Rows are
read from the log without the declared KEY; doubles are removed here, one by one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from nilometer.engine import Database
from nilometer.laboratory.storm.broker import Broker
from nilometer.laboratory.storm.declarations import RAIN, RIVER
from nilometer.laboratory.storm.sensors import Sent, Sort
from nilometer.live.books import query_books, stream_books
from nilometer.live.standing import result_files, result_log
from nilometer.log import LogDirectory, Offset
from nilometer.log.files import Files
from nilometer.log.reader import Cursor
from nilometer.log.results.result_log import Commit
from nilometer.log.results.shared_results import SharedResults
from nilometer.plan import logical
from nilometer.plan.reference import Feed, evaluate, same_answer


class BrokenPromiseError(AssertionError):
    """A promise was not kept."""


@dataclass(frozen=True)
class Logged:
    """An entry of a stream's log: a row with its position, or a heartbeat; `number` is its record's."""

    number: int
    position: int
    item: Any


def entries(folder: Path, stream: str) -> list[Logged]:
    """The log of a stream, whatever its KEY."""
    found = []
    for entry in LogDirectory(folder).log(stream).read():
        number = entry.after.number - 1
        if entry.rows is None:
            found.append(Logged(number, entry.position, entry.tick))
        else:
            found += [
                Logged(number, entry.position + place, row)
                for place, row in enumerate(entry.rows.iter_rows(named=True))
            ]
    return found


class Judge:
    """`known` are the databases under whose declarations each version of each query ran, by name and version."""

    def __init__(self, folder: Path, broker: Broker, sent: Mapping[int, Sent]) -> None:
        self._folder = folder
        self._broker = broker
        self._sent = sent
        self.known: dict[tuple[str, str], tuple[Database, str]] = {}
        self.versions: dict[str, list[str]] = {}
        self.answers = 0
        """How many rows of answers were found right."""

    def streams(self, database: Database) -> None:
        """The logs of the streams."""
        books = {row["stream"]: row for row in stream_books(database)}
        for stream in (RIVER, RAIN):
            mine = {number: sent for number, sent in self._sent.items() if sent.stream == stream}
            rows = [each.item for each in entries(self._folder, stream) if isinstance(each.item, dict)]
            good = {sent.x: sent for sent in mine.values() if sent.sort is Sort.GOOD}
            counts = Counter(row["x"] for row in rows)
            for row in rows:
                sent = good.get(row["x"])
                if sent is None or f'"time": {row["time"]}, "x": {row["x"]}, "v": {row["v"]}' not in str(
                    sent.payload
                ):
                    raise BrokenPromiseError(f"{stream} holds a reading that was not sent: {row}")
            acknowledged = {
                number: sent for number, sent in mine.items() if number in self._broker.acknowledged
            }
            for number, sent in acknowledged.items():
                if sent.sort is Sort.GOOD and sent.x not in counts:
                    raise BrokenPromiseError(
                        f"{stream}: reading {sent.x} was acknowledged (message {number}) and is lost"
                    )
            self._check_books(stream, books, len(rows), acknowledged)

    def _check_books(
        self, stream: str, books: Mapping[str, Any], rows: int, acknowledged: Mapping[int, Sent]
    ) -> None:
        if stream not in books:
            if acknowledged:
                raise BrokenPromiseError(f"{stream} has acknowledged readings and no log")
            return
        found = books[stream]
        if not found["balanced"] or found["appended"] != rows:
            raise BrokenPromiseError(f"the books of {stream} do not balance with its {rows} rows: {found}")
        for sort, account in ((Sort.GARBLED, "garbled"), (Sort.FUTURE, "future")):
            least = sum(sent.sort is sort for sent in acknowledged.values())
            if found[account] < least:
                raise BrokenPromiseError(
                    f"{stream}: {least} {sort} readings were acknowledged, the books say {found}"
                )
        letters = int(LogDirectory(self._folder).log(stream).letters().get_column("count").sum())
        if letters < found["garbled"] + found["future"]:
            raise BrokenPromiseError(f"{stream} has {letters} dead letters, the books say {found}")

    def queries(self, database: Database) -> None:
        """The result logs of all declared queries."""
        for definition in database.catalog.queries():
            self.query(definition.name)
        for row in query_books(database):
            if not row["balanced"]:
                raise BrokenPromiseError(f"the books of a query do not balance: {row}")

    def query(self, name: str) -> None:
        """The present version of one query; the commit log does not say how far each older one had read."""
        last = result_log(self._folder, name).last
        if last is None:
            return
        found = [each for place in result_files(self._folder, name) for each in _answers(place)]
        for before, after in pairwise(found):
            if after.number < before.number:
                raise BrokenPromiseError(f"{name}: commit {after.number} follows {before.number}")
        versions = self.versions.get(name, [])
        if versions.count(last.version) > 1:
            return  # It came back after another version: where its last run begins is not told by its rows.
        database, sql = self.known[name, last.version]
        given = [row for each in found if each.version == last.version for row in each.rows]
        expected = self._expected(database, sql, last.began or {}, last.offsets)
        difference = same_answer(expected, given)
        if difference is not None:
            where = f"{name} (version {last.version[:8]}, commit {last.number})"
            raise BrokenPromiseError(f"{where}: {difference}\n{sql}")
        self.answers += len(given)

    def declared(self, name: str, version: str, database: Database, sql: str) -> None:
        """A version of a query is about to run."""
        self.known.setdefault((name, version), (database, sql))
        versions = self.versions.setdefault(name, [])
        if versions[-1:] != [version]:
            versions.append(version)

    def _expected(
        self, database: Database, sql: str, start: Mapping[str, Offset], end: Mapping[str, Offset]
    ) -> list[tuple[Any, ...]]:
        plan = database.sql(sql).logical
        feeds = {}
        for node in logical.walk_plan(plan):
            if isinstance(node, logical.Acquire):
                key = node.stream.name.lower()
                feeds[key] = self._feed(key, node.stream.key, start[key], end[key])
        return list(evaluate(plan, feeds, {}, {}, finished=False).rows)

    def _feed(self, stream: str, key: tuple[str, ...], start: Offset, end: Offset) -> Feed:
        seen: set[tuple[Any, ...]] = set()
        items = []
        for each in entries(self._folder, stream):
            if isinstance(each.item, dict):
                own = tuple(each.item[name] for name in key)
                if key and own in seen:
                    continue
                seen.add(own)
                if start.position <= each.position < end.position:
                    items.append(each.item)
            elif start.number <= each.number < end.number:
                items.append(each.item)
        return Feed(tuple(items))


@dataclass(frozen=True)
class Answered:
    """The rows of one commit."""

    number: int
    version: str
    rows: list[tuple[Any, ...]]


def _answers(place: Files | SharedResults) -> list[Answered]:
    """The commits of a result log that have rows, in the columns that their version had."""
    if isinstance(place, SharedResults):
        return [Answered(each.number, each.version, each.rows.rows()) for each in place.found(Offset())]
    found = []
    for entry in Cursor(place, Offset(), as_written=True):
        rows = [] if entry.rows is None else entry.rows.rows()
        if entry.note is not None:
            commit = Commit.of(entry.note)
            found.append(Answered(commit.number, commit.version, rows))
        elif rows:
            raise BrokenPromiseError(f"{len(rows)} rows of answers without a commit")
    return found
