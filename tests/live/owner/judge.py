"""The judge of a data directory with standing queries that were created, replaced, paused and dropped: each query has
answered what the reference evaluator answers over the logs, from the places that the control log names."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from nilometer.engine import Database, connect
from nilometer.language import ast, parse, print_statement
from nilometer.live.owner.control_log import FILE, ControlLog, Record
from nilometer.live.standing import result_files, result_log
from nilometer.log import LogDirectory, Offset
from nilometer.log.reader import Cursor
from nilometer.log.results.shared_results import SharedResults
from nilometer.plan import logical
from nilometer.plan.reference import Feed, evaluate, same_answer

Rows = list[tuple[Any, ...]]
BEGINNING = Offset()


def records_of(folder: Path) -> list[Record]:
    """Every record of the control log, in order."""
    lines = (folder / ".nilometer" / FILE).read_bytes().splitlines(keepends=True)
    return [Record.of(line) for line in lines]


@dataclass(frozen=True)
class Part:
    """What a query answered with one text: it answered from `effect` on, with a state of what lies after `began`."""

    text: str
    began: Mapping[str, Offset]
    effect: Mapping[str, Offset]


def parts_of(records: Iterable[Record], streams: Callable[[str], set[str]]) -> list[list[Part]]:
    """The ways in which a query may have come to its answers. REPLACE without a word about the state keeps it where
    it can, which is never so over other `streams`, and else reads the logs again. The state that is kept is that of the last text that ran, which a text that
    was replaced at the place where it came may or may not have done."""
    created, *changes = records
    found = [[Part(_query(created.text), created.offsets, created.offsets)]]
    for record in changes:
        found = [
            [*parts, Part(_query(record.text), began, record.effect)]
            for parts in found
            for began in _began(parts, record, streams)
        ]
    return found


def _began(
    parts: list[Part], record: Record, streams: Callable[[str], set[str]]
) -> list[Mapping[str, Offset]]:
    text, found = _query(record.text), []
    if record.state in ("", "BACKFILL"):
        found.append(dict.fromkeys(record.effect, BEGINNING))
    if record.state == "EMPTY STATE":
        found.append(dict(record.effect))
    for part in reversed(parts):
        # Who goes back to the text that last ran, before another one has run, has changed nothing.
        keeps = record.state in ("", "KEEP STATE") and streams(part.text) == streams(text)
        if keeps or part.text == text:
            found.append({**record.effect, **part.began})
        if not _stood(part, record):
            break
    if all(_stood(part, record) for part in parts):
        # A query that was replaced before it ever ran begins where it was created, with nothing.
        found.append(dict(record.effect))
    return [began for at, began in enumerate(found) if began not in found[:at]]


def _stood(part: Part, record: Record) -> bool:
    """Whether a query was replaced at the place where this part of it came."""
    return all(record.effect.get(key, at) == at for key, at in part.effect.items())


def _query(text: str) -> str:
    statement = parse(text)
    assert isinstance(statement, ast.CreateQuery)
    return print_statement(statement.query)


class Judge:
    """Reads the directory as it is now; nobody owns it, or its owner has come to rest."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.control = ControlLog(folder)
        self.rows = 0
        """How many rows of answers were found right."""
        self._entries: dict[str, list[tuple[int, int, Any]]] = {}
        self._known: dict[tuple[Any, ...], Rows] = {}

    @cached_property
    def database(self) -> Database:
        """The declarations, without their data."""
        found = connect()
        for record in self.control.declared.values():
            found.execute(record.text)
        return found

    def logged(self, stream: str) -> list[tuple[int, int, Any]]:
        """The log of a stream: number, position, and a row or a heartbeat."""
        if stream not in self._entries:
            found: list[tuple[int, int, Any]] = []
            for entry in LogDirectory(self.folder).log(stream).read():
                number = entry.after.number - 1
                if entry.rows is None:
                    found.append((number, entry.position, entry.tick))
                else:
                    rows = enumerate(entry.rows.iter_rows(named=True), entry.position)
                    found += [(number, position, row) for position, row in rows]
            self._entries[stream] = found
        return self._entries[stream]

    def reference(self, text: str, start: Mapping[str, Offset], end: Mapping[str, Offset]) -> Rows:
        """The reference evaluator's answer over what lies between two places of the logs."""
        key = (text, *(tuple(sorted(places.items())) for places in (start, end)))
        if key not in self._known:
            plan = self.database.sql(text).logical
            feeds = {name: self._feed(name, start[name], end[name]) for name in self.streams(text)}
            self._known[key] = list(evaluate(plan, feeds, {}, {}, finished=False).rows)
        return self._known[key]

    def streams(self, text: str) -> set[str]:
        """The streams that a text reads."""
        plan = self.database.sql(text).logical
        return {n.stream.name.lower() for n in logical.walk_plan(plan) if isinstance(n, logical.Acquire)}

    def _feed(self, stream: str, start: Offset, end: Offset) -> Feed:
        def between(number: int, position: int, item: Any) -> bool:
            if isinstance(item, dict):
                return start.position <= position < end.position
            return start.number <= number < end.number

        return Feed(tuple(entry[2] for entry in self.logged(stream) if between(*entry)))

    def expected(self, parts: list[Part], end: Mapping[str, Offset]) -> Rows:
        """The rows of a query: those of each text between the places where it began and where it was replaced. A text
        that never ran, because its query was paused, stands where it took effect: nobody has come further in a stream
        that only this text reads."""
        found: Rows = []
        for part, later in zip(parts, [*(later.effect for later in parts[1:]), end], strict=True):
            until = {**part.effect, **later}
            before = self.reference(part.text, part.began, part.effect)
            rows = self.reference(part.text, part.began, until)
            # An answer is a function of the log: what was answered stays so when the log grows.
            assert not Counter(before) - Counter(rows), part
            found += (Counter(rows) - Counter(before)).elements()
        return found

    def given(self, name: str) -> Rows:
        """The rows of a query's answers."""
        found: Rows = []
        for place in result_files(self.folder, name):
            if isinstance(place, SharedResults):
                found += [row for each in place.found(Offset()) for row in each.rows.rows()]
            else:
                entries = Cursor(place, Offset(), as_written=True)
                found += [row for entry in entries if entry.rows is not None for row in entry.rows.rows()]
        return found

    def copy(self, name: str) -> None:
        """The stream of a query's answers, which others read, has each of them once and in order."""
        given = self.given(name)
        copied = [tuple(row.values()) for _, _, row in self.logged(name) if isinstance(row, dict)]
        # A stream's first column is an id, also where the answers have none.
        assert [row[-len(one) :] for row, one in zip(copied, given, strict=True)] == given, name

    def queries(self, *, at_end: bool) -> int:
        """Judge every declared query; returns their number. `at_end`: those that are not paused have read everything."""
        records = records_of(self.folder)
        for kind, name in self.control.declared:
            if kind == "QUERY":
                own = [record for record in records if record.key == (kind, name)]
                self.query(name, own, at_end=at_end)
        return sum(kind == "QUERY" for kind, _ in self.control.declared)

    def query(self, name: str, records: list[Record], *, at_end: bool) -> None:
        """Judge one query by the records of its name."""
        first = max(at for at, record in enumerate(records) if record.what == "CREATE")
        records = records[first:]
        steered = [record.what for record in records if record.what in ("PAUSE", "RESUME")]
        last = result_log(self.folder, name).last
        changes = [record for record in records if record.what in ("CREATE", "REPLACE")]
        given = self.given(name)
        if last is None:
            assert steered[-1:] == ["PAUSE"], f"{name} has not begun"
            assert not given
            return
        if at_end and steered[-1:] != ["PAUSE"]:
            assert last.offsets.keys() == self.streams(_query(changes[-1].text)), f"{name} runs an older text"
            # An entry without rows, which says how far a source was read, may follow when the owner closes.
            for key, at in last.offsets.items():
                assert all(number < at.number for number, _, _ in self.logged(key)), f"{name} is behind"
                if ("QUERY", key) in self.control.declared:
                    self.copy(key)
        differences = []
        for parts in parts_of(changes, self.streams):
            difference = same_answer(self.expected(parts, last.offsets), given)
            if difference is None:
                self.rows += len(given)
                return
            differences.append(difference)
        told = "\n".join(f"{r.what} {r.state} at {dict(r.effect or r.offsets)}: {r.text}" for r in changes)
        shown = "\nor else ".join(differences)
        raise AssertionError(f"{name}: {shown}\n{told}")
