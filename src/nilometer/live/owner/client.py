"""A client's connection to the owner of a data directory."""

from __future__ import annotations

import contextlib
import json
import socket
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import polars as pl

from nilometer.errors import ConfigurationError
from nilometer.live.owner.lock import holder_of, is_owned
from nilometer.live.owner.owner import OwnerGoneError, offsets_text
from nilometer.live.owner.wire import Message, error_of, receive, send, socket_path
from nilometer.live.starts import Start
from nilometer.log import Offset
from nilometer.log.writer import BusyError
from nilometer.operators.frames import from_bytes

PATIENCE = 20.0
"""Seconds that a client waits for an owner that begins or ends."""
LOOK = 0.05


class Client:
    """One connection; for use by one thread at a time."""

    def __init__(self, directory: Path) -> None:
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            with socket_path(directory) as path:
                self._socket.connect(path)
            self.owner = str(self.request("hello").header["owner"])
        except BaseException:
            self._socket.close()
            raise

    def request(self, do: str, **fields: Any) -> Message:
        """Ask, and wait for the reply. Raises the owner's error, or OwnerGoneError."""
        try:
            send(self._socket, {"do": do, **fields})
            reply = receive(self._socket)
        except OSError:
            reply = None
        if reply is None:
            raise OwnerGoneError(
                "the owner of the directory has gone", hint="try again: the next owner answers"
            )
        error = error_of(reply.header)
        if error is not None:
            raise error
        return reply

    def close(self) -> None:
        """Go. The owner removes what this client has installed."""
        self._socket.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def find_owner(directory: Path, patience: float = PATIENCE) -> Client | None:
    """A connection to the owner; None if there is none. Waits for one that is just beginning or ending."""
    until = time.monotonic() + patience
    while True:
        with contextlib.suppress(FileNotFoundError, ConnectionError, OwnerGoneError):
            return Client(directory)
        if not is_owned(directory):
            return None
        if time.monotonic() > until:
            raise BusyError(
                f"'{directory}' is owned by {holder_of(directory) or 'another process'}, which does not answer",
                hint="wait until it has begun, or end it",
            )
        time.sleep(LOOK)


@dataclass
class Asking:
    """A client's live query, which outlives its owner: an answer is a function of the log and of the place where
    the query began. So the next owner is asked to begin there again, and to skip the rows that have come.
    """

    text: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    profile: str = "default"
    on: str = "gateway"
    start: Any = "now"
    force: bool = False
    """Whatever the limits of the database say."""
    rows: int = 0
    """The number of rows that have come, or were lost."""
    dropped: int = 0
    """The number of rows that the present owner has lost, because they were fetched too slowly."""
    name: str = ""
    facts: dict[str, Any] = field(default_factory=dict)
    note: str | None = None

    @property
    def offsets(self) -> Start:
        """Where the query begins, for an owner in this process."""
        return offsets_text(self.start)

    def leave(self, began: Mapping[str, Offset], rows: int) -> None:
        """An owner in this process has answered so many rows, from there on."""
        self.start = {key: [at.number, at.position] for key, at in began.items()}
        self.rows = rows

    def install(self, client: Client) -> None:
        """Begin, or begin again."""
        try:
            json.dumps(dict(self.parameters))
        except TypeError as error:
            raise ConfigurationError("a parameter that JSON cannot carry", detail=str(error)) from None
        reply = client.request(
            "install",
            text=self.text,
            parameters=dict(self.parameters),
            profile=self.profile,
            on=self.on,
            start=self.start,
            skip=self.rows,
            # A query that was admitted goes on with the next owner.
            force=self.force or bool(self.name),
        ).header
        self.name, self.start, self.note = reply["name"], reply["offsets"], reply["note"]
        self.dropped = 0

    def fetch(self, client: Client, wait: float = 1.0) -> tuple[pl.DataFrame | None, bool]:
        """The next rows, if any came within that time, and whether the query is over."""
        reply = client.request("fetch", name=self.name, wait=wait)
        self.facts = reply.header
        lost = int(reply.header["dropped"])
        rows = from_bytes(reply.body) if reply.body else None
        self.rows += (0 if rows is None else rows.height) + lost - self.dropped
        self.dropped = lost
        return rows, bool(reply.header["over"])
