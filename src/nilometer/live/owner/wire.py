"""Frames on the local socket between the owner of a directory and its clients.

    magic (4 bytes)  version (2)  length of the header (4)  length of the body (4)  header  body

The header is JSON, the body rows as an Arrow IPC stream. A client sends a request and waits for its reply.
Both lengths are bounded, so that neither side can be made to reserve memory without end. A frame of another
version is refused: the owner and its clients are of one release.
"""

from __future__ import annotations

import json
import os
import socket
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nilometer.errors
from nilometer.errors import InternalError, NilometerError, ResourceError, Span

VERSION = 1
FILE = Path(".nilometer") / "socket"
HEADER_BYTES = 4 << 20
BODY_BYTES = 64 << 20
PATH_BYTES = 100
"""The kernel takes 107 bytes for the path of a socket."""

_MAGIC = b"NILO"
_PREFIX = struct.Struct("!4sHII")


@dataclass(frozen=True)
class Message:
    """One message."""

    header: dict[str, Any]
    body: bytes = b""


class WireError(ResourceError):
    """The other side speaks another version, or sent no frame at all."""


def send(connection: socket.socket, header: dict[str, Any], body: bytes = b"") -> None:
    """Send a frame."""
    text = json.dumps(header).encode()
    if len(text) > HEADER_BYTES or len(body) > BODY_BYTES:
        raise WireError(f"a message of {len(text) + len(body)} bytes is too long for the socket")
    connection.sendall(_PREFIX.pack(_MAGIC, VERSION, len(text), len(body)) + text)
    if body:
        connection.sendall(body)


def receive(connection: socket.socket) -> Message | None:
    """The next frame; None if the other side has gone."""
    prefix = _exactly(connection, _PREFIX.size)
    if prefix is None:
        return None
    magic, version, header_bytes, body_bytes = _PREFIX.unpack(prefix)
    if magic != _MAGIC:
        raise WireError("the socket is not spoken to by a Nilometer")
    if version != VERSION:
        raise WireError(
            f"the other side speaks version {version} of the protocol, this one {VERSION}",
            hint="run the same release of Nilometer as owner and as client",
        )
    if header_bytes > HEADER_BYTES or body_bytes > BODY_BYTES:
        raise WireError(f"a message of {header_bytes + body_bytes} bytes is too long")
    text, body = _exactly(connection, header_bytes), _exactly(connection, body_bytes)
    if text is None or body is None:
        return None
    try:
        header = json.loads(text)
    except (ValueError, RecursionError):
        header = None
    if not isinstance(header, dict):
        raise WireError("a message without a header")
    return Message(header, body)


def _exactly(connection: socket.socket, size: int) -> bytes | None:
    found = bytearray()
    while len(found) < size:
        try:
            part = connection.recv(min(size - len(found), 1 << 20))
        except ConnectionError:
            return None
        if not part:
            return None
        found += part
    return bytes(found)


@contextmanager
def socket_path(directory: Path) -> Iterator[str]:
    """A path of the directory's socket that is short enough for the kernel."""
    path = directory.absolute() / FILE
    if len(os.fsencode(path)) <= PATH_BYTES:
        yield str(path)
        return
    # The folder by its number, which is always short.
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield f"/proc/self/fd/{folder}/{path.name}"
    finally:
        os.close(folder)


def error_header(error: NilometerError) -> dict[str, Any]:
    """An error as the header of a reply."""
    return {
        "error": type(error).__name__,
        "message": error.message,
        "detail": error.detail,
        "hint": error.hint,
        "text": error.text,
        "span": None if error.span is None else [error.span.start, error.span.end],
    }


def error_of(header: dict[str, Any]) -> NilometerError | None:
    """The inverse of `error_header`; None if the header is no error."""
    name = header.get("error")
    if name is None:
        return None
    kind = getattr(nilometer.errors, str(name), ResourceError)
    if not (isinstance(kind, type) and issubclass(kind, NilometerError)):
        kind = InternalError
    message, detail, hint, text = (_text(header.get(key)) for key in ("message", "detail", "hint", "text"))
    error = kind(message or "", detail=detail, hint=hint)
    match header.get("span"):
        case [int(start), int(end)]:
            return error.at(text, Span(start, end))
    return error.at(text, None)


def _text(value: object) -> str | None:
    return None if value is None else str(value)
