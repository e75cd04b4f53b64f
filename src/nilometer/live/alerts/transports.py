"""Sends one message of an alert: by HTTP, MQTT or mail. `send` returns when the other side has taken it, or raises.

Secrets in addresses are looked up here, when they are needed; errors never show them.
"""

from __future__ import annotations

import os
import re
import smtplib
import ssl
import urllib.error
import urllib.request
from collections.abc import Mapping
from email.message import EmailMessage
from email.utils import formatdate
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from nilometer.catalog.address import Address
from nilometer.errors import ConfigurationError, NilometerError, ResourceError
from nilometer.ingest.adapters.admission import is_loopback
from nilometer.ingest.adapters.http_opener import request_for
from nilometer.live.alerts.messages import text_of
from nilometer.live.alerts.settings import AlertSettings
from nilometer.settings_file import settings_of
from nilometer.types import SECOND

TIMEOUT = 10 * SECOND
SMTP = "NILOMETER_SMTP"
OWN = ("timeout", "routing_key")
_COLUMN = re.compile(r"\{([^{}/]+)\}")


def send(settings: AlertSettings, document: Mapping[str, Any], directory: Path) -> None:
    """Send the message; raises a NilometerError if it was not taken."""
    scheme = settings.address.partition(":")[0].lower()
    if scheme == "mailto":
        _send_mail(settings, document, directory)
        return
    address = Address.parse(settings.address)
    body, kind = text_of(settings, document, directory, address.options.get("routing_key", ""))
    if scheme in ("http", "https"):
        _send_http(address, body, kind, document)
    else:
        _send_mqtt(address, body, document)


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """A webhook that moves has to be declared anew: a redirect could lead into the network of this machine."""

    def redirect_request(self, *_: Any) -> None:
        return None


_OPENER = urllib.request.build_opener(_NoRedirects)


def _send_http(address: Address, body: str, kind: str, document: Mapping[str, Any]) -> None:
    request = request_for(
        address, OWN, {"Content-Type": kind, "Idempotency-Key": document["id"], "User-Agent": "nilometer"}
    )
    request.data = body.encode()
    timeout = address.duration("timeout", TIMEOUT) / SECOND
    place = f"{address.scheme}://{address.host}"
    try:
        with _OPENER.open(request, timeout=timeout) as response:
            response.read(65_536)
    except urllib.error.HTTPError as error:
        with error:
            said = error.read(200).decode(errors="replace").strip()
        raise ResourceError(f"{place} answers {error.code}", detail=address.hide(said) or None) from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "reason", error)
        raise ResourceError(f"{place} cannot be reached", detail=address.hide(str(reason))) from None


def _send_mqtt(address: Address, body: str, document: Mapping[str, Any]) -> None:
    from nilometer.sinks.mqtt import MqttSink
    from nilometer.sinks.sink import Origin

    sink = MqttSink(address, Origin(f"alert-{document['alert']}", document["source"].rpartition("@")[2]))
    values = {name.lower(): value for name, value in (document["row"] | document["group"]).items()}
    values |= {"alert": document["alert"], "status": document["status"]}

    def value(match: re.Match[str]) -> str:
        if match[1].lower() not in values:
            raise ConfigurationError(
                f"the answers have no column '{match[1]}' for the topic",
                detail=f"they have {', '.join(values)}",
            )
        return re.sub(r"[+#/\0]", "_", str(values[match[1].lower()]))

    topic = _COLUMN.sub(value, sink.topic)
    try:
        sink.open()
        sink.publish([(topic, body)])
    finally:
        sink.close()


def _send_mail(settings: AlertSettings, document: Mapping[str, Any], directory: Path) -> None:
    server = _server(directory)
    to = unquote(settings.address.partition(":")[2].partition("?")[0])
    body = document["summary"]
    if settings.template is not None:
        body = text_of(settings, document, directory)[0]
    mail = EmailMessage()
    mail["From"] = server.options.get("from") or f"nilometer@{server.host or 'localhost'}"
    mail["To"] = to
    mail["Subject"] = _line(f"[{document['status'].upper()}] {document['summary']}")
    mail["Date"] = formatdate()
    # The same message again has the same id; all messages of an incident are one thread.
    mail["Message-ID"] = f"<{document['id']}@{document['source'].rpartition('@')[2]}.nilometer>"
    mail["References"] = f"<{document['incident']}@{document['source'].rpartition('@')[2]}.nilometer>"
    mail.set_content(body)
    timeout = server.duration("timeout", TIMEOUT) / SECOND
    try:
        if server.scheme == "smtps":
            client: smtplib.SMTP = smtplib.SMTP_SSL(
                server.host, server.port or 465, timeout=timeout, context=ssl.create_default_context()
            )
        else:
            client = smtplib.SMTP(server.host, server.port or 25, timeout=timeout)
        with client:
            client.ehlo()
            if server.scheme == "smtp" and client.has_extn("starttls"):
                client.starttls(context=ssl.create_default_context())
            elif server.user is not None and server.scheme == "smtp" and not is_loopback(server.host):
                raise ConfigurationError(
                    f"{server.host} offers no TLS, and the password would cross the network as it is",
                    hint="use smtps://, or a server that offers STARTTLS",
                )
            if server.user is not None:
                client.login(server.user, server.password or "")
            client.send_message(mail)
    except NilometerError:
        raise
    except (OSError, smtplib.SMTPException) as error:
        detail = server.hide(str(error))
        raise ResourceError(f"the mail server {server.host} takes no mail", detail=detail) from None


def _server(directory: Path) -> Address:
    written = os.environ.get(SMTP) or settings_of(directory)[0].get("smtp")
    if not isinstance(written, str):
        raise ConfigurationError(
            "no mail server is set",
            hint=f"set {SMTP}='smtp://host:25', or smtp = \"smtp://...\" in nilometer.toml",
        )
    server = Address.parse(written)
    if server.scheme not in ("smtp", "smtps") or not server.host:
        raise ConfigurationError(
            f"'{server}' is no mail server", hint="write smtp://user:${PASSWORD}@host:587 or smtps://host"
        )
    return server


def _line(text: str) -> str:
    return " ".join(text.split())[:200]
