"""Who may do what by HTTP: every route and role, tokens, hosts, origins, places that may be named, sizes, TLS."""

from __future__ import annotations

import dataclasses
import http.client
import json
import socket
import ssl
import subprocess
from pathlib import Path
from typing import Any

import pytest
from fastapi.routing import APIRoute, APIWebSocketRoute
from typer.testing import CliRunner
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect as connect_websocket

from nilometer.cli.main import application
from nilometer.errors import ConfigurationError
from nilometer.laboratory.fuzz.run import fuzz
from nilometer.laboratory.fuzz.targets import Target
from nilometer.language import ast, parse
from nilometer.live import audit
from nilometer.server.application import document_of
from nilometer.server.confinement import Confinement
from nilometer.server.problems import ForbiddenError
from nilometer.server.settings import HttpSettings
from nilometer.server.tokens import FILE, Role, Tokens
from server.serving import AIR, Caller, calling, served

SCHEMA = AIR + "CREATE QUERY everything STARTING AT BEGINNING AS SELECT time, id, pm25 FROM air;\n"

ROLES: dict[tuple[str, str], Role | None] = {
    ("GET", "/healthz"): None,
    ("GET", "/readyz"): None,
    ("GET", "/"): None,
    ("GET", "/favicon.svg"): None,
    ("GET", "/assets/{name}"): None,
    ("GET", "/metrics"): Role.READ,
    ("GET", "/openapi.json"): Role.READ,
    ("GET", "/docs"): Role.READ,
    ("GET", "/api/v1/streams"): Role.READ,
    ("POST", "/api/v1/streams"): Role.ADMIN,
    ("GET", "/api/v1/streams/{name}"): Role.READ,
    ("DELETE", "/api/v1/streams/{name}"): Role.ADMIN,
    ("GET", "/api/v1/streams/{name}/statistics"): Role.READ,
    ("GET", "/api/v1/streams/{name}/ledger"): Role.READ,
    ("POST", "/api/v1/streams/{name}/readings"): Role.WRITE,
    ("GET", "/api/v1/queries"): Role.READ,
    ("POST", "/api/v1/queries"): Role.ADMIN,
    ("GET", "/api/v1/queries/{name}"): Role.READ,
    ("GET", "/api/v1/queries/{name}/versions"): Role.READ,
    ("GET", "/api/v1/models"): Role.READ,
    ("GET", "/api/v1/models/{name}"): Role.READ,
    ("PUT", "/api/v1/queries/{name}"): Role.ADMIN,
    ("DELETE", "/api/v1/queries/{name}"): Role.ADMIN,
    ("POST", "/api/v1/queries/{name}/pause"): Role.ADMIN,
    ("POST", "/api/v1/queries/{name}/resume"): Role.ADMIN,
    ("POST", "/api/v1/statements"): Role.ADMIN,
    ("GET", "/api/v1/queries/{name}/results"): Role.READ,
    ("WEBSOCKET", "/api/v1/queries/{name}/results"): Role.READ,
    ("GET", "/api/v1/explain"): Role.READ,
    ("POST", "/api/v1/explain"): Role.READ,
    ("POST", "/api/v1/query"): Role.READ,
    ("GET", "/api/v1/query"): Role.READ,
    ("GET", "/api/v1/sensors"): Role.READ,
    ("GET", "/api/v1/phenomena"): Role.READ,
    ("GET", "/api/v1/tables"): Role.READ,
    ("GET", "/api/v1/views"): Role.READ,
    ("GET", "/api/v1/functions"): Role.READ,
    ("GET", "/api/v1/phenomena/{name}/current"): Role.READ,
    ("GET", "/api/v1/dead-letters"): Role.READ,
    ("GET", "/api/v1/demand"): Role.READ,
    ("GET", "/v1.1"): Role.READ,
    ("GET", "/v1.1/{path:path}"): Role.READ,
    ("POST", "/v1.1/$batch"): Role.READ,
    ("POST", "/v1.1/Observations"): Role.WRITE,
    ("POST", "/v1.1/CreateObservations"): Role.WRITE,
    ("POST", "/v1.1/{path:path}/Observations"): Role.WRITE,
    ("POST", "/v1.1/{path:path}"): Role.ADMIN,
    ("PATCH", "/v1.1/{path:path}"): Role.ADMIN,
    ("PUT", "/v1.1/{path:path}"): Role.ADMIN,
    ("DELETE", "/v1.1/{path:path}"): Role.ADMIN,
    ("POST", "/api/v1/dead-letters/submit"): Role.WRITE,
    ("GET", "/api/v1/field"): Role.READ,
    ("GET", "/api/v1/streams/{name}/span"): Role.READ,
    ("GET", "/api/v1/streams/{name}/history"): Role.READ,
    ("GET", "/api/v1/words"): Role.READ,
    ("GET", "/api/v1/peers"): Role.READ,
    ("GET", "/api/v1/networks"): Role.READ,
    ("GET", "/api/v1/alerts"): Role.READ,
    ("POST", "/api/v1/alerts"): Role.ADMIN,
    ("GET", "/api/v1/alerts/{name}"): Role.READ,
    ("DELETE", "/api/v1/alerts/{name}"): Role.ADMIN,
    ("GET", "/api/v1/alerts/{name}/deliveries"): Role.READ,
    ("POST", "/api/v1/alerts/{name}/silence"): Role.WRITE,
    ("POST", "/api/v1/alerts/{name}/speak"): Role.WRITE,
    ("POST", "/api/v1/alerts/{name}/acknowledge"): Role.WRITE,
    ("POST", "/api/v1/alerts/{name}/test"): Role.ADMIN,
    ("GET", "/api/v1/audit"): Role.ADMIN,
    ("GET", "/api/v1/decisions"): Role.READ,
    ("POST", "/api/v1/decisions"): Role.ADMIN,
    ("GET", "/api/v1/decisions/{name}"): Role.READ,
    ("DELETE", "/api/v1/decisions/{name}"): Role.ADMIN,
    ("POST", "/api/v1/decisions/{name}/{position}/acknowledge"): Role.WRITE,
    ("POST", "/api/v1/decisions/{name}/{position}/overrule"): Role.WRITE,
}


