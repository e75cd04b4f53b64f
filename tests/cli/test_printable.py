"""Texts of sensors reach no terminal unescaped: rows, ids, dead letters, errors, JSON."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nilometer.cli import main as cli
from nilometer.printable import printable, printable_json, printable_text

EVIL = "\x1b[2Jcls\x07\u202egnp\x9b31m\r\nfake line"
HARMFUL = set("\x1b\x07\x9b\r\u202e")


@pytest.mark.promise("escapes")
def test_every_verb_escapes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def run(*arguments: str) -> str:
        monkeypatch.setattr(sys, "argv", ["nilometer", *arguments])
        monkeypatch.setattr(sys, "stdin", io.StringIO("SELECT * FROM air;"))
        with pytest.raises(SystemExit):
            cli.main()
        out, err = capsys.readouterr()
        return out + err

    lines = [
        {"time": "2026-01-01T00:00:00Z", "id": EVIL, "x": EVIL},
        {"time": EVIL, "id": "b", "x": "c"},
        {"time": "2026-01-01T00:00:01Z", "id": "b", "x": "c", EVIL: 1},
    ]
    readings = tmp_path / "readings" / "air.jsonl"
    readings.parent.mkdir()
    readings.write_text("".join(json.dumps(line) + "\n" for line in lines))
    (tmp_path / "schema.sql").write_text(
        f"CREATE STREAM air (id STRING, x STRING) PUSHED FROM 'file://{readings}';"
        "CREATE QUERY q AS SELECT id, x FROM air;"
    )
    at = ["--data", str(tmp_path)]
    said = {
        "run": run("run", *at),
        "answers": run("answers", "q", *at),
        "json": run("answers", "q", *at, "--json"),
        "query": run("query", "--no-follow", "--start", "beginning", *at, "SELECT * FROM air"),
        "file": run("query", "--data", str(readings), "SELECT * FROM air"),
        "shell": run("sql", "--data", str(readings)),
        "tail": run("log", "tail", "air", *at),
        "dead": run("log", "dead", "air", *at),
        "dead json": run("log", "dead", "air", *at, "--json"),
        "replay": run("log", "replay", "air", *at),
        "ledger": run("streams", "--ledger", *at),
        "inspect": run("inspect", str(readings)),
        "error": run("query", *at, f'SELECT "{EVIL}" FROM air'),
        "json error": run("query", *at, "--json", f'SELECT "{EVIL}" FROM air'),
    }
    for verb, text in said.items():
        assert not HARMFUL & set(text), (verb, text)
        assert not any(
            line.startswith("fake line") for line in text.splitlines() if verb not in ("error", "inspect")
        ), verb
    shown = {verb for verb, text in said.items() if "cls" in text}
    assert shown >= set(said) - {"ledger", "shell"}, set(said) - shown
    rows = [json.loads(line) for line in said["json"].splitlines() if line.startswith("{")]
    assert rows[0]["x"] == EVIL


@given(st.text())
def test_what_is_printed_is_harmless_and_json_keeps_its_meaning(text: str) -> None:
    assert printable(text).isprintable() or not set(printable(text)) & HARMFUL
    assert printable_text(text).count("\n") == text.count("\n")
    assert json.loads(printable_json(json.dumps(text, ensure_ascii=False))) == text
