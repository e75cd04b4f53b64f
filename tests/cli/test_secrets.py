"""No malformed address shows its password: as a source, a sink, a table, a catalog, or to inspect."""

from __future__ import annotations

import io
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import nilometer
from nilometer.catalog.address import Address, resolved, scheme_of
from nilometer.catalog.extents import Stream
from nilometer.cli import main as cli
from nilometer.errors import ConfigurationError, NilometerError, Span
from nilometer.ingest.adapters.registry import adapter_for
from nilometer.redaction import redacted, redacted_text
from nilometer.sinks.registry import sink_for
from nilometer.sinks.sink import Origin
from nilometer.types import FLOAT, INT, TIME, Column

SECRET = "hunter2pw"
MALFORMED = [
    "{}://me:{}@127.0.0.1:port/x",
    "{}://me:{}@127.0.0.1:99999999/x",
    "{}://me:{}@[::1/x",
    "{}://me:{}@/x?table=t",
    "{}://me:{}@",
    "{}://me:{}",
    "{}://me:{}/x",
    "{}://:{}@127.0.0.1/x",
    "{}://me:a@b{}@127.0.0.1:1/x",
    "{}://me:a/b{}@127.0.0.1:1/x",
    "{}://me:a?b{}@127.0.0.1:1/x",
    "{}://me:a#b{}@127.0.0.1:1/x",
    "{}://me:12/{}@127.0.0.1:1/x",
    "{}:/me:{}@127.0.0.1/x",
    "{}:me:{}@127.0.0.1/x",
    "{}//me:{}@127.0.0.1/x",
    " {}://me:{}@127.0.0.1:1x/x",
    "{}://me:{}@127.0.0.1:1/x?limit=many&interval=often&every=never&receive=-1&nothing=1",
    "{}://me:{}@127.0.0.1:1/x?sslmode=nonsense&table=t&timeout=soon",
    "{}://127.0.0.1:1/x?table=t&password={}&connect_timeout=1&interval=often",
    "{}x://me:{}@127.0.0.1/x",
    "{}://me:%zz{}@127.0.0.1:%41/x",
]
AIR = Stream("air", (Column("time", TIME), Column("id", INT), Column("x", FLOAT)))
Run = Callable[..., tuple[int, str]]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    def call(*arguments: str) -> tuple[int, str]:
        monkeypatch.setattr(sys, "argv", ["nilometer", *arguments])
        monkeypatch.setattr(sys, "stdin", io.StringIO(""))
        code = 0
        try:
            cli.main()
        except SystemExit as ended:
            code = int(ended.code or 0)
        out, err = capsys.readouterr()
        return code, out + err

    return call


@pytest.mark.promise("passwords")
@pytest.mark.parametrize("number", range(0, len(MALFORMED), 3))
def test_a_password_is_in_no_message(number: int, run: Run, tmp_path: Path) -> None:
    url = MALFORMED[number].format(("http", "postgresql", "tcp")[number % 2], SECRET)
    at, schema = ["--data", str(tmp_path)], tmp_path / "schema.sql"
    schema.write_text(f"CREATE STREAM air (x FLOAT) PUSHED FROM '{url}';")
    said = [run("query", *at, "--seconds", "0.1", "SELECT * FROM air")]
    said.append(run("explain", *at, "SELECT * FROM air"))
    schema.write_text(f"CREATE STREAM air (x FLOAT) PUSHED FROM '{url}' DELAI 5 SECONDS;")
    said.append(run("streams", *at))
    url = MALFORMED[number].format("postgresql", SECRET)
    schema.write_text(f"CREATE TABLE t STORED AT '{url}' AS t;")
    said.append(run("streams", *at))
    schema.write_text(f"CREATE TABLE t (x INT) STORED AT '{url}' AS t;")
    said.append(run("query", *at, "SELECT * FROM t"))
    said.append(run("query", *at, "SHOW TABLES"))
    for _, text in said:
        assert SECRET not in text
        assert "a bug of ours" not in text


@pytest.mark.parametrize("shape", MALFORMED)
def test_nor_in_an_error_of_the_library(shape: str) -> None:
    database = nilometer.connect()
    for place, scheme in enumerate(("http", "tcp", "mqtt", "postgresql", "sqlite", "generate")):
        url = shape.format(scheme, SECRET)
        texts = []
        try:
            database.execute(f"CREATE STREAM air{place} (x FLOAT) PUSHED FROM '{url}'")
            adapter = adapter_for(database.catalog.stream(f"air{place}"), lambda: 0)
            texts.append(str(adapter.trouble))
        except NilometerError as error:
            texts.append(str(error))
        try:
            database.execute(f"CREATE TABLE t{place} STORED AT '{url}' AS t")
        except NilometerError as error:
            texts.append(str(error))
        assert all(SECRET not in text for text in texts), texts


