"""The Logic of session aggregates with partials of constant size: rows -> partials per (session, group) -> answers."""

from __future__ import annotations

import numpy as np
import polars as pl

from nilometer.expressions import ColumnReference, type_of, walk
from nilometer.kernels.slices import EVERY_TICK
from nilometer.operators import frames
from nilometer.operators.aggregate_sieve import aggregate_sieve
from nilometer.operators.evaluate.evaluate import compile_predicate, compile_projection
from nilometer.operators.limits import check_kept, operator
from nilometer.operators.logic import EVALUATION, ID, TICK, TIME, Output, Progress, no_evaluations
from nilometer.operators.open_sessions import END, FIRST, SESSION, OpenSessions
from nilometer.operators.session_aggregate.session_aggregate import SessionAggregate
from nilometer.operators.set_aside import failing_rows
from nilometer.operators.waiting import Waiting
from nilometer.operators.window_aggregate.components import Lifting
from nilometer.operators.window_aggregate.groups import GroupCodes
from nilometer.operators.window_aggregate.partials import LiftedRows, Partials
from nilometer.types import MILLISECOND

_FEW_GROUPS = 1_024


class SessionPartialsLogic:
    """Rows that wait, the open sessions, and the partials of these. A partial's slice is the number of its session."""

    def __init__(self, spec: SessionAggregate) -> None:
        self._output = frames.window_dtypes(spec.schema)
        self._waiting = Waiting(spec.needed | read_columns(spec), gate=TIME)
        self._open = OpenSessions(spec.sessions_of or (ID,), spec.needed, spec.pause)
        self._predicate = compile_predicate(spec.predicate)
        self._keys = compile_projection(spec.row_keys)
        self._sieve = aggregate_sieve(spec.row_keys, spec.items)
        self._window = WindowColumns(spec)
        self._lifting = Lifting(spec.items, heard=False)
        self._lifting.hold_counts()
        self._groups = GroupCodes({name: frames.dtype(type_of(e)) for name, e in spec.row_keys})
        self._final = {name: frames.dtype(type_of(e)) for name, e in spec.keys}
        self._partials = self._nothing()
        self._framed = self._partials, self._partials.frame()
        self._saved = frames.Saved()

    def _nothing(self) -> Partials:
        components = self._lifting.components
        return Partials.of_frame(frames.empty(Partials.dtypes(components)), components)

    def update(self, port: int, rows: pl.DataFrame) -> None:  # noqa: ARG002 - one port
        """Take tuples of the stream."""
        self._waiting.add(rows)

    @operator("an aggregate of sessions")
    def advance(self, progress: Progress) -> Output:
        """Add the tuples below the watermark to their sessions, and answer for those that are over."""
        new = self._waiting.release(progress.watermark)
        if new.height:
            self._add(new)
        over = self._open.end(progress.watermark)
        ended = np.isin(self._partials.slices, over[SESSION].to_numpy())
        if not ended.any():
            return Output(frames.empty(self._output), no_evaluations())
        rows = self._answer(self._partials.where(ended), over)
        self._partials = self._partials.where(~ended)
        self._forget_groups()
        return Output(rows, frames.evaluations(rows.get_column(TICK).unique().sort()))

    def _add(self, new: pl.DataFrame) -> None:
        rows = self._sieve(self._predicate(new.with_columns(self._open.assign(new))))
        if not rows.height:
            return
        groups = self._groups.encode(self._keys(rows), rows.height)
        numbers = rows.get_column(SESSION).to_numpy()
        values = self._lifting.lift(rows, None)
        lifted = LiftedRows(numbers, groups, values, self._lifting.components)
        found = Partials.of_rows(lifted, EVERY_TICK, len(self._groups))
        self._partials = _merged([self._partials, found], len(self._groups))
        check_kept(len(self._partials) * (1 + sum(c.height or 0 for c in self._lifting.components)))

    def _answer(self, partials: Partials, over: pl.DataFrame) -> pl.DataFrame:
        """Gives each partial its window and its keys, and merges those of equal keys at one tick."""
        numbers = pl.DataFrame({SESSION: pl.Series(partials.slices)})
        sessions = numbers.join(over, on=SESSION, how="left", maintain_order="left")
        row_keys = pl.DataFrame(self._groups.decode(partials.groups))
        keys = pl.concat([self._window(sessions), row_keys], how="horizontal").select(list(self._final))
        codes = GroupCodes(self._final)
        groups = codes.encode(keys, len(partials))
        ticks = sessions.get_column(END).to_numpy()
        merged = _merged([Partials(ticks, groups, partials.values, partials.components)], len(codes))
        at = merged.slices
        tags = [pl.Series(EVALUATION, at), pl.Series(TICK, at)]
        lowered, failing = self._lifting.lower(merged.values)
        known = [*tags, *codes.decode(merged.groups)]
        answers = pl.DataFrame([*known, *lowered])
        valueless = failing_rows(pl.DataFrame(known), failing)
        return frames.conform(answers if valueless is None else answers.filter(~valueless), self._output)

    def _forget_groups(self) -> None:
        """Release the codes of groups without an open session, once they are the majority."""
        alive = np.unique(self._partials.groups)
        if len(self._groups) > _FEW_GROUPS + 2 * len(alive):
            changed = self._groups.renumber(alive)
            renamed = changed[self._partials.groups]
            self._partials = Partials(
                self._partials.slices, renamed, self._partials.values, self._partials.components
            )

    def snapshot(self) -> dict[str, bytes]:
        """Returns the waiting tuples, the open sessions, the groups and the partials."""
        if self._framed[0] is not self._partials:
            self._framed = self._partials, self._partials.frame()
        partials = {"partials": self._saved(self._framed[1])}
        panes = self._waiting.snapshot("waiting") | self._open.snapshot()
        return panes | self._groups.snapshot() | partials

    def restore(self, panes: dict[str, bytes]) -> None:
        """Take back a snapshot."""
        self._waiting.restore("waiting", panes)
        self._open.restore(panes)
        self._groups.restore(panes)
        frame = self._saved.load(panes["partials"])
        self._partials = Partials.of_frame(frame, self._lifting.components)
        self._framed = self._partials, frame


class WindowColumns:
    """The keys that read the window, from the sessions' first times and ends."""

    def __init__(self, spec: SessionAggregate) -> None:
        self._names = spec.window_columns
        self._projector = compile_projection(spec.window_keys)
        self._none = not spec.window_keys

    def __call__(self, sessions: pl.DataFrame) -> pl.DataFrame:
        """The keys of each session, in the order of the rows."""
        if self._none:
            return pl.DataFrame()
        start, end, last = self._names
        stop = pl.col(END)
        window = sessions.select(
            pl.col(FIRST).alias(start), stop.alias(end), (stop - MILLISECOND).alias(last)
        )
        return self._projector(window)


def read_columns(spec: SessionAggregate) -> frames.Dtypes:
    """The columns of the tuples that keys, aggregates and the predicate read."""
    read = [e for _, e in (*spec.row_keys, *spec.items)]
    read += [] if spec.predicate is None else [spec.predicate]
    references = [node for e in read for node in walk(e) if isinstance(node, ColumnReference)]
    return {node.name: frames.dtype(type_of(node)) for node in references}


def _merged(parts: list[Partials], groups: int) -> Partials:
    return Partials.concatenate(parts, parts[0].components).ordered().reduced(groups)
