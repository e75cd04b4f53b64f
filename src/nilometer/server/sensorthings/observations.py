"""Reads observations from the logs: filtered, ordered, the first so many, of all or of each sensor.

Segments that a condition on the time leaves out are not read. In the order of time, or of the log, reading ends as
soon as no other segment can have an earlier row. The last value of a sensor needs no reading at all (latest.py).

The law: the rows are those that evaluate.py would choose from a scan of everything (tests compare).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import polars as pl

from nilometer.errors import ResourceError
from nilometer.operators.logic import POSITION
from nilometer.server.sensorthings import columnar, own
from nilometer.server.sensorthings import expressions as ex
from nilometer.server.sensorthings.evaluate import evaluate
from nilometer.server.sensorthings.latest import COUNT, without_doubles
from nilometer.server.sensorthings.looking import look_of, substituted
from nilometer.server.sensorthings.model import Entity, Model
from nilometer.server.sensorthings.observation import Row, datastream_of, entity_of
from nilometer.server.sensorthings.observation_columns import columns_of
from nilometer.server.sensorthings.segments import Order, enough, height_of, segments_of
from nilometer.server.sensorthings.selection import Part

SCAN_ROWS = 100_000_000
"""The most rows that one request reads."""
SLOW_ROWS = 200_000
"""The most rows that are evaluated one by one."""
GATHERED = 65_536
"""Rows are sorted and cut when more than this, and twice the wanted number, have come together."""


class Budget:
    """How much a request may still read."""

    def __init__(self) -> None:
        self._left, self._slow = SCAN_ROWS, SLOW_ROWS

    def read(self, rows: int) -> None:
        """Count rows that were read."""
        self._left -= rows
        if self._left < 0:
            raise ResourceError(
                f"this request would read more than {SCAN_ROWS:,} readings",
                hint="ask for a range: $filter=phenomenonTime ge 2026-03-01T00:00:00Z",
            )

    def evaluated(self, rows: int) -> None:
        """Count rows that are evaluated one by one."""
        self._slow -= rows
        if self._slow < 0:
            raise ResourceError(
                f"this condition is evaluated one by one, and there are more than {SLOW_ROWS:,} readings",
                hint="add a condition on phenomenonTime or result, which is evaluated by columns",
            )


class Reader:
    """Reads for one request."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self.budget = Budget()

    # ---- what the answer needs ---------------------------------------------------------------------------------------

    def rows(
        self,
        part: Part,
        condition: ex.Expression | None,
        order: Order,
        need: int,
        *,
        each: bool = False,
        start: int = 0,
    ) -> list[Row]:
        """The first `need` rows of a part, or of `each` of its sensors, from the position `start` on."""
        if part.sensors == () or need <= 0:
            return []
        if (
            need == 1
            and order.time
            and order.descending
            and condition is None
            and part.feature is None
            and part.sensors
        ):
            found = self._last(part)
            return found if each else sorted(found, key=lambda row: (row.time, row.position))[-1:]
        found = []
        for narrower, residual in self.narrowed(part, condition):
            found += self._read(narrower, residual, order, need, each, start)
        return found

    def count(self, part: Part, condition: ex.Expression | None) -> int:
        """How many rows a part has."""
        if condition is None and part.feature is None:
            latest, measure = part.source.latest, part.column or own.RESULT
            if part.sensors is None:
                return latest.total(measure)
            return sum(latest.fact(measure, sensor, COUNT) or 0 for sensor in part.sensors)
        return sum(
            rows.height
            for narrower, residual in self.narrowed(part, condition)
            for rows in self._frames(narrower, residual, Order(), 0)
        )

    def counts(self, part: Part, condition: ex.Expression | None) -> dict[Any, int]:
        """How many rows each sensor of a part has."""
        assert part.sensors is not None
        if condition is None:
            latest, measure = part.source.latest, part.column or own.RESULT
            return {sensor: latest.fact(measure, sensor, COUNT) or 0 for sensor in part.sensors}
        found = dict.fromkeys(part.sensors, 0)
        for narrower, residual in self.narrowed(part, condition):
            for rows in self._frames(narrower, residual, Order(), 0):
                for sensor, count in rows.get_column(part.source.latest.id).value_counts().iter_rows():
                    found[sensor] += count
        return found

    def narrowed(
        self, part: Part, condition: ex.Expression | None
    ) -> Iterator[tuple[Part, ex.Expression | None]]:
        """The part, divided by what its condition means for each of its Datastreams."""
        far = condition is not None and any(path.parts[0] in FAR for path in ex.paths_of(condition))
        if condition is None or not far:
            yield part, condition
            return
        sensors = part.source.ids.values() if part.sensors is None else part.sensors
        groups: dict[str, tuple[ex.Expression, list[Any]]] = {}
        for sensor in sensors:
            residual = substituted(self._model, datastream_of(part, sensor), condition)
            if isinstance(residual, ex.Literal) and residual.value is not True:
                continue
            groups.setdefault(repr(residual), (residual, []))[1].append(sensor)
        for residual, members in groups.values():
            kept = None if isinstance(residual, ex.Literal) else residual
            yield replace(part, sensors=tuple(members)), kept

    def entity(self, row: Row) -> Entity:
        """The Observation of a row."""
        return entity_of(self._model, row)

    # ---- reading -----------------------------------------------------------------------------------------------------

    def _last(self, part: Part) -> list[Row]:
        latest, measure = part.source.latest, part.column or own.RESULT
        found = []
        for sensor in part.sensors or ():
            last = latest.last(measure, sensor)
            if last is not None:
                found.append(Row(part, sensor, last.pop(latest.time), last.pop(POSITION), last))
        return found

    def _read(
        self, part: Part, condition: ex.Expression | None, order: Order, need: int, each: bool, start: int
    ) -> list[Row]:
        gathered: list[pl.DataFrame] = []
        height = 0
        most = need * (len(part.sensors) if each and part.sensors else 1)
        wanted = self._wanted(part, condition, need) if each else None
        for rows in self._frames(part, condition, order, start, gathered, need, wanted):
            gathered.append(rows)
            height += rows.height
            if height > max(GATHERED, 2 * most):
                gathered[:] = [self._first(part, pl.concat(gathered), order, need, each)]
                height = gathered[0].height
        if not gathered:
            return []
        chosen = self._first(part, pl.concat(gathered), order, need, each)
        latest = part.source.latest
        return [
            Row(part, row.pop(latest.id), row.pop(latest.time), row.pop(POSITION), row)
            for row in chosen.iter_rows(named=True)
        ]

    def _wanted(self, part: Part, condition: ex.Expression | None, need: int) -> dict[Any, int] | None:
        """How many rows each sensor will have; None if that is not known before they are read."""
        if condition is not None or part.feature is not None or part.sensors is None:
            return None
        return {sensor: min(need, count) for sensor, count in self.counts(part, None).items() if count}

    def _first(self, part: Part, rows: pl.DataFrame, order: Order, need: int, each: bool) -> pl.DataFrame:
        latest = part.source.latest
        if not order.keys:
            rows = rows.sort(POSITION)
        else:
            columns = columns_of(part)
            keys: list[pl.Expr] = []
            descending: list[bool] = []
            for expression, down in order.keys:
                found = columnar.key(expression, columns)
                if found is None:
                    return self._first_slowly(part, rows, order, need, each)
                keys += found
                descending += [down] * len(found)
            # As columns: a constant is as long as the frame.
            names = [f"@key{place}" for place in range(len(keys))]
            rows = (
                rows.with_columns(key.alias(name) for key, name in zip(keys, names, strict=True))
                .sort(
                    [*names, POSITION],
                    descending=[*descending, order.descending],
                    nulls_last=[*descending, False],
                )
                .drop(names)
            )
        return _head(rows, latest.id if each else None, need)

    def _first_slowly(
        self, part: Part, rows: pl.DataFrame, order: Order, need: int, each: bool
    ) -> pl.DataFrame:
        from nilometer.server.sensorthings.ordering import sorted_by

        self.budget.evaluated(rows.height)
        latest = part.source.latest
        rows = rows.sort(POSITION, descending=order.descending)
        places = sorted_by(
            self._model,
            list(enumerate(self._entities(part, rows))),
            order.keys,
            lambda pair: pair[1],
        )
        rows = rows[[place for place, _ in places]]
        return _head(rows, latest.id if each else None, need)

    def _entities(self, part: Part, rows: pl.DataFrame) -> list[Entity]:
        latest = part.source.latest
        return [
            entity_of(
                self._model, Row(part, row.pop(latest.id), row.pop(latest.time), row.pop(POSITION), row)
            )
            for row in rows.iter_rows(named=True)
        ]

    def _frames(
        self,
        part: Part,
        condition: ex.Expression | None,
        order: Order,
        start: int,
        gathered: Sequence[pl.DataFrame] = (),
        need: int | None = None,
        wanted: dict[Any, int] | None = None,
    ) -> Iterator[pl.DataFrame]:
        """The rows that hold, segment by segment; until `gathered` has what is needed."""
        latest = part.source.latest
        times = ("phenomenonTime",) if part.column is None else ("phenomenonTime", "resultTime")
        low, high = (None, None) if condition is None else columnar.time_bounds(condition, times)
        test = None if condition is None else columnar.condition(condition, columns_of(part))
        kept = latest.measures[part.column or own.RESULT].kept
        names = [POSITION, latest.time, latest.id, *kept]
        by_time = order.time
        each = wanted is not None
        for segment in segments_of(latest.log, by_time, order.descending):
            if segment.end is not None and segment.end <= start:
                continue
            if (low is not None and segment.greatest is not None and segment.greatest < low) or (
                high is not None and segment.least is not None and segment.least >= high
            ):
                continue
            if need is not None and enough(gathered, latest, order, need, wanted, segment):
                return
            for frame in latest.log.scan(max(start, segment.position), names, on_damage=lambda _: None):
                self.budget.read(frame.height)
                last = int(frame.get_column(POSITION)[-1])
                if segment.end is not None and last >= segment.end:
                    frame = frame.filter(pl.col(POSITION) < segment.end)
                yield from self._held(part, frame, condition, test, low, high)
                if segment.end is not None and last + 1 >= segment.end:
                    break
                if not order.keys and need is not None and not each and height_of(gathered) >= need:
                    return

    def _held(
        self,
        part: Part,
        frame: pl.DataFrame,
        condition: ex.Expression | None,
        test: pl.Expr | None,
        low: int | None,
        high: int | None,
    ) -> Iterator[pl.DataFrame]:
        latest = part.source.latest
        tests: list[pl.Expr] = [pl.col(latest.id).is_not_null()]
        if part.sensors is not None:
            if len(part.sensors) == 1:
                tests = [pl.col(latest.id) == part.sensors[0]]
            else:
                tests = [
                    pl.col(latest.id).is_in(pl.Series(part.sensors, dtype=frame.schema[latest.id]).implode())
                ]
        if part.column is not None:
            tests.append(pl.col(part.column).is_not_null())
        if part.feature is not None:
            tests.append(pl.col("feature") == part.feature)
        if low is not None:
            tests.append(pl.col(latest.time) >= low)
        if high is not None:
            tests.append(pl.col(latest.time) < high)
        if test is not None:
            tests.append(test)
        rows = without_doubles(latest.log, frame.filter(tests))
        if condition is not None and test is None and rows.height:
            self.budget.evaluated(rows.height)
            holds = [
                evaluate(condition, look_of(self._model, entity)) is True
                for entity in self._entities(part, rows)
            ]
            rows = rows.filter(pl.Series(holds, dtype=pl.Boolean))
        if rows.height:
            yield rows


def _head(rows: pl.DataFrame, by: str | None, need: int) -> pl.DataFrame:
    """The first rows, of all or by a column."""
    if by is None:
        return rows.head(need)
    return rows.group_by(by, maintain_order=True).head(need).select(rows.columns)


FAR = ("Datastream", "FeatureOfInterest")
"""The links of an Observation."""
