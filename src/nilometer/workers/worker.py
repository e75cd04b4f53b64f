"""One worker process: requests and replies through pipes, and an end for a process that hangs, crashes or grows.

The worker has a few variables of the environment only, so that the passwords of this process are not in it.
"""

from __future__ import annotations

import json
import os
import select
import signal
import struct
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from nilometer.errors import DataError, NilometerError, ResourceError
from nilometer.types import format_bytes
from nilometer.workers import meanwhile
from nilometer.workers.settings import PythonSettings

CHILD = Path(__file__).with_name("child.py")
KEPT = (
    "PATH",
    "HOME",
    "LANG",
    "LC_ALL",
    "TZ",
    "TMPDIR",
    "PYTHONPATH",
    "PYTHONHASHSEED",
    "VIRTUAL_ENV",
    "LD_LIBRARY_PATH",
)
"""The variables of the environment that a worker has."""
START = 120.0
"""A worker may take so many seconds to import a module, by the clock."""
LOOK = 0.1
"""So often a worker that has not answered is looked at, in seconds."""
LARGEST_HEAD = 1 << 30


class Worker:
    """A process for the functions of one module. Not for use by two threads at once."""

    def __init__(self, settings: PythonSettings, script: Path = CHILD) -> None:
        self.settings = settings
        incoming, self._requests = os.pipe()
        self._replies, outgoing = os.pipe()
        life, self._life = os.pipe()
        paths = [settings.path] if settings.path else []
        numbers = [str(one) for one in (incoming, outgoing, life, settings.memory)]
        environment = {name: os.environ[name] for name in KEPT if name in os.environ}
        environment |= dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")
        try:
            # -P: no directory of the working directory's is on its path.
            self._process = subprocess.Popen(
                [sys.executable, "-P", str(script), *numbers, json.dumps(paths)],
                env=environment,
                stdin=subprocess.DEVNULL,
                pass_fds=(incoming, outgoing, life),
            )
        finally:
            for end in (incoming, outgoing, life):
                os.close(end)

    def request(
        self, what: str, head: dict[str, Any], body: bytes, seconds: float
    ) -> tuple[dict[str, Any], bytes]:
        """The reply to a request, within so many seconds by the clock. Otherwise the process ends, and a ResourceError
        says why. `what` names the code in messages."""
        text = json.dumps({**head, "bytes": len(body)}).encode()
        until = self._time() + seconds
        try:
            self._write(struct.pack("<I", len(text)) + text + body, until)
            size = struct.unpack("<I", self._read(4, until))[0]
            reply = json.loads(self._read(min(size, LARGEST_HEAD), until))
            found = self._read(reply["bytes"], until)
        except TimeoutError:
            self.close()
            raise self._too_long(what, f"{seconds:g} seconds by the clock") from None
        except (EOFError, BrokenPipeError):
            raise self._ended(what) from None
        match reply.get("error"):
            case None:
                return reply, found
            case "memory":
                self.close()
                raise self._too_large(what, reply.get("limit", self.settings.memory))
            case "contract":
                raise DataError(f"{what} does not keep its declaration: {reply['text']}")
            case _:
                missing = reply["text"].startswith("ModuleNotFoundError")
                raise DataError(
                    f"{what} failed: {reply['text']}",
                    hint=_where_modules_are(self.settings) if missing else None,
                )

    def close(self) -> None:
        """End the process."""
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait()
        for end in (self._requests, self._replies, self._life):
            if end >= 0:
                os.close(end)
        self._requests = self._replies = self._life = -1

    @property
    def alive(self) -> bool:
        """Whether it can take a request."""
        return self._requests >= 0 and self._process.poll() is None

    def _write(self, data: bytes, until: float) -> None:
        os.set_blocking(self._requests, False)
        view = memoryview(data)
        while view:
            _, ready, _ = select.select([], [self._requests], [], _patience())
            if ready:
                view = view[os.write(self._requests, view[: 1 << 16]) :]
                continue
            if self._time() > until:
                raise TimeoutError
            meanwhile.go_on()

    def _time(self) -> float:
        """The seconds of the clock, without those in which the process waited for a processor that others had."""
        try:
            waited = int(Path(f"/proc/{self._process.pid}/schedstat").read_text().split()[1]) / 1e9
        except (OSError, IndexError):
            waited = 0.0
        return time.monotonic() - waited

    def _read(self, count: int, until: float) -> bytes:
        parts = []
        while count:
            ready, _, _ = select.select([self._replies], [], [], _patience())
            if not ready:
                if self._time() > until:
                    raise TimeoutError
                meanwhile.go_on()
                continue
            part = os.read(self._replies, min(count, 1 << 20))
            if not part:
                raise EOFError
            parts.append(part)
            count -= len(part)
        return b"".join(parts)

    def _ended(self, what: str) -> NilometerError:
        """The process has gone: by a limit of the system, or by itself."""
        status = self._process.wait()
        self.close()
        if status == -signal.SIGXCPU:
            return self._too_long(what, f"{self.settings.seconds:g} seconds of the processor")
        how = f"signal {-status}" if status < 0 else f"status {status}"
        return ResourceError(f"{what} ended its worker process, with {how}")

    def _too_long(self, what: str, limit: str) -> ResourceError:
        return ResourceError(
            f"{what} took more than {limit}, and was stopped",
            hint="make it faster, or give it more: seconds = 20 in [python] of nilometer.toml",
        )

    def _too_large(self, what: str, limit: int) -> ResourceError:
        place = "[python] of nilometer.toml" if limit == self.settings.memory else "its class"
        return ResourceError(
            f"{what} took more than {format_bytes(limit)} of memory, and was stopped",
            hint=f'let it take less, or give it more: memory = "2GB" in {place}',
        )


def _where_modules_are(settings: PythonSettings) -> str:
    path = settings.path
    place = (
        f"put the module into {path}"
        if path
        else 'put it into a directory, and write path = "functions" in [python] of nilometer.toml'
    )
    return f"{place}; or install its package beside nilometer"


def _patience() -> float:
    """Seconds until a look at a worker that has not answered."""
    return meanwhile.LOOK if meanwhile.busy() else LOOK
