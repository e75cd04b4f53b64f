"""Starts the zygote of this process, and the program that replaces Python."""

from __future__ import annotations

import contextlib
import os
import shlex
import shutil
import socket
import subprocess
import sys
import tempfile
from pathlib import Path
from types import TracebackType

STUB = Path(__file__).with_name("stub.py")


class Interpreter:
    """A running zygote, and the `path` of a program that takes Python's arguments and is served by the
    zygote.
    """

    def __init__(self) -> None:
        self._folder = tempfile.mkdtemp(prefix="nilometer-python-")
        address = str(Path(self._folder, "zygote"))
        program = Path(self._folder, "python")
        # Not a "#!" line with Python's path, which may be long or contain spaces; -I and -S, so that it
        # starts quickly.
        words = shlex.join([sys.executable, "-I", "-S", str(STUB), address])
        program.write_text(f'#!/bin/sh\nexec {words} "$@"\n')
        program.chmod(0o700)
        self.path = str(program)
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
            listener.bind(address)
            listener.listen(64)
            self._process = subprocess.Popen(
                [sys.executable, "-m", "nilometer.spark.warm.zygote", str(listener.fileno())],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                pass_fds=[listener.fileno()],
                env=_environment(),
            )

    def close(self) -> None:
        """End the zygote. The processes that it has forked go on."""
        assert self._process.stdin is not None
        with contextlib.suppress(OSError):
            self._process.stdin.close()
        self._process.wait()
        shutil.rmtree(self._folder, ignore_errors=True)

    def __enter__(self) -> Interpreter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _environment() -> dict[str, str]:
    """The variables that an interpreter reads once, as Spark sets them for its workers, and this process's
    own paths.
    """
    paths = [each for each in sys.path if each]
    return os.environ | {
        "PYTHONPATH": os.pathsep.join(paths),
        "PYTHONHASHSEED": os.environ.get("PYTHONHASHSEED", "0"),
        "PYTHONUNBUFFERED": "YES",
        "OMP_NUM_THREADS": os.environ.get("OMP_NUM_THREADS", "1"),
    }
