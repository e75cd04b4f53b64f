"""The results of a round's parts -> the result of the round."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import polars as pl

from nilometer.dataflow.analysis import Work
from nilometer.dataflow.ledger import QueryLedger
from nilometer.dataflow.part import Rows, frame_of
from nilometer.spark.shared.changes import Panes
from nilometer.spark.shared.rounds import Left, RoundResult
from nilometer.spark.shared.ways import as_part


def merged(results: Sequence[RoundResult]) -> RoundResult:
    """The result of a round whose parts, in their order, had these results."""
    if len(results) == 1:
        return results[0]
    first = results[0]
    whole = RoundResult(first.number, first.offsets, first.merged, way=first.way, again=first.again)
    whole.milliseconds = sum(result.milliseconds for result in results)
    whole.spent = tuple(spent for result in results for spent in result.spent)
    answers: dict[str, list[list[Rows]]] = {}
    for part, result in enumerate(results):
        whole.failures |= result.failures
        whole.analyses |= {name: text for name, text in result.analyses.items() if name not in whole.analyses}
        whole.watermarks |= result.watermarks
        whole.joined |= result.joined
        whole.frontiers |= result.frontiers  # the doors of every part see all rows
        for name, rows in result.answers.items():
            answers.setdefault(name, []).append(rows)
        for name, book in result.books.items():
            whole.books[name] = whole.books.get(name, QueryLedger()) + book
        for name, work in result.works.items():
            before = whole.works.get(name, Work())
            whole.works[name] = Work(before.nanoseconds + work.nanoseconds, work.others)
        for name, lines in result.letters.items():
            whole.letters[name] = (*whole.letters.get(name, ()), *lines)
        for name, left in result.left.items():
            others = whole.left.get(name)
            whole.left[name] = _together(others, _own_left(result, name, left, part, len(results)))
        if result.panes is not None:
            saved = {} if whole.panes is None else whole.panes
            for name, panes in result.panes.items():
                saved[name] = {**saved.get(name, {}), **_own(result, name, panes, part, len(results))}
            whole.panes = saved
    whole.answers = {name: _in_order(rows) for name, rows in answers.items() if name not in whole.failures}
    return whole


def _own_left(result: RoundResult, name: str, left: Left, part: int, parts: int) -> Left:
    if left.state is None:
        return left
    panes, book = left.state
    return replace(left, state=(_own(result, name, panes, part, parts), book))


def _together(some: Left | None, others: Left) -> Left:
    """What several parts say of a query that has left. It is behind in all of them, or in none."""
    if some is None or some.state is None or others.state is None:
        return others
    return replace(some, state=({**some.state[0], **others.state[0]}, some.state[1] + others.state[1]))


def _own(result: RoundResult, name: str, panes: Panes, part: int, parts: int) -> Panes:
    return as_part(panes, part, parts) if name in result.divided else panes


def _in_order(parts: Sequence[Sequence[Rows]]) -> list[Rows]:
    """The rows of all parts in the order of their ticks. A query that is in several parts gives the tick with its rows."""
    if len(parts) == 1:
        return list(parts[0])
    frames = [frame_of(rows) for part in parts for rows in part]
    return [pl.concat(frames).sort("tick", maintain_order=True)]
