"""A `kafka://` address -> the settings of Kafka's client library, for sources and sinks alike.

`kafka://user:password@host:9092/topic?brokers=other:9092` is plain, `kafkas://` encrypted. With a user the client logs in with
SASL: PLAIN, or the `mechanism` of the address. `ca` is a file of certificates.

>>> address = Address.parse("kafkas://me:secret@first/air?brokers=second:9093&mechanism=SCRAM-SHA-256")
>>> settings = client_settings(address)
>>> settings["bootstrap.servers"], settings["security.protocol"], settings["sasl.mechanism"]
('first:9092,second:9093', 'SASL_SSL', 'SCRAM-SHA-256')
"""

from __future__ import annotations

import logging
from importlib.util import find_spec
from typing import Any

from nilometer.catalog.address import Address
from nilometer.errors import ConfigurationError

PORT = 9092
MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
SHARED = ("brokers", "ca", "mechanism")
"""The options of every Kafka address."""

# The library would write to stderr. What matters comes as errors.
_SILENT = logging.getLogger("nilometer.kafka")
_SILENT.addHandler(logging.NullHandler())
_SILENT.propagate = False


def require_kafka() -> None:
    """Refuse an address of Kafka where its client is missing."""
    if find_spec("confluent_kafka") is None:
        raise ConfigurationError(
            "Kafka's client is not installed: confluent-kafka is missing",
            hint="pip install 'nilometer[kafka]'",
        )


def client_settings(address: Address) -> dict[str, Any]:
    """The settings by which a client reaches the brokers."""
    first = f"{address.host or 'localhost'}:{address.port or PORT}"
    others = [other for other in address.options.get("brokers", "").split(",") if other]
    settings: dict[str, Any] = {
        "bootstrap.servers": ",".join([first, *others]),
        "client.id": "nilometer",
        "logger": _SILENT,
    }
    secure = address.scheme == "kafkas"
    if secure and "ca" in address.options:
        settings["ssl.ca.location"] = address.options["ca"]
    if address.user is not None:
        mechanism = address.options.get("mechanism", MECHANISMS[0]).upper()
        if mechanism not in MECHANISMS:
            raise ConfigurationError(
                f"mechanism={mechanism} is not known", hint=f"write one of {', '.join(MECHANISMS)}"
            )
        settings |= {
            "sasl.mechanism": mechanism,
            "sasl.username": address.user,
            "sasl.password": address.password or "",
        }
    protocol = ("SASL_" if address.user is not None else "") + ("SSL" if secure else "PLAINTEXT")
    return settings | {"security.protocol": protocol}


def error_text(error: BaseException) -> str:
    """The text of an exception of Kafka's client, for people."""
    said = error.args[0] if error.args else error
    return str(said.str()) if hasattr(said, "str") else str(said)
