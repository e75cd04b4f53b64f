"""Listens at an address for a while -> the sample of an inspection: MQTT messages, or what an HTTP server answers."""

from __future__ import annotations

import http.client
import re
import threading
import time
import urllib.error
from dataclasses import dataclass, field, replace
from typing import Any

from nilometer.catalog.address import Address
from nilometer.engine.inferred import stream_name
from nilometer.engine.inspecting.from_json import json_sample
from nilometer.engine.inspecting.sample import Sample
from nilometer.errors import ConfigurationError, DataError
from nilometer.ingest.adapters.http_opener import OPENER, request_for
from nilometer.ingest.adapters.http_poll import LIMIT
from nilometer.ingest.payloads import TopicPattern
from nilometer.redaction import HIDDEN, redacted

SCHEMES = ("mqtt", "mqtts", "http", "https")
CONNECTS = 10.0
"""How long the broker or the server may take to answer, in seconds."""


def sample_of_address(url: str, messages: int, seconds: float) -> Sample:
    """The messages that come from an address."""
    address = Address.parse(url)
    if address.scheme not in SCHEMES:
        raise ConfigurationError(
            f"cannot look at '{address.scheme}://'",
            hint="give a file, a directory, a pattern, mqtt://host/topic or http://host/path",
        )
    if address.scheme in ("http", "https"):
        return _http_sample(url, address)
    heard = listen(address, messages, seconds)
    if not heard.messages:
        raise DataError(
            f"no message came from '{redacted(url)}' in {seconds:g} seconds",
            detail=heard.trouble,
            hint="wait longer with --seconds, or listen to more topics: mqtt://host/#",
        )
    return mqtt_sample(url, heard.messages)


@dataclass
class Heard:
    """The messages: topic, payload, arrival in microseconds. `trouble` says why there are none, if that is known."""

    messages: list[tuple[str, bytes, int]] = field(default_factory=list)
    trouble: str | None = None


