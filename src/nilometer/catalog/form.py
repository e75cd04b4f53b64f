"""The form of an extent's data, where it differs from the declaration: the fields that the columns come from, the
array that holds the readings, and how text is written.

>>> form = Form(
...     origins=(("temp", "$.DS18B20.Temperature"), ("time", "ts_utc")), format=Format("CSV", delimiter=";")
... )
>>> form.origin("TEMP"), form.origin("id"), Form.from_json(form.as_json()) == form
('$.DS18B20.Temperature', None, True)
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from nilometer.catalog.through import Through

KINDS = ("CSV", "JSON")
"""The formats that have options."""


@dataclass(frozen=True, slots=True)
class Format:
    """`FORMAT CSV (...)` or `FORMAT JSON (...)`. None and 0 leave a choice to the reader.

    `time_format` has strftime's directives. `timezone` is the IANA name of the zone of times that name none.
    `nulls` are texts that stand for NULL. An empty `quote` means that quotes are ordinary characters.
    `clock` is the field of a file that has the times of day, where the field of the time has the dates.
    """

    kind: str
    header: bool | None = None
    delimiter: str | None = None
    quote: str | None = None
    decimal: str | None = None
    skip: int = 0
    encoding: str | None = None
    time_format: str | None = None
    timezone: str | None = None
    nulls: tuple[str, ...] = ()
    clock: str | None = None


@dataclass(frozen=True, slots=True)
class Form:
    """`origins`: (column in lower case, field or JSON path). `each`: the path of the array whose items are the
    readings of a message. `sole_time`: the column that gives the time of data without a field `time`. `through`: the unit
    before the log, which takes other columns than the stream has."""

    origins: tuple[tuple[str, str], ...] = ()
    each: str | None = None
    format: Format | None = None
    sole_time: str | None = None
    through: Through | None = None

    def origin(self, column: str) -> str | None:
        """The field or path that a column was declared FROM."""
        return next((text for name, text in self.origins if name == column.lower()), None)

    def as_json(self) -> dict[str, Any] | None:
        """The form as JSON, without what is not given; None for the plain form."""
        found: dict[str, Any] = {"each": self.each, "sole_time": self.sole_time}
        if self.origins:
            found["origins"] = [list(pair) for pair in self.origins]
        if self.through is not None:
            found["through"] = self.through.as_json()
        if self.format is not None:
            found["format"] = {
                name: value for name, value in asdict(self.format).items() if value not in (None, ())
            }
        return {name: value for name, value in found.items() if value is not None} or None

    @staticmethod
    def from_json(found: dict[str, Any] | None) -> Form:
        """Read the output of `as_json`."""
        if not found:
            return PLAIN
        format = found.get("format")
        if format is not None:
            format = Format(**{**format, "nulls": tuple(format.get("nulls", ()))})
        return Form(
            tuple((name, text) for name, text in found.get("origins", ())),
            found.get("each"),
            format,
            found.get("sole_time"),
            Through.from_json(found["through"]) if "through" in found else None,
        )


PLAIN = Form()
"""Columns are found by their names, and everything else is recognised."""
