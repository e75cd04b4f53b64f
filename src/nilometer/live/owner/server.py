"""Accepts clients on the directory's socket, with a thread for each: it waits where the owner's loop must not.

A request is a frame with `do`; its reply is a frame, an error or not. The queries of a client are removed when
its connection ends.
"""

from __future__ import annotations

import contextlib
import os
import select
import socket
import threading
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nilometer.errors import ConfigurationError, InternalError, NilometerError, ResourceError
from nilometer.live.owner.owner import PART_ROWS, ClientQuery, Owner, OwnerGoneError, offsets_text
from nilometer.live.owner.wire import (
    BODY_BYTES,
    FILE,
    Message,
    WireError,
    error_header,
    receive,
    send,
    socket_path,
)
from nilometer.operators.frames import to_bytes

if TYPE_CHECKING:
    import polars as pl

CLIENTS = 256
"""The most clients at a time."""
LONGEST_WAIT = 1.0
"""The most seconds that a fetch waits for rows: then the client is told that there are none, and asks again."""
AGAIN = 0.1
"""Seconds until the next try, where nobody could be let in."""
QUERIES = 1_000
"""The most queries of one client."""


class Server:
    """Serves from construction to `close`."""

    def __init__(self, directory: Path, owner: Owner) -> None:
        self._directory = directory
        self._owner = owner
        self._sessions: set[Session] = set()
        self._turn = threading.Lock()
        self._closed = threading.Event()
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        with contextlib.suppress(FileNotFoundError):
            os.unlink(directory / FILE)  # of an owner that was killed: the lock is ours
        try:
            with socket_path(directory) as path:
                before = os.umask(0o177)
                try:
                    self._socket.bind(path)
                finally:
                    os.umask(before)
            self._socket.listen(CLIENTS)
        except OSError as error:
            self._socket.close()
            raise ResourceError(
                f"cannot open the socket '{directory / FILE}'",
                detail=str(error),
                hint="clients find the owner there: the file system has to allow sockets",
            ) from error
        self._thread = threading.Thread(target=self._accept, name="nilometer-server", daemon=True)
        self._thread.start()

    def _accept(self) -> None:
        while not self._closed.is_set():
            try:
                connection, _ = self._socket.accept()
            except OSError:
                # Without descriptors nobody can come in; later somebody can.
                self._closed.wait(AGAIN)
                continue
            with self._turn:
                if len(self._sessions) >= CLIENTS:
                    with contextlib.suppress(OSError, WireError):
                        send(
                            connection,
                            error_header(ResourceError(f"the owner has {CLIENTS} clients already")),
                        )
                    connection.close()
                    continue
                session = Session(self._owner, connection, self._over)
                self._sessions.add(session)
            try:
                session.start()
            except RuntimeError:  # no more threads
                connection.close()
                self._over(session)
                continue
            if self._closed.is_set():
                session.hang_up()

    def _over(self, session: Session) -> None:
        with self._turn:
            self._sessions.discard(session)

    @property
    def clients(self) -> int:
        """The number of clients now."""
        return len(self._sessions)

    def close(self) -> None:
        """Send all clients away."""
        with self._turn:
            self._closed.set()
            sessions = list(self._sessions)
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self._directory / FILE)
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        for session in sessions:
            session.hang_up()


