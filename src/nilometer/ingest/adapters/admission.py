"""Who may write to a TCP port: everyone on this machine, or everyone who knows the token.

A port that other machines can reach needs `token=`, or `open=1`, which says that anyone may write, or sensors with
certificates (`tls://...&ca=`, server_tls.py). With a token, the first line of each connection is the token. A connection with another first line is closed, and nothing of it is kept.
"""

from __future__ import annotations

import hmac
import ipaddress

from nilometer.catalog.address import Address
from nilometer.errors import ConfigurationError
from nilometer.types import MINUTE

OPTIONS = ("token", "open")


class Admission:
    """Admits connections by their first line. `denied` counts those that were not admitted."""

    def __init__(self, address: Address) -> None:
        token = address.options.get("token")
        if token is not None and not token.strip():
            raise ConfigurationError(f"the token of '{address}' is empty", hint="write token=${AIR_TOKEN}")
        signed = address.scheme == "tls" and bool(address.options.get("ca"))
        if (
            token is None
            and not signed
            and not is_loopback(address.host)
            and address.options.get("open") != "1"
        ):
            raise ConfigurationError(
                f"'{address}' lets every machine that reaches this port write to the stream",
                hint="add ?token=${AIR_TOKEN}, which sensors send as their first line; or ?open=1, if anyone may write",
            )
        self._token = None if token is None else token.strip().encode()
        self._what = "token" if address.scheme != "tls" else "certificate or token"
        self.denied = 0
        self._denied_at = 0

    @property
    def required(self) -> bool:
        """Whether a connection must say the token."""
        return self._token is not None

    def admits(self, line: bytes, now: int) -> bool:
        """Whether this first line is the token. The time it takes tells nothing about it."""
        if self._token is None or hmac.compare_digest(line.strip(), self._token):
            return True
        self.deny(now)
        return False

    def deny(self, now: int) -> None:
        """Count a connection that is closed."""
        self.denied += 1
        self._denied_at = now

    def trouble(self, now: int) -> str | None:
        """How many connections did not know the token, if one came within the last minute. A stranger who knocks is no
        lasting trouble of the stream."""
        if not self.denied or now - self._denied_at > MINUTE:
            return None
        return f"{self.denied} connection{'' if self.denied == 1 else 's'} without the right {self._what}, closed"


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach the host.

    >>> [is_loopback(host) for host in ("", "localhost", "127.0.0.5", "::1", "0.0.0.0", "::", "gateway")]
    [True, True, True, True, False, False, False]
    """
    if host.lower() in ("", "localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
