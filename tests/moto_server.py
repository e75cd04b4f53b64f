"""An object store that speaks S3: the server of moto, a program of its own, if there is one.

    with MotoServer() as store:
        store.put("field/river.csv", b"...")
        subprocess.run([...], env=store.environment)

moto is no dependency of the tests: it brings sixty packages. `pip install 'moto[server]'` into any environment, and put its
moto_server on the PATH, or name it by NILO_MOTO.
"""

from __future__ import annotations

import http.client
import os
import shutil
import socket
import subprocess
import threading
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Self
from urllib.parse import urlsplit

from pyarrow import fs

HOST = "127.0.0.1"
BUCKET = "lake"
PATIENCE = 60.0


def program() -> str | None:
    """The server's program."""
    return os.environ.get("NILO_MOTO") or shutil.which("moto_server")


class MotoServer:
    """Started on entering, gone on leaving. With a bucket."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[str] | None = None
        self.url = ""

    def __enter__(self) -> Self:
        found = program()
        assert found is not None, "the mark leaves this out"
        with socket.socket() as probe:
            probe.bind((HOST, 0))
            port = probe.getsockname()[1]
        self.url = f"http://{HOST}:{port}"
        self._process = subprocess.Popen(
            [found, "-H", HOST, "-p", str(port)], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
        )
        assert self._process.stderr is not None
        try:
            for line in self._process.stderr:
                if "Running on" in line:
                    break
            else:
                raise AssertionError("moto's server has ended")
            threading.Thread(target=self._drain, daemon=True).start()
            self.files().create_dir(BUCKET)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *exception: object) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait(PATIENCE)

    def _drain(self) -> None:
        assert self._process is not None
        assert self._process.stderr is not None
        with self._process.stderr as lines:
            for _ in lines:
                pass

    @property
    def variables(self) -> dict[str, str]:
        """The variables that lead to it."""
        return {
            "AWS_ENDPOINT_URL": self.url,
            "AWS_ACCESS_KEY_ID": "me",
            "AWS_SECRET_ACCESS_KEY": "hush",
            "AWS_EC2_METADATA_DISABLED": "true",
        }

    def files(self) -> Any:
        """The store, as pyarrow sees it."""
        return fs.S3FileSystem(
            access_key="me",
            secret_key="hush",
            region="us-east-1",
            endpoint_override=self.url,
            allow_bucket_creation=True,
            allow_delayed_open=True,  # moto 5.2.1 cannot complete the parts of pyarrow
        )

    def believe(self, requests: float) -> None:
        """Look at no credentials for so many requests more. It knows no user, so afterwards it refuses everybody."""
        there = http.client.HTTPConnection(urlsplit(self.url).netloc, timeout=PATIENCE)
        there.request("POST", "/moto-api/reset-auth", str(requests))
        assert there.getresponse().status == 200
        there.close()

    def put(self, name: str, data: bytes) -> None:
        """Write an object of the bucket."""
        with self.files().open_output_stream(f"{BUCKET}/{name}") as stream:
            stream.write(data)

    def put_folder(self, folder: Path, name: str) -> None:
        """Write all files of a folder."""
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                self.put(f"{name}/{path.relative_to(folder)}", path.read_bytes())

    def names(self, folder: str = "") -> list[str]:
        """The objects of the bucket."""
        found = self.files().get_file_info(fs.FileSelector(f"{BUCKET}/{folder}".rstrip("/"), recursive=True))
        return sorted(
            i.path.removeprefix(f"{BUCKET}/") for i in found if i.type == fs.FileType.File and i.size
        )


class Faulty:
    """A way to a store on which requests fail: `faults` are taken one by one, each an HTTP status, or 0 for a connection
    that breaks off after half of the request was passed on."""

    def __init__(self, store: str, method: str, faults: list[int]) -> None:
        self.asked = 0
        self._faults = faults
        outer, lock = self, threading.Lock()
        target = urlsplit(store)

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def _serve(self) -> None:
                body = self._body()
                with lock:
                    fault = None
                    if self.command == method:
                        outer.asked += 1
                        fault = faults.pop(0) if faults else None
                if fault is not None:
                    self.close_connection = True
                    if fault:
                        self.send_response(fault)
                        self.send_header("Content-Length", "0")
                        self.send_header("Connection", "close")
                        self.end_headers()
                    return
                there = http.client.HTTPConnection(target.hostname or "", target.port, timeout=PATIENCE)
                headers = {k: v for k, v in self.headers.items() if k.lower() != "transfer-encoding"}
                there.request(self.command, self.path, body, headers)
                answer = there.getresponse()
                data = answer.read()
                self.send_response(answer.status)
                self._headers(answer.headers, len(data))
                self.wfile.write(data)
                there.close()

            def _body(self) -> bytes:
                if self.headers.get("Transfer-Encoding", "").lower() == "chunked":
                    found = b""
                    while size := int(self.rfile.readline().split(b";")[0], 16):
                        found += self.rfile.read(size)
                        self.rfile.readline()
                    self.rfile.readline()
                    return found
                return self.rfile.read(int(self.headers.get("Content-Length", 0)))

            def _headers(self, headers: Mapping[str, str], size: int) -> None:
                length = headers.get("Content-Length", str(size)) if self.command == "HEAD" else str(size)
                for name, value in headers.items():
                    if name.lower() not in ("content-length", "transfer-encoding", "connection"):
                        self.send_header(name, value)
                self.send_header("Content-Length", length)
                self.end_headers()

            do_GET = do_PUT = do_POST = do_HEAD = do_DELETE = _serve  # noqa: N815

            def log_message(self, format: str, *arguments: object) -> None:
                """Say nothing."""

        self._server = ThreadingHTTPServer((HOST, 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://{HOST}:{self._server.server_address[1]}"

    def fail(self, faults: list[int]) -> None:
        """Let the next requests fail."""
        self._faults.extend(faults)

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._server.shutdown()
        self._server.server_close()
