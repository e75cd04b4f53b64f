"""Reads a database's table as raw columns, through ADBC: `sqlite:///file` and `postgresql://…`.

Only the wanted columns are fetched. The drivers are imported when a database is first used.
"""

from __future__ import annotations

import os
import re
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import quote

import polars as pl
import pyarrow as pa

from nilometer.catalog.address import Address
from nilometer.errors import DataError, NilometerError, ResourceError
from nilometer.ingest.readers.reading import RawFile, match_columns, row_numbers
from nilometer.types import MILLISECOND, SECOND, Column

TIMEOUT = 60 * SECOND
"""How long a table of PostgreSQL may take to be read, unless its address says `timeout=`."""

_SQLITE = "sqlite:///"
_SCHEME = re.compile(r"^(sqlite|postgres(?:ql)?)(?:\+\w+)?://")


def is_database(url: str) -> bool:
    """Whether the URL names a database that can be read."""
    return _SCHEME.match(url) is not None


def read_database(url: str, table: str, declared: tuple[Column, ...] | None = None) -> RawFile:
    """The table's columns in the database's types; only those that `declared` names, if given."""
    with closing(_connect(url)) as connection, closing(connection.cursor()) as cursor:
        if url.startswith("sqlite"):
            # The driver infers a column's type from its first batch. In SQLite any row may have another type.
            cursor.adbc_statement.set_options(**{"adbc.sqlite.query.batch_rows": str(1 << 20)})
        try:
            names = _query(cursor, f"SELECT * FROM {_quoted(table)} LIMIT 0").columns
            wanted = names if declared is None else list(match_columns(declared, names).values())
            listed = ", ".join(_quoted_name(name) for name in wanted) or "NULL AS nothing"
            columns = _query(cursor, f"SELECT {listed} FROM {_quoted(table)}")
        except NilometerError:
            raise
        except Exception as error:
            raise DataError(
                f"the table '{table}' cannot be read",
                detail=_first_line(error),
                hint="check that STORED AT ... AS names a table of that database",
            ) from None
    return RawFile(columns.select(wanted), row_numbers, names=tuple(names))


def _query(cursor: Any, text: str) -> pl.DataFrame:
    cursor.execute(text)
    table = cursor.fetch_arrow_table()
    # Types that Arrow does not have (NUMERIC, UUID) come as text in an extension type.
    for place, column in enumerate(table.columns):
        if isinstance(column.type, pa.BaseExtensionType):
            plain = pa.chunked_array([chunk.storage for chunk in column.chunks], column.type.storage_type)
            table = table.set_column(place, table.field(place).name, plain)
    frame = pl.from_arrow(table)
    assert isinstance(frame, pl.DataFrame)
    return frame


def _connect(url: str) -> Any:
    try:
        if url.startswith("sqlite"):
            path = url[len(_SQLITE) :] if url.startswith(_SQLITE) else ""
            if not Path(path).is_file():
                raise ResourceError(
                    f"there is no SQLite database '{path or url}'",
                    hint="write sqlite:///relative/path.db or sqlite:////absolute/path.db",
                )
            import adbc_driver_sqlite.dbapi as sqlite

            return sqlite.connect(f"file:{os.path.abspath(path)}?mode=ro")
        import adbc_driver_postgresql.dbapi as postgresql  # type: ignore[import-untyped]

        return postgresql.connect(_patient(Address.parse(url)))
    except ImportError as error:
        raise ResourceError(f"the database driver {error.name} is not installed") from None
    except NilometerError:
        raise
    except Exception as error:
        raise ResourceError(
            "the database cannot be reached",
            detail=Address.parse(url).hide(_first_line(error)),
            hint="check that the server runs, and check the host, port and user in the URL",
        ) from None


def _patient(address: Address) -> str:
    """The URL for libpq. A server that is away, or a table that somebody has locked, is waited for `timeout` at most."""
    base, _, query = _SCHEME.sub("postgresql://", address.url).partition("?")
    given = [part for part in query.split("&") if part and not part.startswith("timeout=")]
    names = {part.partition("=")[0] for part in given}
    if "connect_timeout" not in names:
        given.append("connect_timeout=10")
    if "options" not in names:
        milliseconds = max(1, address.duration("timeout", TIMEOUT) // MILLISECOND)
        given.append("options=" + quote(f"-c statement_timeout={milliseconds}"))
    return f"{base}?{'&'.join(given)}"


def _quoted(table: str) -> str:
    """A table's name for SQL; `schema.table` keeps its dot."""
    return ".".join(_quoted_name(part) for part in table.split("."))


def _quoted_name(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _first_line(error: Exception) -> str:
    return str(error).strip().split("\n")[0]
