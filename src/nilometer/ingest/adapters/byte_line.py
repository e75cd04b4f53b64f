"""Reads bytes as they come from a serial device, a TCP port (a serial server), standard input, or a recorded
file.
"""

from __future__ import annotations

import os
import select
import socket
import sys
import termios
import time
import tty
from errno import EISDIR
from pathlib import Path
from types import TracebackType
from typing import Self
from urllib.parse import urlsplit

from nilometer.errors import ConfigurationError, DataError

AT_ONCE = 4096
HEELS = 0.02
"""Seconds to wait for more bytes after some have come."""
PATIENCE = 0.5
"""Seconds to wait for the first bytes. It is also the longest time for which bytes are gathered: noise on a
line may never end."""


class ByteLine:
    """A source of bytes.

    `read` waits for at most `patience` seconds and returns None at the end. `recorded` is True for a file,
    whose bytes came at some other time. `broken` is the reason if the line ended before its time.
    """

    def __init__(self, address: str, baud: int = 57_600) -> None:
        self.recorded = False
        self.broken: str | None = None
        self._owned = address != "-"
        self._socket: socket.socket | None = None
        if address == "-":
            self._descriptor = sys.stdin.fileno()
        elif address.startswith("tcp://"):
            self._socket = _connected(address)
            self._descriptor = self._socket.fileno()
        else:
            self._descriptor = _opened(address)
            if os.isatty(self._descriptor):
                _set_raw(self._descriptor, baud)
            else:
                self.recorded = Path(address).is_file()

    def read(self, patience: float = PATIENCE) -> bytes | None:
        """The bytes that have come: empty if none have, None if no more will come."""
        ready, _, _ = select.select([self._descriptor], [], [], patience)
        if not ready:
            return b""
        try:
            return os.read(self._descriptor, AT_ONCE) or None
        except OSError as error:  # the device was unplugged, the peer is gone
            self.broken = error.strerror
            return None

    def read_all(self) -> bytes | None:
        """The bytes that have come and those that follow at once: a serial server may have buffered some."""
        came = self.read()
        until = time.monotonic() + PATIENCE
        while came and time.monotonic() < until and (more := self.read(HEELS)):
            came += more
        return came

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._socket is not None:
            self._socket.close()
        elif self._owned:
            os.close(self._descriptor)


def _opened(address: str) -> int:
    try:
        if Path(address).is_dir():
            raise IsADirectoryError(EISDIR, "it is a directory")
        return os.open(address, os.O_RDONLY | os.O_NOCTTY)
    except OSError as error:
        raise DataError(
            f"cannot open '{address}'",
            detail=error.strerror,
            hint="give the sink's serial device, such as /dev/ttyUSB0, tcp://HOST:PORT, '-' or a file",
        ) from None


def _connected(address: str) -> socket.socket:
    parts = urlsplit(address)
    try:
        port = parts.port
    except ValueError:  # not a number, or not a valid port
        port = None
    if parts.hostname is None or port is None:
        raise ConfigurationError(f"no host and port in '{address}'", hint="write tcp://localhost:4001")
    try:
        return socket.create_connection((parts.hostname, port), timeout=10)
    except OSError as error:
        raise DataError(
            f"cannot connect to '{address}'", detail=str(error), hint="is the serial server running?"
        ) from None


def _set_raw(descriptor: int, baud: int) -> None:
    speed = getattr(termios, f"B{baud}", None)
    if speed is None:
        raise ConfigurationError(
            f"a serial line cannot run at {baud} bits per second", hint="the motes' runtime uses 57600"
        )
    tty.setraw(descriptor)
    attributes = termios.tcgetattr(descriptor)
    attributes[4] = attributes[5] = speed
    termios.tcsetattr(descriptor, termios.TCSANOW, attributes)
