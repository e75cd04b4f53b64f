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

import json
from dataclasses import dataclass

import polars as pl

from nilometer.algebra.table_function import FunctionCall
from nilometer.algebra.table_functions import SESSION
from nilometer.operators import frames
from nilometer.operators.limits import check_kept, operator
from nilometer.operators.logic import ID, POSITION, TICK, TIME, Output, Progress, no_evaluations
from nilometer.operators.validation import require
from nilometer.operators.waiting import Waiting
from nilometer.types import INT, MILLISECOND, Schema, Type

_SESSION = "@session"
_FIRST = "@first"
_RUN = "@run"
_ROW = "@row"


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
        return FunctionCall(SESSION, self.alias, self.id_type).schema(self.input)

    def build(self) -> SessionLogic:
        return SessionLogic(self)


class SessionLogic:
    """The open sessions: their keys, first and last times and numbers; and the rows, each with its session."""

    def __init__(self, spec: Session) -> None:
        self.spec = spec
        self._output = frames.stream_dtypes(spec.schema, spec.id_type)
        columns = frames.stream_dtypes(spec.input, spec.id_type)
        self._keys = list(spec.keys) or [ID]
        self._held = {TIME: pl.Int64(), ID: columns[ID]} | frames.dtypes(spec.input)
        self._waiting = Waiting(self._held, gate=TIME)
        self._sessions: frames.Dtypes = {key: columns[key] for key in self._keys} | {
            _FIRST: pl.Int64(),
            TIME: pl.Int64(),
            _SESSION: pl.Int64(),
        }
        self._open = frames.empty(self._sessions)
        self._rows: list[pl.DataFrame] = []
        self._next = 0
        self._saved_open, self._saved_rows = frames.Saved(), frames.Saved()

    def update(self, port: int, rows: pl.DataFrame) -> None:  # noqa: ARG002 - one port
        self._waiting.add(rows)

    @operator("SESSION")
    def advance(self, progress: Progress) -> Output:
        new = self._waiting.release(progress.watermark)
        if new.height:
            self._add(new)
        over = self._open.filter(pl.col(TIME) + self.spec.pause < progress.watermark)
        if not over.height:
            return Output(frames.empty(self._output), no_evaluations())
        self._open = self._open.filter(pl.col(TIME) + self.spec.pause >= progress.watermark)
        rows = self._all_rows()
        ended = pl.col(_SESSION).is_in(over[_SESSION].implode())
        kept = rows.filter(~ended)
        self._rows = [kept] if kept.height else []
        return Output(self._answer(rows.filter(ended), over), no_evaluations())

    def _add(self, new: pl.DataFrame) -> None:
        """Give every new row its session, old or new."""
        check_kept(sum(part.height for part in self._rows) + new.height)
        moments = pl.concat(
            [
                self._open.with_columns(pl.lit(None, pl.Int64).alias(_ROW)),
                new.select(
                    *self._keys,
                    pl.col(TIME).alias(_FIRST),
                    TIME,
                    pl.lit(None, pl.Int64).alias(_SESSION),
                    pl.int_range(pl.len(), dtype=pl.Int64).alias(_ROW),
                ),
            ]
        ).sort(*self._keys, TIME)
        same = pl.all_horizontal(pl.col(key).eq_missing(pl.col(key).shift()) for key in self._keys)
        follows = same & (pl.col(TIME) - pl.col(TIME).shift() <= self.spec.pause)
        first = pl.int_range(pl.len()) == 0
        runs = moments.with_columns((first | ~follows.fill_null(False)).cum_sum().alias(_RUN))
        found = runs.group_by(_RUN, maintain_order=True).agg(
            *(pl.col(key).first() for key in self._keys),
            pl.col(_FIRST).min(),
            pl.col(TIME).max(),
            pl.col(_SESSION).max(),
        )
        number = pl.int_range(pl.len(), dtype=pl.Int64) + self._next
        found = found.with_columns(pl.col(_SESSION).fill_null(number))
        self._next += found.height
        self._open = found.select(*self._sessions)
        of_row = runs.filter(pl.col(_ROW).is_not_null()).join(
            found.select(_RUN, pl.col(_SESSION).alias("@number")), on=_RUN, maintain_order="left"
        )
        numbers = of_row.sort(_ROW).get_column("@number").alias(_SESSION)
        self._rows.append(new.with_columns(numbers))

    def _all_rows(self) -> pl.DataFrame:
        rows = frames.concatenate(self._rows, self._held | {_SESSION: pl.Int64()})
        self._rows = [rows] if rows.height else []
        return rows

    def _answer(self, rows: pl.DataFrame, sessions: pl.DataFrame) -> pl.DataFrame:
        """The rows of sessions that are over, at the sessions' ends."""
        end = pl.col("@end")
        named = zip(self.spec.schema.names, self.spec.input.names, strict=False)
        start, stop, last = self.spec.schema.names[-3:]
        joined = rows.join(
            sessions.select(_SESSION, _FIRST, (pl.col(TIME) + self.spec.pause).alias("@end")),
            on=_SESSION,
            maintain_order="left",
        )
        answer = joined.select(
            end.alias(TICK),
            end.alias(TIME),
            ID,
            pl.lit(None, dtype=pl.Int64).alias(POSITION),
            *(pl.col(old).alias(new) for new, old in named),
            pl.col(_FIRST).alias(start),
            end.alias(stop),
            (end - MILLISECOND).alias(last),
        )
        return frames.conform(answer.sort(TICK, maintain_order=True), self._output)

    def snapshot(self) -> dict[str, bytes]:
        return self._waiting.snapshot("waiting") | {
            "open": self._saved_open(self._open),
            "rows": self._saved_rows(self._all_rows()),
            "meta": json.dumps({"next": self._next}).encode(),
        }

    def restore(self, panes: dict[str, bytes]) -> None:
        self._waiting.restore("waiting", panes)
        self._open = self._saved_open.load(panes["open"])
        rows = self._saved_rows.load(panes["rows"])
        self._rows = [rows] if rows.height else []
        self._next = json.loads(panes["meta"])["next"]