def test_every_route_and_role(tmp_path: Path) -> None:
    tmp_path.joinpath("schema.sql").write_text(SCHEMA)
    tokens = {role: Tokens(tmp_path).create(role.value, role) for role in Role}
    with served(tmp_path, settings=HttpSettings("0.0.0.0", 0)) as server:
        routes = _flat(server.application.routes)
        assert routes == set(ROLES), "a route without a role in this table, or the reverse"
        for path, operations in document_of(server.application)["paths"].items():
            for method, operation in operations.items():
                needed = ROLES[(method.upper(), path.replace("{path}", "{path:path}"))]
                said = operation.get("security")
                assert said == (None if needed is None else [{"token": [needed.value]}, {}]), (method, path)
        for (method, path), needed in ROLES.items():
            for held, secret in {None: None, **tokens}.items():
                status = _status(
                    server.port, method, path.replace("{name}", "nothing").replace("{position}", "0"), secret
                )
                if needed is None:
                    assert status in (200, 404, 503), (method, path, held)
                elif held is None:
                    assert status == 401, (method, path)
                elif not held.allows(needed):
                    assert status == 403, (method, path, held)
                else:
                    assert status not in (401, 403, 500), (method, path, held)


def _flat(routes: Any) -> set[tuple[str, str]]:
    found: set[tuple[str, str]] = set()
    for route in routes:
        if isinstance(route, APIWebSocketRoute):
            found.add(("WEBSOCKET", route.path))
        elif isinstance(route, APIRoute):
            found |= {(method, route.path) for method in route.methods}
        else:
            found |= _flat(route.original_router.routes)  # a router that was included
    return found


