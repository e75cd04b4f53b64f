"""The database: a catalog, the available data, and queries over them. It composes the packages and decides
nothing itself."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from nilometer.catalog import Catalog, Stream
from nilometer.catalog.catalog import PhenomenonDefinition, ViewDefinition
from nilometer.catalog.check_drop import check_drop
from nilometer.catalog.doubtful_units import doubtful_units
from nilometer.catalog.peer_streams import home_of, is_inner
from nilometer.engine.data import Data
from nilometer.engine.declaration import columns_text, form_text
from nilometer.engine.declare import sensor_of, snee_streams, stream_of, table_of
from nilometer.engine.definition import query_definition
from nilometer.engine.examples import installed
from nilometer.engine.functions import check_code, function_of, function_rows
from nilometer.engine.hosts import host_name
from nilometer.engine.models import create_model, drop_model, is_model, model_rows, write_model
from nilometer.engine.opening import open_data, open_stream
from nilometer.engine.query import Query
from nilometer.engine.reactions import reaction_of, show_alerts, show_decisions
from nilometer.errors import ConfigurationError, DataError, NilometerError, UnsupportedError
from nilometer.language import ast, parse, parse_script, print_statement
from nilometer.live.kept_examples import HOLDERS, forget
from nilometer.memory import give
from nilometer.redaction import redacted
from nilometer.settings_file import apply_settings
from nilometer.types import format_duration, format_time, parse_time
from nilometer.urls import is_url
from nilometer.workers.settings import take_settings

if TYPE_CHECKING:
    import polars as pl

    from nilometer.engine.keeping import Keeping
    from nilometer.live.query_list import QueryState
    from nilometer.spark.stream_from import Landing
    from nilometer.spark.typed import DataFrame


CHANGING = (
    ast.CreateStream,
    ast.CreateTable,
    ast.CreateSensor,
    ast.CopySensors,
    ast.CopyStreams,
    ast.CreateNetwork,
    ast.CreateModel,
    ast.CreateFunction,
    ast.CreateQuery,
    ast.CreateView,
    ast.CreatePhenomenon,
    ast.CreateAlert,
    ast.CreateDecision,
    ast.Replace,
    ast.Pause,
    ast.Resume,
    ast.Drop,
)
"""The statements that change what is declared, or what runs."""


class Database:
    """Declare sensors with `execute`, and ask queries with `sql`."""

    def __init__(self, catalog: Catalog, host: str = "gateway") -> None:
        self.catalog = catalog
        self.host = host_name(host)
        self.data = Data()
        self.notes: list[str] = []
        self.keeping: Keeping | None = None
        self.brief = False
        """Whether this process ends with the answer to one question: Spark's session then starts quickly, and is never fast."""
        self.told: list[str] = []
        self.models: Path | None = None

    # ---- declaring ---------------------------------------------------------------------------------------------------

    def execute(self, text: str, *, force: bool = False, **parameters: Any) -> list[Any]:
        """Run a script of declarations, SHOW, EXPLAIN and queries; returns one result per statement.

        A declaration returns None, SHOW rows (dictionaries), EXPLAIN text, a query a `Query`. In a data directory
        the declarations are kept: they take effect in its owner (`nilometer serve`), or with the next one. `told`
        says what became of each. `force`: create a query whatever the limits in nilometer.toml say.
        """
        self.told = []
        return [self._execute(statement, text, parameters, force=force) for statement in parse_script(text)]

    def _execute(
        self,
        statement: ast.Statement | ast.QueryNode,
        text: str,
        parameters: Mapping[str, Any],
        *,
        force: bool,
    ) -> Any:
        self.refresh()
        if self.keeping is not None and isinstance(statement, CHANGING):
            try:
                check_code(statement, text)
                self.told.append(self.keeping.execute(statement, force=force))
            except NilometerError as error:
                raise error.at(text, statement.span) from None
            return None
        try:
            if self.data.base is None:  # those of a directory's schema.sql are looked at when they are used
                check_code(statement, text)
            lowered = self._of_models(statement, text)
        except NilometerError as error:
            raise error.at(text, statement.span) from None
        if lowered is None:
            return None
        statement = lowered
        return self._run(statement, text, parameters)

    def _of_models(
        self, statement: ast.Statement | ast.QueryNode, text: str
    ) -> ast.Statement | ast.QueryNode | None:
        """A statement about a model as one about its table; None if all is done. A model is fitted here."""
        match statement:
            case ast.CreateModel(name=name) if self.catalog.extent(name) is None:
                return create_model(self, statement, text)
            case ast.Replace(created=ast.CreateModel(name=name) as created):
                known = is_model(self.catalog.extent(name))
                write_model(self, created, text)
                return None if known else create_model(self, created, text)
            case ast.Drop(kind="MODEL", name=name, if_exists=if_exists):
                if is_model(self.catalog.extent(str(name))):
                    drop_model(self, str(name))
                elif not if_exists:
                    raise ConfigurationError(f"no model '{name}'", hint="SHOW MODELS lists them")
                return replace(statement, kind="TABLE")
        return statement

    def take_over(self) -> None:
        """This process has become the owner of the directory: know what clients have declared until then."""
        if self.keeping is not None:
            self.keeping.refresh(owner=False)

    def declare(self, statement: ast.Statement, text: str) -> None:
        """Change the catalog, and nothing else."""
        self._run(statement, text, {})

    def _run(self, statement: ast.Statement | ast.QueryNode, text: str, parameters: Mapping[str, Any]) -> Any:
        try:
            match statement:
                case ast.QueryNode():
                    return Query(self, text, statement, parameters)
                case ast.Replace(created=created):
                    self._replace(created, text)
                case ast.Pause() | ast.Resume():
                    raise ConfigurationError(
                        "only the queries of a data directory run, and can be paused",
                        hint='connect to one: nilometer.connect("field/")',
                    )
                case ast.CreateStream():
                    stream_declared = stream_of(statement, text)
                    self.catalog.add_stream(stream_declared)
                    self.notes += doubtful_units(stream_declared)
                case ast.CreateTable():
                    self.catalog.add_table(table_of(statement, text, self.data.base))
                case ast.CreateModel(name=name):
                    if self.catalog.extent(name) is not None:
                        raise ConfigurationError(
                            f"there is a stream, table or model '{name}' already",
                            hint=f"choose another name, or REPLACE MODEL {name} ...",
                        )
                    self.catalog.add_table(
                        table_of(create_model(self, statement, text), text, self.data.base)
                    )
                case ast.CreateFunction():
                    self.catalog.add_function(function_of(statement, text))
                case ast.CreateSensor():
                    self.catalog.add_sensor(sensor_of(statement))
                case ast.CopySensors(path=path, stream=stream, origins=origins):
                    from nilometer.catalog.sensors_file import read_sensors

                    self.catalog.add_sensors(read_sensors(self._path(path), stream, dict(origins)))
                case ast.CopyStreams(path=path, every=every):
                    for declared in snee_streams(self._path(path), every, text):
                        self.catalog.add_stream(declared)
                case ast.CreateNetwork(name=name, path=path, sink=sink, retries=retries):
                    from nilometer.catalog.network_files import import_network

                    schema = None if statement.schema is None else self._path(statement.schema)
                    resources = None if statement.resources is None else self._path(statement.resources)
                    self.catalog.add_network(
                        import_network(
                            self._path(path), name, sink, retries, schema=schema, resources=resources
                        )
                    )
                case ast.CreateQuery():
                    self.catalog.add_query(query_definition(self, statement, text, parameters))
                case ast.CreateAlert() | ast.CreateDecision():
                    self.catalog.add_query(reaction_of(self, statement, text))
                case ast.CreateView(name=name, columns=columns, query=query):
                    self._add_view(name, columns, query, text, parameters)
                case ast.CreatePhenomenon():
                    self._add_phenomenon(statement, text, parameters)
                case ast.Drop(kind=kind, name=name, if_exists=if_exists, stream=stream):
                    check_drop(self.catalog, kind, str(name))
                    self.catalog.drop(kind, name, if_exists, stream)
                    if kind in HOLDERS and self.data.base is not None:
                        forget(self.data.base, str(name))
                case ast.Show(kind=kind):
                    return self.show(kind)
                case ast.Explain(query=query, stage=stage, verbose=verbose):
                    return Query(self, text, query, parameters).explain(stage or "optimized", verbose=verbose)
                case _:
                    raise ConfigurationError(f"cannot execute {type(statement).__name__}")
        except NilometerError as error:
            raise error.at(text, statement.span) from None
        return None

    def _replace(self, created: ast.Statement, text: str) -> None:
        match created:
            case ast.CreateStream(name=name) if isinstance(self.catalog.extent(name), Stream):
                self.catalog.replace_stream(stream_of(created, text))
                return
            case ast.CreateQuery(name=name):
                definition = query_definition(self, replace(created, starting=None), text, {})
                self.catalog.drop("QUERY", name, if_exists=True)
                self.catalog.add_query(definition)
                return
            case ast.CreateAlert(name=name) | ast.CreateDecision(name=name):
                definition = reaction_of(self, created, text)
                self.catalog.drop("QUERY", name, if_exists=True)
                self.catalog.add_query(definition)
                return
            case ast.CreateView(name=name, columns=columns, query=query):
                before = self.catalog.view(name)
                self.catalog.drop("VIEW", name, if_exists=True)
                try:
                    self._add_view(name, columns, query, text, {})
                except NilometerError:
                    if before is not None:
                        self.catalog.add_view(before)
                    raise
                return
            case ast.CreatePhenomenon(name=name):
                known = self.catalog.phenomenon(name)
                self.catalog.drop("PHENOMENON", name, if_exists=True)
                try:
                    self._add_phenomenon(created, text, {})
                except NilometerError:
                    if known is not None:
                        self.catalog.add_phenomenon(known)
                    raise
                return
            case ast.CreateModel(name=name):
                write_model(self, created, text)
                if is_model(self.catalog.extent(name)):
                    return
            case ast.CreateFunction(name=name):
                from nilometer.workers.functions import renew

                function = function_of(created, text)
                renew(function.reference)
                self.catalog.drop("FUNCTION", name, if_exists=True)
                self.catalog.add_function(function)
                return
            case ast.CreateTable(name=name):
                table = table_of(created, text, self.data.base)
                self.catalog.drop("TABLE", name, if_exists=True)
                self.catalog.add_table(table)
                return
        self._run(created, text, {})

    def _path(self, path: str) -> Path:
        found = Path(path)
        return found if found.is_absolute() or self.data.base is None else self.data.base / found

    def _add_view(
        self,
        name: str,
        columns: tuple[str, ...],
        query: ast.QueryNode,
        text: str,
        parameters: Mapping[str, Any],
    ) -> None:
        examples = installed(self, name, query, text)
        query = examples.tree
        everything = ast.Select((ast.SelectItem(ast.Star()),), (ast.ExtentSource(name),))
        read = ast.With((ast.CommonTable(name, columns, query, span=query.span),), everything)
        Query(self, text, read, parameters)  # a view that does not bind is refused when it is declared
        self.catalog.add_view(ViewDefinition(name, print_statement(query), columns))
        examples.keep(self, name)

    def _add_phenomenon(
        self, created: ast.CreatePhenomenon, text: str, parameters: Mapping[str, Any]
    ) -> None:
        everything = ast.FunctionSource("PHENOMENA", created.definition, span=created.span)
        read = ast.Select((ast.SelectItem(ast.Star()),), (everything,), span=created.span)
        Query(self, text, read, parameters)  # a definition that does not bind is refused when it is declared
        self.catalog.add_phenomenon(PhenomenonDefinition(created.name, print_statement(created)))

    # ---- data --------------------------------------------------------------------------------------------------------

    def attach(self, name: str, path: str | Path) -> None:
        """Make a CSV, JSON-lines or Parquet file the log of a stream; or all files of a directory, or those that
        match a pattern. A stream that is not declared gets the columns of its files; without a time in them it is
        a table. A declared table is read from them."""
        open_stream(self, name, path)

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

    def refresh(self) -> None:
        """Take up what other clients of the data directory have declared."""
        if self.keeping is not None:
            self.keeping.refresh()

    # ---- asking ------------------------------------------------------------------------------------------------------

    def sql(self, text: str, /, **parameters: Any) -> Query:
        """A query over the declared extents. Keyword arguments are its parameters."""
        self.refresh()
        return self.query_of(parse(text), text, **parameters)

    def query_of(self, statement: ast.Statement | ast.QueryNode, text: str, /, **parameters: Any) -> Query:
        """A query that is already parsed."""
        if isinstance(statement, ast.QueryNode):
            return Query(self, text, statement, parameters)
        raise ConfigurationError(
            "this is no query: a query begins with SELECT",
            hint="declarations stand in schema.sql; from Python, execute() takes them",
        ).at(text, statement.span)

    def query(self, name: str, /, **parameters: Any) -> Query:
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

        self.refresh()
        if not follow:
            return (row for answer in kept_answers(self, name, position) for row in answer)
        from nilometer.live import delivery

        directory_of(self, name)
        answers = delivery.follow(self, name, position, wait=delivery.a_moment)
        return (row for answer in answers for row in answer)

    def reconstruct(self, name: str, at: str | int | None = None) -> pl.DataFrame:
        """What each sensor read, from the SUMMARY of a phenomenon that a standing query keeps: `time`, `id`, `value` and
        `member`, at every summary; with `at`, only at the last summary up to that time. A member reads its phenomenon's
        mean, any other sensor its cell's."""
        import polars as pl

        from nilometer.live.reconstructing import reconstruct

        self.refresh()
        moment = parse_time(at) if isinstance(at, str) else at
        found = reconstruct(self, name, moment)
        return found.with_columns(found["time"].cast(pl.Datetime("us", "UTC")))

    def queries(self) -> list[QueryState]:
        """The standing queries of the data directory, including those no longer declared, each with its state
        in whatever process it runs."""
        from nilometer.live.query_list import query_list

        self.refresh()
        return query_list(self)

    def versions(self, name: str) -> list[dict[str, Any]]:
        """The declarations that a standing query or a model has had in this data directory, newest first: text, when it
        was installed, by whom, and the offsets in the streams' logs at which it took effect."""
        from nilometer.live.declared_versions import versions_at

        self.refresh()
        kind = "MODEL" if is_model(self.catalog.extent(name)) else "QUERY"
        if kind == "QUERY" and self.catalog.query(name) is None:
            raise ConfigurationError(
                f"no standing query or model '{name}'", hint="SHOW QUERIES and SHOW MODELS list them"
            )
        if self.data.base is None:
            raise ConfigurationError("versions are kept in a data directory, and this database has none")
        return [version.as_dict() for version in versions_at(self.data.base, kind, name)]

    def deliver(self, name: str, to: str) -> int:
        """Deliver to a sink the answers of a standing query that it does not have yet: `parquet:DIR`,
        `jsonl:FILE`, `mqtt://host/topic`, `postgresql://host/database?table=x`. Returns the number of rows
        delivered."""
        from nilometer.live.delivery import deliver

        return deliver(self, name, to).rows

    def show(self, kind: str) -> list[dict[str, Any]]:
        """STREAMS, TABLES, VIEWS, PHENOMENA, MODELS, FUNCTIONS, SENSORS, NETWORKS, QUERIES, ALERTS or DECISIONS, as rows."""
        match kind.upper():
            case "STREAMS":
                return [
                    {
                        "name": stream.name,
                        "kind": ("sensed" if stream.sensed else "pushed")
                        if (home := home_of(stream)) is None
                        else f"REMOTE {home}",
                        "columns": columns_text(stream),
                        "interval": None if stream.interval is None else format_duration(stream.interval),
                        "delay": format_duration(stream.delay),
                        "sensors": len(self.catalog.sensors(stream.name)),
                    }
                    | ({"form": form} if (form := form_text(stream)) else {})
                    for stream in self.catalog.streams()
                    if not is_inner(stream)
                ]
            case "TABLES":
                return [
                    {
                        "name": table.name,
                        "columns": columns_text(table),
                        "url": redacted(table.url),
                    }
                    | ({"form": form} if (form := form_text(table)) else {})
                    for table in self.catalog.tables()
                ]
            case "MODELS":
                return model_rows(self)
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
            case "VIEWS":
                return [
                    {"name": v.name, "columns": ", ".join(v.columns) or None, "text": v.text}
                    for v in self.catalog.views()
                ]
            case "PHENOMENA":
                return [{"name": p.name, "text": p.text} for p in self.catalog.phenomena()]
            case "FUNCTIONS":
                return function_rows(self.catalog.functions())
            case "QUERIES":
                return [
                    {"name": q.name, "text": q.text, "starting": q.starting} for q in self.catalog.queries()
                ]
            case "ALERTS":
                return show_alerts(self)
            case "DECISIONS":
                return show_decisions(self)
            case _:
                raise ConfigurationError(f"cannot show '{kind}'")


