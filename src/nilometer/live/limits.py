"""What one query may ask of the owner of a data directory: the table [limits] of nilometer.toml.

    [limits]
    queries = 10_000        # standing queries and queries of clients at a time
    rows_in = 50_000        # readings a second that a query may read
    rows_out = 1_000        # rows a second that it may answer
    state_rows = 5_000_000  # rows that it may hold in its windows and joins
    state = "500MB"         # and their size

A limit that is not there does not limit.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path

from nilometer.catalog.near_misses import near_misses
from nilometer.errors import ConfigurationError
from nilometer.memory import size_of
from nilometer.settings_file import settings_of

SECTION = "limits"


@dataclass(frozen=True)
class Limits:
    """None: no limit."""

    queries: float | None = None
    rows_in: float | None = None
    rows_out: float | None = None
    state_rows: float | None = None
    state: float | None = None
    place: str = "nilometer.toml"

    @property
    def any(self) -> bool:
        """Whether there is a limit on the load of a query."""
        return any(limit is not None for limit in (self.rows_in, self.rows_out, self.state_rows, self.state))


NAMES = tuple(field.name for field in fields(Limits) if field.name != "place")


def limits_of(directory: Path | None) -> Limits:
    """The limits of a data directory, as they are now."""
    whole, path = settings_of(directory)
    given = whole.get(SECTION, {})
    if not isinstance(given, dict):
        raise ConfigurationError(
            f"[{SECTION}] in {path} is no table", hint="write [limits], then rows_out = 1000"
        )
    found: dict[str, float] = {}
    for name, value in given.items():
        if name not in NAMES:
            raise ConfigurationError(
                f"there is no limit '{name}'", detail=f"in {path}", hint=near_misses(name, NAMES)
            )
        if name == "state" and isinstance(value, str):
            value = size_of(value)
        if isinstance(value, bool) or not isinstance(value, int | float) or not value > 0:
            raise ConfigurationError(
                f"the limit '{name}' is {value!r}, and must be a number above 0", detail=f"in {path}"
            )
        found[name] = value
    return Limits(**found, place=str(path or "nilometer.toml"))