def _status(port: int, method: str, path: str, secret: str | None) -> int:
    headers = {} if secret is None else {"Authorization": f"Bearer {secret}"}
    if method == "WEBSOCKET":
        try:
            with connect_websocket(f"ws://127.0.0.1:{port}{path}", additional_headers=headers):
                return 101
        except InvalidStatus as error:
            return error.response.status_code
    caller = Caller(port, headers)
    body = None if method in ("GET", "DELETE") else {"sql": "SELECT nothing"}
    reply = caller(method, path, body)
    caller.close()
    return reply.status


def test_another_binding_needs_a_token(tmp_path: Path) -> None:
    with (
        pytest.raises(ConfigurationError, match="there is no token"),
        served(tmp_path, settings=HttpSettings("0.0.0.0", 0)),
    ):
        pass


def test_tokens_are_hashed_and_a_revoked_one_is_refused(tmp_path: Path) -> None:
    tmp_path.joinpath("schema.sql").write_text(AIR)
    tokens = Tokens(tmp_path)
    secret = tokens.create("me", Role.READ)
    kept = (tmp_path / FILE).read_text()
    assert secret not in kept
    assert secret.removeprefix("nilo_") not in kept
    assert (tmp_path / FILE).stat().st_mode & 0o777 == 0o600
    with pytest.raises(ConfigurationError, match="a token 'me' already"):
        tokens.create("me", Role.ADMIN)
    with pytest.raises(ConfigurationError, match="no name"):
        tokens.create("a b", Role.ADMIN)
    with served(tmp_path, settings=HttpSettings("0.0.0.0", 0)) as server:
        caller = Caller(server.port, {"Authorization": f"Bearer {secret}"})
        assert caller("GET", "/api/v1/streams").status == 200
        tokens.revoke("me")
        refused = caller("GET", "/api/v1/streams")
        assert (refused.status, refused.headers["www-authenticate"]) == (401, 'Bearer realm="nilometer"')
        assert secret.encode() not in refused.body
        caller.close()
    with pytest.raises(ConfigurationError, match="no token 'me'"):
        tokens.revoke("me")


def test_a_mutated_file_of_tokens_is_an_error_of_ours(tmp_path: Path) -> None:
    path = tmp_path / FILE
    path.parent.mkdir()

    def parse(data: bytes) -> object:
        path.write_bytes(data)
        return Tokens(tmp_path).find("nilo_x")

    known = b'[{"name": "a", "role": "read", "digest": "00", "created": "2026-01-01T00:00:00Z"}]'
    assert fuzz(Target(parse, (known,)), 0, lambda tried: tried < 300).crashes == {}


def test_a_web_page_cannot_use_a_server_on_loopback(caller: Caller) -> None:
    rebound = caller("GET", "/api/v1/streams", Host="evil.example:80")
    assert rebound.status == 403
    assert caller("GET", "/api/v1/streams", Host="localhost:7654").status == 200
    posted = caller(
        "POST", "/api/v1/statements", b"DROP QUERY everything", "text/plain", Origin="http://evil.example"
    )
    assert posted.status == 403
    assert (
        caller("POST", "/api/v1/statements", b"DROP X", "text/plain", Sec_Fetch_Site="cross-site").status
        == 403
    )
    own = f"http://127.0.0.1:{caller.port}"
    assert caller("GET", "/api/v1/streams", Origin=own).status == 200
    preflight = caller("OPTIONS", "/api/v1/streams", Origin=own, Access_Control_Request_Method="POST")
    assert preflight.status == 405
    assert not any(name.startswith("access-control") for name in preflight.headers)
    with pytest.raises(InvalidStatus):
        connect_websocket(
            f"ws://127.0.0.1:{caller.port}/api/v1/queries/everything/results", origin="http://evil.example"
        )


