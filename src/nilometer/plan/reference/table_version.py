"""A later version of some stored extents: what their rows are from a tick on (language.md, "Extents": REFRESH EVERY).

Which version a reading, or a window's evaluation, meets depends on its tick alone, not on when it came.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Tables = Mapping[str, Sequence[Mapping[str, Any]]]
"""The rows of stored extents, by lower-case name."""


@dataclass(frozen=True)
class TableVersion:
    """From the tick `holds_from` on these tables are so, until a later version; those that are not named stay as they are."""

    holds_from: int
    tables: Tables


def tables_at(first: Tables, versions: Sequence[TableVersion], tick: int | None) -> Tables:
    """The tables at a tick; without one as they were first.

    >>> later = [TableVersion(10, {"t": [{"k": 2}]})]
    >>> tables_at({"t": [{"k": 1}]}, later, 9)["t"], tables_at({"t": [{"k": 1}]}, later, 10)["t"]
    ([{'k': 1}], [{'k': 2}])
    """
    found = dict(first)
    for version in sorted(versions, key=lambda version: version.holds_from):
        if tick is not None and version.holds_from <= tick:
            found |= version.tables
    return found