def listen(address: Address, messages: int, seconds: float) -> Heard:
    """Subscribe, without a session of its own, until so many messages have come or so many seconds have passed."""
    from paho.mqtt.client import Client, MQTTMessage, MQTTv5
    from paho.mqtt.enums import CallbackAPIVersion

    topic = TopicPattern.parse(address.path or "#").filter
    heard, enough = Heard(), threading.Event()

    def on_connect(client: Client, _: Any, flags: Any, reason: Any, properties: Any) -> None:
        del flags, properties
        if reason.is_failure:
            heard.trouble = f"the broker refuses the connection: {reason}"
            enough.set()
        else:
            client.subscribe(topic)

    def on_message(client: Client, _: Any, message: MQTTMessage) -> None:
        del client
        if len(heard.messages) < messages:
            heard.messages.append((message.topic, bytes(message.payload), time.time_ns() // 1_000))
        if len(heard.messages) >= messages:
            enough.set()

    client = Client(CallbackAPIVersion.VERSION2, protocol=MQTTv5)
    client.on_connect, client.on_message = on_connect, on_message
    if address.user is not None:
        client.username_pw_set(address.user, address.password)
    if address.scheme == "mqtts":
        client.tls_set(ca_certs=address.options.get("ca"))
    port = address.port or (8883 if address.scheme == "mqtts" else 1883)
    client.connect_timeout = CONNECTS
    try:
        client.connect(address.host or "localhost", port)
    except OSError as error:
        raise DataError(
            f"no broker answers at '{address.host or 'localhost'}:{port}'",
            detail=error.strerror or str(error),
        ) from None
    client.loop_start()
    enough.wait(seconds)
    client.disconnect()
    client.loop_stop()
    return heard


def mqtt_sample(url: str, messages: list[tuple[str, bytes, int]]) -> Sample:
    """The sample of messages. If the topics differ in one level only, that level is the id."""
    address = Address.parse(url)
    topics = [topic.split("/") for topic, _, _ in messages]
    pattern = address.path or "#"
    remarks: list[str] = []
    level = _varying(topics)
    known = any(name == "id" for _, name, _ in TopicPattern.parse(pattern).levels)
    if level is not None and not known:
        parts = list(topics[0])
        parts[level] = "+"
        pattern = "/".join(parts)
    elif len({tuple(topic) for topic in topics}) > 1 and not known:
        remarks.append(
            f"the topics have different shapes ({_some(topics)}): look at one kind of them at a time"
        )
    place = next((n for n, name, _ in TopicPattern.parse(pattern).levels if name == "id"), None)
    ids = [topic[place] if place is not None and place < len(topic) else "" for topic in topics]
    head = url[: len(url) - len(url.partition("://")[2].partition("/")[2])]
    plain = [part for part in pattern.split("/") if not set(part) & set("+#{}")]
    sample = json_sample(
        [payload for _, payload, _ in messages],
        stream_name(re.sub(r"\W", "_", plain[-1]) if plain else "messages"),
        redacted(url),
        arrived=[arrival for _, _, arrival in messages],
        topics=ids if place is not None else (),
        topic="id" if place is not None else None,
        url=_declared(f"{head.rstrip('/')}/{pattern}"),
    )
    if not sample.columns.width or (sample.topic is not None and sample.columns.width == 1):
        raise DataError(
            f"the messages of '{redacted(url)}' are not JSON",
            detail=f"the first is {messages[0][1][:60]!r}, on {messages[0][0]}",
            hint="declare the stream by hand: CREATE STREAM ... PUSHED FROM 'mqtt://...?format=csv'",
        )
    return replace(sample, remarks=(*sample.remarks, *remarks, *_remarks(url)))


def _varying(topics: list[list[str]]) -> int | None:
    """The only level in which topics of the same length differ."""
    if len({len(topic) for topic in topics}) != 1:
        return None
    levels = [level for level in range(len(topics[0])) if len({topic[level] for topic in topics}) > 1]
    return levels[0] if len(levels) == 1 else None


def _some(topics: list[list[str]]) -> str:
    distinct = list(dict.fromkeys("/".join(topic) for topic in topics))
    return ", ".join(distinct[:3]) + (" ..." if len(distinct) > 3 else "")


def _http_sample(url: str, address: Address) -> Sample:
    try:
        with OPENER.open(request_for(address), timeout=CONNECTS) as answer:
            body: bytes = answer.read(LIMIT + 1)
    except (urllib.error.URLError, http.client.HTTPException, OSError, ValueError) as error:
        reason = address.hide(str(getattr(error, "reason", None) or error))
        raise DataError(f"'{address}' does not answer", detail=reason) from None
    if len(body) > LIMIT:
        raise DataError(f"'{address}' answers with more than {LIMIT >> 20} MiB")
    path = address.path.rstrip("/").split("/")[-1].split(".")[0]
    name = stream_name(path or "readings")
    lines = body.splitlines() if body.lstrip()[:1] not in (b"[", b"{") or _is_lines(body) else [body]
    arrived = [time.time_ns() // 1_000] * len(lines)
    sample = json_sample(lines, name, redacted(url), arrived=arrived, url=_declared(url))
    if not sample.columns.height:
        raise DataError(
            f"the answer of '{redacted(url)}' is not JSON", detail=f"it begins with {body[:60]!r}"
        )
    return replace(sample, remarks=(*sample.remarks, *_remarks(url)))


def _is_lines(body: bytes) -> bool:
    """Whether each line is an object of its own."""
    lines = [line for line in body.splitlines() if line.strip()]
    return len(lines) > 1 and all(
        line.strip().startswith(b"{") and line.strip().endswith(b"}") for line in lines
    )


def _declared(url: str) -> str:
    """The address for the declaration, with a reference in the place of its password."""
    return redacted(url).replace(HIDDEN, "${PASSWORD}")


def _remarks(url: str) -> tuple[str, ...]:
    if redacted(url) == url:
        return ()
    return (
        "the declaration does not hold the password: export PASSWORD=..., or write ${file:PATH} in its place",
    )
