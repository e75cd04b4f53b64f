"""Whatever is sent, the server answers, and never with a 500: odd names, parameters, bodies and media types for every
route. (schemathesis does this at length; docs/http.md is checked against the same OpenAPI document.)"""

from __future__ import annotations

import json
import random
from typing import Any
from urllib.parse import quote

from server.serving import Caller
from server.test_security import ROLES

NAMES = [
    "air",
    "everything",
    "nothing",
    "..",
    ".",
    "a/b",
    "a'b",
    "é" * 40,
    "\x00",
    "%2e%2e",
    " ",
    "a" * 300,
    "sensors",
]
VALUES = [
    "",
    "0",
    "-1",
    "null",
    "true",
    "1e9",
    "9" * 30,
    "now",
    "beginning",
    "é\x00",
    "'",
    "x" * 500,
    "1,2,3km",
    "id = 1",
]
TEXTS: list[Any] = [
    "",
    "SELECT",
    "SELECT 1",
    "SELECT * FROM air",
    "SELECT pm25 FROM air ORDER BY",
    "CREATE STREAM x (",
    "DROP STREAM nothing",
    "DROP TABLE x; DROP TABLE y",
    "SHOW STREAMS",
    "EXPLAIN SELECT * FROM air",
    "PAUSE QUERY nothing",
    "SELECT '\x00'",
    "SELECT 99999999999999999999999999 FROM air",
    "SELECT pm25 / 0 FROM air",
    "\ud800",
    None,
    5,
    [],
    {"a": 1},
]
KINDS = ["application/json", "application/sql", "text/csv", "application/x-ndjson", "", "a/b;c=d", "\xff/x"]


def test_no_request_is_answered_with_a_500(caller: Caller) -> None:
    dice = random.Random(5)
    answered = 0
    for method, path in ROLES:
        if method == "WEBSOCKET":
            continue
        for _ in range(6):
            where = path.replace("{name}", quote(dice.choice(NAMES), safe=""))
            asked = {
                name: dice.choice(VALUES)
                for name in dice.sample(
                    [
                        "limit",
                        "after",
                        "skip",
                        "from",
                        "near",
                        "where",
                        "stream",
                        "start",
                        "starting",
                        "state",
                    ],
                    3,
                )
            }
            if path == "/api/v1/query" and method == "GET":
                asked["sql"] = str(dice.choice(TEXTS)).replace("\ud800", "")
            where += "?" + "&".join(f"{name}={quote(value)}" for name, value in asked.items())
            body: bytes | None = None
            if method in ("POST", "PUT"):
                text = dice.choice(TEXTS)
                whole = {
                    "sql": text,
                    "stage": dice.choice(["ast", "logical", "analyze", "x", None]),
                    "live": False,
                }
                bodies: list[bytes] = [
                    json.dumps(whole).encode(),
                    json.dumps({k: v for k, v in whole.items() if v is not None}).encode(),
                    str(text).encode(errors="replace"),
                    b"\xff\x00",
                    b"",
                    b"{",
                    b"null",
                    b"[1, 2",
                    b'{"name": "x", "columns": [{"name": "y", "type": "POINTS"}]}',
                    b'{"name": "x", "columns": [{"name": "y", "type": "INT", "unit": "no unit"}]}',
                ]
                body = dice.choice(bodies)
            accept = dice.choice(["*/*", "application/json", "text/csv;q=x", "text/plain", ""])
            last = dice.choice(["", "0-0-0-0", "9-9-9-9", "e30", "W10"])
            headers = {"Accept": accept} | ({"Last-Event-ID": last} if last else {})
            reply = caller(method, where, body, dice.choice(KINDS), **headers)
            assert reply.status < 500 or reply.status == 503, (method, where, body, reply.body)
            if reply.status >= 400:
                assert reply.headers["content-type"] == "application/problem+json", (method, where, reply)
            answered += 1
    assert answered > 150
    assert caller.get("/readyz")["status"] == "ready"


def test_a_parameter_may_have_any_name(caller: Caller) -> None:
    for name in ("text", "self", "statement"):
        question = {"sql": f"SELECT id FROM old WHERE x > {name}", "parameters": {name: 1}}
        reply = caller("POST", "/api/v1/query", question)
        assert (reply.status, len(reply.json["rows"])) == (200, 1), name


def test_a_method_that_is_not_there_names_those_that_are(caller: Caller) -> None:
    for path, methods in (("/api/v1/alerts", "GET, POST"), ("/api/v1/queries/x", "DELETE, GET, PUT")):
        reply = caller("PATCH", path, {})
        assert (reply.status, reply.headers["allow"]) == (405, methods)


def test_every_answer_has_a_documented_type(caller: Caller) -> None:
    document = caller.get("/openapi.json")
    documented = document["paths"]["/api/v1/query"]["get"]["responses"]["200"]["content"]
    asked = "/api/v1/query?sql=SELECT%201%20AS%20one"
    for kind in (
        "*/*",
        "application/json",
        "application/x-ndjson",
        "text/csv",
        "application/vnd.apache.arrow.stream",
    ):
        reply = caller("GET", asked, Accept=kind)
        assert reply.status == 200
        assert reply.headers["content-type"].split(";")[0] in documented
        assert kind in ("*/*", reply.headers["content-type"].split(";")[0])
    assert caller("GET", asked, Accept="image/png").status == 406
    assert caller("POST", "/api/v1/explain", {"sql": "SELECT 1", "verbose": 0}).status == 422