class Session(threading.Thread):
    """One client."""

    def __init__(self, owner: Owner, connection: socket.socket, over: Callable[[Session], None]) -> None:
        super().__init__(name="nilometer-client", daemon=True)
        self._owner = owner
        self._connection = connection
        self._over = over
        self._asked: dict[str, ClientQuery] = {}

    def run(self) -> None:
        """Answer requests until the client goes."""
        try:
            while (frame := self._receive()) is not None:
                header, body = self._answer(frame)
                send(self._connection, header, body)
        except (OSError, OwnerGoneError, WireError):
            pass
        finally:
            self._connection.close()
            for asked in self._asked.values():
                self._owner.remove(asked)
            self._over(self)

    def hang_up(self) -> None:
        """End the connection, from another thread."""
        with contextlib.suppress(OSError):
            self._connection.shutdown(socket.SHUT_RDWR)

    def _receive(self) -> Message | None:
        try:
            return receive(self._connection)
        except WireError as error:
            with contextlib.suppress(OSError):
                send(self._connection, error_header(error))
            return None

    def _answer(self, frame: Message) -> tuple[dict[str, Any], bytes]:
        try:
            return self._do(frame.header)
        except OwnerGoneError:
            raise
        except NilometerError as error:
            return error_header(error), b""
        except (KeyError, TypeError, ValueError) as error:
            return error_header(ConfigurationError("a request that makes no sense", detail=repr(error))), b""
        except Exception as error:
            return error_header(InternalError(f"a bug of ours: {type(error).__name__}: {error}")), b""

    def _do(self, request: dict[str, Any]) -> tuple[dict[str, Any], bytes]:
        owner = self._owner
        match request["do"]:
            case "hello":
                return {"release": version("nilometer"), "owner": str(owner.lock.holder)}, b""
            case "install":
                if request.get("on") == "spark":
                    owner.lender.warm()  # in this thread: the loop would wait for it
                return self._install(request), b""
            case "lend":
                if owner.lock.holder.embedded:
                    raise ConfigurationError("this owner is not there to stay")
                return {"partitions": owner.lender.lend(request["settings"])}, b""
            case "spark":
                return owner.lender.run(
                    Path(str(request["place"])), bool(request["at_once"]), self._gone
                ), b""
            case "fetch":
                return self._fetch(request)
            case "remove":
                asked = self._asked.pop(request["name"], None)
                if asked is not None:
                    owner.remove(asked)
                return {}, b""
            case "top":
                return owner.submit(owner.top), b""
            case "peers":
                return owner.submit(owner.peers), b""
            case "analyze":
                name = str(request["name"])
                return {"text": owner.submit(lambda: owner.station.reports.ask_analysis(name))()}, b""
            case "backup":
                return owner.back_up(Path(str(request["target"]))), b""
            case "give_way":
                if not owner.lock.holder.embedded:
                    raise ConfigurationError("this owner is there to stay", hint="stop it first")
                owner.giving_way.set()
                owner.station.manager.bell.set()
                return {}, b""
            case other:
                return owner.change(str(other), request), b""

    def _gone(self) -> bool:
        """Whether the client has gone, while it waits for a reply."""
        try:
            return bool(select.select([self._connection], [], [], 0)[0]) and not self._connection.recv(
                1, socket.MSG_PEEK
            )
        except (OSError, ValueError):
            return True

    def _install(self, request: dict[str, Any]) -> dict[str, Any]:
        if len(self._asked) >= QUERIES:
            raise ResourceError(f"one client runs {QUERIES} queries already", hint="end some of them")
        asked = self._owner.install(
            str(request["text"]),
            dict(request.get("parameters") or {}),
            profile=str(request.get("profile", "default")),
            start=offsets_text(request.get("start", "now")),
            skip=int(request.get("skip", 0)),
            on=str(request.get("on", "gateway")),
            force=bool(request.get("force", False)),
        )
        live = asked.live
        self._asked[live.name] = asked
        return {
            "name": live.name,
            "offsets": {key: [at.number, at.position] for key, at in live.began.items()},
            "note": live.note,
        }

    def _fetch(self, request: dict[str, Any]) -> tuple[dict[str, Any], bytes]:
        asked = self._asked[request["name"]]
        wait = min(float(request.get("wait", LONGEST_WAIT)), LONGEST_WAIT)
        part = self._owner.fetch(asked, wait, PART_ROWS)
        body = b"" if part.rows is None else _body(part.rows)
        return {"over": part.over, **part.facts}, body


def _body(rows: pl.DataFrame) -> bytes:
    data = to_bytes(rows)
    if len(data) > BODY_BYTES:
        raise ResourceError(
            f"{rows.height} rows of the answer take {len(data)} bytes, more than the socket carries",
            hint="select fewer or smaller columns",
        )
    return data
