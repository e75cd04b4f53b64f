"""Writes commits to a PostgreSQL table: `postgresql://user:password@host/database?table=alerts`, through
ADBC, exactly once.

Rows and the number of their commit (in the table `nilometer_sinks` of the same schema) are written in one
transaction. The rows are copied into a temporary table first, and from there into the table, in its types. A
missing table is created, and a missing column is added, nullable. A column whose type cannot hold the answers
is an error; nothing is converted silently. Several queries, and several gateways, may fill one table.

| INT    | FLOAT            | STRING | BOOLEAN | TIME        | DURATION | POINT | LIST, STRUCT |
| bigint | double precision | text   | boolean | timestamptz | interval | point | jsonb        |
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

import polars as pl

from nilometer.catalog.address import Address
from nilometer.errors import ConfigurationError, DataError, ResourceError
from nilometer.log.failpoints import Failpoint
from nilometer.sinks.sink import COMMON, Answered, Origin, Sink, rows_in
from nilometer.sinks.values import outward_dtype, to_json
from nilometer.types import NESTED, SECOND, Kind, Schema, Type

MARKS = "nilometer_sinks"
STAGE = "nilometer_stage"
OWN = ("table", "timeout", *COMMON)
TIMEOUT = 30 * SECOND
"""How long the database may take for one statement, waiting for a lock included."""
PATIENCE = {"connect_timeout": "10", "tcp_user_timeout": "30000", "keepalives_idle": "30"}
"""Settings for libpq, unless the URL overrides them: they make it notice that a server is gone."""
EARLIEST = -210_866_803_200_000_000
"""PostgreSQL has no times before 4714 BC; in microseconds since 1970."""
NAME_BYTES = 63

TYPES: dict[Kind, str] = {
    Kind.INT: "bigint",
    Kind.FLOAT: "double precision",
    Kind.STRING: "text",
    Kind.BOOLEAN: "boolean",
    Kind.TIME: "timestamp with time zone",
    Kind.DURATION: "interval",
    Kind.POINT: "point",
    Kind.LIST: "jsonb",
    Kind.STRUCT: "jsonb",
    Kind.VECTOR: "double precision[]",
}
"""The types of new columns."""

ALSO: dict[Kind, tuple[str, ...]] = {
    Kind.INT: ("integer", "smallint", "numeric", "double precision"),
    Kind.FLOAT: ("real", "numeric"),
    Kind.STRING: ("character varying", "character"),
    Kind.TIME: ("timestamp without time zone",),
    Kind.POINT: ("jsonb", "json", "text"),
    Kind.LIST: ("json", "text"),
    Kind.STRUCT: ("json", "text"),
    Kind.VECTOR: ("bigint[]", "real[]", "numeric[]", "jsonb", "json", "text"),
}
"""Other types of existing columns that can hold a kind. A value that does not fit is an error of the
database.
"""


class PostgresqlSink(Sink):
    """A sink that writes to one table."""

    options = ("table", "timeout")

    def __init__(self, address: Address, origin: Origin, failpoint: Failpoint | None = None) -> None:
        self._written = address
        parts = urlsplit(address.url)
        given = dict(parse_qsl(parts.query, keep_blank_values=True))
        ours = {name: value for name, value in given.items() if name in OWN}
        super().__init__(
            Address(
                address.url, "postgresql", address.host, address.port, address.user, None, address.path, ours
            ),
            origin,
            failpoint,
        )
        table = given.get("table", "")
        if not table:
            raise ConfigurationError(
                "the table for the answers is missing", hint="write postgresql://host/database?table=alerts"
            )
        self._schema, _, self._table = table.rpartition(".")
        theirs = PATIENCE | {name: value for name, value in given.items() if name not in OWN}
        patience = f"-c statement_timeout={max(1, self.address.duration('timeout', TIMEOUT) // 1000)}"
        theirs["options"] = f"{patience} {theirs.get('options', '')}".strip()
        self._url = f"postgresql://{parts.netloc}{parts.path}?{urlencode(theirs, quote_via=quote)}"
        self._marks = _quoted(*filter(None, [self._schema, MARKS]))
        self._target = _quoted(*filter(None, [self._schema, self._table]))
        self._connection: Any = None
        self._staged: Schema | None = None

    @property
    def name(self) -> str:
        return f"{super().name}/{self.address.options['table']}"

    def open(self) -> None:
        try:
            import adbc_driver_postgresql.dbapi as postgresql  # type: ignore[import-untyped]
        except ImportError as error:
            raise ResourceError(f"the database driver {error.name} is not installed") from None
        with self._asking("the database cannot be reached"):
            self._connection = postgresql.connect(self._url)
        self._staged = None
        with self._asking("the database refuses"):
            # Not "IF NOT EXISTS" alone, which requires the right to create even if there is nothing to
            # create.
            if not self._columns(self._marks):
                self._execute(
                    f"CREATE TABLE IF NOT EXISTS {self._marks} (sink text, origin text, version text NOT NULL,"
                    ' "commit" bigint NOT NULL, rows bigint NOT NULL, PRIMARY KEY (sink, origin))'
                )
            found = self._query(
                f'SELECT "commit" FROM {self._marks} WHERE sink = {_text(self._table)} AND origin = {_text(str(self.origin))}'
            )
            self.last = found[0][0] if found else None
            self._connection.commit()

    def write(self, commits: Sequence[Answered]) -> None:
        rows, schema = rows_in(commits), commits[-1].schema
        with self._asking(f"the table {self._table} takes no answers"):
            if rows.height:
                self._insert(rows, schema)
            self.failpoint("after_ingest")
            self._mark(commits[-1], rows.height)
            self.failpoint("before_commit")
            self._connection.commit()
            self.failpoint("after_commit")
        self.last = commits[-1].number

    def close(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            try:
                connection.close()
            except Exception:  # the connection may be lost
                return

    # ---- rows --------------------------------------------------------------------------------------------------------

    def _insert(self, rows: pl.DataFrame, schema: Schema) -> None:
        types = self._fit(schema)
        stage = staged(rows, schema)
        if self._staged != schema:
            columns = ", ".join(f"{name} {_stage_type(dtype)}" for name, dtype in stage.schema.items())
            self._execute(f"DROP TABLE IF EXISTS pg_temp.{STAGE}")
            self._execute(f"CREATE TEMPORARY TABLE {STAGE} ({columns}) ON COMMIT DELETE ROWS")
        self.failpoint("before_ingest")
        with self._connection.cursor() as cursor:
            cursor.adbc_ingest(STAGE, stage.to_arrow(), mode="append", temporary=True)
        names = ", ".join(_quoted(column.name) for column in schema)
        values = ", ".join(
            value_from(f"c{place}", column.type.kind, types[column.name])
            for place, column in enumerate(schema)
        )
        self._execute(f"INSERT INTO {self._target} ({names}) SELECT {values} FROM pg_temp.{STAGE}")
        self._staged = schema

    def _fit(self, schema: Schema) -> dict[str, str]:
        """The types of the table's columns. Creates the table, or adds the columns that it lacks."""
        for column in schema:
            if len(column.name.encode()) > NAME_BYTES:
                raise DataError(
                    f"PostgreSQL knows no column names as long as '{column.name}'",
                    hint="give it a shorter name in the query: SELECT ... AS name",
                )
        found = self._columns(self._target)
        declared = {column.name: TYPES[column.type.kind] for column in schema}
        if not found:
            columns = ", ".join(f"{_quoted(name)} {type_}" for name, type_ in declared.items())
            self._execute(f"CREATE TABLE IF NOT EXISTS {self._target} ({columns})")
            return declared
        for column in schema:
            type_ = found.get(column.name)
            if type_ is None:
                added = f"{_quoted(column.name)} {declared[column.name]}"
                self._execute(f"ALTER TABLE {self._target} ADD COLUMN IF NOT EXISTS {added}")
            elif not fits(column.type.kind, type_):
                raise DataError(
                    f"column '{column.name}' of the table {self._table} is {type_}, and the answers are {column.type}",
                    hint=f"name it otherwise in the query, or alter the column to {declared[column.name]}",
                )
        return declared | found

    def _mark(self, commit: Answered, rows: int) -> None:
        """Move the mark on from the commit that we know. If another process has moved it, that process has
        delivered the same rows.
        """
        sink, origin, version = map(_text, (self._table, str(self.origin), commit.version))
        if self.last is None:
            self._execute(
                f"INSERT INTO {self._marks} VALUES ({sink}, {origin}, {version}, {commit.number}, {rows})"
            )
            return
        moved = self._query(
            f'UPDATE {self._marks} SET version = {version}, "commit" = {commit.number}, rows = rows + {rows}'
            f' WHERE sink = {sink} AND origin = {origin} AND "commit" = {self.last} RETURNING sink'
        )
        if not moved:
            raise ResourceError(f"another process delivers the answers of {self.origin} to {self._table}")

    # ---- asking the database -----------------------------------------------------------------------------------------

    def _columns(self, table: str) -> dict[str, str]:
        """The columns of a table and their types (`numeric(10,2)` is a numeric); empty if there is no such
        table.
        """
        found = self._query(
            "SELECT attname::text, format_type(atttypid, atttypmod) FROM pg_attribute"
            f" WHERE attrelid = to_regclass({_text(table)}) AND attnum > 0 AND NOT attisdropped"
        )
        return {name: re.sub(r"\(.*?\)", "", type_) for name, type_ in found}

    def _execute(self, text: str) -> None:
        with self._connection.cursor() as cursor:
            cursor.execute(text)

    def _query(self, text: str) -> list[tuple[Any, ...]]:
        with self._connection.cursor() as cursor:
            cursor.execute(text)
            return list(cursor.fetchall())

    @contextmanager
    def _asking(self, what: str) -> Iterator[None]:
        from adbc_driver_manager import Error

        try:
            yield
        except Error as error:
            detail = self._written.hide(str(error).strip().split("\n")[0])
            raise ResourceError(f"{what} ({self.address.host})", detail=detail) from None