@pytest.mark.parametrize("shape", MALFORMED)
def test_nor_when_a_sink_or_a_catalog_is_opened(shape: str, run: Run, tmp_path: Path) -> None:
    for scheme in ("mqtt", "postgresql"):
        url = shape.format(scheme, SECRET)
        texts = []
        try:
            sink = sink_for(url, Origin("q", "1"))
            texts += [sink.name, repr(sink.address), str(sink.address)]
            if sink.address.host == "127.0.0.1":
                sink.open()
        except NilometerError as error:
            texts += [str(error), json.dumps(error.as_dict()), repr(error), str(error.args)]
        assert all(SECRET not in text for text in texts), texts
    catalog = shape.format("postgresql", SECRET)
    if "://" in catalog and "127.0.0.1:1" in catalog:
        assert SECRET not in run("streams", "--data", str(tmp_path), "--catalog", catalog)[1]


SCHEMES = st.sampled_from(["mqtt://", "http://", "tcp://", "postgresql://", "mqtt:/", "MQTTS://", " http://"])
PASSWORDS = st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=6, max_size=20)


@pytest.mark.promise("passwords")
@settings(max_examples=150, suppress_health_check=[HealthCheck.filter_too_much])
@given(
    SCHEMES,
    PASSWORDS,
    st.sampled_from(
        [
            "@127.0.0.1/x",
            "@127.0.0.1:1883/x",
            "@127.0.0.1:x",
            "@[::1",
            "@",
            "@127.0.0.1/a?b=c&limit=x",
            "@127.0.0.1/{id}/#",
        ]
    ),
)
def test_whatever_the_password_it_is_in_no_text(scheme: str, password: str, tail: str) -> None:
    url = f"{scheme}me:{password}{tail}"
    texts = [
        redacted(url),
        redacted_text(f"cannot open '{url}' here"),
        str(ConfigurationError(f"'{url}'", detail=url).at(url, Span(3, 9))),
    ]
    for opened in (Address.parse, lambda url: adapter_for(AIR, lambda: 0, url=url)):
        try:
            made = opened(url)
            texts += [repr(made), str(made)] if isinstance(made, Address) else []
        except NilometerError as error:
            texts.append(str(error))
    # A reference is no secret, and stays.
    if not (password.startswith("${") and password.endswith("}")):
        assert all(password not in text for text in texts), texts


@pytest.mark.promise("references")
def test_references_are_looked_up_when_an_address_is_opened(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("p@ss/w?rd\nmore\n")
    environment = {"AIR": "s:e@c/r"}
    address = Address.parse(
        f"mqtt://me:${{file:{secret}}}@127.0.0.1:1884/air/${{AIR}}?token=${{AIR}}", environment
    )
    assert (address.password, address.host, address.port) == ("p@ss/w?rd", "127.0.0.1", 1884)
    assert address.options == {"token": "s:e@c/r"}
    assert "p@ss" not in str(address) + repr(address)
    assert "${AIR}" in str(address)
    assert scheme_of("postgresql://me:${NONE}@h/d") == "postgresql"
    with pytest.raises(ConfigurationError, match="no such variable"):
        resolved("mqtt://me:${NONE}@127.0.0.1/air", {})
    with pytest.raises(ConfigurationError, match="cannot be read"):
        resolved("mqtt://me:${file:/no/such/file}@127.0.0.1/air", {})
    with pytest.raises(ConfigurationError, match="neither a variable nor a file"):
        resolved("mqtt://me:${a-b}@127.0.0.1/air", {})


def test_a_declaration_with_a_reference_needs_no_secret_until_it_is_opened(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "schema.sql").write_text(
        "CREATE STREAM air (x FLOAT) PUSHED FROM 'http://me:${AIR_PASSWORD}@127.0.0.1:1/x';"
    )
    monkeypatch.delenv("AIR_PASSWORD", raising=False)
    assert run("explain", "--data", str(tmp_path), "SELECT * FROM air")[0] == 0
    code, text = run("query", "--data", str(tmp_path), "--seconds", "0.1", "SELECT * FROM air")
    assert (code, "no such variable" in text) == (1, True), text
    monkeypatch.setitem(os.environ, "AIR_PASSWORD", SECRET)
    assert SECRET not in run("query", "--data", str(tmp_path), "--seconds", "0.1", "SELECT * FROM air")[1]
