"""Prints what a declaration says about the form of its data: FROM in a column, EACH, FORMAT.

>>> from nilometer.language import ast
>>> print_origin(ast.Origin("ts_utc")), print_origin(ast.Origin("$.a['b c']"))
('FROM ts_utc', "FROM '$.a[''b c'']'")
"""

from __future__ import annotations

from nilometer.language import ast
from nilometer.language.print_expressions import identifier, string


def print_origin(origin: ast.Origin) -> str:
    """`FROM ts_utc`, or `FROM '$.a.b'` for a path or a name that needs quotes."""
    bare = identifier(origin.text) == origin.text
    return f"FROM {origin.text if bare else string(origin.text)}"


def print_format(format: ast.Format) -> str:
    """`FORMAT CSV (HEADER OFF, DELIMITER ';')`."""
    options = ", ".join(f"{option.word} {_value(option.value)}" for option in format.options)
    return f"FORMAT {format.kind}" + (f" ({options})" if options else "")


def _value(value: str | int | bool | tuple[str, ...]) -> str:
    match value:
        case bool():
            return "ON" if value else "OFF"
        case int():
            return str(value)
        case str():
            return string(value)
        case (single,):
            return string(single)
        case _:
            return f"({', '.join(map(string, value))})"
