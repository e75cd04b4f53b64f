"""A database behind `nilometer serve --http`, with the API of one in this process as far as HTTP has it.

    db = nilometer.connect("http://gateway:7654", token="nilo_...")
    db.execute("CREATE STREAM air (id STRING, pm25 FLOAT) PUSHED KEY (id, time)")
    db.append("air", [{"time": "2026-03-01T06:00Z", "id": "a1", "pm25": 12.5}])
    db.sql("SELECT id, MAX(pm25) AS top FROM air GROUP BY id").polars()
    for row in db.answers("smoky", follow=True): ...

It needs nothing but the standard library, Polars and pyarrow. `answers(follow=True)` and `live` outlive the server and
the connection: they begin again where they were, and no row is missing or comes twice.
"""

from __future__ import annotations

import http.client
import io
import json
import select
import ssl
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlsplit

import nilometer.errors
from nilometer.errors import ConfigurationError, NilometerError, ResourceError, Span
from nilometer.expressions import python_type
from nilometer.language import ast, parse_script, print_statement
from nilometer.types import Column, Schema

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa

    from nilometer.pictures.answer_chart import Chart

PATIENCE = 30.0
"""Seconds for which a request that was refused for the moment, or whose server is gone, is tried again."""
QUESTIONS = ("/api/v1/query", "/api/v1/explain")
"""They change nothing, so they may be sent twice."""
TIMEOUT = 60.0
"""Seconds without a byte after which the server counts as gone. Streams of events say something every ten."""
PART = 10_000
"""How many readings are sent in one request."""

SHOWN = (
    "STREAMS",
    "TABLES",
    "VIEWS",
    "PHENOMENA",
    "MODELS",
    "FUNCTIONS",
    "SENSORS",
    "NETWORKS",
    "QUERIES",
    "ALERTS",
    "DECISIONS",
)
"""What SHOW takes: each has an address of the same name."""
_GONE = (OSError, http.client.HTTPException)
_PREFIX = "urn:nilometer:problem:"


class GoneError(ResourceError):
    """The server does not answer."""


