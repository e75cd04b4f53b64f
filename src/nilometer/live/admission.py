"""Admits a query to a running database, or refuses it, before it hurts anybody (Nile's admission).

A query is refused if its estimated load (optimizer/load.py) exceeds a limit of nilometer.toml (limits.py). The error has
both numbers, and says where the estimate comes from. The laws: a query that was admitted stays so, whatever is measured
later; a query without a known rate is admitted; `force` overrules.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from nilometer.catalog.measured import MeasuredStream, kept
from nilometer.errors import ResourceError
from nilometer.live.limits import Limits, limits_of
from nilometer.live.statistics import measure_log
from nilometer.log import LogDirectory
from nilometer.optimizer.context import OptimizerContext
from nilometer.optimizer.load import Load, load_of
from nilometer.plan import physical
from nilometer.types import format_bytes

if TYPE_CHECKING:
    from nilometer.catalog import Stream
    from nilometer.live.declarations import CompiledQuery, Declarations

GROWN = 1.25
"""A stream whose log has grown by this factor since it was measured is measured again."""


@dataclass(frozen=True)
class _Measured:
    end: int
    found: MeasuredStream | None


class Admission:
    """Asks nilometer.toml each time, so that a limit takes effect without a restart."""

    def __init__(self, database: Declarations, directory: Path) -> None:
        self._database = database
        self._directory = directory
        self._known: dict[str, _Measured] = {}

    def check(
        self, what: str, query: Callable[[], CompiledQuery], running: int, *, force: bool = False
    ) -> None:
        """Refuse a query that asks for too much, beside so many others. `what` is how the error calls it. Without
        limits, the query is not asked for."""
        if force:
            return
        limits = limits_of(self._directory)
        if limits.queries is not None and running >= limits.queries:
            raise ResourceError(
                f"{what} would be one of {running + 1:,} queries, and {limits.queries:,.0f} are allowed",
                detail=f"queries = {limits.queries:g} in [limits] of {limits.place}",
                hint="drop one that nobody needs, raise the limit, or add --force",
            )
        if limits.any:
            self._check_load(what, self.load(query()), limits)

    def load(self, query: CompiledQuery) -> Load:
        """The estimated load of a query: from kept statistics, else from the newest readings, else as declared."""
        statistics = {}
        for key, stream in physical.streams_of(query.physical).items():
            found = kept(self._directory, key) or self._measure(key, stream)
            if found is not None:
                statistics[key] = found
        context = OptimizerContext(self._database.catalog, statistics=statistics)
        return load_of(query.logical, context)

    def _measure(self, key: str, stream: Stream) -> MeasuredStream | None:
        log = LogDirectory(self._directory).log(stream)
        if not log.exists:
            return None
        end, before = log.end.position, self._known.get(key)
        if before is None or end > GROWN * before.end:
            before = self._known[key] = _Measured(end, measure_log(self._directory, stream) if end else None)
        return before.found

    def _check_load(self, what: str, load: Load, limits: Limits) -> None:
        checks = (
            ("rows_in", "read about {} readings/s", load.rows_in, limits.rows_in),
            ("rows_out", "answer about {} rows/s", load.rows_out, limits.rows_out),
            ("state_rows", "hold about {} rows", load.state_rows, limits.state_rows),
            ("state", "hold about {}", load.state_bytes, limits.state),
        )
        for key, text, found, limit in checks:
            if found is not None and limit is not None and found > limit:
                shown = [format_bytes(round(n)) if key == "state" else _number(n) for n in (found, limit)]
                raise ResourceError(
                    f"{what} would {text.format(shown[0])}, and {shown[1]} are allowed",
                    detail=f"{key} in [limits] of {limits.place}; the estimate is {_origin(load)}",
                    hint="narrow the query, raise the limit, or add --force",
                )


def _origin(load: Load) -> str:
    if load.measured:
        return f"made from the measured statistics of {', '.join(load.measured)}"
    return "made from declared intervals: nothing was measured yet"


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
