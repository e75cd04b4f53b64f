"""The rows of one query that were set aside because a value cannot be given (operators/set_aside.py).

A query that skips them goes on: the rows wait here until somebody writes them down, and they are counted. A query that
does not (ON ERROR STOP) stops with the first of them. Equal stages of several queries are one stage, so each of these
queries decides for itself.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from enum import Enum, auto
from typing import TYPE_CHECKING, Any

from nilometer.dataflow.ledger import QueryLedger
from nilometer.dataflow.stages import Operator, Passing, StreamReader
from nilometer.errors import DataError
from nilometer.operators.set_aside import Letter

if TYPE_CHECKING:
    from nilometer.dataflow.dataflow import Dataflow

WAITING = 1_000
"""The number of letters that wait to be written down; more are only counted."""


NOTHING = QueryLedger()
"""The accounts of a query that has set no row aside."""


class Kind(Enum):
    """READ: readings, which the reader of their stream counts. TAKEN: readings that it has counted as delivered. MADE:
    rows that are no readings."""

    READ = auto()
    TAKEN = auto()
    MADE = auto()


def kind_of(flow: Dataflow, place: int) -> Kind:
    """The kind of the rows that a stage is given."""
    stage = flow.stages[place]
    if isinstance(stage.worker, StreamReader):
        return Kind.READ
    if len(stage.inputs) == 1 and isinstance(stage.worker, Passing | Operator):
        (below,) = stage.inputs
        while isinstance(flow.stages[below].worker, Passing):
            (below,) = flow.stages[below].inputs
        if isinstance(flow.stages[below].worker, StreamReader):
            return Kind.TAKEN
    return Kind.MADE


class DeadRows:
    """`ledger` is what they change in the accounts of the query; those that the reader counts are not in it. `name`
    joins the names in `waiting` while letters wait."""

    def __init__(self, *, skips: bool, name: str = "", waiting: dict[str, None] | None = None) -> None:
        self.skips = skips
        self._name = name
        self._names = {} if waiting is None else waiting
        self.ledger = NOTHING
        self._waiting: list[Letter] = []

    def take(self, letters: Sequence[Letter], kind: Kind) -> DataError | None:
        """Take the rows of a stage. Returns the error that stops the query, if it does not skip them."""
        if not self.skips:
            return letters[0].error
        for letter in letters:
            if kind is Kind.MADE or letter.derived:
                self.ledger += QueryLedger(errors=letter.count)
            elif kind is Kind.TAKEN:
                self.ledger += QueryLedger(delivered=-letter.count, failed=letter.count)
        self._names[self._name] = None
        self._waiting += letters[: max(WAITING - len(self._waiting), 0)]
        return None

    def drain(self) -> list[Letter]:
        """The letters since the last call."""
        self._names.pop(self._name, None)
        found, self._waiting = self._waiting, []
        return found

    def snapshot(self) -> dict[str, bytes]:
        """The counts, as a pane; nothing if there are none."""
        return {"ledger": json.dumps(self.ledger.as_dict()).encode()} if self.ledger != NOTHING else {}

    def restore(self, panes: dict[str, bytes]) -> None:
        """Take back a snapshot."""
        self.ledger = QueryLedger(**json.loads(panes["ledger"])) if panes else NOTHING


def lines_of(letters: Sequence[Letter]) -> tuple[dict[str, Any], ...]:
    """Letters as lines for people: each row with the reason; a line without a row counts those that no line shows.

    >>> import polars as pl
    >>> lines_of([Letter(DataError("no value"), 3, pl.DataFrame({"@id": [7], "n": [1]}))])
    ({'reason': 'no value', 'row': {'@id': 7, 'n': 1}, 'count': 1}, {'reason': 'no value', 'row': None, 'count': 2})
    """
    lines: list[dict[str, Any]] = []
    for letter in letters:
        rows = [json.loads(line) for line in letter.rows.write_ndjson().splitlines()]
        lines += [{"reason": letter.reason, "row": row, "count": 1} for row in rows]
        if letter.count > len(rows):
            lines.append({"reason": letter.reason, "row": None, "count": letter.count - len(rows)})
    return tuple(lines)


def notes_of(lines: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    """One remark for each reason, with the number of rows and the first of them.

    >>> lines = [{"reason": "no value", "row": {"@id": 7, "s.n": 1}, "count": 1}]
    >>> notes_of([*lines, {"reason": "no value", "row": None, "count": 2}])
    ('3 rows are set aside: no value (the first: id 7, s.n 1)',)
    """
    counts: Counter[str] = Counter()
    firsts: dict[str, str] = {}
    for line in lines:
        counts[line["reason"]] += line["count"]
        shown = (
            f"{name.removeprefix('@')} {value}"
            for name, value in (line["row"] or {}).items()
            if name == "@id" or not (name.startswith("@") or name.endswith((".id", ".time")))
        )
        firsts.setdefault(line["reason"], ", ".join(shown)[:200])
    return tuple(
        f"{count} row{' is' if count == 1 else 's are'} set aside: {reason}"
        + (f" (the first: {firsts[reason]})" if firsts[reason] else "")
        for reason, count in counts.items()
    )
