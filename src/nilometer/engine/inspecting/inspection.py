"""Looks at data: which column is the time, which tells sensors apart, how regular and how sound the readings are.

The result is a declaration that could stand in schema.sql, with what was found as comments above it.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import polars as pl

from nilometer.algebra.places import degrees_among
from nilometer.engine.inferred import ID_NAMES, id_column
from nilometer.engine.inspecting.declaration import declaration, table_declaration
from nilometer.engine.inspecting.fields import Field, find_field
from nilometer.engine.inspecting.from_files import is_address, sample_of_files
from nilometer.engine.inspecting.listening import sample_of_address
from nilometer.engine.inspecting.rhythm import MEASURED, Rhythm, rhythm_of
from nilometer.engine.inspecting.sample import Sample
from nilometer.engine.inspecting.times import Times, find_times
from nilometer.errors import DataError
from nilometer.ingest.readers.files import has_leading_zeros
from nilometer.language import ast, parse
from nilometer.types import STRING, Column, Kind, format_duration, format_time

CONSTANT = 5
"""Of how many columns it is said that they always have the same value."""


@dataclass(frozen=True)
class Inspection:
    """The findings: the name of the stream or table, its declaration, and sentences about the data."""

    name: str
    declaration: str
    facts: tuple[str, ...]
    home: Path | None = None
    table: bool = False

    def text(self) -> str:
        """The declaration with the facts as comments."""
        return "\n".join([*(f"-- {fact}" for fact in self.facts), self.declaration]) + "\n"

    def as_dict(self) -> dict[str, Any]:
        """The same for JSON."""
        return {
            "table" if self.table else "stream": self.name,
            "declaration": self.declaration,
            "facts": list(self.facts),
        }


def inspect(
    source: str, *, messages: int = 200, seconds: float = 10.0, into: Path | None = None
) -> Inspection:
    """Look at a file, a directory, a pattern or an address. Of an address, so many messages are awaited, for so
    many seconds at most. The declaration is for the directory `into`, or that of the files."""
    sample = sample_of_address(source, messages, seconds) if is_address(source) else sample_of_files(source)
    return inspect_sample(sample, into)


def inspect_sample(sample: Sample, into: Path | None = None) -> Inspection:
    """The proposal for a sample."""
    rows = sample.columns
    if not rows.height:
        raise DataError(f"'{sample.label}' has no rows to look at", hint="look at data with a few readings")
    times = find_times(rows)
    if times is None and sample.arrived is None:
        return _table(sample, into)
    moments = times.values if times is not None else sample.arrived
    assert moments is not None
    taken = () if times is None else (times.column, times.clock)
    others = [name for name in rows.columns if name not in taken and name.strip()]
    fields = {name: field for name in others if (field := find_field(rows[name])) is not None}
    source = _source(sample, fields, moments)
    if source is not None and source in fields and has_leading_zeros(rows[source]):
        fields[source] = replace(fields[source], type=STRING, unit=None)
    rhythm = rhythm_of(moments, None if source is None else rows[source], rows)
    if rhythm is None:
        raise DataError(f"no row of '{sample.label}' has a time that can be read")
    text = declaration(sample, times, source, list(fields.values()), rhythm)
    facts = (
        *_facts(sample, times, source, rhythm),
        *_remarks(list(fields.values())),
        *_places(sample.name, text),
    )
    return Inspection(sample.name, text, (*facts, *sample.remarks), sample.home)


def _table(sample: Sample, into: Path | None) -> Inspection:
    """The proposal for rows without a time."""
    rows, home = sample.columns, sample.home or Path()
    names = [name for name in rows.columns if name.strip()]
    fields = [field for name in names if (field := find_field(rows[name])) is not None]
    if not fields:
        raise DataError(
            f"'{sample.label}' has no column that a table can hold",
            detail=f"its columns are {', '.join(rows.columns)}",
        )
    place = os.path.relpath(home / sample.label, into or home)
    facts = (
        f"{sample.label}: {rows.height} rows",
        "no column looks like the time of a reading (ISO-8601, a number since 1970, or a format such as"
        " 31/12/2026 17:05), so it is a table",
        *_remarks(fields),
    )
    text = table_declaration(sample, fields, place)
    return Inspection(sample.name, text, (*facts, *sample.remarks), sample.home, table=True)


def _remarks(fields: list[Field]) -> list[str]:
    """The remarks on the columns; of many that always have the same value, the first few are named."""
    remarks = [remark for field in fields for remark in field.remarks]
    constant = [remark for remark in remarks if " is always " in remark]
    left_out = constant[CONSTANT:] if len(constant) > CONSTANT + 1 else []
    more = [f"{len(left_out)} more columns always have the same value"] if left_out else []
    return [remark for remark in remarks if remark not in left_out] + more


def _source(sample: Sample, fields: dict[str, Field], moments: pl.Series) -> str | None:
    """The column that tells sensors apart: that of the topics, one with a usual name, or the one with which a
    time is there only once."""
    if sample.topic is not None:
        return sample.topic
    columns = tuple(Column(field.name, field.type) for field in fields.values())
    named = id_column(columns)
    if named is not None and named.type.kind in (Kind.INT, Kind.STRING):
        return named.name
    known = pl.DataFrame({"time": moments}).with_columns(sample.columns[name] for name in fields)
    distinct = known["time"].n_unique()
    if distinct >= 0.98 * known.height:
        return None
    best: tuple[float, str] | None = None
    for field in fields.values():
        if field.type.kind not in (Kind.INT, Kind.STRING) or field.name.lower() in ID_NAMES:
            continue
        values = known[field.name].n_unique()
        if not 1 < values <= known.height // 3:
            continue
        share = known.unique(["time", field.name]).height / known.height
        if share >= 0.98 and (best is None or share > best[0]):
            best = share, field.name
    return None if best is None else best[1]


def _facts(sample: Sample, times: Times | None, source: str | None, rhythm: Rhythm) -> list[str]:
    span = f"{format_time(rhythm.first)} to {format_time(rhythm.last)}"
    sensors = (
        f"{rhythm.sensors} sensor{'' if rhythm.sensors == 1 else 's'}" if source is not None else "no id"
    )
    facts = [f"{sample.label}: {rhythm.rows} reading{'' if rhythm.rows == 1 else 's'}, {sensors}, {span}"]
    if times is not None and times.clock is not None:
        facts.append(f"{times.column} has the dates, {times.clock} the times of day")
    if times is None:
        facts.append("the messages have no time: a reading gets the time of its arrival")
    else:
        facts += times.remarks
        unread = sample.columns.height - rhythm.rows
        if unread:
            rows = "row has" if unread == 1 else "rows have"
            facts.append(f"{unread} {rows} no time that can be read, and would be garbled")
    if rhythm.interval is not None:
        how = "on the grid" if rhythm.regular else "about" if rhythm.steady else "irregular, in the middle"
        facts.append(f"a sensor sends every {format_duration(rhythm.interval)} ({how})")
    if rhythm.displaced and sample.url is None:
        share = f"{100 * rhythm.displaced / rhythm.rows:.2g} %"
        if rhythm.grouped:
            facts.append(
                f"the rows of each sensor stand together: {share} come after a later one, and are sorted"
            )
        else:
            facts.append(
                f"{rhythm.displaced} rows ({share}) come after a later one, by up to"
                f" {_about(rhythm.disorder)}; files are sorted when they are read"
                + (": too much for a DELAY" if rhythm.disorder > MEASURED else "")
            )
    if rhythm.doubles:
        facts.append(
            f"{rhythm.doubles} reading{' has' if rhythm.doubles == 1 else 's have'} the sensor and time of another one"
            + (_copies(rhythm) if rhythm.copies else ", with other values")
        )
    if rhythm.gaps and (rhythm.steady or rhythm.regular):
        whose = f" of {rhythm.longest_of}" if rhythm.longest_of is not None else ""
        facts.append(
            f"{rhythm.gaps} gaps are longer than 3 intervals; the longest{whose} lasts {_about(rhythm.longest_gap)}"
        )
    return facts


def _copies(rhythm: Rhythm) -> str:
    if rhythm.copies == rhythm.doubles:
        return ", and is a copy" if rhythm.copies == 1 else ", and are copies"
    return f", {rhythm.copies} of them {'is a copy' if rhythm.copies == 1 else 'are copies'}"


def _places(name: str, declared: str) -> list[str]:
    """How the columns of longitudes and latitudes become places, where the stream has both."""
    stream = parse(declared)
    assert isinstance(stream, ast.CreateStream)
    found = degrees_among(column.name for column in stream.columns)
    if found is None:
        return []
    x, y = found
    return [
        f"{x} and {y} are places: CREATE VIEW {name}_placed AS SELECT *, point({x}, {y}) AS location FROM {name};"
    ]


def _about(duration: int) -> str:
    from nilometer.engine.inspecting.rhythm import rounded

    return format_duration(rounded(duration))
