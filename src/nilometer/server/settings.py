"""Where the server listens, who may use it, and what is bounded.

>>> parse_address("7654"), parse_address("0.0.0.0:80"), parse_address("[::1]:7654")
(('127.0.0.1', 7654), ('0.0.0.0', 80), ('::1', 7654))
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from nilometer.catalog.address import Address
from nilometer.errors import ConfigurationError
from nilometer.ingest.adapters.admission import is_loopback

DEFAULT = "127.0.0.1:7654"

BODY_BYTES = 16 << 20
"""The most bytes of a request's body."""
TEXT_BYTES = 256 << 10
"""The most bytes of a statement or a query."""
BODY_SECONDS = 30.0
"""How long the body of a request may take to arrive."""
DURABLE_SECONDS = 10.0
"""How long a request with readings waits until they are durable."""
SUBSCRIBERS = 1_000
"""The most result streams at a time."""
LIVE_QUERIES = 64
"""The most live queries of clients at a time. Each takes a thread."""
AT_HAND = 2
"""The most queries over data at hand at a time."""
CONNECTIONS = 2_000
"""The most connections at a time."""


@dataclass(frozen=True)
class HttpSettings:
    """`port` 0: the system chooses one. `roots` and `hosts` are the directories and hosts that users of HTTP may name
    in addresses, besides the data directory. `broker` is where SensorThings speaks MQTT."""

    host: str = "127.0.0.1"
    port: int = 7654
    tls_cert: Path | None = None
    tls_key: Path | None = None
    roots: tuple[Path, ...] = ()
    hosts: tuple[str, ...] = ()
    broker: str | None = None

    def __post_init__(self) -> None:
        if (self.tls_cert is None) != (self.tls_key is None):
            raise ConfigurationError(
                "TLS needs a certificate and its key", hint="give both: --tls-cert FILE --tls-key FILE"
            )
        if self.broker is not None:
            address = Address.parse(self.broker)
            if address.scheme not in ("mqtt", "mqtts") or not address.host:
                raise ConfigurationError(
                    f"'{address}' is no broker", hint="write mqtt://user:password@host:1883"
                )
            address.check(("ca", "keepalive"))
        for path in filter(None, (self.tls_cert, self.tls_key)):
            if not path.is_file():
                raise ConfigurationError(f"there is no file '{path}'", hint="TLS reads PEM files")

    @property
    def loopback(self) -> bool:
        """Whether only this machine can reach the server."""
        return is_loopback(self.host)

    @property
    def scheme(self) -> str:
        """http or https."""
        return "http" if self.tls_cert is None else "https"


def parse_address(text: str) -> tuple[str, int]:
    """ADDRESS:PORT, or a port of this machine alone."""
    found = re.fullmatch(r"(?:(\[[0-9A-Fa-f:.]+\]|[^\[\]:/]+):)?(\d{1,5})", text.strip())
    if found is None or int(found[2]) > 65_535:
        raise ConfigurationError(
            f"'{text}' is no address to listen at", hint="write 127.0.0.1:7654, [::1]:7654, or a port alone"
        )
    return (found[1] or "127.0.0.1").strip("[]"), int(found[2])