def connect(
    data: str | Path | Mapping[str, str | Path] | None = None,
    *,
    catalog: str | None = None,
    on: str = "gateway",
    log_order: bool = False,
    memory: str | None = None,
    token: str | None = None,
) -> Database:
    """Open a database.

    Parameters
    ----------
    data:
        A directory with `schema.sql` (declarations) and one CSV, JSON-lines or Parquet file per stream; or one such
        file, a directory of them or a pattern, whose stream is named after it; or several of these by the names of
        their streams; or one of these in an object store, `s3://bucket/field`, which is only read; None for an empty database, to be filled with `execute` and `append`.
    catalog:
        Where the catalog is kept: a SQLite file or URL, or a PostgreSQL URL; None keeps it in memory.
    on:
        The host that answers, unless a query says otherwise: `gateway`, `spark` or `reference`.
    log_order:
        Whether the order of the rows in a file is the order in which they arrived, so that readings beyond their
        stream's DELAY are late. Otherwise the readings of a file are sorted by time, and none of them is late.
    memory:
        The memory of this process, such as "2GB": it is divided among queries, sources and files. None: what
        NILOMETER_MEMORY or nilometer.toml says, else 4 GiB.
    token:
        If `data` is `http://host:7654`, the database is behind that server (remote.py), and this is the token.
    """
    if isinstance(data, str) and data.startswith(("http://", "https://")):
        from nilometer.engine.remote import RemoteDatabase

        # It has the same methods, as far as HTTP goes.
        return cast(Database, RemoteDatabase(data, token))
    if token is not None:
        raise ConfigurationError("a token is for a server", hint='connect("http://host:7654", token=...)')
    if memory is not None:
        give(memory)
    if not is_url(data):
        apply_settings(_directory(data))
        take_settings(_directory(data))
    if catalog is None:
        database = Database(Catalog(), on)
        kept = data is not None and not is_url(data)  # nothing is written to a store
    else:
        from nilometer.catalog.store import CatalogStore

        database = Database(CatalogStore(catalog).load(), on)
        kept = False  # the catalog keeps the declarations
    database.data.log_order = log_order
    if data is not None:
        open_data(database, data, kept=kept)
    return database


def _directory(data: str | Path | Mapping[str, str | Path] | None) -> Path | None:
    """The directory whose settings count."""
    if data is None or isinstance(data, Mapping):
        return None
    return Path(data) if Path(data).is_dir() else Path(data).parent
