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


def struct(name: str, first: Lines, fields: Mapping[str, Field]) -> Lines:
    """A struct without gaps."""
    columns = [f"{field.ctype} {identifier(name)};" for name, field in fields.items()]
    return [f"struct {name} {{", *indented(first + columns), "} __attribute__((packed));"]


def assigned(target: str, row: Mapping[str, Value], fields: Mapping[str, Field]) -> Lines:
    """Statements that fill a struct from a row; `target` ends in `.` or `->`."""
    lines = []
    for name, field in fields.items():
        value = row[name]
        text = value.text if value.null is None else f"({value.null}) ? {field.ctype.null} : {value.text}"
        lines.append(f"{target}{identifier(name)} = {text};")
    return lines


def held(target: str, fields: Mapping[str, Field]) -> dict[str, Value]:
    """The row that a struct holds."""
    row = {}
    for name, field in fields.items():
        member = f"{target}{identifier(name)}"
        row[name] = Value(member, field, field.is_null(member) if field.nullable else None)
    return row