REFUSED = [
    "CREATE STREAM s (x INT) PUSHED FROM 'file:///etc/passwd'",
    "CREATE STREAM s (x INT) PUSHED FROM 'directory:///'",
    "CREATE STREAM s (x INT) PUSHED FROM 'file://{here}/../other.csv'",
    "CREATE STREAM s (x INT) PUSHED FROM 'file://{here}/%2e%2e/other.csv'",
    "CREATE STREAM s (x INT) PUSHED FROM 'file://{here}/.nilometer/tokens.json'",
    "CREATE STREAM s (x INT) PUSHED FROM 'file://{here}/out.csv'",
    "CREATE STREAM s (x INT) PUSHED FROM 'http://169.254.169.254/latest'",
    "CREATE STREAM s (x INT) PUSHED FROM 'http://localhost:22/'",
    "CREATE STREAM s (x INT) PUSHED FROM 'tcp://0.0.0.0:9?open=1'",
    "CREATE STREAM s (x INT) PUSHED FROM 'mqtt://me:${{AWS_SECRET}}@broker/x'",
    "CREATE STREAM s (x INT) PUSHED FROM 'mqtt://broker/x?ca=/etc/passwd'",
    "CREATE STREAM s (x INT) PUSHED FROM 'http://user@broker:80@evil/'",
    "REPLACE STREAM air (x INT) PUSHED FROM 'file:///etc/passwd'",
    "CREATE TABLE t STORED AT '/etc/passwd.csv'",
    "CREATE TABLE t STORED AT '../other.csv'",
    "CREATE TABLE t STORED AT 'x?/../../etc/passwd.csv'",
    "CREATE TABLE t STORED AT '*.csv'",
    "CREATE TABLE t STORED AT 'sqlite:////etc/x.db' AS x",
    "CREATE TABLE t STORED AT 'postgresql://db/plant' AS x",
    "CREATE TABLE t STORED AT 'postgresql://broker/plant?host=evil' AS x",
    "COPY SENSORS OF air FROM '/etc/hosts.csv'",
    "COPY STREAMS FROM '/etc/schema.xml'",
    'CREATE QUERY ".." AS SELECT id FROM air',
    'CREATE STREAM "../x" (x INT) PUSHED',
    "CREATE NETWORK n FROM '/etc/net.toml'",
    "CREATE ALERT a WHEN (SELECT id FROM air) THEN 'http://169.254.169.254/latest'",
    "CREATE ALERT a WHEN (SELECT id FROM air) THEN 'https://broker@evil/'",
    "CREATE ALERT a WHEN (SELECT id FROM air) THEN 'http://broker/${{AWS_SECRET}}'",
    "CREATE ALERT a WHEN (SELECT id FROM air) THEN 'mailto:${{HOME}}@x.example'",
    "REPLACE ALERT a WHEN (SELECT id FROM air) THEN 'http://localhost:22/'",
]
PLACES = {
    ("CreateStream", "url"),
    ("CreateTable", "url"),
    ("CopySensors", "path"),
    ("CopyStreams", "path"),
    ("CreateNetwork", "path"),
    ("CreateNetwork", "schema"),
    ("CreateNetwork", "resources"),
    ("CreateAlert", "address"),
}
"""The fields of statements that name files and hosts. Each has a line above."""


def test_no_statement_names_a_place_that_nobody_confines() -> None:
    words = {
        "url",
        "path",
        "address",
        "schema",
        "resources",
        "target",
        "file",
        "directory",
        "host",
        "sink_url",
    }
    found = {
        (kind.__name__, field.name)
        for kind in ast.Statement.__subclasses__()
        for field in dataclasses.fields(kind)
        if field.name in words
    }
    assert found == PLACES


@pytest.mark.parametrize("text", REFUSED)
def test_places_that_users_of_http_may_not_name(tmp_path: Path, text: str) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "other.csv").write_text("")
    (tmp_path / "in" / "out.csv").symlink_to(tmp_path / "other.csv")
    confined = Confinement(tmp_path / "in", hosts=("broker",))
    statement = parse(text.format(here=tmp_path / "in"))
    assert isinstance(statement, ast.Statement)
    with pytest.raises(ForbiddenError):
        confined.check(statement)


