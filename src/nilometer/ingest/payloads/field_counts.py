"""Counts of what payloads lack and of what they have beyond the declaration.

>>> (FieldCounts(missing={"humid": 2}, looked=1) + FieldCounts({"humid": 1}, {"rssi": 4}, looked=4)).rows()
[('humid', 'no value', 3), ('rssi', 'not declared', 4)]
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

NAMES = 50
"""The most names of undeclared fields that are kept. Others are not counted."""


@dataclass(frozen=True)
class FieldCounts:
    """`missing`: by column, the readings without a value. `unknown`: by field, the messages that had it, among
    those that were `looked` at (a few of each batch). `remarks`: by what is peculiar, the readings."""

    missing: Mapping[str, int] = field(default_factory=dict)
    unknown: Mapping[str, int] = field(default_factory=dict)
    remarks: Mapping[str, int] = field(default_factory=dict)
    looked: int = 0

    def __add__(self, other: FieldCounts) -> FieldCounts:
        return FieldCounts(
            _sum(self.missing, other.missing),
            dict(list(_sum(self.unknown, other.unknown).items())[:NAMES]),
            dict(list(_sum(self.remarks, other.remarks).items())[:NAMES]),
            self.looked + other.looked,
        )

    def __bool__(self) -> bool:
        return bool(self.missing or self.unknown or self.remarks)

    def as_json(self) -> dict[str, Any]:
        """The counts for the log's note."""
        counts = {"missing": self.missing, "unknown": self.unknown, "remarks": self.remarks}
        return {name: dict(found) for name, found in counts.items() if found} | {"looked": self.looked}

    @staticmethod
    def from_json(found: Mapping[str, Any] | None) -> FieldCounts:
        """Read the output of `as_json`."""
        return FieldCounts(**(found or {}))

    def rows(self) -> list[tuple[str, str, int]]:
        """The counts as rows: a field or column, what it is, and how often."""
        return [
            *((name, "no value", count) for name, count in self.missing.items()),
            *((name, "not declared", count) for name, count in self.unknown.items()),
            *(("time", remark, count) for remark, count in self.remarks.items()),
        ]


def _sum(first: Mapping[str, int], second: Mapping[str, int]) -> dict[str, int]:
    total = dict(first)
    for name, count in second.items():
        total[name] = total.get(name, 0) + count
    return total
