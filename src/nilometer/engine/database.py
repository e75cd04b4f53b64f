"""The database: a catalog, the available data, and queries over them. It composes the packages and decides
nothing itself."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nilometer.catalog import Catalog, QueryDefinition
from nilometer.engine.data import SCHEMA_FILE, Data
from nilometer.engine.declare import sensor_of, stream_of, table_of
from nilometer.engine.hosts import host_name
from nilometer.engine.inferred import open_file
from nilometer.engine.query import Query
from nilometer.errors import ConfigurationError, DataError, NilometerError, UnsupportedError
from nilometer.language import ast, parse, parse_script, print_statement
from nilometer.types import format_duration, format_time, parse_time

if TYPE_CHECKING:
    import polars as pl

    from nilometer.live.query_list import QueryState
    from nilometer.spark.stream_from import Landing
    from nilometer.spark.typed import DataFrame


class Database:
    """Declare sensors with `execute`, and ask queries with `sql`."""

    def __init__(self, catalog: Catalog, host: str = "gateway") -> None:
        self.catalog = catalog
        self.host = host_name(host)
        self.data = Data()
        self.notes: list[str] = []

    # ---- declaring ---------------------------------------------------------------------------------------------------

    def execute(self, text: str, **parameters: Any) -> list[Any]:
        """Run a script of declarations, SHOW, EXPLAIN and queries; returns one result per statement.

        A declaration returns None, SHOW rows (dictionaries), EXPLAIN text, a query a `Query`.
        """
        return [self._execute(statement, text, parameters) for statement in parse_script(text)]

    def _execute(
        self, statement: ast.Statement | ast.QueryNode, text: str, parameters: Mapping[str, Any]
    ) -> Any:
        try:
            match statement:
                case ast.QueryNode():
                    return Query(self, text, statement, parameters)
                case ast.CreateStream():
                    self.catalog.add_stream(stream_of(statement, text))
                case ast.CreateTable():
                    self.catalog.add_table(table_of(statement, text, self.data.base))
                case ast.CreateSensor():
                    self.catalog.add_sensor(sensor_of(statement))
                case ast.CopySensors(path=path, stream=stream):
                    from nilometer.catalog.sensors_file import read_sensors

                    self.catalog.add_sensors(read_sensors(self._path(path), stream))
                case ast.CreateNetwork(name=name, path=path, sink=sink, retries=retries):
                    from nilometer.catalog.network_files import import_network

                    self.catalog.add_network(import_network(self._path(path), name, sink, retries))
                case ast.CreateQuery(name=name, query=query, starting=starting):
                    self._add_query(name, query, starting, text, parameters)
                case ast.Drop(kind=kind, name=name, if_exists=if_exists, stream=stream):
                    self.catalog.drop(kind, name, if_exists, stream)
                case ast.Show(kind=kind):
                    return self.show(kind)
                case ast.Explain(query=query, stage=stage, verbose=verbose):
                    return Query(self, text, query, parameters).explain(stage or "optimized", verbose=verbose)
                case _:
                    raise ConfigurationError(f"cannot execute {type(statement).__name__}")
        except NilometerError as error:
            raise error.at(text, statement.span) from None
        return None

    def _path(self, path: str) -> Path:
        found = Path(path)
        return found if found.is_absolute() or self.data.base is None else self.data.base / found

    def _add_query(
        self,
        name: str,
        query: ast.QueryNode,
        starting: str | int | None,
        text: str,
        parameters: Mapping[str, Any],
    ) -> None:
        Query(self, text, query, parameters)  # a query that does not bind is refused when it is declared
        self.catalog.add_query(QueryDefinition(name, print_statement(query), starting))

    # ---- data --------------------------------------------------------------------------------------------------------

    def attach(self, stream: str, path: str | Path) -> None:
        """Make a CSV, JSON-lines or Parquet file the log of a stream."""
        self.data.attach_file(stream, Path(path), self.catalog)

    def append(self, stream: str, rows: pl.DataFrame | Iterable[Mapping[str, Any]]) -> int:
        """Append readings to a stream, in log order, and return how many could be read."""
        return self.data.append(self.catalog.stream(stream), rows)

    def stream_from(self, frame: DataFrame, stream: str, *, available_now: bool = False) -> Landing:
        """Make a streaming DataFrame of Spark (Kafka, Delta, files ...) the source of a declared stream. Its
        columns must be named like the stream's. Its rows are written to the stream's log in the data
        directory, each exactly once. Returns the running landing, which the caller stops."""
        from nilometer.engine.spark import stream_from

        return stream_from(self, frame, stream, available_now=available_now)

    def heartbeat(self, stream: str, time: str | int) -> None:
        """Promise that no tuple with an earlier tick will come."""
        try:
            tick = parse_time(time) if isinstance(time, str) else time
        except ValueError:
            raise DataError(
                f"'{time}' is not a time", hint="write it as ISO-8601: '2026-01-31T12:00:00Z'"
            ) from None
        self.data.heartbeat(self.catalog.stream(stream), tick)

    # ---- asking ------------------------------------------------------------------------------------------------------

    def sql(self, text: str, **parameters: Any) -> Query:
        """A query over the declared extents. Keyword arguments are its parameters."""
        return self.query_of(parse(text), text, **parameters)

    def query_of(self, statement: ast.Statement | ast.QueryNode, text: str, **parameters: Any) -> Query:
        """A query that is already parsed."""
        if isinstance(statement, ast.QueryNode):
            return Query(self, text, statement, parameters)
        raise ConfigurationError(
            "this is no query: a query begins with SELECT",
            hint="declarations stand in schema.sql; from Python, execute() takes them",
        ).at(text, statement.span)

    def query(self, name: str, **parameters: Any) -> Query:
        """A standing query of the catalog, with its parameters."""
        found = self.catalog.query(name)
        if found is None:
            known = ", ".join(q.name for q in self.catalog.queries()) or "none"
            raise ConfigurationError(
                f"no query '{name}'",
                detail=f"declared are: {known}",
                hint=f'declare it with execute("CREATE QUERY {name} AS SELECT ..."), or ask it with sql(...)',
            )
        if isinstance(found.starting, int):
            raise UnsupportedError(
                f"'{found.name}' starts at {format_time(found.starting)}, which a run over recorded data cannot do yet",
                hint="create it STARTING AT BEGINNING, or filter on time in WHERE",
            )
        return self.sql(found.text, **parameters)

    def answers(self, name: str, position: int = 0, *, follow: bool = False) -> Iterator[dict[str, Any]]:
        """The answers of a standing query, as dictionaries, from a position on (the number of rows before
        it). With `follow`, also every later answer, from any process, as soon as it is durable."""
        from nilometer.live.kept_answers import directory_of, kept_answers

        if not follow:
            return (row for answer in kept_answers(self, name, position) for row in answer)
        from nilometer.live import delivery

        directory_of(self, name)
        answers = delivery.follow(self, name, position, wait=delivery.a_moment)
        return (row for answer in answers for row in answer)

    def queries(self) -> list[QueryState]:
        """The standing queries of the data directory, including those no longer declared, each with its state
        in whatever process it runs."""
        from nilometer.live.query_list import query_list

        return query_list(self)

    def deliver(self, name: str, to: str) -> int:
        """Deliver to a sink the answers of a standing query that it does not have yet: `parquet:DIR`,
        `jsonl:FILE`, `mqtt://host/topic`, `postgresql://host/database?table=x`. Returns the number of rows
        delivered."""
        from nilometer.live.delivery import deliver

        return deliver(self, name, to).rows

    def show(self, kind: str) -> list[dict[str, Any]]:
        """STREAMS, TABLES, SENSORS, NETWORKS or QUERIES, as rows."""
        match kind.upper():
            case "STREAMS":
                return [
                    {
                        "name": stream.name,
                        "kind": "sensed" if stream.sensed else "pushed",
                        "columns": ", ".join(map(str, stream.columns)),
                        "interval": None if stream.interval is None else format_duration(stream.interval),
                        "delay": format_duration(stream.delay),
                        "sensors": len(self.catalog.sensors(stream.name)),
                    }
                    for stream in self.catalog.streams()
                ]
            case "TABLES":
                return [
                    {
                        "name": table.name,
                        "columns": ", ".join(map(str, table.columns)),
                        "url": _without_password(table.url),
                    }
                    for table in self.catalog.tables()
                ]
            case "SENSORS":
                return self.catalog.sensor_rows()
            case "NETWORKS":
                return [
                    {
                        "name": n.name,
                        "sink": n.sink,
                        "nodes": len(n.nodes),
                        "links": len(n.links),
                        "retries": n.retries,
                    }
                    for n in self.catalog.networks()
                ]
            case "QUERIES":
                return [
                    {"name": q.name, "text": q.text, "starting": q.starting} for q in self.catalog.queries()
                ]
            case _:
                raise ConfigurationError(f"cannot show '{kind}'")


def _without_password(url: str) -> str:
    from urllib.parse import urlsplit

    parts = urlsplit(url)
    return url.replace(f":{parts.password}@", ":***@") if parts.password else url


def connect(data: str | Path | None = None, *, catalog: str | None = None, on: str = "gateway") -> Database:
    """Open a database.

    Parameters
    ----------
    data:
        A directory with `schema.sql` (declarations) and one CSV, JSON-lines or Parquet file per stream; or one such
        file, whose stream is named after it; None for an empty database, to be filled with `execute` and `append`.
    catalog:
        Where the catalog is kept: a SQLite file or URL, or a PostgreSQL URL; None keeps it in memory.
    on:
        The host that answers, unless a query says otherwise: `gateway`, `spark` or `reference`.
    """
    if catalog is None:
        database = Database(Catalog(), on)
    else:
        from nilometer.catalog.store import CatalogStore

        database = Database(CatalogStore(catalog).load(), on)
    if data is not None:
        path = Path(data)
        if path.is_file() and path.suffix != ".sql":
            open_file(database, path)
        else:
            _open_directory(database, path)
    return database


def _open_directory(database: Database, directory: Path) -> None:
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
    database.data.base = directory
    database.execute(schema.read_text(encoding="utf-8"))
    database.data.attach_directory(directory, database.catalog)
