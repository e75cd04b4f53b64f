"""Puts a proposed declaration into the schema.sql of a data directory."""

from __future__ import annotations

from pathlib import Path

from nilometer.engine.data import SCHEMA_FILE
from nilometer.engine.inspecting.inspection import Inspection
from nilometer.errors import CatalogError, DataError
from nilometer.language import ast, parse_script


def write_schema(found: Inspection, directory: Path | None = None) -> Path:
    """Append the declaration to schema.sql, which is made if there is none. Refuses a stream that is declared
    there already."""
    place = directory or found.home or Path()
    if place.exists() and not place.is_dir():
        raise DataError(f"'{place}' is no directory", hint="name the directory of the schema.sql")
    schema = place / SCHEMA_FILE
    before = schema.read_text(encoding="utf-8") if schema.is_file() else ""
    for statement in parse_script(before):
        if (
            isinstance(statement, ast.CreateStream | ast.CreateTable)
            and statement.name.lower() == found.name.lower()
        ):
            raise CatalogError(
                f"'{found.name}' is declared in {schema} already",
                hint="remove that declaration first, or write into another directory",
            )
    gap = "" if not before else "\n" if before.endswith("\n") else "\n\n"
    try:
        place.mkdir(parents=True, exist_ok=True)
        schema.write_text(before + gap + found.text(), encoding="utf-8")
    except OSError as error:
        raise DataError(f"'{schema}' cannot be written", detail=error.strerror) from None
    return schema
