"""Keeps the catalog in a database: SQLite (a file, or in memory) or PostgreSQL, through SQLAlchemy Core.

Every change is one transaction, and writers take turns: a change is checked against everything that others
declared before it, never against an old copy. The tables carry a version; an older catalog is migrated when
it is opened.

>>> from nilometer.catalog.extents import Stream, stream_columns
>>> store = CatalogStore()
>>> store.load().add_stream(Stream("river", stream_columns(()), every=900_000_000))
>>> [stream.name for stream in store.load().streams()]
['river']
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nilometer.catalog.address import Address
from nilometer.catalog.catalog import Catalog, Change, Contents
from nilometer.errors import CatalogError, ResourceError
from nilometer.redaction import redacted

if TYPE_CHECKING:
    from sqlalchemy import Connection, Engine

VERSION = 10
"""The version of the tables that this program reads and writes."""

Migration = Callable[["Connection"], None]


def _add_retries(connection: Connection) -> None:
    from nilometer.catalog.store_migrations import add_retries

    add_retries(connection)


def _add_views(connection: Connection) -> None:
    from nilometer.catalog.store_migrations import add_views

    add_views(connection)


def _add_form(connection: Connection) -> None:
    from nilometer.catalog.store_migrations import add_form

    add_form(connection)


def _add_coordinates(connection: Connection) -> None:
    from nilometer.catalog.store_migrations import add_coordinates

    add_coordinates(connection)


def _add_stops(connection: Connection) -> None:
    from nilometer.catalog.store_migrations import add_stops

    add_stops(connection)


def _add_made_by(connection: Connection) -> None:
    from nilometer.catalog.store_migrations import add_made_by

    add_made_by(connection)


def _add_phenomena(connection: Connection) -> None:
    from nilometer.catalog.store_migrations import add_phenomena

    add_phenomena(connection)


def _add_pipeline(connection: Connection) -> None:
    from nilometer.catalog.store_migrations import add_pipeline

    add_pipeline(connection)


def _add_functions(connection: Connection) -> None:
    from nilometer.catalog.store_migrations import add_functions

    add_functions(connection)


MIGRATIONS: dict[int, Migration] = {
    1: _add_retries,
    2: _add_views,
    3: _add_form,
    4: _add_coordinates,
    5: _add_stops,
    6: _add_made_by,
    7: _add_phenomena,
    8: _add_pipeline,
    9: _add_functions,
}
"""Version -> the migration of the tables to the next version, which runs in the transaction that opens the
catalog."""

BUSY_SECONDS = 30
"""How long to wait for another writer."""

POSTGRES_SCHEMA = "nilometer"
"""In PostgreSQL the tables have their own schema: the database may hold the user's `things` and `queries`
too."""

_LOCK = 0x6E696C6F  # for PostgreSQL's advisory lock: "nilo"


class CatalogStore:
    """Opens the tables at `url`, and creates them the first time.

    `url` is a file's path, `sqlite:///...`, `postgresql://...`, or None for memory. `load()` returns the
    catalog, and the store keeps every change made to it.
    """

    def __init__(self, url: str | Path | None = None) -> None:
        self.url = _database_url(url)
        self._turn = threading.RLock()
        self._connection: Connection | None = None
        with self._speaking_plainly():
            self._engine = _engine(self.url)
            with self._transaction(writing=True) as connection:
                self._prepare(connection)

    def load(self) -> Catalog:
        """The catalog as it is stored now."""
        revision, contents = self.refresh(-1)
        return Catalog(contents, self, revision)

    def close(self) -> None:
        """Close the database; a store in memory is gone."""
        self._engine.dispose()

    def __enter__(self) -> CatalogStore:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # ---- for the catalog (its `Keeper`) --------------------------------------------------------------------------

    @contextmanager
    def changing(self, seen: int) -> Iterator[tuple[int, Contents | None]]:
        """A writer's transaction: yields the revision, and the contents if they are newer than those seen."""
        with self._turn, self._speaking_plainly(), self._transaction(writing=True) as connection:
            revision, contents = self._read(connection, seen)
            self._connection = connection
            try:
                yield revision, contents
            finally:
                self._connection = None

    def keep(self, change: Change) -> None:
        """Write the change, inside `changing`."""
        from nilometer.catalog.store_rows import write_change

        assert self._connection is not None, "keep() outside changing()"
        write_change(self._connection, change)

    def refresh(self, seen: int) -> tuple[int, Contents | None]:
        """The revision, and the contents if they are newer than those seen."""
        with self._turn, self._speaking_plainly(), self._transaction(writing=False) as connection:
            return self._read(connection, seen)

    # ---- inside --------------------------------------------------------------------------------------------------

    def _read(self, connection: Connection, seen: int) -> tuple[int, Contents | None]:
        from nilometer.catalog.store_rows import load_contents
        from nilometer.catalog.store_tables import catalog_version

        revision = int(connection.execute(catalog_version.select()).one().revision)
        return revision, None if revision == seen else load_contents(connection)

    @contextmanager
    def _transaction(self, writing: bool) -> Iterator[Connection]:
        """One transaction; a writer's transaction starts after those of other writers have ended."""
        import sqlalchemy as sql

        postgres = self._engine.dialect.name == "postgresql"
        with self._engine.connect() as plain:
            connection = plain.execution_options(writing=writing)
            if postgres and not writing:
                # Read all tables as of one moment.
                connection = connection.execution_options(isolation_level="REPEATABLE READ")
            with connection.begin():
                if postgres and writing:
                    connection.execute(sql.select(sql.func.pg_advisory_xact_lock(_LOCK)))
                yield connection

    def _prepare(self, connection: Connection) -> None:
        """Create the tables, or migrate older ones."""
        import sqlalchemy as sql

        from nilometer.catalog.store_tables import catalog_version, metadata

        if connection.dialect.name == "postgresql":
            connection.execute(sql.schema.CreateSchema(POSTGRES_SCHEMA, if_not_exists=True))
        schema = POSTGRES_SCHEMA if connection.dialect.name == "postgresql" else None
        if not sql.inspect(connection).has_table(catalog_version.name, schema=schema):
            metadata.create_all(connection)
            connection.execute(catalog_version.insert().values(version=VERSION, revision=0))
            return
        version = int(connection.execute(catalog_version.select()).one().version)
        if version > VERSION:
            raise CatalogError(
                f"the catalog at {self.shown_url} was written by a newer Nilometer",
                detail=f"its tables have version {version}, this program knows version {VERSION}",
                hint="install the newer Nilometer, or open another catalog",
            )
        for older in range(version, VERSION):
            MIGRATIONS[older](connection)
        if version < VERSION:
            connection.execute(catalog_version.update().values(version=VERSION))

    @property
    def shown_url(self) -> str:
        """The URL without its password."""
        return redacted(self.url)

    @contextmanager
    def _speaking_plainly(self) -> Iterator[None]:
        """Turn the database's errors into ours."""
        from sqlalchemy.exc import ArgumentError, SQLAlchemyError

        try:
            yield
        except ArgumentError:
            raise ResourceError(
                "the catalog's URL cannot be read",
                hint="give a file, sqlite:///file or postgresql://user@host/database",
            ) from None
        except SQLAlchemyError as error:
            reason = str(getattr(error, "orig", None) or error).strip().split("\n")[0]
            busy = "locked" in reason
            raise ResourceError(
                f"the catalog at {self.shown_url} cannot be used",
                detail=Address.parse(self.url).hide(reason),
                hint="another program is writing to it; try again"
                if busy
                else "check that the database is there",
            ) from error


