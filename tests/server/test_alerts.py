"""Alerts by HTTP: declared, fired, delivered to a real web hook, silenced, acknowledged; and what users may not name."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from typer.testing import CliRunner

from live.alerts.receivers import Received, hooked
from nilometer.cli.main import application
from nilometer.server.settings import HttpSettings
from nilometer.server.tokens import Role, Tokens
from server.serving import AIR, Caller, calling, minute, served

LOCAL = HttpSettings(port=0, hosts=("127.0.0.1",))


def declared(
    hook: Received, clauses: str = "GROUP BY id RESOLVE AFTER 2 MINUTES", name: str = "smoky"
) -> str:
    when = "SELECT time, id, pm25 FROM air WHERE pm25 > 35"
    return f"CREATE ALERT {name} WHEN ({when}) THEN 'http://127.0.0.1:{hook.port}/hook' {clauses}"


def alerts(caller: Caller, **wanted: Any) -> Any:
    """The first alert, once its counts are these."""
    for _ in range(1_500):
        (found,) = caller.get("/api/v1/alerts")["items"]
        if all(found[name] == value for name, value in wanted.items()):
            return found
        caller.get("/readyz")  # takes a turn of the loop
    raise AssertionError(found)


def test_fired_resolved_and_told_once(tmp_path: Path) -> None:
    with hooked() as hook, calling(tmp_path, AIR, LOCAL) as caller:
        reply = caller("POST", "/api/v1/alerts", declared(hook).encode(), "application/sql")
        assert (reply.status, reply.headers["location"]) == (201, "/api/v1/alerts/smoky")
        hook.refusals = 1
        caller.send("air", [minute(0, "a1", 41.0), minute(1, "a1", 44.0), minute(1, "a2", 5.0)])
        (firing,) = hook.wait(1)
        assert (firing["status"], firing["group"], firing["row"]["pm25"]) == ("firing", {"id": "a1"}, 41.0)
        found = alerts(caller, sent=1)
        assert (found["state"], found["firing"][0]["rows"], found["fired"]) == ("firing", 2, 1)
        caller.send("air", [minute(9, "a2", 5.0)])
        firing, resolved = hook.wait(2)
        assert (resolved["status"], resolved["incident"]) == ("resolved", firing["incident"])
        assert alerts(caller, sent=2)["state"] == "quiet"
        items = caller.get("/api/v1/alerts/smoky/deliveries")["items"]
        assert [(one["status"], one["outcome"]) for one in items] == [
            ("resolved", "delivered"),
            ("firing", "delivered"),
        ]
        assert items[1]["attempts"] == 2
        metrics = caller("GET", "/metrics").body.decode()
        assert 'nilometer_alert_fired_total{alert="smoky"} 1' in metrics
        assert caller("DELETE", "/api/v1/alerts/smoky").status == 200
        assert caller("GET", "/api/v1/alerts/smoky").status == 404
        assert not (tmp_path / ".nilometer" / "alerts" / "smoky").exists()


def test_an_alert_s_answers_are_a_stream(tmp_path: Path) -> None:
    with hooked() as hook, calling(tmp_path, AIR, LOCAL) as caller:
        caller.sql(declared(hook))
        caller.sql("CREATE QUERY again AS SELECT time, id FROM smoky")
        caller.send("air", [minute(0, "a1", 41.0), minute(5, "a1", 1.0)])
        hook.wait(1)
        refused = caller("POST", "/api/v1/statements", b"DROP ALERT smoky", "application/sql")
        assert "is read by again" in refused.json["detail"]


def test_silence_and_acknowledge(tmp_path: Path) -> None:
    tmp_path.joinpath("schema.sql").write_text(AIR)
    secret = Tokens(tmp_path).create("anna", Role.WRITE)
    admin = Tokens(tmp_path).create("root", Role.ADMIN)
    with (
        hooked() as hook,
        served(tmp_path, settings=HttpSettings("0.0.0.0", 0, hosts=("127.0.0.1",))) as server,
    ):
        root = Caller(server.port, {"Authorization": f"Bearer {admin}"})
        anna = Caller(server.port, {"Authorization": f"Bearer {secret}"})
        root.sql(declared(hook, "GROUP BY id REPEAT EVERY 1 MINUTE"))
        said = anna("POST", "/api/v1/alerts/smoky/silence", {"lasting": "1h", "group": {"id": "a1"}})
        assert said.status == 200, said.body
        root.send("air", [minute(0, "a1", 41.0), minute(0, "a2", 42.0), minute(1, "b", 0.0)])
        assert [one["group"]["id"] for one in hook.wait(1)] == ["a2"]
        found = alerts(root, fired=2, sent=1)
        assert found["silences"][0]["by"] == "anna"
        assert anna("POST", "/api/v1/alerts/smoky/acknowledge", {"group": {"id": "a2"}}).status == 200
        assert anna("POST", "/api/v1/alerts/smoky/speak", {"group": {"id": "a1"}}).status == 200
        root.send("air", [minute(2, "a1", 41.0), minute(2, "a2", 42.0), minute(3, "b", 0.0)])
        assert [one["group"]["id"] for one in hook.wait(2)] == ["a2", "a1"], "a2 is acknowledged"
        firing = {one["group"]["id"]: one for one in alerts(root, sent=2)["firing"]}
        assert firing["a2"]["acknowledged"] == "anna"
        for wrong in ({}, {"lasting": "1h", "group": {"x": 1}}, {"until": "soon"}, {"lasting": "long"}):
            assert anna("POST", "/api/v1/alerts/smoky/silence", wrong).status in (400, 422), wrong
        root.close()
        anna.close()


def test_users_of_http_cannot_send_anywhere(tmp_path: Path) -> None:
    with hooked() as hook, calling(tmp_path, AIR) as caller:
        for address in (
            f"http://127.0.0.1:{hook.port}/",
            "http://169.254.169.254/latest",
            "mqtt://broker/alerts",
            "https://h/${HOME}",
            "mailto:a@b.c?server=x",
        ):
            text = declared(hook).replace(f"http://127.0.0.1:{hook.port}/hook", address)
            assert caller("POST", "/api/v1/alerts", text.encode(), "application/sql").status == 403, address
        text = declared(hook, "TEMPLATE 'file:/etc/passwd'").replace(
            f"http://127.0.0.1:{hook.port}/hook", "mailto:a@b.c"
        )
        assert caller("POST", "/api/v1/alerts", text.encode(), "application/sql").status == 403


def test_a_message_that_cannot_be_sent_is_given_up_and_said(tmp_path: Path) -> None:
    with hooked() as hook, calling(tmp_path, AIR, LOCAL) as caller:
        hook.refusals = 1_000
        caller.sql(declared(hook, "GROUP BY id RETRIES 1"))
        caller.send("air", [minute(0, "a1", 41.0), minute(1, "a1", 1.0)])
        found = alerts(caller, failed=1)
        assert "answers 503" in found["trouble"]
        (item,) = caller.get("/api/v1/alerts/smoky/deliveries")["items"]
        assert (item["outcome"], item["attempts"]) == ("given up", 2)


def test_the_command_line(tmp_path: Path) -> None:
    with hooked() as hook:
        (tmp_path / "schema.sql").write_text(f"{AIR}{declared(hook)};\n")

        def run(*words: str) -> Any:
            found = CliRunner().invoke(application, ["alerts", *words, "--data", str(tmp_path)])
            assert found.exit_code == 0, (found.output, found.exception)
            return found

        (listed,) = [json.loads(line) for line in run("list", "--json").stdout.splitlines()]
        assert (listed["name"], listed["state"]) == ("smoky", "quiet")
        run("test", "smoky")
        assert hook.wait(1)[0]["status"] == "test"
        run("silence", "smoky", "--for", "2h", "--group", "id=a1")
        with calling(tmp_path, AIR, LOCAL) as caller:
            run("silence", "smoky", "--for", "1h", "--group", "id=a2")
            assert len(caller.get("/api/v1/alerts/smoky")["silences"]) == 2
            caller.send("air", [minute(0, "a1", 41.0), minute(1, "a3", 41.0), minute(2, "b", 0.0)])
            assert hook.wait(2)[1]["group"] == {"id": "a3"}
            run("acknowledge", "smoky")
            run("speak", "smoky", "--group", "id=a1")
        shown = run("deliveries", "smoky").stdout
        assert "not sent: silenced by" in shown
        assert "delivered" in shown