def staged(rows: pl.DataFrame, schema: Schema) -> pl.DataFrame:
    """The rows for the temporary table, with columns c0, c1 and so on: points as two columns, lists and
    structs as JSON.
    """
    columns: list[pl.Series] = []
    for place, column in enumerate(schema):
        series, name = rows[column.name], f"c{place}"
        match column.type.kind:
            case Kind.POINT:
                columns += [series.struct.field(part).alias(name + part) for part in ("x", "y")]
            case Kind.LIST | Kind.STRUCT | Kind.VECTOR:
                columns.append(pl.Series(name, _json(series, column.type), dtype=pl.String))
            case Kind.STRING:
                columns.append(series.str.replace_all("\0", "\ufffd", literal=True).alias(name))
            case Kind.TIME:
                columns.append(series.clip(EARLIEST).cast(outward_dtype(column.type)).alias(name))
            case _:
                columns.append(series.cast(outward_dtype(column.type)).alias(name))
    return pl.DataFrame(columns)


def _json(series: pl.Series, type_: Type) -> list[str | None]:
    encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False).encode
    return [None if value is None else encode(_zeroless(to_json(value, type_))) for value in series.to_list()]


def _zeroless(value: Any) -> Any:
    """The value without characters of code 0, which PostgreSQL's text cannot hold."""
    match value:
        case str():
            return value.replace("\0", "\ufffd")
        case list():
            return [_zeroless(item) for item in value]
        case dict():
            return {name: _zeroless(item) for name, item in value.items()}
        case _:
            return value


