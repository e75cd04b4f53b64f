"""`nilometer.connect("http://...")` has the API of the embedded database: the same script gives the same on both."""

from __future__ import annotations

import select
import shutil
import subprocess
import threading
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import nilometer
from nilometer.engine.remote import RemoteDatabase
from nilometer.errors import BindError, ConfigurationError
from nilometer.server.settings import HttpSettings
from nilometer.server.tokens import Role, Tokens
from server.serving import AIR, PATIENCE, Caller, minute, served

READINGS = [{"time": f"2026-03-01T06:{n:02}Z", "id": f"s{n % 2}", "pm25": float(n)} for n in range(10)]
QUESTIONS = (
    "SELECT time, id, pm25 FROM air WHERE pm25 > 3",
    "SELECT id, MAX(pm25) AS top FROM air GROUP BY id ORDER BY id",
    "SELECT id, AVG(pm25) AS mean FROM air [RANGE 4 MINUTES SLIDE 2 MINUTES] GROUP BY id",
)


def opened(address: str, token: str | None = None) -> RemoteDatabase:
    found = nilometer.connect(address, token=token)
    assert isinstance(found, RemoteDatabase)
    return found


def test_the_same_script_gives_the_same(tmp_path: Path) -> None:
    embedded = nilometer.connect()
    with served(tmp_path, "") as server, opened(server.address) as remote:
        for database in (embedded, remote):
            assert database.execute(AIR) == [None]
            assert database.append("air", READINGS) == 10
        assert remote.told == ["stream air is there"]
        for text in QUESTIONS:
            assert list(remote.sql(text)) == list(embedded.sql(text))
            ours, theirs = remote.sql(text).polars(), embedded.sql(text).polars()
            assert ours.equals(theirs.cast(dict(ours.schema)))
            assert remote.sql(text).explain("logical") == embedded.sql(text).explain("logical")
        with_parameter = "SELECT pm25 FROM air WHERE pm25 > least"
        assert list(remote.sql(with_parameter, least=8)) == [{"pm25": 9.0}]
        assert remote.append("air", pl.DataFrame({"time": [1], "id": ["x"], "pm25": [0.5]})) == 1
        with pytest.raises(BindError) as refused:
            remote.sql("SELECT pm26\nFROM air")
        with pytest.raises(BindError) as here:
            embedded.sql("SELECT pm26\nFROM air")
        assert str(refused.value) == str(here.value)
        assert [one["name"] for one in remote.execute("SHOW STREAMS")[0]] == ["air"]
        for kind in ("MODELS", "PHENOMENA", "NETWORKS", "QUERIES"):
            assert remote.show(kind) == embedded.show(kind) == []
        declared = (
            "CREATE VIEW dense AS SELECT time, id, pm25 FROM air WHERE pm25 > 3",
            "CREATE QUERY smoky AS SELECT time, id, pm25 FROM air WHERE pm25 > 8",
        )
        for database in (embedded, remote):
            database.execute(";\n".join(declared))
        for kind in ("TABLES", "VIEWS", "FUNCTIONS", "PHENOMENA"):
            assert remote.show(kind) == embedded.show(kind)
        assert [one["name"] for one in remote.show("VIEWS")] == ["dense"]
        assert list(remote.query("smoky")) == list(embedded.query("smoky"))
        assert remote.query("smoky").schema == embedded.query("smoky").schema
        drawn = [database.query("smoky").plot().figure.axes for database in (embedded, remote)]
        assert [[panel.get_ylabel() for panel in panels] for panels in drawn] == [["pm25 (ug/m3)"]] * 2
        with pytest.raises(ConfigurationError, match="no standing query"):
            list(remote.answers("nothing"))
        with pytest.raises(ConfigurationError, match="no standing query"):
            remote.versions("nothing")


def test_a_live_query_takes_parameters(tmp_path: Path) -> None:
    with served(tmp_path, AIR) as server, opened(server.address) as remote:
        remote.append("air", READINGS)
        rows = remote.sql("SELECT pm25 FROM air WHERE pm25 > least", least=7).live(start="beginning")
        assert [next(rows), next(rows)] == [{"pm25": 8.0}, {"pm25": 9.0}]
        remote.append("air", [minute(30, "s5", 6.0), minute(31, "s5", 11.0)])
        assert next(rows) == {"pm25": 11.0}
        rows.close()  # type: ignore[attr-defined]