@dataclass
class RemoteDatabase:
    """One server. For use by one thread at a time."""

    address: str
    token: str | None = field(default=None, repr=False)
    certificate: str | None = None
    told: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        parts = urlsplit(self.address)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ConfigurationError(f"'{self.address}' is no address of a server", hint="http://host:7654")
        if parts.username or parts.password:
            raise ConfigurationError("the address has a user in it", hint="give token=... instead")
        self._host, self._port = parts.hostname, parts.port or (443 if parts.scheme == "https" else 80)
        self._secure = parts.scheme == "https"
        self._connection: http.client.HTTPConnection | None = None
        self.get("/readyz")

    # ---- declaring ---------------------------------------------------------------------------------------------------

    def execute(self, text: str, **parameters: Any) -> list[Any]:
        """Run a script of declarations, SHOW, EXPLAIN and queries; returns one result per statement."""
        self.told = []
        return [self._execute(statement, parameters) for statement in parse_script(text)]

    def _execute(self, statement: ast.Statement | ast.QueryNode, parameters: Mapping[str, Any]) -> Any:
        match statement:
            case ast.Show(kind=kind):
                return self.show(kind)
            case ast.Explain(query=query, stage=stage, verbose=verbose):
                return self.sql(print_statement(query), **parameters).explain(
                    stage or "optimized", verbose=verbose
                )
            case ast.QueryNode():
                return self.sql(print_statement(statement), **parameters)
        text = print_statement(statement)
        self.told.append(str(self.post("/api/v1/statements", {"sql": text}, text)["told"]))
        return None

    def show(self, kind: str) -> list[dict[str, Any]]:
        """STREAMS, TABLES, VIEWS, PHENOMENA, MODELS, FUNCTIONS, SENSORS, NETWORKS, QUERIES, ALERTS or DECISIONS, as rows."""
        if kind.upper() not in SHOWN:
            raise ConfigurationError(f"cannot show '{kind}'", hint=f"a server shows {', '.join(SHOWN)}")
        return self._all(f"/api/v1/{kind.lower()}?limit=1000")

    def queries(self) -> list[dict[str, Any]]:
        """The standing queries, with their state."""
        return self.show("QUERIES")

    def versions(self, name: str) -> list[dict[str, Any]]:
        """The declarations that a standing query or a model has had, newest first."""
        models = [model for model in self.show("MODELS") if model["name"].lower() == name.lower()]
        if models:
            return list(models[0]["versions"])
        return list(self.get(f"/api/v1/queries/{quote(name, safe='')}/versions")["items"])

    def _all(self, path: str | None) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        while path:
            page = self.get(path)
            found += page["items"]
            path = page.get("next")
        return found

    # ---- readings ----------------------------------------------------------------------------------------------------

    def append(self, stream: str, rows: pl.DataFrame | Iterable[Mapping[str, Any]]) -> int:
        """Add readings to a stream, and return how many could be read. They are durable when this returns. Readings
        that were not acknowledged are sent again: give the stream a KEY, so that it knows doubles."""
        import polars as pl

        path = f"/api/v1/streams/{quote(stream, safe='')}/readings"
        read = 0
        if isinstance(rows, pl.DataFrame):
            for start in range(0, rows.height, PART):
                sink = io.BytesIO()
                rows[start : start + PART].write_ipc_stream(sink)
                read += self._send(path, sink.getvalue(), "application/vnd.apache.arrow.stream")
            return read
        lines = [json.dumps(dict(row), default=_json) for row in rows]
        for start in range(0, len(lines), PART):
            read += self._send(path, "\n".join(lines[start : start + PART]).encode(), "application/x-ndjson")
        return read

    def _send(self, path: str, body: bytes, kind: str) -> int:
        def send() -> int:
            status, _, data = self._request("POST", path, body, {"Content-Type": kind})
            found = json.loads(data)
            if status == 422 and "garbled" in found:
                return int(found["received"]) - int(found["garbled"])
            self._check(status, data)
            return int(found["received"]) - int(found["garbled"])

        return int(self._patiently(send))

    # ---- asking ------------------------------------------------------------------------------------------------------

    def sql(self, text: str, /, **parameters: Any) -> RemoteQuery:
        """A query. Keyword arguments are its parameters."""
        return RemoteQuery(self, text, parameters)

    def query(self, name: str, /, **parameters: Any) -> RemoteQuery:
        """A standing query of the server, with its parameters."""
        return self.sql(str(self.get(f"/api/v1/queries/{quote(name, safe='')}")["sql"]), **parameters)

    def refresh(self) -> None:
        """A server knows what its clients declare: this asks whether it is there, and nothing else."""
        self.get("/readyz")

    def answers(self, name: str, position: int = 0, *, follow: bool = False) -> Iterator[dict[str, Any]]:
        """The answers of a standing query from a position on; with `follow`, also every later one, until all streams of
        the query have ended. The position is the number of rows before it."""
        path = f"/api/v1/queries/{quote(name, safe='')}/results"
        if not follow:
            return self._pages(f"{path}?from={position}&limit=10000")
        return self._follow(f"{path}?from={position}")

    def _pages(self, path: str | None) -> Iterator[dict[str, Any]]:
        while path:
            page = self.get(path)
            yield from _rows(page["rows"], page["columns"])
            path = page["next"]

    def _follow(self, path: str, text: str | None = None, asked: Any = None) -> Iterator[dict[str, Any]]:
        """The rows of events; `asked` is the body of a request that is posted."""
        last: str | None = None
        columns: list[dict[str, Any]] = []
        since = time.monotonic()
        while True:
            try:
                for event, identity, data in self._events(path, last, text, asked):
                    last, since = identity or last, time.monotonic()
                    if event == "schema":
                        columns = data["columns"]
                    elif event == "rows":
                        yield from _rows(data["rows"], columns)
                    elif event == "problem":
                        raise _error(data, text)
                    elif event == "end":
                        return
            except (GoneError, *_GONE):
                pass  # it goes on where it was
            if time.monotonic() - since > PATIENCE:
                raise GoneError(f"{self.address} does not answer", hint="start the server again")
            time.sleep(0.2)

    def _events(
        self, path: str, last: str | None, text: str | None, asked: Any
    ) -> Iterator[tuple[str, str | None, Any]]:
        headers = {"Accept": "text/event-stream"} | ({} if last is None else {"Last-Event-ID": last})
        connection, response = self._connect(), None
        try:
            if asked is None:
                connection.request("GET", path, headers=self._headers(headers))
            else:
                headers |= {"Content-Type": "application/json"}
                body = json.dumps(asked, default=_json).encode()
                connection.request("POST", path, body, self._headers(headers))
            response = connection.getresponse()
            if response.status != 200:
                self._check(response.status, response.read(), text)
            found: dict[str, str] = {}
            for raw in response:
                line = raw.decode().rstrip("\r\n")
                if not line:
                    if "event" in found:
                        yield found["event"], found.get("id"), json.loads(found["data"])
                    found = {}
                elif not line.startswith(":"):
                    name, _, value = line.partition(": ")
                    found[name] = value
        finally:
            if response is not None:
                response.close()
            connection.close()

    # ---- HTTP --------------------------------------------------------------------------------------------------------

    def get(self, path: str) -> Any:
        """The JSON at a path."""

        def ask() -> Any:
            status, _, data = self._request("GET", path)
            self._check(status, data)
            return json.loads(data)

        return self._patiently(ask)

    def post(self, path: str, body: Any, text: str | None = None) -> Any:
        """The JSON reply to a JSON request. `text` is what the place of an error refers to."""
        return json.loads(self.post_for(path, body, "application/json", text))

    def post_for(self, path: str, body: Any, accept: str, text: str | None = None) -> bytes:
        """The reply to a JSON request, in the form of that media type."""
        headers = {"Content-Type": "application/json", "Accept": accept}
        status, _, data = self._request("POST", path, json.dumps(body, default=_json).encode(), headers)
        self._check(status, data, text)
        return data

    def _request(
        self, method: str, path: str, body: bytes | None = None, headers: Mapping[str, str] | None = None
    ) -> tuple[int, Mapping[str, str], bytes]:
        if self._connection is not None and _dropped(self._connection):
            self.close()  # the server ends connections that are idle for long: people think between two cells
        fresh = self._connection is None
        try:
            if self._connection is None:
                self._connection = self._connect()
            self._connection.request(method, path, body, self._headers(headers or {}))
            response = self._connection.getresponse()
            return response.status, dict(response.getheaders()), response.read()
        except _GONE as error:
            self.close()
            if not fresh and (method == "GET" or path in QUESTIONS):
                return self._request(method, path, body, headers)  # a connection that was idle for long
            hint = "start the server" if self._secure else "start the server; if it has TLS, it is https://"
            raise GoneError(f"{self.address} does not answer", detail=str(error), hint=hint) from None

    def _connect(self) -> http.client.HTTPConnection:
        if not self._secure:
            return http.client.HTTPConnection(self._host, self._port, timeout=TIMEOUT)
        context = ssl.create_default_context(cafile=self.certificate)
        connection = http.client.HTTPSConnection(self._host, self._port, timeout=TIMEOUT, context=context)
        try:
            connection.connect()
        except ssl.SSLCertVerificationError as error:
            raise ConfigurationError(
                f"the certificate of {self.address} is not trusted here",
                detail=error.verify_message,
                hint="if you trust it, name it, or the authority that signed it: SSL_CERT_FILE=cert.pem",
            ) from None
        except (ssl.SSLEOFError, ssl.SSLZeroReturnError, ssl.SSLSyscallError):
            raise  # the server went away
        except ssl.SSLError as error:
            raise ConfigurationError(
                f"{self.address} does not speak TLS", detail=error.reason, hint="without TLS it is http://"
            ) from None
        return connection

    def _headers(self, headers: Mapping[str, str]) -> dict[str, str]:
        said = {} if self.token is None else {"Authorization": f"Bearer {self.token}"}
        return {**headers, **said}

    def _check(self, status: int, data: bytes, text: str | None = None) -> None:
        if status < 400:
            return
        try:
            problem = json.loads(data)
        except ValueError:
            problem = {"detail": f"{self.address} says {status}", "status": status}
        raise _error(problem, text)

    def _patiently(self, call: Callable[[], Any]) -> Any:
        """The result of a call, which is made again while the server is busy or away."""
        until = time.monotonic() + PATIENCE
        while True:
            try:
                return call()
            except (BusyServerError, GoneError):
                if time.monotonic() > until:
                    raise
            time.sleep(0.2)

    def close(self) -> None:
        """End the connection."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def __enter__(self) -> RemoteDatabase:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _dropped(connection: http.client.HTTPConnection) -> bool:
    """Whether the server has ended a connection on which no reply is awaited: then there is something to read, its end."""
    if connection.sock is None:
        return True
    look = select.poll()
    look.register(connection.sock, select.POLLIN)
    return bool(look.poll(0))


class BusyServerError(ResourceError):
    """The server asks to try again."""


@dataclass(frozen=True)
class RemoteQuery:
    """A query that a server answers. Iterating runs it over the data at hand there."""

    database: RemoteDatabase
    text: str
    parameters: Mapping[str, Any]

    def __post_init__(self) -> None:
        self.explain("logical")  # errors are reported when the query is made, not when it is first run

    def explain(self, stage: str = "optimized", *, verbose: bool = False) -> str:
        """The plan at a stage, as text."""
        return str(self.explain_json(stage, verbose=verbose).get("text", ""))

    def explain_json(self, stage: str = "optimized", *, verbose: bool = False) -> dict[str, Any]:
        """The plan at a stage, as JSON."""
        asked = {"sql": self.text, "stage": stage, "verbose": verbose, "parameters": dict(self.parameters)}
        found: dict[str, Any] = self.database.post("/api/v1/explain", asked, self.text)
        return found

    def picture(self, stage: str = "optimized") -> str:
        """The plan at a stage as a drawing, SVG."""
        asked = {"sql": self.text, "stage": stage, "parameters": dict(self.parameters)}
        return self.database.post_for("/api/v1/explain", asked, "image/svg+xml", self.text).decode()

    def __iter__(self) -> Iterator[dict[str, Any]]:
        found = self._ask()
        return _rows(found["rows"], found["columns"])

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the answer's columns."""
        return self.schema.names

    @property
    def schema(self) -> Schema:
        """The answer's columns, with types and units."""
        found = self.explain_json("logical")["columns"]
        return Schema(tuple(Column(one["name"], python_type(one["type"]), one["unit"]) for one in found))

    def _ask(self) -> Any:
        asked = {"sql": self.text, "live": False, "parameters": dict(self.parameters)}
        return self.database.post("/api/v1/query", asked, self.text)

    def arrow(self) -> pa.Table:
        """The answer as a pyarrow table."""
        import pyarrow as pa

        asked = {"sql": self.text, "live": False, "parameters": dict(self.parameters)}
        data = self.database.post_for(
            "/api/v1/query", asked, "application/vnd.apache.arrow.stream", self.text
        )
        return pa.ipc.open_stream(data).read_all()

    def polars(self) -> pl.DataFrame:
        """The answer as a Polars frame."""
        import polars as pl

        found = pl.from_arrow(self.arrow())
        assert isinstance(found, pl.DataFrame), "a table is a frame"
        return found

    def pandas(self) -> pd.DataFrame:
        """The answer as a pandas frame. pandas is not installed with Nilometer."""
        return self.arrow().to_pandas()

    def plot(
        self,
        x: str | None = None,
        y: str | Sequence[str] | None = None,
        by: str | None = None,
        *,
        title: str = "",
    ) -> Chart:
        """The answer as a chart, drawn here: `y` over `x`, one line for each value of `by`."""
        from nilometer.pictures.answer_chart import answer_chart, axes_of

        schema = self.schema
        return answer_chart(self.polars(), schema, axes_of(schema, x, y, by), title)

    def live(self, *, start: str = "now") -> Iterator[dict[str, Any]]:
        """Rows as they come. `start`: now, beginning or a time. The query outlives the server."""
        asked = {"sql": self.text, "live": True, "start": start, "parameters": dict(self.parameters)}
        return self.database._follow("/api/v1/query", self.text, asked)

    def watch(self, *, start: str = "now") -> int:
        """In a notebook: the newest rows of the live query, updated as they come, until the cell is interrupted."""
        from nilometer.engine.notebook import watch

        return watch(self.live(start=start), self.text)

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        """The query and the last rows of its answer, for notebooks."""
        from nilometer.engine.notebook import CHARTED, page_of

        rows = list(self)
        return page_of(self.text, rows[-CHARTED:], len(rows))._repr_mimebundle_()


