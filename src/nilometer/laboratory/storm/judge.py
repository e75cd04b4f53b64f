"""Judges a data directory after the storm: the log holds what was acknowledged, the results what the log says.

The laws: every acknowledged reading is in the stream's log, as it was sent, or in its books as garbled,
future or double; a log holds nothing that was not sent. The result log of every version of every query holds
the answer of the reference evaluator over what that version read, each row once. The books balance. Rows are
read from the log without the declared KEY; doubles are removed here, one by one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

from nilometer.engine import Database
from nilometer.laboratory.storm.broker import Broker
from nilometer.laboratory.storm.commit_history import Run, runs
from nilometer.laboratory.storm.declarations import RAIN, RIVER
from nilometer.laboratory.storm.sensors import Sent, Sort
from nilometer.live.books import query_books, stream_books
from nilometer.live.standing import result_files
from nilometer.log import LogDirectory, Offset
from nilometer.log.files import Files
from nilometer.log.reader import Cursor
from nilometer.log.results.eras import Era
from nilometer.log.results.numbers import first_number
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
        self._kept: dict[str, tuple[Offset, list[Logged]]] = {}
        self.answers = self.versions = 0
        """How many rows of answers, of how many versions of queries, were found right."""

    def streams(self, database: Database, cut: frozenset[int] = frozenset()) -> None:
        """The logs of the streams. The readings with the numbers in `cut` may be lost, and no others."""
        books = {row["stream"]: row for row in stream_books(database)}
        for stream in (RIVER, RAIN):
            mine = {number: sent for number, sent in self._sent.items() if sent.stream == stream}
            rows = [each.item for each in self._entries(stream) if isinstance(each.item, dict)]
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
                if sent.sort is Sort.GOOD and sent.x not in counts and sent.x not in cut:
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
        history = runs(self._folder)
        for definition in database.catalog.queries():
            self.query(definition.name, history)
        for row in query_books(database):
            if not row["balanced"]:
                raise BrokenPromiseError(f"the books of a query do not balance: {row}")

    def query(self, name: str, history: Mapping[str, Sequence[Run]] | None = None) -> None:
        """All versions of one query whose answers are kept."""
        found = [each for place in result_files(self._folder, name) for each in _answers(place)]
        for before, after in pairwise(found):
            if after.number < before.number:
                raise BrokenPromiseError(f"{name}: commit {after.number} follows {before.number}")
        least = first_number(self._folder, name)
        ran = runs(self._folder) if history is None else history
        kept = [run for run in ran.get(name, []) if run.last >= least]
        begins = next((place for place in reversed(range(len(kept))) if kept[place].anew), 0)
        for run in kept[begins:]:
            if (name, run.version) not in self.known:
                raise BrokenPromiseError(f"{name}: version {run.version} was never declared")
            database, sql = self.known[name, run.version]
            given = [row for each in found if run.position <= each.position < run.rows for row in each.rows]
            difference = same_answer(self._expected(database, sql, run), given)
            if difference is not None:
                where = f"{name} (version {run.version[:8]}, commits {run.first} to {run.last})"
                raise BrokenPromiseError(f"{where}: {difference}\n{sql}")
            self.answers += len(given)
            self.versions += 1
        if sum(len(each.rows) for each in found) != (kept[-1].rows if kept else 0):
            raise BrokenPromiseError(f"{name}: rows of answers that no commit counts")

    def declared(self, name: str, version: str, database: Database, sql: str) -> None:
        """A version of a query is about to run."""
        self.known.setdefault((name, version), (database, sql))

    def _expected(self, database: Database, sql: str, run: Run) -> list[tuple[Any, ...]]:
        """What the query would have answered from `taken` to `reached`, had it run all along."""
        bound: logical.Node = database.sql(sql).logical
        plan = logical.transform_plan(bound, lambda node: _patient(node, run.eras))
        streams = {
            node.stream.name.lower(): node.stream
            for node in logical.walk_plan(plan)
            if isinstance(node, logical.Acquire)
        }

        def until(end: Mapping[str, Offset]) -> list[tuple[Any, ...]]:
            feeds = {key: self._feed(key, run.eras, end[key]) for key in streams}
            return list(evaluate(plan, feeds, {}, {}, finished=False).rows)

        before = Counter(until(run.taken)) if any(at.position for at in run.taken.values()) else Counter()
        rows = []
        for row in until(run.reached):
            if before[row]:
                before[row] -= 1
            else:
                rows.append(row)
        if before.total():
            raise BrokenPromiseError(f"the reference takes an answer back: {next(before.elements())}")
        return rows

    def _feed(self, stream: str, eras: Sequence[Era], end: Offset) -> Feed:
        """The log up to `end`, each part under the DELAY and KEY of its time. The watermark comes as heartbeats."""
        seen: dict[tuple[str, ...], set[tuple[Any, ...]]] = {
            tuple(era.declared[stream]["key"]): set() for era in eras
        }
        items: list[Any] = []
        for each in self._entries(stream):
            if not isinstance(each.item, dict):
                if each.number < end.number:
                    items.append(each.item)
                continue
            if each.position >= end.position:
                break
            said = next(
                era.declared[stream]
                for era in eras
                if era.until is None or each.position < era.until[stream].position
            )
            double = False
            for key, known in seen.items():
                own = tuple(each.item[name] for name in key)
                double |= bool(key) and key == tuple(said["key"]) and own in known
                known.add(own)
            if not double:
                items += [each.item, each.item["time"] - said["delay"]]
        return Feed(tuple(items))

    def _entries(self, stream: str) -> list[Logged]:
        """The log, read once as long as it is the same."""
        end = LogDirectory(self._folder).log(stream).end
        kept = self._kept.get(stream)
        if kept is None or kept[0] != end:
            kept = self._kept[stream] = end, entries(self._folder, stream)
        return kept[1]


def _patient(node: logical.Node, eras: Sequence[Era]) -> logical.Node:
    """An acquisition with the longest DELAY of all eras: heartbeats say how far the watermark really is."""
    if isinstance(node, logical.Acquire):
        longest = max(era.declared[node.stream.name.lower()]["delay"] for era in eras)
        return replace(node, stream=replace(node.stream, delay=longest))
    return node


@dataclass(frozen=True)
class Answered:
    """The rows of one commit."""

    number: int
    position: int
    rows: list[tuple[Any, ...]]


def _answers(place: Files | SharedResults) -> list[Answered]:
    """The commits of a result log that have rows, in the columns that their version had."""
    if isinstance(place, SharedResults):
        return [Answered(each.number, each.position, each.rows.rows()) for each in place.found(Offset())]
    found: list[Answered] = []
    for entry in Cursor(place, Offset(), as_written=True):
        rows = [] if entry.rows is None else entry.rows.rows()
        if entry.note is not None:
            found.append(Answered(Commit.of(entry.note).number, entry.position, rows))
        elif rows:
            raise BrokenPromiseError(f"{len(rows)} rows of answers without a commit")
    return found
