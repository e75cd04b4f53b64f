"""uvicorn in a thread beside the station's loop.

    main thread    station's loop: sources, queries, commits, and the requests that were submitted to it
    nilometer-http asyncio: accepts, parses, guards, streams; never waits for the loop itself
    nilometer-results  reads new commits for all subscribers
    up to 32 threads   wait for the loop, or read files; up to 64 more for live queries of clients

When the server ends, subscribers are sent away first; they come again with their positions.
"""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from importlib.util import find_spec
from types import TracebackType
from typing import TYPE_CHECKING, Self

from nilometer.errors import ConfigurationError, ResourceError

if TYPE_CHECKING:
    from nilometer.ingest.adapters.push import Pushes
    from nilometer.live.owner.owner import Owner
    from nilometer.server.callers import Callers, Listener
    from nilometer.server.sensorthings.service import Service
    from nilometer.server.settings import HttpSettings

BACKLOG = 64
"""Connections that wait to be accepted, and the most that the event loop accepts in one go."""
IDLE = 30
"""Seconds that a connection without a request is kept."""
FAREWELL = 5.0
"""Seconds that open requests get at the end."""


def require_server() -> None:
    """Refuse to serve HTTP where its packages are missing, before anything imports them."""
    missing = [name for name in ("fastapi", "uvicorn", "websockets") if find_spec(name) is None]
    if missing:
        raise ConfigurationError(
            f"the HTTP server is not installed: {', '.join(missing)} missing",
            hint="pip install 'nilometer[server]', or serve without --http",
        )


class HttpServer:
    """Serves HTTP for an owner until it is closed. `port` is the one that it listens at."""

    def __init__(self, owner: Owner, settings: HttpSettings, pushes: Pushes) -> None:
        import uvicorn

        from nilometer.server.application import guarded, make_application
        from nilometer.server.callers import Callers
        from nilometer.server.desk import Desk
        from nilometer.server.tails import Tails
        from nilometer.server.tokens import Tokens

        if not settings.loopback and not Tokens(owner.station.directory).all():
            raise ConfigurationError(
                f"'{settings.host}' can be reached by other machines, and there is no token",
                hint="make one: nilometer token create --role admin; or listen at 127.0.0.1",
            )
        self._owner = owner
        self.callers = Callers()
        self._socket = _listen(settings, self.callers)
        self.port: int = self._socket.getsockname()[1]
        self.settings = settings
        self.desk = Desk(owner, settings, pushes, Tails(owner.station.directory))
        self.application = make_application(self.desk)
        self._things: Service = self.application.state.sensorthings
        self._bridge = self._things.connect(settings.broker, self.address) if settings.broker else None
        configured = uvicorn.Config(
            guarded(self.application, self.desk, self.callers),
            log_config=None,
            log_level="critical",
            access_log=False,
            server_header=False,
            proxy_headers=False,
            loop="asyncio",  # it accepts by callers.py
            backlog=BACKLOG,
            timeout_keep_alive=IDLE,
            timeout_graceful_shutdown=1,
            ws="websockets-sansio",
            ws_max_size=64 << 10,
            ws_max_queue=4,
            lifespan="on",
            ssl_certfile=settings.tls_cert,
            ssl_keyfile=settings.tls_key,
        )
        self._server = uvicorn.Server(configured)
        self._waiting: list[threading.Thread] = []
        self._watch = self._look
        owner.watchers.append(self._watch)
        self._thread = threading.Thread(target=self._run, name="nilometer-http", daemon=True)
        self._thread.start()
        while not self._server.started and self._thread.is_alive():
            time.sleep(0.005)
        if not self._server.started:
            self.close()
            raise ResourceError(f"cannot serve HTTP at {self.address}")
        self._waiting = [self._things.begin()]
        if self._bridge is not None:
            self._bridge.start()

    @property
    def address(self) -> str:
        """Where it is."""
        host = f"[{self.settings.host}]" if ":" in self.settings.host else self.settings.host
        return f"{self.settings.scheme}://{host}:{self.port}"

    def _run(self) -> None:
        self._server.run(sockets=[self._socket])

    def _look(self) -> None:
        """In the station's loop, after a turn."""
        self.desk.rates.look(self._owner.station)
        self.desk.tails.look(self._owner)
        if self._bridge is not None:
            self._bridge.look()

    def close(self) -> None:
        """Send everybody away. Called in the thread of the station's loop: it answers what was asked before."""
        self.desk.tails.close()
        self._server.should_exit = True
        waiting = [self._thread, *self._waiting, *(self._bridge.stop() if self._bridge is not None else ())]
        until = time.monotonic() + FAREWELL
        while any(thread.is_alive() for thread in waiting) and time.monotonic() < until:
            self._owner.attend()
            next((thread for thread in waiting if thread.is_alive()), self._thread).join(0.02)
        with contextlib.suppress(ValueError):
            self._owner.watchers.remove(self._watch)
        self._socket.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _listen(settings: HttpSettings, callers: Callers) -> Listener:
    from nilometer.server.callers import Listener

    try:
        family, _, _, _, place = socket.getaddrinfo(
            settings.host, settings.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        listening = Listener(family, socket.SOCK_STREAM)
        listening.callers = callers
        try:
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listening.bind(place)
            listening.listen(BACKLOG)
        except BaseException:
            listening.close()
            raise
    except OSError as error:
        raise ResourceError(
            f"cannot listen at {settings.host}:{settings.port}",
            detail=error.strerror,
            hint="another program may: choose another port with --http 127.0.0.1:PORT",
        ) from None
    return listening
