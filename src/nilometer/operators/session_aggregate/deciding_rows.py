"""The Logic of FIRST, LAST, ARG_MAX, ARG_MIN, MIN and MAX of sessions: of each session and group it keeps the rows that
decide them, and no others."""

from __future__ import annotations

import polars as pl

from nilometer.operators import frames
from nilometer.operators.aggregate_items import Grouping
from nilometer.operators.aggregate_sieve import aggregate_sieve
from nilometer.operators.evaluate.evaluate import compile_predicate
from nilometer.operators.limits import check_kept, operator
from nilometer.operators.logic import EVALUATION, ID, TICK, TIME, Output, Progress, no_evaluations
from nilometer.operators.open_sessions import END, FIRST, SESSION, OpenSessions
from nilometer.operators.session_aggregate.session_aggregate import SessionAggregate
from nilometer.operators.session_aggregate.session_partials import read_columns
from nilometer.operators.waiting import Waiting
from nilometer.types import MILLISECOND


class DecidingRowsLogic:
    """Rows that wait, the open sessions, and the rows that decide."""

    def __init__(self, spec: SessionAggregate) -> None:
        self._output = frames.window_dtypes(spec.schema)
        self._columns = spec.needed | read_columns(spec)
        self._waiting = Waiting(self._columns, gate=TIME)
        self._open = OpenSessions(spec.sessions_of or (ID,), spec.needed, spec.pause)
        self._predicate = compile_predicate(spec.predicate)
        self._sieve = aggregate_sieve(spec.row_keys, spec.items)
        self._of_rows = Grouping(spec.row_keys, spec.items)
        self._answers = Grouping(spec.keys, spec.items)
        self._window = spec.window_columns
        self._rows = frames.empty(self._columns | {SESSION: pl.Int64()})
        self._saved = frames.Saved()

    def update(self, port: int, rows: pl.DataFrame) -> None:  # noqa: ARG002 - one port
        """Take tuples of the stream."""
        self._waiting.add(rows)

    @operator("an aggregate of sessions")
    def advance(self, progress: Progress) -> Output:
        """Keep the deciding tuples below the watermark, and answer for the sessions that are over."""
        new = self._waiting.release(progress.watermark)
        if new.height:
            rows = self._sieve(self._predicate(new.with_columns(self._open.assign(new))))
            if rows.height:
                together = pl.concat([self._rows, rows])
                self._rows = self._of_rows.selected(together, together.get_column(SESSION))
                check_kept(self._rows.height)
        over = self._open.end(progress.watermark)
        ended = self._rows.join(over, on=SESSION, how="inner", maintain_order="left")
        if not ended.height:
            return Output(frames.empty(self._output), no_evaluations())
        self._rows = self._rows.filter(~pl.col(SESSION).is_in(over[SESSION].implode()))
        start, end, last = self._window
        stop = pl.col(END)
        ended = ended.with_columns(
            stop.alias(EVALUATION),
            pl.col(FIRST).alias(start),
            stop.alias(end),
            (stop - MILLISECOND).alias(last),
        )
        answers = self._answers(ended, (EVALUATION,)).with_columns(pl.col(EVALUATION).alias(TICK))
        listed = frames.evaluations(answers.get_column(TICK).unique().sort())
        return Output(frames.conform(answers, self._output), listed)

    def snapshot(self) -> dict[str, bytes]:
        """Returns the waiting tuples, the open sessions and the deciding rows."""
        return self._waiting.snapshot("waiting") | self._open.snapshot() | {"rows": self._saved(self._rows)}

    def restore(self, panes: dict[str, bytes]) -> None:
        """Take back a snapshot."""
        self._waiting.restore("waiting", panes)
        self._open.restore(panes)
        self._rows = self._saved.load(panes["rows"])
