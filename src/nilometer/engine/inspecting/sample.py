"""The data that an inspection looks at, before any type is known, with all that its form says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import polars as pl


@dataclass(frozen=True)
class Sample:
    """Rows in the order of the file or of arrival.

    `columns` are named as in the data, or by the last key of a JSON path; `origins` has the field or path of
    columns that are not fields of that name. `options` are those of FORMAT CSV that the data need. `each` is the
    path of the array that holds the readings. `topic` names the column that the topics of messages give.
    """

    name: str
    label: str
    columns: pl.DataFrame
    origins: Mapping[str, str] = field(default_factory=dict)
    options: Mapping[str, str] = field(default_factory=dict)
    each: str | None = None
    url: str | None = None
    arrived: pl.Series | None = None
    topic: str | None = None
    home: Path | None = None
    remarks: tuple[str, ...] = ()
