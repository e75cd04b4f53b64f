"""SESSION: a stream -> its tuples, session by session, once each session is over.

    tuples of a key at t1 <= t2 <= ... <= tn with no pause longer than d, and the next one later than tn + d:
    each of them at tick tn + d, with window_start t1 and window_end tn + d

Tuples wait until the watermark has passed their time. From then on they come in the order of time, so an
earlier tuple can no longer join two sessions into one. The state is the tuples of the open sessions, and
those beyond the watermark.

>>> from nilometer.types import INT, Column
>>> logic = Session(Schema((Column("s.v", INT),)), 10, "s").build()
>>> rows = [(0, 0, 1, 0, 7), (8, 8, 1, 1, 8), (19, 19, 1, 2, 9)]  # tick, time, id, position, v
>>> logic.update(0, pl.DataFrame(rows, frames.stream_dtypes(logic.spec.input), orient="row"))
>>> logic.advance(Progress(watermark=19)).rows.select("s.v", "s.window_start", "s.window_end").rows()
[(7, 0, 18), (8, 0, 18)]
"""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from nilometer.algebra.table_function import FunctionCall
from nilometer.algebra.table_functions import SESSION as FUNCTION
from nilometer.operators import frames
from nilometer.operators.limits import check_kept, operator
from nilometer.operators.logic import ID, POSITION, TICK, TIME, Output, Progress, no_evaluations
from nilometer.operators.open_sessions import END, FIRST, SESSION, OpenSessions
from nilometer.operators.validation import require
from nilometer.operators.waiting import Waiting
from nilometer.types import INT, MILLISECOND, Schema, Type


@dataclass(frozen=True)
class Session:
    """Sessions of the tuples of one source, or of equal `keys`, with no pause longer than `pause`."""

    input: Schema
    pause: int
    alias: str
    id_type: Type = INT
    keys: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        require(self.pause > 0, "SESSION without a pause")
        missing = set(self.keys) - set(self.input.names)
        require(not missing, f"SESSION by {sorted(missing)}, which its input ({self.input}) does not have")

    @classmethod
    def of(cls, call: FunctionCall, input: Schema) -> Session:
        """Returns the operator of a call."""
        pause = call["FOR"]
        assert isinstance(pause, int)
        return cls(input, pause, call.alias, call.id_type.plain, call.columns)

    @property
    def schema(self) -> Schema:
        """The input's columns under the alias, and those of the window."""
        return FunctionCall(FUNCTION, self.alias, self.id_type).schema(self.input)

    def build(self) -> SessionLogic:
        return SessionLogic(self)


class SessionLogic:
    """The open sessions, and the rows, each with its session."""

    def __init__(self, spec: Session) -> None:
        self.spec = spec
        self._output = frames.stream_dtypes(spec.schema, spec.id_type)
        columns = frames.stream_dtypes(spec.input, spec.id_type)
        self._keys = list(spec.keys) or [ID]
        self._held = {TIME: pl.Int64(), ID: columns[ID]} | frames.dtypes(spec.input)
        self._waiting = Waiting(self._held, gate=TIME)
        self._open = OpenSessions(self._keys, columns, spec.pause)
        self._rows: list[pl.DataFrame] = []
        self._saved = frames.Saved()

    def update(self, port: int, rows: pl.DataFrame) -> None:  # noqa: ARG002 - one port
        self._waiting.add(rows)

    @operator("SESSION")
    def advance(self, progress: Progress) -> Output:
        new = self._waiting.release(progress.watermark)
        if new.height:
            self._add(new)
        over = self._open.end(progress.watermark)
        if not over.height:
            return Output(frames.empty(self._output), no_evaluations())
        rows = self._all_rows()
        ended = pl.col(SESSION).is_in(over[SESSION].implode())
        kept = rows.filter(~ended)
        self._rows = [kept] if kept.height else []
        return Output(self._answer(rows.filter(ended), over), no_evaluations())

    def _add(self, new: pl.DataFrame) -> None:
        """Give every new row its session, old or new."""
        check_kept(sum(part.height for part in self._rows) + new.height)
        self._rows.append(new.with_columns(self._open.assign(new)))

    def _all_rows(self) -> pl.DataFrame:
        rows = frames.concatenate(self._rows, self._held | {SESSION: pl.Int64()})
        self._rows = [rows] if rows.height else []
        return rows

    def _answer(self, rows: pl.DataFrame, sessions: pl.DataFrame) -> pl.DataFrame:
        """The rows of sessions that are over, at the sessions' ends."""
        end = pl.col(END)
        named = zip(self.spec.schema.names, self.spec.input.names, strict=False)
        start, stop, last = self.spec.schema.names[-3:]
        joined = rows.join(sessions, on=SESSION, maintain_order="left")
        answer = joined.select(
            end.alias(TICK),
            end.alias(TIME),
            ID,
            pl.lit(None, dtype=pl.Int64).alias(POSITION),
            *(pl.col(old).alias(new) for new, old in named),
            pl.col(FIRST).alias(start),
            end.alias(stop),
            (end - MILLISECOND).alias(last),
        )
        return frames.conform(answer.sort(TICK, maintain_order=True), self._output)

    def snapshot(self) -> dict[str, bytes]:
        rows = {"rows": self._saved(self._all_rows())}
        return self._waiting.snapshot("waiting") | self._open.snapshot() | rows

    def restore(self, panes: dict[str, bytes]) -> None:
        self._waiting.restore("waiting", panes)
        self._open.restore(panes)
        rows = self._saved.load(panes["rows"])
        self._rows = [rows] if rows.height else []
