"""What `connect` is given -> the streams of a database, with their files.

field/                  its schema.sql declares the streams; each has a file or a directory of its name
lake/                   without a schema.sql: the files of one stream, if they have the same columns
readings.csv, *.csv     one stream, named after the file, or after the directory of the pattern
{"air": "air/*.csv"}    the files of each stream by name, declared or not
s3://bucket/field       any of these in an object store (fetched.py); nothing is written there
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from nilometer.catalog import Catalog
from nilometer.engine.data import ENDINGS, SCHEMA_FILE
from nilometer.engine.fetched import fetched
from nilometer.engine.inferred import open_files
from nilometer.errors import ConfigurationError, DataError, NilometerError

if TYPE_CHECKING:
    from nilometer.engine.database import Database

FILE = Path(".nilometer") / "peers.json"
"""The streams of other gateways."""


def open_data(database: Database, data: str | Path | Mapping[str, str | Path], *, kept: bool = False) -> None:
    """Declare and attach what is given. `kept`: declarations in a data directory are kept there."""
    if isinstance(data, Mapping):
        for name, source in data.items():
            open_stream(database, name, source)
        return
    path = Path(fetched(data))
    database.data.fetched_from = None if path == Path(data) else str(data)
    if _declares(path):
        _open_directory(database, path, kept=kept and path.suffix != ".sql")
    elif path.is_file() or path.name.lower().endswith(ENDINGS) or _is_pattern(path):
        _open_files(database, path)
    elif path.is_dir() and any(each.name.lower().endswith(ENDINGS) for each in path.rglob("*")):
        _open_files(database, path, alike=True)
    else:
        _open_directory(database, path, kept=kept)


def open_stream(database: Database, name: str, source: str | Path) -> None:
    """Make files the log of a stream. A stream that is not declared gets the columns of its files, or is a table
    if they have no time. A declared table is read from the files instead."""
    from nilometer.catalog import Stream
    from nilometer.ingest.readers import find_files

    source = fetched(source)
    if isinstance(database.catalog.extent(name), Stream):
        database.data.attach_file(name, source, database.catalog)
        return
    files = find_files(source)
    tables = {table.name.lower(): table for table in database.catalog.tables()}
    if (declared := tables.get(name.lower())) is not None:
        database.catalog.drop("TABLE", name)
        database.catalog.add_table(replace(declared, url=str(files.source.absolute()), table=None))
        return
    open_files(database, files, name)
    if database.data.base is None:
        database.data.base = _folder(Path(source))


def named_after_files(given: Sequence[str], named: Mapping[str, str]) -> tuple[list[str], dict[str, str]]:
    """Several data without a name -> what has declarations, at most one, and the others by the names of their
    files. Refuses two of one name."""
    from nilometer.engine.inferred import stream_name
    from nilometer.ingest.readers import find_files

    schemas = [each for each in given if _declares(Path(fetched(each)))]
    others = [each for each in given if each not in schemas]
    by_name = {stream_name(find_files(fetched(each)).stem): each for each in others}
    if len(schemas) > 1 or len(by_name) < len(others) or by_name.keys() & named.keys():
        raise ConfigurationError(
            f"--data is given {len(given)} times without the name of a stream",
            detail=f"'{given[0]}' and '{given[1]}'",
            hint=f"name the streams: --data air={given[0]} --data wind={given[1]}",
        )
    return schemas, by_name | dict(named)


def _declares(path: Path) -> bool:
    return path.suffix == ".sql" or (path / SCHEMA_FILE).is_file()


def _is_pattern(path: Path) -> bool:
    import glob

    return not path.exists() and glob.has_magic(str(path))


def _folder(path: Path) -> Path:
    return path if path.is_dir() else path.parent


def _open_files(database: Database, path: Path, *, alike: bool = False) -> None:
    from nilometer.ingest.readers import find_files

    files = find_files(path)
    open_files(database, files, alike=alike)
    database.data.base = _folder(path) if path.exists() else files.paths[0].parent


def open_again(database: Database) -> Database:
    """The same directory with the same declarations, which are not read again, for use by another thread. It does not
    follow later declarations, and makes none."""
    from nilometer.engine.database import Database

    directory = database.data.base
    assert directory is not None, "a database without a directory"
    if any(not stream.id_declared and database.data.has(stream) for stream in database.catalog.streams()):
        # A file decides whether these ids are numbers, and it may have changed.
        other = Database(Catalog(), database.host)
        _open_directory(other, directory, kept=True)
        return other
    other = Database(database.catalog.copy(), database.host)
    other.data.base = directory
    other.data.attach_directory(directory, other.catalog)
    return other


def read_script(schema: Path) -> str:
    """The text of a file of declarations."""
    try:
        return schema.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise DataError(
            f"'{schema}' is not UTF-8 text", detail=f"{error.reason} in line {line}", hint="save it as UTF-8"
        ) from None


def _open_directory(database: Database, directory: Path, *, kept: bool) -> None:
    schema = directory / SCHEMA_FILE
    if directory.is_file():
        schema, directory = directory, directory.parent
    if not directory.is_dir():
        raise DataError(
            f"no data directory '{directory}'",
            hint=f"give a directory with {SCHEMA_FILE} and one file per stream",
        )
    if not schema.is_file():
        found = ", ".join(sorted(path.name for path in directory.iterdir())[:12]) or "nothing"
        raise DataError(
            f"no {SCHEMA_FILE} in '{directory}'",
            detail=f"found {found}",
            hint="declare the streams there: CREATE STREAM river (depth INT) SENSED EVERY 15 MINUTES;",
        )
    database.data.base, database.data.attached = directory, False
    script = read_script(schema)
    try:
        if kept:
            from nilometer.engine.keeping import open_kept

            open_kept(database, directory, script)
        else:
            database.execute(script)
    except NilometerError as error:
        # Only an error with a place in the script is one of the file.
        raise (error.within(str(schema)) if error.text == script else error) from None
    if (directory / FILE).is_file():
        from nilometer.engine.remote_streams import declare_remote_streams

        declare_remote_streams(database, directory)
    database.data.attach_directory(directory, database.catalog)
