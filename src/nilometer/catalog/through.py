"""The unit through which a stream's readings come before they are in its log: THROUGH form_spectra(energy WITH (16)).

>>> through = Through("form_spectra", "spectra:FormSpectra", "energy FLOAT", (16.0,))
>>> [str(column) for column in through.columns], Through.from_json(through.as_json()) == through
(['energy FLOAT'], True)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from nilometer.algebra.table_functions.unit import given_columns
from nilometer.types import Column


@dataclass(frozen=True, slots=True)
class Through:
    """`name` is as it was written, `unit` the `module:Class`, `takes` the columns of the readings that arrive, besides time
    and id; `numbers` are those of WITH."""

    name: str
    unit: str
    takes: str
    numbers: tuple[float, ...] = ()

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns that the unit takes."""
        return given_columns(self.takes)

    def as_json(self) -> dict[str, Any]:
        """All of it, as JSON."""
        return {"name": self.name, "unit": self.unit, "takes": self.takes, "numbers": list(self.numbers)}

    @staticmethod
    def from_json(found: dict[str, Any]) -> Through:
        """Read the output of `as_json`."""
        return Through(**{**found, "numbers": tuple(found["numbers"])})
