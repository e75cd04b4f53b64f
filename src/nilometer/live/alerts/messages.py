"""What an alert says: JSON, or the form of Slack, PagerDuty or Alertmanager, or a person's own template.

>>> fill('{"text": "{{ id }} has {{pm25}}"}', {"id": 'a"1', "pm25": 41})
'{"text": "a\\\\"1 has 41"}'
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from nilometer.errors import ConfigurationError
from nilometer.live.alerts.book import Delivery
from nilometer.live.alerts.settings import AlertSettings
from nilometer.types import format_time

OWN = ("alert", "status", "group", "since", "at", "rows", "message", "incident", "summary")
"""The names that a template may use besides the columns of the answer."""
PLACEHOLDER = re.compile(r"\{\{\s*\.?(\w+)\s*\}\}")
FILE = "file:"


def document_of(settings: AlertSettings, delivery: Delivery, identity: str) -> dict[str, Any]:
    """The message as JSON."""
    values = json.loads(delivery.key)
    return {
        "id": delivery.id,
        "incident": delivery.incident,
        "alert": settings.name,
        "status": delivery.status,
        "group": dict(zip(settings.groups, values, strict=False)),
        "since": format_time(delivery.since),
        "at": format_time(delivery.at),
        "rows": delivery.rows,
        "row": delivery.evidence,
        "summary": summary_of(settings, delivery),
        "source": f"nilometer@{identity}",
    }


def summary_of(settings: AlertSettings, delivery: Delivery) -> str:
    """One line for a person."""
    if delivery.status == "test":
        return f"a test of the alert {settings.name}: its messages arrive here"
    values = dict(zip(settings.groups, json.loads(delivery.key), strict=False))
    group = ", ".join(f"{name} = {value}" for name, value in values.items())
    hidden = {settings.time.lower(), *(name.lower() for name in values)}
    row = ", ".join(f"{n} = {v}" for n, v in delivery.evidence.items() if n.lower() not in hidden)
    what = f"{settings.name} is {delivery.status}" + (f" for {group}" if group else "")
    return f"{what}{f': {row}' if row else ''} (since {format_time(delivery.since)})"


def text_of(
    settings: AlertSettings, document: Mapping[str, Any], directory: Path, routing_key: str = ""
) -> tuple[str, str]:
    """The body of the message, and its content type."""
    if settings.template is None:
        return json.dumps(document, ensure_ascii=False), "application/json"
    if settings.named:
        form = {"slack": _slack, "alertmanager": _alertmanager}.get(settings.template)
        made = _pagerduty(document, routing_key) if form is None else form(document)
        return json.dumps(made, ensure_ascii=False), "application/json"
    template = settings.template
    if template.startswith(FILE):
        path = directory / template.removeprefix(FILE)
        try:
            template = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigurationError(f"cannot read the template '{path}'", detail=str(error)) from None
    row, group = document["row"], document["group"]
    # A column counts before a name of ours.
    values = {name: document["id" if name == "message" else name] for name in OWN}
    values |= {name.lower(): value for name, value in (row | group).items()}
    body = fill(template, values)
    try:
        json.loads(body)
    except ValueError:
        return body, "text/plain; charset=utf-8"
    return body, "application/json"


def fill(template: str, values: Mapping[str, Any]) -> str:
    """The template with its values. In a template that begins as JSON does, they are escaped as JSON wants it."""
    as_json = re.match(r"\s*(\[|\{(?!\{))", template) is not None

    def put(match: re.Match[str]) -> str:
        name = match[1].lower()
        if name not in values:
            raise ConfigurationError(
                f"the template names '{match[1]}', which an alert does not have",
                hint=f"it has {', '.join(values)}",
            )
        value = values[name]
        shown = (
            value if isinstance(value, str) else "null" if value is None else json.dumps(value, default=str)
        )
        return json.dumps(shown, ensure_ascii=False)[1:-1] if as_json and isinstance(value, str) else shown

    return PLACEHOLDER.sub(put, template)


def check_template(template: str, columns: Iterable[str]) -> str | None:
    """The first name in a template that no message has; None if all are known."""
    known = {name.lower() for name in columns} | set(OWN)
    return next((m[1] for m in PLACEHOLDER.finditer(template) if m[1].lower() not in known), None)


def _slack(document: Mapping[str, Any]) -> dict[str, Any]:
    """An incoming webhook of Slack, Mattermost or Rocket.Chat."""
    mark = {"firing": ":rotating_light:", "resolved": ":white_check_mark:"}.get(document["status"], ":mega:")
    text = document["summary"].replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return {"text": f"{mark} {text}"}


def _pagerduty(document: Mapping[str, Any], routing_key: str) -> dict[str, Any]:
    """The Events API v2. The incident is the dedup_key, so that `resolved` ends what `firing` began."""
    return {
        "routing_key": routing_key,
        "event_action": "resolve" if document["status"] == "resolved" else "trigger",
        "dedup_key": document["incident"],
        "payload": {
            "summary": document["summary"][:1024],
            "source": document["source"],
            "severity": "info" if document["status"] == "test" else "critical",
            "timestamp": document["at"],
            "component": document["alert"],
            "custom_details": {"group": document["group"], "row": document["row"], "id": document["id"]},
        },
    }


def _alertmanager(document: Mapping[str, Any]) -> dict[str, Any]:
    """The webhook of Alertmanager, version 4."""
    labels = {"alertname": document["alert"]} | {name: str(v) for name, v in document["group"].items()}
    status = "resolved" if document["status"] == "resolved" else "firing"
    one = {
        "status": status,
        "labels": labels,
        "annotations": {"summary": document["summary"], "id": document["id"]},
        "startsAt": document["since"],
        "endsAt": document["at"] if status == "resolved" else "0001-01-01T00:00:00Z",
        "generatorURL": "",
        "fingerprint": document["incident"],
    }
    return {
        "version": "4",
        "groupKey": document["incident"],
        "truncatedAlerts": 0,
        "status": status,
        "receiver": document["source"],
        "groupLabels": labels,
        "commonLabels": labels,
        "commonAnnotations": one["annotations"],
        "externalURL": "",
        "alerts": [one],
    }
