"""An address -> bytes as they come: a serial device, a TCP port (a serial server), standard input, or a file that was recorded."""

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
"""Seconds in which bytes come at the heels of others."""
PATIENCE = 0.5
"""Seconds that are waited for bytes, and that they are gathered for at most: a line may have noise without end."""


class ByteLine:
    """`read` waits for at most `patience` seconds, and gives None at the end. `recorded`: a file, whose bytes came some other time.
    `broken`: why it ended before its time, if it did."""

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
        """What has come; nothing, if nothing did; None if nothing will any more."""
        ready, _, _ = select.select([self._descriptor], [], [], patience)
        if not ready:
            return b""
        try:
            return os.read(self._descriptor, AT_ONCE) or None
        except OSError as error:  # the device was unplugged, the peer is gone
            self.broken = error.strerror
            return None

    def read_all(self) -> bytes | None:
        """What has come, and what comes at its heels: a serial server may have kept some for us."""
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
    except ValueError:  # no number, or none of a port
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
            f"no serial line has {baud} bits a second", hint="the motes' runtime has 57600"
        )
    tty.setraw(descriptor)
    attributes = termios.tcgetattr(descriptor)
    attributes[4] = attributes[5] = speed
    termios.tcsetattr(descriptor, termios.TCSANOW, attributes)
