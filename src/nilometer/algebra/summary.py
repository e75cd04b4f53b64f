"""The columns of a summary: a row that stands for several readings of one sensor (docs/decisions/
20261118-summaries-from-sensors.md)."""

from __future__ import annotations

FROM, OF, READINGS = "@from", "@of", "@readings"
"""Columns of a summary besides its id and time: after which moment its readings begin, the token of what it was made
from, and how many readings it stands for."""

WHOLE = "@whole"
"""Whether all readings of a summary lie behind the query's start. The door adds it."""

PARTS = ("count", "sum", "low", "min", "max")
"""What a summary may know of a column. `sum` + `low` is the sum of FLOATs, in two doubles; `low` of INTs is 0."""
