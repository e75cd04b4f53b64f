"""Data files that only an inspection can read, and no declaration -> the stream or table that it proposes.

The reader finds the usual forms by itself. For others (a delimiter `|`, no header, comments before it, decimal commas,
times such as 31/12/2026 17:05) the files are read as `inspect` would declare them, and a note says how. A stream keeps
every reading: it is pushed, without a KEY.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from nilometer.engine.declare import stream_of, table_of
from nilometer.errors import DataError
from nilometer.language import ast, parse

if TYPE_CHECKING:
    from nilometer.engine.database import Database
    from nilometer.ingest.readers import FileSet


def open_as_inspected(database: Database, files: FileSet, name: str | None = None) -> None:
    """Declare the stream or table of the files, with that name if one is given. Refuses times whose day and month
    cannot be told apart."""
    from nilometer.engine.inspecting import inspect
    from nilometer.engine.inspecting.times import AMBIGUOUS
    from nilometer.ingest.readers import FileForm

    found = inspect(str(files.source))
    if AMBIGUOUS in found.facts:
        raise DataError(
            f"the times of '{files.name}' need a declaration",
            detail=AMBIGUOUS,
            hint=f"'nilometer inspect {files.source} --write' declares the stream in a schema.sql beside it; say there"
            " whether TIME FORMAT begins with %d or %m",
        )
    statement = parse(found.declaration)
    if isinstance(statement, ast.CreateTable):
        stored = replace(statement, name=name or found.name, url=str(files.source.absolute()))
        database.catalog.add_table(table_of(stored, found.declaration, None))
    else:
        assert isinstance(statement, ast.CreateStream)
        pushed = replace(
            statement, name=name or found.name, every=None, expect=None, delay=None, future=None, key=()
        )
        stream = stream_of(pushed, found.declaration)
        database.catalog.add_stream(stream)
        database.data.attach_described(stream, files, FileForm())
    if name is None and found.name != files.name.split(".")[0]:
        database.notes.append(f"{files.name} is the {'table' if found.table else 'stream'} {found.name}")
    database.notes.append(
        f"{files.name} has no schema: {_form(found.declaration)}; 'nilometer inspect {files.source}' shows all of it"
    )


def _form(declaration: str) -> str:
    """How the files are read, in one line."""
    columns, _, clauses = declaration.rpartition("\n)")
    lines = [line.strip().rstrip(",") for line in columns.splitlines()]
    taken = [line for line in lines if line.startswith(("time ", "id ")) and " FROM " in line]
    form = [clauses[clauses.index("FORMAT ") :].rstrip(";")] if "FORMAT " in clauses else []
    return f"taking {', '.join([*taken, *form])}"
