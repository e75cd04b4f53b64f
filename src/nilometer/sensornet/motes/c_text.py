"""Pieces of C text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from nilometer.errors import UnsupportedError
from nilometer.sensornet.motes.values import Field, Value

Lines = list[str]


def indented(lines: Iterable[str]) -> Lines:
    """Indents the lines by one level; preprocessor lines and empty lines stay as they are."""
    return [f"    {line}" if line and not line.startswith("#") else line for line in lines]


def block(head: str, body: Iterable[str]) -> Lines:
    """`head { body }`."""
    return [f"{head} {{" if head else "{", *indented(body), "}"]


_RESERVED = frozenset(
    "abstract as asm async atomic auto bool break call case char command component components configuration const continue"
    " default do double else enum event extends extern float for generic goto if implementation includes inline int interface"
    " long module new norace nx_struct nx_union offsetof post provides register restrict return short signal signed sizeof"
    " static struct switch task typedef union unsigned uses void volatile while".split()
)
"""Keywords of C and nesC."""


def identifier(name: str) -> str:
    """The C name of a column. Keywords of C, possible register names and hidden columns get an underscore at
    the end. A character that C does not allow is written as its number.

    >>> [identifier(name) for name in ("River.rain", "avg_1#sum", "@site", "long", "ADC", "débit")]
    ['River_rain', 'avg_1_sum', 'site_', 'long_', 'ADC_', 'd_e9bit']
    """
    plain = re.sub(r"[.#]", "_", name.lstrip("@"))
    plain = re.sub(r"[^A-Za-z0-9_]", lambda found: f"_{ord(found[0]):x}", plain)
    marked = name.startswith("@") or plain in _RESERVED or plain.isupper() or plain[:1].isdigit()
    return f"{'n' if plain[:1].isdigit() else ''}{plain}{'_' if marked else ''}"


def struct(name: str, first: Lines, fields: Mapping[str, Field]) -> Lines:
    """A packed struct."""
    columns = [field.member(identifier(name)) for name, field in fields.items()]
    if len(set(map(identifier, fields))) < len(fields):
        raise UnsupportedError(
            "two columns would have the same name in C",
            detail=", ".join(fields),
            hint="give one of them another name, by AS",
        )
    return [f"struct {name} {{", *indented(first + columns), "} __attribute__((packed));"]


def assigned(target: str, row: Mapping[str, Value], fields: Mapping[str, Field]) -> Lines:
    """Statements that fill a struct from a row; `target` ends in `.` or `->`."""
    lines = []
    for name, field in fields.items():
        value = row[name]
        text = value.text if value.null is None else f"({value.null}) ? {field.null} : {value.text}"
        lines.append(f"{target}{identifier(name)} = {text};")
    return lines


def held(target: str, fields: Mapping[str, Field]) -> dict[str, Value]:
    """The row that a struct holds."""
    row = {}
    for name, field in fields.items():
        member = f"{target}{identifier(name)}"
        row[name] = Value(member, field, field.is_null(member) if field.nullable else None)
    return row