def _database_url(url: str | Path | None) -> str:
    """SQLAlchemy's URL for the user's."""
    if url is None:
        return "sqlite://"
    text = str(url)
    if "://" not in text:
        return f"sqlite:///{text}"
    if not text.startswith("sqlite"):
        text = Address.parse(text).url
    scheme, rest = text.split("://", 1)
    return f"postgresql+psycopg://{rest}" if scheme in ("postgresql", "postgres") else text


def _engine(url: str) -> Engine:
    import sqlalchemy as sql
    from sqlalchemy.pool import StaticPool

    parsed = sql.make_url(url)
    match parsed.get_backend_name():
        case "postgresql":
            return sql.create_engine(
                parsed,
                execution_options={"schema_translate_map": {None: POSTGRES_SCHEMA}},
                pool_pre_ping=True,
            )
        case "sqlite":
            options: dict[str, Any] = {"connect_args": {"timeout": BUSY_SECONDS, "check_same_thread": False}}
            if parsed.database in (None, "", ":memory:"):
                options["poolclass"] = StaticPool
            engine = sql.create_engine(parsed, **options)
            _begin_as_told(engine)
            return engine
        case other:
            raise ResourceError(
                f"a catalog cannot be kept in {other}", hint="use a file, sqlite:///file or postgresql://..."
            )


def _begin_as_told(engine: Engine) -> None:
    """Python's sqlite3 begins transactions too late, and not for DDL. So we begin them ourselves, a writer's
    at once."""
    from sqlalchemy import event

    @event.listens_for(engine, "connect")
    def connected(connection: Any, _record: object) -> None:
        connection.isolation_level = None
        connection.execute("PRAGMA foreign_keys = ON")

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        writing = connection.get_execution_options().get("writing")
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writing else "BEGIN")