def _error(problem: Mapping[str, Any], text: str | None = None) -> NilometerError:
    """The error that a problem tells of, as if it had happened here."""
    status = int(problem.get("status", 0))
    kind: type[NilometerError] = ConfigurationError
    word = str(problem.get("type", "")).removeprefix(_PREFIX).title().replace("-", "")
    found = getattr(nilometer.errors, f"{word}Error", None)
    if isinstance(found, type) and issubclass(found, NilometerError):
        kind = found
    elif status in (429, 503):
        kind = BusyServerError
    if kind is ResourceError and status in (429, 503):
        kind = BusyServerError
    error = kind(str(problem.get("detail")), detail=problem.get("found"), hint=problem.get("hint"))
    if text is None or problem.get("line") is None:
        return error
    lines = text.split("\n")[: int(problem["line"]) - 1]
    start = sum(len(line) + 1 for line in lines) + int(problem["column"]) - 1
    return error.at(text, Span(start, start + int(problem.get("length") or 1)))


def _rows(rows: list[dict[str, Any]], columns: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Rows of JSON with Python's values: TIME as an aware datetime, POINT as a pair."""
    times = [column["name"] for column in columns if column["type"] == "TIME"]
    points = [column["name"] for column in columns if column["type"] == "POINT"]
    for row in rows:
        for name in times:
            if row[name] is not None:
                row[name] = datetime.fromisoformat(row[name])
        for name in points:
            if row[name] is not None:
                row[name] = tuple(row[name])
        yield row


def _json(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.isoformat()
    raise ConfigurationError(f"a value of type {type(value).__name__} cannot be sent")