def test_answers_are_followed_over_the_end_of_a_server(tmp_path: Path) -> None:
    """One server ends in order, the next one begins at the same port: the follower notices nothing."""
    found: list[dict[str, Any]] = []
    enough = threading.Event()
    with served(tmp_path) as server:
        caller, port = Caller(server.port), server.port
        caller.sql("CREATE QUERY everything STARTING AT BEGINNING AS SELECT time, id, pm25 FROM air")
        caller.send("air", [minute(count) for count in range(5)])
        remote = opened(server.address)

        def follow() -> None:
            for row in remote.answers("everything", follow=True):
                found.append(row)
                if len(found) == 10:
                    enough.set()
                    return

        follower = threading.Thread(target=follow, daemon=True)
        follower.start()
        assert len(list(remote.sql("SELECT pm25 FROM air"))) == 5
        remote.close()
        caller.close()
    with served(tmp_path, settings=HttpSettings(port=port)):
        caller = Caller(port)
        caller.send("air", [minute(count) for count in range(5, 10)])
        assert enough.wait(30)
        caller.close()
        with opened(f"http://127.0.0.1:{port}") as other:
            assert len(list(other.answers("everything", 4))) == 6
    follower.join(10)
    assert [row["pm25"] for row in found] == [float(count) for count in range(10)]
    assert found[0]["time"] == datetime(2026, 3, 1, 6, 0, tzinfo=UTC)


def test_a_client_that_thought_for_long_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The server has ended the connection. Readings cannot simply be sent twice, so the end is noticed before. It may come
    while a question is sent, which is sent again."""
    monkeypatch.setattr("nilometer.server.http_server.IDLE", 0)
    with served(tmp_path, AIR) as server, opened(f"http://127.0.0.1:{server.port}") as remote:
        remote.append("air", [minute(0)])
        for _ in range(3):
            assert remote.sql("SELECT COUNT(*) AS n FROM air").polars().to_dicts() == [{"n": 1}]
            assert remote._connection is not None
            found, _, _ = select.select([remote._connection.sock], [], [], PATIENCE)
            assert found, "the server ends the connection"


def test_a_certificate_that_is_not_trusted_is_told_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cert, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    words = f"""req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=localhost
        -addext subjectAltName=IP:127.0.0.1 -keyout {key} -out {cert}"""
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not installed")
    subprocess.run(["openssl", *words.split()], capture_output=True, check=True)
    monkeypatch.setattr("nilometer.engine.remote.PATIENCE", float("inf"))  # an error that waits never comes
    with served(tmp_path / "field", settings=HttpSettings(port=0, tls_cert=cert, tls_key=key)) as server:
        with pytest.raises(ConfigurationError, match="is not trusted here"):
            opened(server.address)
        monkeypatch.setenv("SSL_CERT_FILE", str(cert))
        with opened(server.address) as remote:
            remote.append("air", READINGS)
            assert len(list(remote.sql("SELECT pm25 FROM air"))) == 10
            rows = remote.sql("SELECT pm25 FROM air WHERE pm25 > 8").live(start="beginning")
            assert next(rows) == {"pm25": 9.0}
            rows.close()  # type: ignore[attr-defined]
    with (
        served(tmp_path / "open") as server,
        pytest.raises(ConfigurationError, match="does not speak TLS"),
    ):
        opened(server.address.replace("http:", "https:"))


def test_a_token_is_sent_and_a_wrong_one_is_told(tmp_path: Path) -> None:
    tmp_path.joinpath("schema.sql").write_text(AIR)
    secret = Tokens(tmp_path).create("me", Role.READ)
    with served(tmp_path, settings=HttpSettings("0.0.0.0", 0)) as server:
        address = f"http://127.0.0.1:{server.port}"
        remote = opened(address, token=secret)
        assert [one["name"] for one in remote.show("STREAMS")] == ["air"]
        with pytest.raises(ConfigurationError, match="needs the role 'write'"):
            remote.append("air", [minute(0)])
        remote.close()
        with opened(address) as nobody, pytest.raises(ConfigurationError, match="needs a token"):
            nobody.show("STREAMS")
    with pytest.raises(ConfigurationError, match="a token is for a server"):
        nilometer.connect(tmp_path, token=secret)
