"""Decisions: alike on every host; acknowledged and overruled by people; the verdicts are a stream that survives."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import nilometer
from nilometer.cli.main import application
from nilometer.errors import NilometerError
from server.serving import Caller, calling

BOXES = "CREATE STREAM boxes (kind STRING, confidence FLOAT) PUSHED FUTURE 10 DAYS;\n"
ACT = """CREATE DECISION act ON boxes CHOOSE ('open the box' WHEN kind = 'hazard' AND confidence > 0.99,
  'scan longer' WHEN kind = 'more', 'pass' OTHERWISE)"""
READINGS = [
    {"time": "2026-03-01T06:00:00Z", "id": 1, "kind": "hazard", "confidence": 0.995},
    {"time": "2026-03-01T06:01:00Z", "id": 2, "kind": "more", "confidence": None},
    {"time": "2026-03-01T06:02:00Z", "id": 3, "kind": "hazard", "confidence": None},
]
WANTED = [
    ("open the box", "kind = 'hazard' AND confidence > 0.99 [kind: hazard, confidence: 0.995]", 1),
    ("scan longer", "kind = 'more' [kind: more]", 2),
    ("pass", "no other choice applies", 3),
]


def declared(statement: str = ACT) -> nilometer.Database:
    database = nilometer.connect()
    database.execute(BOXES)
    database.execute(statement)
    database.append("boxes", READINGS)
    return database


@pytest.mark.parametrize("host", ["reference", "gateway", pytest.param("spark", marks=[pytest.mark.spark])])
def test_decided_alike_on_every_host(host: str) -> None:
    database = declared()
    found = list(database.query("act").run(on=host))
    assert [(row["action"], row["reason"], row["id"]) for row in found] == WANTED
    assert found[0]["confidence"] == 0.995, "the evidence is the row"


def test_without_otherwise_only_what_is_chosen_is_decided() -> None:
    database = declared(
        "CREATE DECISION act ON (SELECT time, id, kind FROM boxes) CHOOSE ('open' WHEN kind = 'hazard')"
    )
    for host in ("reference", "gateway"):
        assert [row["id"] for row in database.query("act").run(on=host)] == [1, 3]


@pytest.mark.parametrize(
    ("statement", "told"),
    [
        (ACT.replace("confidence >", "confident >"), "confident"),
        (ACT.replace("ON boxes", "ON nothing"), "nothing"),
        (ACT.replace("'pass' OTHERWISE", "'pass' OTHERWISE, 'x' WHEN TRUE"), "OTHERWISE comes last"),
        (ACT.replace("confidence > 0.99", "confidence"), "a condition was expected"),
    ],
)
def test_refused(statement: str, told: str) -> None:
    with pytest.raises(NilometerError, match=told):
        declared(statement)


def decisions(caller: Caller, count: int) -> Any:
    """The decisions, once there are that many."""
    for _ in range(1_500):
        found = caller.get("/api/v1/decisions/act")["items"]
        if len(found) >= count:
            return found
        caller.get("/readyz")
    raise AssertionError(found)


def test_people_have_the_last_word(tmp_path: Path) -> None:
    schema = (
        f"{BOXES}{ACT};\nCREATE QUERY overruled AS SELECT time, id, action, instead, person FROM act_audit;\n"
    )
    with calling(tmp_path, schema) as caller:
        caller.send("boxes", READINGS)
        found = decisions(caller, 3)
        assert [(one["action"], one["reason"], one["evidence"]["id"]) for one in found] == WANTED
        assert (
            caller("POST", "/api/v1/decisions/act/0/overrule", {"action": "pass", "note": "a toy"}).status
            == 200
        )
        for path, body in (("0/overrule", {}), ("0/acknowledge", {"action": "x"}), ("9/acknowledge", {})):
            assert caller("POST", f"/api/v1/decisions/act/{path}", body).status == 400, path
        refused = caller("POST", "/api/v1/statements", b"DROP DECISION act", "application/sql")
        assert "is read by overruled" in refused.json["detail"]
        command = ["decisions", "acknowledge", "act", "1", "--data", str(tmp_path)]
        assert CliRunner().invoke(application, command).exit_code == 0
        for _ in range(1_500):
            rows = caller.get("/api/v1/queries/overruled/results")["rows"]
            if len(rows) == 2:
                break
            caller.get("/readyz")
        assert [(row["id"], row["action"], row["instead"]) for row in rows] == [
            (0, "open the box", "pass"),
            (1, "scan longer", None),
        ]
    # After a restart everything is there, also for those who only look.
    shown = CliRunner().invoke(application, ["decisions", "show", "act", "--json", "--data", str(tmp_path)])
    first = json.loads(shown.stdout.splitlines()[0])
    assert (first["verdicts"][0]["verdict"], first["verdicts"][0]["note"]) == ("overruled", "a toy")
    asked = (
        nilometer.connect(tmp_path).sql("SELECT verdict, COUNT(*) AS n FROM act_audit GROUP BY verdict").run()
    )
    assert sorted(tuple(row.values()) for row in asked) == [("acknowledged", 1), ("overruled", 1)]
