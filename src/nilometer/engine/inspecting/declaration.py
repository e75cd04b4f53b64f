"""Writes the declaration of a stream or a table from what was found in its data."""

from __future__ import annotations

import re
from collections.abc import Iterator

from nilometer.algebra.places import WGS84, degrees_among
from nilometer.engine.inspecting.fields import Field
from nilometer.engine.inspecting.rhythm import MEASURED, Rhythm, rounded_up
from nilometer.engine.inspecting.sample import Sample
from nilometer.engine.inspecting.times import Times
from nilometer.errors import NilometerError
from nilometer.language import parse_script
from nilometer.language.print_expressions import identifier, string
from nilometer.types import Kind, format_duration


def declaration(
    sample: Sample, times: Times | None, source: str | None, fields: list[Field], rhythm: Rhythm
) -> str:
    """CREATE STREAM, one column a line."""
    body = ",\n".join(f"  {text}" for text in _columns(sample, times, source, fields))
    clauses = [_kind(sample, rhythm)]
    if sample.url is not None:
        clauses.append(f"FROM {string(sample.url)}")
    if rhythm.displaced and not rhythm.grouped and rhythm.disorder <= MEASURED:
        clauses.append(f"DELAY {format_duration(rounded_up(rhythm.disorder))}")
    if rhythm.copies and not _sensed(sample, rhythm):
        clauses.append("KEY (id, time)" if source is not None else "KEY (time)")
    if not _sensed(sample, rhythm) and rhythm.steady and rhythm.interval is not None:
        clauses.append(f"EXPECT EVERY {format_duration(rhythm.interval)}")
    if degrees_among(field.name for field in fields if field.type.kind is Kind.FLOAT) is not None:
        clauses.append(f"COORDINATES {WGS84}")
    if sample.each is not None:
        clauses.append(f"EACH {string(sample.each)}")
    options = _options(sample, times, fields)
    if options:
        clauses.append(f"FORMAT CSV ({', '.join(options)})")
    return f"CREATE STREAM {sample.name} (\n{body}\n) {' '.join(clauses)};"


def table_declaration(sample: Sample, fields: list[Field], place: str) -> str:
    """CREATE TABLE for the files at that place."""
    taken: set[str] = set()
    columns = []
    for field in fields:
        name = _name(field.name, taken, reserved=frozenset({"tick"}))
        taken.add(name.lower())
        unit = f" UNIT '{field.unit}'" if field.unit is not None else ""
        columns.append(f"  {name} {field.type.kind}{unit}{_origin(sample, field.name, name)}")
    options = _options(sample, None, fields)
    clauses = [f"EACH {string(sample.each)}"] if sample.each is not None else []
    clauses += [f"FORMAT CSV ({', '.join(options)})"] if options else []
    body = ",\n".join(columns)
    return " ".join([f"CREATE TABLE {sample.name} (\n{body}\n) STORED AT {string(place)}", *clauses]) + ";"


def _kind(sample: Sample, rhythm: Rhythm) -> str:
    if _sensed(sample, rhythm):
        assert rhythm.interval is not None
        return f"SENSED EVERY {format_duration(rhythm.interval)}"
    return "PUSHED"


def _sensed(sample: Sample, rhythm: Rhythm) -> bool:
    """Whether the readings lie on a grid. Addresses push, and a sensed stream has one reading for each sensor and
    tick."""
    return sample.url is None and rhythm.regular and rhythm.steady and rhythm.crowded - rhythm.copies <= 1


def _columns(sample: Sample, times: Times | None, source: str | None, fields: list[Field]) -> Iterator[str]:
    """The definitions of the columns."""
    taken: set[str] = set()
    if times is not None:
        type_ = "TIME" if times.unit in (None, "ns") else f"INT UNIT '{times.unit}'"
        yield f"time {type_}{_origin(sample, times.column, 'time')}"
        taken.add("time")
    for field in sorted(fields, key=lambda field: field.name != source):
        if field.name == source:
            kind = "INT" if field.type.kind is Kind.INT else "STRING"
            origin = "" if field.name == sample.topic else _origin(sample, field.name, "id")
            yield f"id {kind}{origin}"
            taken.add("id")
            continue
        name = _name(field.name, taken)
        taken.add(name.lower())
        unit = f" UNIT '{field.unit}'" if field.unit is not None else ""
        yield f"{name} {field.type.kind}{unit}{_origin(sample, field.name, name)}"


def _origin(sample: Sample, field: str, column: str) -> str:
    """The FROM of a column whose field or path is not its name."""
    if field in sample.origins:
        return f" FROM {string(sample.origins[field])}"
    if field.lower() == column.lower():
        return ""
    if _speakable(field):
        return f" FROM {field}"
    # In single quotes, what begins with $ is a path.
    return f" FROM {identifier(field) if field.startswith('$') else string(field)}"


def _speakable(name: str) -> bool:
    """Whether the name needs no quotes, as a column's name and in a query."""
    try:
        parse_script(f"CREATE STREAM x ({name} INT) PUSHED; SELECT {name} FROM x WHERE {name} = 1")
    except NilometerError:
        return False
    return re.fullmatch(r"[A-Za-z_]\w*", name) is not None


def _name(field: str, taken: set[str], reserved: frozenset[str] = frozenset({"time", "id", "tick"})) -> str:
    """A name that a query can use."""
    plain = re.sub(r"\W+", "_", field).strip("_") or "value"
    choices = (plain, f"{plain}_", f"_{plain}", *(f"{plain}_{number}" for number in range(2, 99)))
    return next(name for name in choices if name.lower() not in taken | reserved and _speakable(name))


def _options(sample: Sample, times: Times | None, fields: list[Field]) -> list[str]:
    """The options of FORMAT CSV."""
    options = [f"{word} {value}" for word, value in sample.options.items() if word != "NULL"]
    if times is not None and times.clock is not None:
        options.append(f"CLOCK {string(times.clock)}")
    if times is not None and times.format is not None:
        options.append(f"TIME FORMAT {string(times.format)}")
    if "NULL" in sample.options:
        return [*options, f"NULL {sample.options['NULL']}"]
    marks = list(dict.fromkeys(mark for field in fields for mark in field.marks))
    if marks:
        texts = [string(mark) for mark in marks]
        options.append(f"NULL ({', '.join(texts)})" if len(texts) > 1 else f"NULL {texts[0]}")
    return options