@pytest.mark.parametrize(
    "text",
    [
        "CREATE STREAM s (x INT) PUSHED",
        "CREATE STREAM s (x INT) PUSHED FROM 'file://{here}/in.csv?follow=1'",
        "CREATE STREAM s (x INT) PUSHED FROM 'mqtt://Broker:1883/x/+?format=json'",
        "CREATE STREAM s (x INT) PUSHED FROM 'file://{root}/shared/x.csv'",
        "CREATE TABLE t STORED AT 'limits.csv'",
        "CREATE TABLE t STORED AT 'sqlite:///plant.db' AS x",
        "CREATE VIEW v AS SELECT 1 FROM air",
    ],
)
def test_places_that_they_may_name(tmp_path: Path, text: str) -> None:
    (tmp_path / "in").mkdir()
    confined = Confinement(tmp_path / "in", roots=(tmp_path / "shared",), hosts=("broker",))
    statement = parse(text.format(here=tmp_path / "in", root=tmp_path))
    assert isinstance(statement, ast.Statement)
    confined.check(statement)


def test_a_refused_place_is_a_403_and_a_secret_is_not_told(tmp_path: Path) -> None:
    with calling(tmp_path) as caller:
        text = b"CREATE STREAM s (x INT) PUSHED FROM 'mqtt://me:hunter2@broker/x'"
        for path in ("streams", "statements"):
            refused = caller("POST", f"/api/v1/{path}", text, "application/sql")
            assert refused.status == 403
            assert b"hunter2" not in refused.body
        syntax = caller("POST", "/api/v1/statements", text + b" SOON", "application/sql")
        assert syntax.status == 400
        assert b"hunter2" not in syntax.body
    settings = HttpSettings(port=0, hosts=("127.0.0.1",))
    with calling(tmp_path, settings=settings) as caller:
        text = b"CREATE STREAM s (x INT) PUSHED FROM 'mqtt://me:hunter2@127.0.0.1:1/x'"
        assert caller("POST", "/api/v1/statements", text, "application/sql").status == 200
        for path in ("/api/v1/streams", "/api/v1/streams/s", "/metrics"):
            assert b"hunter2" not in caller("GET", path).body


def test_requests_are_bounded(caller: Caller) -> None:
    for headers in ({"Content-Length": "99999999999"}, {"Content-Length": "x"}):
        connection = http.client.HTTPConnection("127.0.0.1", caller.port, timeout=10)
        connection.putrequest("POST", "/api/v1/query")
        for name, value in headers.items():
            connection.putheader(name, value)
        connection.endheaders()
        assert connection.getresponse().status in (400, 413)
        connection.close()
    endless = http.client.HTTPConnection("127.0.0.1", caller.port, timeout=10)
    chunks = (b"x" * (1 << 20) for _ in range(20))
    with_body = {"Content-Type": "application/json"}
    try:
        endless.request("POST", "/api/v1/query", chunks, with_body, encode_chunked=True)
    except (BrokenPipeError, ConnectionResetError):
        pass  # it was refused before all was sent
    else:
        assert endless.getresponse().status == 413
    endless.close()
    long = caller("POST", "/api/v1/query", {"sql": "SELECT " + "1+" * 60_000 + "1 FROM air"})
    assert long.status in (413, 422)
    with socket.create_connection(("127.0.0.1", caller.port), timeout=10) as raw:
        raw.sendall(b"GARBAGE\r\n\r\n")
        assert b"400" in raw.recv(100)
    assert caller.get("/healthz")["status"] == "ok"


def test_tls(tmp_path: Path) -> None:
    cert, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    words = f"""req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=localhost
        -addext subjectAltName=IP:127.0.0.1 -keyout {key} -out {cert}"""
    made = subprocess.run(["openssl", *words.split()], capture_output=True, check=False)
    if made.returncode:
        pytest.skip("openssl is not installed")
    settings = HttpSettings(port=0, tls_cert=cert, tls_key=key)
    with served(tmp_path / "field", settings=settings) as server:
        assert server.address.startswith("https://")
        context = ssl.create_default_context(cafile=str(cert))
        connection = http.client.HTTPSConnection("127.0.0.1", server.port, context=context, timeout=10)
        connection.request("GET", "/healthz")
        assert json.loads(connection.getresponse().read())["status"] == "ok"
        connection.close()
    with pytest.raises(ConfigurationError, match="a certificate and its key"):
        HttpSettings(tls_cert=cert)


