"""SILENT: a stream -> `(time, id, state, last_time)`, a row when a sensor falls silent and one when it
returns.

    heard at t, next at u > t + d:  (t + d, id, 'silent', t)  and  (u, id, 'returned', t)

A tuple without an id belongs to no sensor. A declared sensor is expected from the stream's first tick on,
even if it was never heard; its last_time is then NULL. An event at time e is certain when every tuple of a
time up to e has arrived, so its row waits until e < watermark. The state is each sensor's last time, and the
tuples beyond the watermark.

>>> logic = Silent(10, "s", sensors=frozenset({1, 2})).build()
>>> rows = [(0, 0, 1, 0), (30, 30, 1, 1)]  # tick, time, id, position: sensor 2 is never heard
>>> logic.update(0, pl.DataFrame(rows, frames.stream_dtypes(Schema(())), orient="row"))
>>> logic.advance(Progress(watermark=35, first_tick=0)).rows.select("^s[.].*$").rows()
[(10, 1, 'silent', 0), (10, 2, 'silent', None), (30, 1, 'returned', 0)]
"""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from nilometer.algebra.table_function import FunctionCall
from nilometer.algebra.table_functions import SILENT
from nilometer.operators import frames
from nilometer.operators.limits import operator
from nilometer.operators.logic import ID, POSITION, TICK, TIME, Output, Progress, no_evaluations
from nilometer.operators.validation import require
from nilometer.operators.waiting import Waiting
from nilometer.types import INT, Schema, Type

_HEARD = "@heard"  # false for the moment from which a sensor is expected
_TOLD = "@told"  # whether the silence after this moment was reported
_GAP = "@gap"


@dataclass(frozen=True)
class Silent:
    """Reports sensors not heard for `duration` microseconds. `sensors` are the declared ones. The columns are
    `alias.time` and so on.
    """

    duration: int
    alias: str
    id_type: Type = INT
    sensors: frozenset[int | str] = frozenset()

    def __post_init__(self) -> None:
        require(self.duration > 0, "SILENT for no time")

    @classmethod
    def of(cls, call: FunctionCall, _input: Schema) -> Silent:
        """Returns the operator of a call."""
        duration = call["FOR"]
        assert isinstance(duration, int)
        return cls(duration, call.alias, call.id_type.plain, call.sensors)

    @property
    def schema(self) -> Schema:
        """`alias.time`, `alias.id`, `alias.state`, `alias.last_time`."""
        return FunctionCall(SILENT, self.alias, self.id_type).schema(Schema(()))

    def build(self) -> SilentLogic:
        return SilentLogic(self)


class SilentLogic:
    """Per sensor, its last moment (`@time`), whether it was heard then, and whether its silence since was
    reported.
    """

    def __init__(self, spec: Silent) -> None:
        self._spec = spec
        self._columns = frames.stream_dtypes(spec.schema, spec.id_type)
        heard = {ID: self._columns[ID], TIME: pl.Int64()}
        self._waiting = Waiting(heard, gate=TIME)
        self._moments: frames.Dtypes = heard | {_HEARD: pl.Boolean(), _TOLD: pl.Boolean()}
        self._last = frames.empty(self._moments)
        self._saved = frames.Saved()
        self._due: int | None = None
        self._expecting = bool(spec.sensors)

    def update(self, port: int, rows: pl.DataFrame) -> None:  # noqa: ARG002 - one port
        self._waiting.add(rows.drop_nulls(ID))

    @operator("SILENT")
    def advance(self, progress: Progress) -> Output:
        heard = self._waiting.release(progress.watermark)
        first = progress.first_tick
        expected = self._expecting and first is not None and first < progress.watermark
        if not heard.height and not expected and (self._due is None or progress.watermark <= self._due):
            return Output(frames.empty(self._columns), no_evaluations())
        moments = heard.with_columns(pl.lit(True).alias(_HEARD), pl.lit(False).alias(_TOLD))
        known = [self._last, moments]
        if expected and first is not None:
            # By now every extent below has been heard, so the first tick cannot change any more.
            known.insert(0, self._expected(first))
            self._expecting = False
        ordered = self._with_gaps(pl.concat(known), progress.watermark)
        last = pl.when(pl.col(_HEARD)).then(pl.col(TIME))
        silent = ordered.filter(pl.col(_GAP) & ~pl.col(_TOLD)).select(
            (pl.col(TIME) + self._spec.duration).alias(TICK),
            ID,
            pl.lit("silent").alias("@state"),
            last.alias("@last"),
        )
        returned = ordered.filter(pl.col(_GAP) & pl.col("@next").is_not_null()).select(
            pl.col("@next").alias(TICK), ID, pl.lit("returned").alias("@state"), last.alias("@last")
        )
        self._last = (
            ordered.filter(pl.col("@next").is_null())
            .with_columns((pl.col(_TOLD) | pl.col(_GAP)).alias(_TOLD))
            .select(*self._moments)
        )
        self._due = self._next_silence()
        return Output(self._rows(pl.concat([silent, returned])), no_evaluations())

    def _next_silence(self) -> int | None:
        """Returns when the next sensor falls silent if none is heard before, or None if all known sensors are
        silent.
        """
        moment: int | None = self._last.filter(~pl.col(_TOLD))[TIME].min()  # type: ignore[assignment]
        return None if moment is None else moment + self._spec.duration

    def _expected(self, since: int) -> pl.DataFrame:
        """Returns the declared sensors, as if each had been due at the stream's first tick."""
        sensors = pl.Series(ID, sorted(self._spec.sensors), dtype=self._moments[ID])
        return sensors.to_frame().select(
            ID,
            pl.lit(since, dtype=pl.Int64).alias(TIME),
            pl.lit(False).alias(_HEARD),
            pl.lit(False).alias(_TOLD),
        )

    def _with_gaps(self, moments: pl.DataFrame, watermark: int) -> pl.DataFrame:
        """Returns each sensor's moments in order, with the next moment and whether a silence lies in
        between.
        """
        # A moment at which a sensor was only expected comes before all at which it was heard, whatever its
        # time.
        ordered = moments.sort(ID, _HEARD, TIME)
        same = pl.col(ID).eq_missing(pl.col(ID).shift(-1)) & (
            pl.int_range(pl.len(), dtype=pl.Int64) < pl.len() - 1
        )
        following = pl.when(same).then(pl.col(TIME).shift(-1))
        return ordered.with_columns(
            following.alias("@next"),
            (following.fill_null(watermark) > pl.col(TIME) + self._spec.duration).alias(_GAP),
        )

    def _rows(self, events: pl.DataFrame) -> pl.DataFrame:
        time, id_, state, last_time = self._spec.schema.names
        rows = events.sort(TICK, ID, "@state", descending=[False, False, True]).select(
            TICK,
            pl.col(TICK).alias(TIME),
            ID,
            pl.lit(None, dtype=pl.Int64).alias(POSITION),
            pl.col(TICK).alias(time),
            pl.col(ID).alias(id_),
            pl.col("@state").alias(state),
            pl.col("@last").alias(last_time),
        )
        return frames.conform(rows, self._columns)

    def snapshot(self) -> dict[str, bytes]:
        return self._waiting.snapshot("waiting") | {
            "last": self._saved(self._last),
            "expecting": b"yes" if self._expecting else b"no",
        }

    def restore(self, panes: dict[str, bytes]) -> None:
        self._waiting.restore("waiting", panes)
        self._last = self._saved.load(panes["last"])
        self._expecting = panes["expecting"] == b"yes"
        self._due = self._next_silence()
