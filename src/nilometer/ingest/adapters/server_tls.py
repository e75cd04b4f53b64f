"""TLS of a TCP source: `tls://0.0.0.0:4000?certificate=FILE&key=FILE`.

`certificate` is a PEM file: the certificate, then those that lead to its authority. `key` is its private key, if that is
not in the same file. With `ca`, a PEM file of authorities, sensors must show a certificate of their own that one of them
has signed; then they need no token.
"""

from __future__ import annotations

import ssl

from nilometer.catalog.address import Address
from nilometer.errors import ConfigurationError

OPTIONS = ("certificate", "key", "ca")


def server_context(address: Address) -> ssl.SSLContext | None:
    """The context of a source; None for `tcp://`, which has no TLS."""
    given = [name for name in OPTIONS if name in address.options]
    if address.scheme != "tls":
        if given:
            raise ConfigurationError(
                f"'{address}' has no TLS, and so no {given[0]}", hint="write tls:// instead of tcp://"
            )
        return None
    certificate, key, authorities = (address.options.get(name) for name in OPTIONS)
    if not certificate:
        raise ConfigurationError(
            f"'{address}' names no certificate", hint="write tls://...?certificate=FILE&key=FILE, both in PEM"
        )
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    try:
        context.load_cert_chain(certificate, key or None, password=_no_password)
        if authorities:
            context.load_verify_locations(authorities)
            context.verify_mode = ssl.CERT_REQUIRED
    except (OSError, ValueError) as error:  # SSLError is an OSError
        raise ConfigurationError(
            f"the certificate of '{address}' cannot be used",
            detail=getattr(error, "reason", None) or getattr(error, "strerror", None) or str(error),
            hint="certificate, key and ca are PEM files that this process may read; the key has no password",
        ) from None
    return context


def _no_password() -> str:
    raise ValueError("the key has a password")
