"""A later version of stored extents: their rows from a tick on (language.md, "Extents": REFRESH EVERY).

The tick of a reading or of a window's evaluation alone decides which version it is joined with, not its
arrival.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Tables = Mapping[str, Sequence[Mapping[str, Any]]]
"""The rows of stored extents, by lower-case name."""


@dataclass(frozen=True)
class TableVersion:
    """The content of these tables from the tick `holds_from` until a later version. Other tables do not
    change."""

    holds_from: int
    tables: Tables


def tables_at(first: Tables, versions: Sequence[TableVersion], tick: int | None) -> Tables:
    """The tables as of a tick; without a tick, their first version.

    >>> later = [TableVersion(10, {"t": [{"k": 2}]})]
    >>> tables_at({"t": [{"k": 1}]}, later, 9)["t"], tables_at({"t": [{"k": 1}]}, later, 10)["t"]
    ([{'k': 1}], [{'k': 2}])
    """
    found = dict(first)
    for version in sorted(versions, key=lambda version: version.holds_from):
        if tick is not None and version.holds_from <= tick:
            found |= version.tables
    return found
