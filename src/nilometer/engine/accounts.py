"""What became of the readings of a finite run: the accounts of each stream, and those that were lost.

A reading is lost if it is in no answer although the query asked for it: it was late, garbled, stamped in the
future, shed by a join with bounded memory, trimmed from the log before a live query read it, or unanswered.
It is unanswered if its tick was not evaluated, because the streams have not ended and may still bring an
earlier reading. A duplicate is not lost: its first copy counts.

>>> spoken({"read": 6, "late": 1, "garbled": 0}), lost({"read": 6, "late": 1, "duplicate": 2})
('6 read, 1 late', {'late': 1})
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from nilometer.plan import physical
from nilometer.types import INT_MINIMUM

if TYPE_CHECKING:
    from nilometer.engine.query import Query
    from nilometer.live.answers import Answer

LOST = ("late", "garbled", "future", "shed", "trimmed", "unanswered")
SPOKEN = ("read", "late", "duplicate", "garbled", "future", "shed", "unanswered")

IMMEDIATE = (
    physical.SpAcquire,
    physical.StoredScan,
    physical.Select,
    physical.Project,
    physical.Rename,
    physical.Exchange,
    physical.Deliver,
    physical.Union,
    physical.WindowJoin,
    physical.NlJoin,
    physical.HashJoin,
)
"""The nodes that hold no reading until its tick is complete. (Joins of windows stand above windows, which do.)"""


def spoken(ledger: Mapping[str, int]) -> str:
    """The accounts that are not empty, as text."""
    return ", ".join(f"{ledger[name]} {name}" for name in SPOKEN if ledger.get(name)) or "nothing read"


def lost(ledger: Mapping[str, int]) -> dict[str, int]:
    """The accounts of lost readings that are not empty."""
    return {name: ledger[name] for name in LOST if ledger.get(name)}


def lost_in(answer: Answer) -> dict[str, dict[str, int]]:
    """The lost readings of an answer, by stream; streams without any are left out."""
    return {name: found for name, ledger in answer.ledgers.items() if (found := lost(ledger))}


def with_unanswered(query: Query, answer: Answer) -> Answer:
    """The answer, with the account `unanswered` of each stream that has any. A run that ended because LIMIT had all
    its rows left nothing unanswered."""
    most = physical.most_rows(query.physical)
    if most is not None and len(answer) >= most:
        return answer
    counts = unanswered(query, answer.watermark)
    if not counts:
        return answer
    ledgers = {
        name: ledger | ({"unanswered": counts[name.lower()]} if name.lower() in counts else {})
        for name, ledger in answer.ledgers.items()
    }
    return replace(answer, ledgers=ledgers)


def unanswered(query: Query, watermark: int | None) -> dict[str, int]:
    """The accepted readings of each stream, by its lower-case name, that no evaluation has reached."""
    if watermark is None or all(isinstance(node, IMMEDIATE) for node in physical.walk_plan(query.physical)):
        return {}
    from nilometer.dataflow.sources import Batch

    found = {}
    for name, stream in physical.streams_of(query.physical).items():
        entries = query.extents.entries(stream)
        time = next(column.name for column in stream.columns if column.name.lower() == "time")
        latest = max((_latest(e.rows, time) for e in entries if isinstance(e, Batch)), default=watermark - 1)
        if latest >= watermark and (count := _accepted_from(stream, entries, watermark)):
            found[name] = count
    return found


def _latest(rows: Any, time: str) -> int:
    greatest = rows.get_column(time).max()
    return INT_MINIMUM if greatest is None else int(greatest)


def _accepted_from(stream: Any, entries: Any, watermark: int) -> int:
    """How many accepted readings have that tick or a later one."""
    from nilometer.algebra.summary import READINGS
    from nilometer.dataflow.door import Door
    from nilometer.dataflow.sources import Batch, Summaries
    from nilometer.operators.logic import TICK

    door, count = Door(stream), 0
    for entry in entries:
        if isinstance(entry, Batch):
            count += int((door.admit_batch(entry).get_column(TICK) >= watermark).sum())
        elif isinstance(entry, Summaries):
            rows = door.admit_summaries(entry)
            count += int(rows.filter(rows.get_column(TICK) >= watermark).get_column(READINGS).sum())
        else:
            door.heartbeat(entry.tick)
    return count