def value_from(name: str, kind: Kind, type_: str) -> str:
    """The SQL expression that converts a column of the temporary table into a column of that type."""
    if kind is Kind.POINT and type_ != TYPES[Kind.POINT]:
        array = f"json_build_array({name}x, {name}y)"
        return f"CASE WHEN {name}x IS NOT NULL THEN {array}::{type_} END"
    if kind is Kind.POINT:
        return f"point({name}x, {name}y)"
    if kind is Kind.VECTOR and type_.endswith("[]"):
        # JSON's [1, 2] is PostgreSQL's {1, 2}.
        return f"translate({name}, '[]', '{{}}')::{type_}"
    if kind in NESTED:
        return f"{name}::{type_}"
    if kind is Kind.TIME and type_ != TYPES[Kind.TIME]:
        return f"{name} AT TIME ZONE 'UTC'"
    return name


def fits(kind: Kind, type_: str) -> bool:
    """Whether a column of that type can hold a kind."""
    return type_ == TYPES[kind] or type_ in ALSO.get(kind, ())


def _stage_type(dtype: pl.DataType) -> str:
    known: Mapping[Any, str] = {
        pl.Int64: "bigint",
        pl.Float64: "double precision",
        pl.String: "text",
        pl.Boolean: "boolean",
        pl.Datetime: "timestamptz",
        pl.Duration: "interval",
    }
    return known[dtype.base_type()]


def _quoted(*names: str) -> str:
    return ".".join('"' + name.replace('"', '""') + '"' for name in names)


def _text(text: str) -> str:
    """An SQL string constant that is right under any setting of standard_conforming_strings."""
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"E'{escaped}'"