def test_a_bug_of_ours_tells_nothing_of_our_insides(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with served(tmp_path) as server:

        def bug(*_: object) -> None:
            raise RuntimeError("the secret inside")

        monkeypatch.setattr(server.desk.owner, "submit", bug)
        caller = Caller(server.port)
        reply = caller("GET", "/api/v1/streams")
        assert (reply.status, reply.headers["content-type"]) == (500, "application/problem+json")
        assert b"inside" not in reply.body
        caller.close()
        monkeypatch.undo()


def test_limits_of_a_token(tmp_path: Path) -> None:
    tmp_path.joinpath("schema.sql").write_text(AIR)
    slow = Tokens(tmp_path).create("slow", Role.WRITE, requests=2)
    few = Tokens(tmp_path).create("few", Role.WRITE, rows=0.5)
    free = Tokens(tmp_path).create("free", Role.READ)
    with served(tmp_path, settings=HttpSettings("0.0.0.0", 0)) as server:
        asked, sends, other = (
            Caller(server.port, {"Authorization": f"Bearer {one}"}) for one in (slow, few, free)
        )
        replies = [asked("GET", "/api/v1/streams") for _ in range(20)]
        refused = [reply for reply in replies if reply.status == 429]
        assert refused
        assert replies[0].status == 200
        assert refused[0].headers["retry-after"] == "1"
        assert "2 times a second" in refused[0].json["detail"]
        assert {other("GET", "/api/v1/streams").status for _ in range(20)} == {200}, "others have their own"
        readings = [{"time": "2026-03-01T06:00:00Z", "id": f"a{n}", "pm25": 1.0} for n in range(50)]
        assert sends("POST", "/api/v1/streams/air/readings", readings).status == 200
        over = sends("POST", "/api/v1/streams/air/readings", readings)
        assert over.status == 429
        assert int(over.headers["retry-after"]) > 50, "49 rows are to be paid back"
        for caller in (asked, sends, other):
            caller.close()


def test_who_changed_what_is_on_record(tmp_path: Path) -> None:
    tmp_path.joinpath("schema.sql").write_text(AIR)
    secret = Tokens(tmp_path).create("anna", Role.ADMIN)
    with served(tmp_path, settings=HttpSettings("0.0.0.0", 0, hosts=("h",))) as server:
        anna = Caller(server.port, {"Authorization": f"Bearer {secret}"})
        anna.sql("CREATE STREAM far (x INT) PUSHED FROM 'mqtt://me:geheim@h/far/+'")
        assert anna("DELETE", "/api/v1/streams/far").status == 200
        assert anna("POST", "/api/v1/statements", b"DROP STREAM far", "application/sql").status == 409
        found = anna.get("/api/v1/audit")["items"]
        assert anna.get("/api/v1/audit?limit=1")["next"] == "/api/v1/audit?limit=1&skip=1"
        assert [one["what"] for one in anna.get("/api/v1/audit?who=anna")["items"]] == [
            "DROP STREAM far",
            "CREATE STREAM far (x INT) PUSHED FROM 'mqtt://me:***@h/far/+'",
        ], "what was refused has changed nothing"
        anna.close()
    assert found[-1]["did"] == "create token"
    assert "geheim" not in str(found)
    assert (tmp_path / ".nilometer" / "audit.log").stat().st_mode & 0o777 == 0o600
    shown = CliRunner().invoke(application, ["audit", "--data", str(tmp_path), "--json"])
    assert [json.loads(line)["what"] for line in shown.stdout.splitlines()] == [one["what"] for one in found]


def test_a_torn_line_of_the_audit_is_cut_off(tmp_path: Path) -> None:
    audit.note(tmp_path, "a", "execute", "one")
    with open(tmp_path / ".nilometer" / "audit.log", "ab") as file:
        file.write(b"00000000 {torn")
    audit.note(tmp_path, "b", "execute", "two")
    assert [one["what"] for one in audit.history(tmp_path)] == ["two", "one"]
