"""Messages by HTTP, MQTT and mail, in the forms of other services, to real receivers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import mosquitto_server
from live.alerts.receivers import hooked, mail_of, mailing
from nilometer.errors import ConfigurationError, NilometerError, ResourceError
from nilometer.live.alerts.book import Delivery
from nilometer.live.alerts.messages import document_of
from nilometer.live.alerts.settings import AlertSettings
from nilometer.live.alerts.transports import send

ROW = {"time": "2026-03-01T06:00:00Z", "id": 'a"1', "pm25": 41.0}
FIRING = Delivery("i1-firing", "i1", "firing", '["a\\"1"]', 0, 0, 1, ROW)


def sent(address: str, directory: Path, template: str | None = None, **given: Any) -> dict[str, Any]:
    delivery = given.pop("delivery", FIRING)
    settings = AlertSettings("smoky", address, "time", groups=("id",), template=template, **given)
    document = document_of(settings, delivery, "1a2b")
    send(settings, document, directory)
    return document


def test_a_web_hook_gets_json_and_the_id(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOOK", "p@ss")
    with hooked() as hook:
        document = sent(f"http://me:${{HOOK}}@127.0.0.1:{hook.port}/in?x=1&timeout=5s", tmp_path)
        assert hook.wait(1) == [document]
        assert document["group"] == {"id": 'a"1'}
        assert hook.paths == ["/in?x=1"]
        assert hook.headers[0]["idempotency-key"] == "i1-firing"
        assert hook.headers[0]["authorization"] == "Basic bWU6cEBzcw=="


def test_a_hook_that_refuses_redirects_or_is_gone(tmp_path: Path) -> None:
    with hooked() as hook, hooked(redirect="http://127.0.0.1:1/") as moved:
        hook.refusals = 1
        with pytest.raises(ResourceError, match="answers 503"):
            sent(f"http://127.0.0.1:{hook.port}/", tmp_path)
        with pytest.raises(ResourceError, match="answers 307"):
            sent(f"http://127.0.0.1:{moved.port}/", tmp_path)
        gone = hook.port
    with pytest.raises(ResourceError, match="cannot be reached"):
        sent(f"http://127.0.0.1:{gone}/", tmp_path)


def test_slack_pagerduty_and_alertmanager(tmp_path: Path) -> None:
    resolved = Delivery("i1-resolved", "i1", "resolved", '["a1"]', 60_000_000, 0, 1, ROW)
    with hooked() as hook:
        url = f"http://127.0.0.1:{hook.port}/v2/enqueue?routing_key=R4"
        sent(url, tmp_path, "slack", named=True)
        sent(url, tmp_path, "pagerduty", named=True)
        sent(url, tmp_path, "pagerduty", named=True, delivery=resolved)
        sent(url, tmp_path, "alertmanager", named=True, delivery=resolved)
        slack, trigger, end, manager = hook.wait(4)
        assert hook.paths[1] == "/v2/enqueue", "the key goes in the body"
    assert slack["text"].startswith(":rotating_light: smoky is firing for id = a")
    assert (trigger["routing_key"], trigger["event_action"], trigger["dedup_key"]) == ("R4", "trigger", "i1")
    assert (end["event_action"], end["dedup_key"]) == ("resolve", "i1")
    assert {"summary", "source", "severity"} <= trigger["payload"].keys()
    (alert,) = manager["alerts"]
    assert (manager["version"], alert["status"], alert["labels"]["alertname"]) == ("4", "resolved", "smoky")
    assert alert["endsAt"] == "1970-01-01T00:01:00Z"


def test_a_template_of_one_s_own(tmp_path: Path) -> None:
    (tmp_path / "form.txt").write_text("{{ alert }} {{status}}: {{pm25}} at {{id}}")
    with hooked() as hook:
        url = f"http://127.0.0.1:{hook.port}/"
        sent(url, tmp_path, '{"text": "{{id}} has {{pm25}}", "n": {{pm25}}}')
        sent(url, tmp_path, "file:form.txt")
        with pytest.raises(ConfigurationError, match="cannot read the template"):
            sent(url, tmp_path, "file:other.txt")
        with pytest.raises(ConfigurationError, match="names 'x'"):
            sent(url, tmp_path, "{{x}}")
        assert json.loads(hook.bodies[0]) == {"text": 'a"1 has 41.0', "n": 41.0}
        assert hook.bodies[1] == 'smoky firing: 41.0 at a"1'
        kinds = [one["content-type"].split(";")[0] for one in hook.headers]
        assert kinds == ["application/json", "text/plain"]


def test_mail(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NILOMETER_SMTP", raising=False)
    with pytest.raises(ConfigurationError, match="no mail server is set"):
        sent("mailto:ops@example.org", tmp_path)
    with mailing() as (port, received):
        (tmp_path / "nilometer.toml").write_text(
            f'smtp = "smtp://127.0.0.1:{port}?from=gate%40example.org"\n'
        )
        evil = Delivery("i2", "i2", "firing", '["x\\r\\nBcc: all@example.org"]', 0, 0, 1, ROW)
        sent("mailto:ops@example.org", tmp_path)
        sent("mailto:ops@example.org", tmp_path, delivery=evil)
        with received.came:
            assert received.came.wait_for(lambda: len(received.bodies) == 2, 30)
        mail, other = map(mail_of, received.bodies)
    assert mail["Subject"].startswith("[FIRING] smoky is firing")
    assert (mail["To"], mail["From"]) == ("ops@example.org", "gate@example.org")
    assert mail["Message-ID"] == "<i1-firing@1a2b.nilometer>"
    assert "pm25 = 41.0" in str(mail.get_payload())
    assert other["Bcc"] is None
    with pytest.raises(NilometerError, match="takes no mail"):
        sent("mailto:ops@example.org", tmp_path)


@pytest.mark.mosquitto
@pytest.mark.xdist_group("mosquitto")
@pytest.mark.skipif(mosquitto_server.program() is None, reason="Mosquitto is not installed")
def test_mqtt(tmp_path: Path) -> None:
    from sinks.test_mqtt import Ear

    with mosquitto_server.running() as broker:
        ear = Ear(broker)
        document = sent(f"mqtt://127.0.0.1:{broker.port}/alerts/{{status}}/{{id}}", tmp_path)
        assert ear.messages(1) == [('alerts/firing/a"1', document)]
        ear.close()
        with pytest.raises(ConfigurationError, match="no column 'x'"):
            sent(f"mqtt://127.0.0.1:{broker.port}/alerts/{{x}}", tmp_path)
    with pytest.raises(ResourceError):
        sent(f"mqtt://127.0.0.1:{broker.port}/alerts?timeout=1s", tmp_path)
