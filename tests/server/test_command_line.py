"""`nilometer serve --http` and `nilometer token`, as a person types them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from nilometer.cli.main import application
from nilometer.errors import ConfigurationError, DataError, NilometerError, ResourceError
from nilometer.server import http_server
from nilometer.server.settings import HttpSettings, parse_address
from nilometer.server.tokens import Tokens
from server.serving import AIR, served


def run(*words: str) -> str:
    done = CliRunner().invoke(application, list(words))
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done.stdout


@pytest.fixture
def field(tmp_path: Path) -> Path:
    (tmp_path / "schema.sql").write_text(AIR)
    return tmp_path


def test_tokens_are_created_listed_and_revoked(field: Path) -> None:
    secret = run("token", "create", "--data", str(field), "--role", "write", "--name", "gateway").strip()
    found = Tokens(field).find(secret)
    assert found is not None
    listed = json.loads(run("token", "list", "--data", str(field), "--json"))
    assert (listed["name"], listed["role"]) == ("gateway", "write")
    assert secret not in json.dumps(listed)
    run("token", "revoke", "gateway", "--data", str(field))
    assert Tokens(field).find(secret) is None
    with pytest.raises(ConfigurationError, match="no role 'king'"):
        run("token", "create", "--data", str(field), "--role", "king")


def test_serving_without_the_extra_says_which(field: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_server, "find_spec", lambda _: None)
    with pytest.raises(ConfigurationError, match="HTTP server is not installed") as refused:
        run("serve", "--data", str(field), "--http", "0")
    assert refused.value.hint is not None
    assert "nilometer[server]" in refused.value.hint


def test_serving_for_a_moment(field: Path) -> None:
    done = CliRunner().invoke(
        application, ["serve", "--data", str(field), "--http", "127.0.0.1:0", "--seconds", "0.1"]
    )
    assert "HTTP at http://127.0.0.1:" in done.stderr


def test_serving_an_empty_directory(tmp_path: Path) -> None:
    """A newcomer has none of the files: streams are declared in the dashboard. Without HTTP nobody could."""
    words = ["serve", "--data", str(tmp_path), "--seconds", "0.1"]
    with pytest.raises(DataError, match=r"no schema\.sql"):
        run(*words)
    done = CliRunner().invoke(application, [*words, "--http", "127.0.0.1:0"])
    assert "HTTP at http://127.0.0.1:" in done.stderr
    assert "was empty" in done.stderr
    assert (tmp_path / "schema.sql").read_text() == ""
    with pytest.raises(NilometerError):
        run("serve", "--data", str(tmp_path / "nothing"), "--http", "127.0.0.1:0")
    assert not (tmp_path / "nothing").exists()


def test_options_that_make_no_sense(field: Path) -> None:
    with pytest.raises(ConfigurationError, match="are about HTTP"):
        run("serve", "--data", str(field), "--allow-host", "broker")
    with pytest.raises(ConfigurationError, match="there is no token"):
        run("serve", "--data", str(field), "--http", "0.0.0.0:0")
    with pytest.raises(ConfigurationError, match="not on a server"):
        run("query", "--data", "http://127.0.0.1:7654", "SELECT 1 FROM air")
    for wrong in ("host", "1.2.3.4:99999", "http://x:1", "[::1"):
        with pytest.raises(ConfigurationError, match="no address to listen at"):
            parse_address(wrong)


def test_a_port_that_is_taken(tmp_path: Path) -> None:
    with (
        served(tmp_path / "one") as server,
        pytest.raises(ResourceError, match="cannot listen"),
        served(tmp_path / "two", settings=HttpSettings(port=server.port)),
    ):
        pass
