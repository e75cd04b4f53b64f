"""Pieces of C text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from nilometer.sensornet.motes.values import Field, Value

Lines = list[str]


def indented(lines: Iterable[str]) -> Lines:
    """One level deeper; preprocessor lines and empty ones stay where they are."""
    return [f"    {line}" if line and not line.startswith("#") else line for line in lines]


def block(head: str, body: Iterable[str]) -> Lines:
    """`head { body }`."""
    return [f"{head} {{" if head else "{", *indented(body), "}"]


def identifier(name: str) -> str:
    """A name of C for a column: `River.rain` is `River_rain`, `avg_1#sum` is `avg_1_sum`, the hidden `@site` is `site_`."""
    plain = re.sub(r"\W", "_", name.lstrip("@"))
    return f"{plain}_" if name.startswith("@") or plain[:1].isdigit() else plain


def members(fields: Mapping[str, Field]) -> Lines:
    """The members of a struct for these columns."""
    lines = []
    for name, field in fields.items():
        lines.append(f"{field.ctype} {identifier(name)};")
        if field.nullable:
            lines.append(f"uint8_t {identifier(name)}_null;")
    return lines


def struct(name: str, first: Lines, fields: Mapping[str, Field]) -> Lines:
    """A struct without gaps."""
    return [f"struct __attribute__((packed)) {name} {{", *indented(first + members(fields)), "};"]


def assigned(target: str, row: Mapping[str, Value], fields: Mapping[str, Field]) -> Lines:
    """Statements that fill a struct from a row; `target` ends in `.` or `->`."""
    lines = []
    for name, field in fields.items():
        value = row[name]
        lines.append(f"{target}{identifier(name)} = {value.text};")
        if field.nullable:
            lines.append(f"{target}{identifier(name)}_null = {value.null or '0'};")
    return lines


def held(target: str, fields: Mapping[str, Field]) -> dict[str, Value]:
    """The row that a struct holds."""
    return {
        name: Value(
            f"{target}{identifier(name)}",
            field,
            f"{target}{identifier(name)}_null" if field.nullable else None,
        )
        for name, field in fields.items()
    }
