"""Statistics that were measured from a stream's readings, as PostgreSQL keeps them of a table: for each column the share
of NULLs, the number of distinct values, the most common values, and an equi-depth histogram of the others.

>>> depth = MeasuredColumn("depth", 0.0, 1_000, (0.0, 10.0, 20.0, 40.0), ())
>>> depth.below(10.0), depth.below(30.0), depth.below(50.0)
(0.3333333333333333, 0.8333333333333333, 1.0)
>>> MeasuredColumn("kind", 0.5, 2, (), (("a", 0.4), ("b", 0.1))).equal("a")
0.4
"""

from __future__ import annotations

import json
from bisect import bisect_right
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

FORMAT = 1
"""The format of kept statistics. Others are measured again."""

PLACE = Path(".nilometer") / "statistics"
"""The folder of a data directory in which statistics are kept."""

Scalar = int | float | str | bool


@dataclass(frozen=True)
class MeasuredColumn:
    """Shares are of all readings. `bounds` divide the values that are not common into parts of equal size, and are
    empty if the column is not of numbers."""

    name: str
    nulls: float
    distinct: int
    bounds: tuple[float, ...]
    common: tuple[tuple[Scalar, float], ...]

    @property
    def rest(self) -> float:
        """The share of readings whose value is neither NULL nor common."""
        return max(0.0, 1.0 - self.nulls - sum(share for _, share in self.common))

    def equal(self, value: Scalar) -> float:
        """The share of readings with this value."""
        for known, share in self.common:
            if known == value and isinstance(known, bool) == isinstance(value, bool):
                return share
        others = self.distinct - len(self.common)
        inside = not self.bounds or isinstance(value, str) or self.bounds[0] <= value <= self.bounds[-1]
        return self.rest / others if others > 0 and inside else 0.0

    def below(self, value: float) -> float:
        """The share of readings with a smaller value, of a column of numbers."""
        common = sum(share for known, share in self.common if not isinstance(known, str) and known < value)
        return common + self.rest * self._part(value)

    def quantile(self, share: float) -> float | None:
        """The least known value that this share of the values does not exceed; None if the column is not of numbers."""
        numbers = [float(known) for known, _ in self.common if not isinstance(known, str | bool)]
        values = sorted({*numbers, *self.bounds})
        if share >= 1.0 or not values:
            return values[-1] if values else None
        present = 1.0 - self.nulls
        enough = (
            value for value in values if self.below(value) + self.equal(value) >= share * present - 1e-9
        )
        return next(enough, values[-1])

    def _part(self, value: float) -> float:
        bounds = self.bounds
        if not bounds or value <= bounds[0]:
            return 0.0
        if value > bounds[-1]:
            return 1.0
        place = min(bisect_right(bounds, value), len(bounds) - 1)
        low, high = bounds[place - 1], bounds[place]
        within = (value - low) / (high - low) if high > low else 1.0
        return (place - 1 + within) / (len(bounds) - 1)


@dataclass(frozen=True)
class MeasuredStream:
    """The newest readings of a stream: `readings` of them, from `since` to `until`, by `sources` sources. `interval` is
    the median time between two readings of one source, `gap` the time that one in a hundred exceeds; None where no
    source has two readings. `received` and `garbled` count all that ever came."""

    stream: str
    readings: int
    sources: int
    since: int | None
    until: int | None
    interval: int | None
    gap: int | None
    received: int
    garbled: int
    columns: tuple[MeasuredColumn, ...]

    @property
    def rate(self) -> float | None:
        """Readings per second of all sources together; None if too little is known."""
        return None if self.interval is None else self.sources * 1_000_000 / max(1, self.interval)

    def column(self, name: str) -> MeasuredColumn | None:
        """The column of that name."""
        return next((column for column in self.columns if column.name.lower() == name.lower()), None)

    def as_json(self) -> bytes:
        """The text that `from_json` reads."""
        return json.dumps({"format": FORMAT, **asdict(self)}).encode()

    @classmethod
    def from_json(cls, data: bytes) -> MeasuredStream | None:
        """The kept statistics; None if they are of another format or cannot be read: they can be measured again."""
        try:
            said: dict[str, Any] = json.loads(data)
            if said.pop("format") != FORMAT:
                return None
            columns = tuple(
                MeasuredColumn(
                    **column
                    | {"bounds": tuple(column["bounds"]), "common": tuple(map(tuple, column["common"]))}
                )
                for column in said.pop("columns")
            )
            return cls(**said, columns=columns)
        except (ValueError, TypeError, KeyError, AttributeError):
            return None


def file_of(stream: str) -> str:
    """The file in which the statistics of a stream are kept."""
    return f"{stream.lower()}.json"


def kept(directory: Path | None, stream: str) -> MeasuredStream | None:
    """The kept statistics of a stream; None if there are none that can be read."""
    if directory is None:
        return None
    try:
        return MeasuredStream.from_json((directory / PLACE / file_of(stream)).read_bytes())
    except OSError:
        return None
