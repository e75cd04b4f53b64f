"""The differences between a file and its stream: where in the file the columns are, and how it is written."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import polars as pl

from nilometer.catalog.form import PLAIN, Form
from nilometer.catalog.json_path import Path, is_path, parse_path
from nilometer.ingest.readers.reading import RawFile, match_columns
from nilometer.ingest.readers.values import read_values
from nilometer.types import INT, Column


@dataclass(frozen=True)
class FileForm:
    """Columns with other names (file's -> stream's), times in nanoseconds, and the form that was declared."""

    renamed: Mapping[str, str] = field(default_factory=dict)
    nanoseconds: bool = False
    declared: Form = PLAIN

    def in_file(self, name: str) -> str:
        """The file's name for a column of the stream; for a path, its first field."""
        found = next((there for there, here in self.renamed.items() if here.lower() == name.lower()), None)
        return found if found is not None else _path_of(self.declared, name)[0]

    def columns_in_file(self, columns: tuple[Column, ...]) -> tuple[Column, ...]:
        """The stream's columns, named as in the file."""
        return tuple(Column(self.in_file(c.name), c.type, c.unit) for c in columns)

    def shaped(self, raw: RawFile, columns: tuple[Column, ...]) -> RawFile:
        """The file's columns, named as in the stream, with times in microseconds."""
        if not raw.mapped:
            raw = self._picked(raw, columns)
        found = raw.columns
        other = self.declared.sole_time
        own = next((name for name in found.columns if name.lower() == "time"), None)
        if other in found.columns and (own is None or raw.mapped):
            # The only TIME column is the time of a file, or of a message, without a field `time`.
            time = (
                found[other] if own is None else found[own].zip_with(found[own].is_not_null(), found[other])
            )
            found = found.with_columns(time.alias(own or "time"))
            raw = replace(raw, columns=found, names=(*raw.names, own or "time"))
        if self.nanoseconds and "time" in found.columns:
            found = found.with_columns(read_values(found["time"], INT).values // 1_000)
        return replace(raw, columns=found)

    def _picked(self, raw: RawFile, columns: tuple[Column, ...]) -> RawFile:
        taken: dict[str, str] = {}
        picked: dict[str, pl.Series] = {}
        for column in columns:
            there = self.in_file(column.name)
            matched = match_columns([Column(there, column.type)], raw.columns.columns).get(there)
            if matched is None:
                continue
            rest = () if there in self.renamed else _path_of(self.declared, column.name)[1]
            value = nested(raw.columns[matched], rest)
            if value is not None:
                picked[column.name] = value.alias(column.name)
                if matched.strip().lower() != column.name.lower():
                    taken[matched] = column.name
        if not picked:
            return raw
        names = tuple(taken.get(name, name) for name in raw.names)
        return replace(raw, columns=pl.DataFrame(list(picked.values())), names=names)


def _path_of(form: Form, name: str) -> tuple[str, Path]:
    """The field of a flat record that a column is in, and the steps from there."""
    origin = form.origin(name)
    if origin is None or not is_path(origin):
        return origin or name, ()
    path = parse_path(origin)
    return (str(path[0]), path[1:]) if path and isinstance(path[0], str) else (origin, ())


def nested(values: pl.Series, path: Path) -> pl.Series | None:
    """The values at a path inside structs and lists; None if the column has no such structure."""
    for step in path:
        match values.dtype:
            case pl.Struct() as struct if isinstance(step, str) and step in {f.name for f in struct.fields}:
                values = values.struct.field(step)
            case pl.List() if isinstance(step, int):
                values = values.list.get(step, null_on_oob=True)
            case _:
                return None
    return values
