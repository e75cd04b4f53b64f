"""Real receivers of alerts, at ports of this machine: a web hook and a mail server."""

from __future__ import annotations

import asyncio
import email
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email.message import Message
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

PATIENCE = 30.0


@dataclass
class Received:
    """What came. `refusals`: answer the next so many requests with 503."""

    port: int = 0
    refusals: int = 0
    bodies: list[str] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)
    came: threading.Condition = field(default_factory=threading.Condition)

    def wait(self, count: int) -> list[Any]:
        """The JSON of all that came, once that many have."""
        with self.came:
            assert self.came.wait_for(lambda: len(self.bodies) >= count, PATIENCE), self.bodies
            return [json.loads(body) for body in self.bodies]

    def note(self, body: str, path: str = "", headers: dict[str, str] | None = None) -> None:
        with self.came:
            self.bodies.append(body)
            self.paths.append(path)
            self.headers.append(headers or {})
            self.came.notify_all()


@contextmanager
def hooked(port: int = 0, redirect: str | None = None) -> Iterator[Received]:
    """A web hook."""
    received = Received()

    class Hook(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"])).decode()
            with received.came:
                refuse, received.refusals = received.refusals > 0, max(0, received.refusals - 1)
            if redirect is not None:
                self.send_response(307)
                self.send_header("Location", redirect)
            elif refuse:
                self.send_response(503)
            else:
                received.note(body, self.path, {k.lower(): v for k, v in self.headers.items()})
                self.send_response(204)
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", port), Hook)
    received.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield received
    finally:
        server.shutdown()
        server.server_close()
        thread.join(PATIENCE)


@contextmanager
def mailing() -> Iterator[tuple[int, Received]]:
    """A mail server that speaks enough of SMTP."""
    received = Received()
    ports: list[int] = []
    ready = threading.Event()
    loop = asyncio.new_event_loop()

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        async def say(line: str) -> None:
            writer.write(f"{line}\r\n".encode())
            await writer.drain()

        await say("220 here")
        while line := (await reader.readline()).decode().strip():
            word = line.split()[0].upper()
            if word in ("EHLO", "HELO"):
                await say("250 here")
            elif word == "DATA":
                await say("354 go on")
                data = await reader.readuntil(b"\r\n.\r\n")
                received.note(data[:-5].decode())
                await say("250 taken")
            elif word == "QUIT":
                await say("221 bye")
                break
            else:
                await say("250 well")
        writer.close()

    async def serve() -> None:
        server = await asyncio.start_server(talk, "127.0.0.1", 0)
        ports.append(server.sockets[0].getsockname()[1])
        ready.set()
        async with server:
            await ended.wait()

    ended = asyncio.Event()

    thread = threading.Thread(target=loop.run_until_complete, args=(serve(),), daemon=True)
    thread.start()
    assert ready.wait(PATIENCE)
    try:
        yield ports[0], received
    finally:
        loop.call_soon_threadsafe(ended.set)
        thread.join(PATIENCE)
        loop.close()


def mail_of(text: str) -> Message:
    return email.message_from_string(text)
