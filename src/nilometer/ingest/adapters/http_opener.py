"""Opens HTTP requests. Credentials follow a redirect only to the same scheme, host and port."""

from __future__ import annotations

import base64
import urllib.error
import urllib.request
from email.message import Message
from typing import IO
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from nilometer.catalog.address import Address

PORTS = {"http": 80, "https": 443}


def request_for(
    address: Address, own: tuple[str, ...] = (), headers: dict[str, str] | None = None
) -> urllib.request.Request:
    """A request for the address, with its user and password in a header, and without our `own` options."""
    parts = urlsplit(address.url)
    kept = [(name, value) for name, value in parse_qsl(parts.query, True) if name not in own]
    place = urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, urlencode(kept), ""))
    request = urllib.request.Request(place, headers=headers or {})
    if address.user is not None:
        login = base64.b64encode(f"{address.user}:{address.password or ''}".encode()).decode()
        request.add_header("Authorization", f"Basic {login}")
    return request


class Redirects(urllib.request.HTTPRedirectHandler):
    """Urllib itself sends all headers on, to whatever host."""

    def redirect_request(
        self, req: urllib.request.Request, fp: IO[bytes], code: int, msg: str, headers: Message, newurl: str
    ) -> urllib.request.Request | None:
        if urlsplit(newurl).scheme not in PORTS:
            raise urllib.error.HTTPError(
                req.full_url, code, "a redirect that leads away from HTTP", headers, fp
            )
        request = super().redirect_request(req, fp, code, msg, headers, newurl)  # type: ignore[arg-type]
        if request is not None and _origin(newurl) != _origin(req.full_url):
            request.remove_header("Authorization")
        return request


def _origin(url: str) -> tuple[str, str | None, int | None]:
    parts = urlsplit(url)
    return parts.scheme, parts.hostname, parts.port or PORTS.get(parts.scheme)


OPENER = urllib.request.build_opener(Redirects)
