"""A process that has imported what Spark's Python processes import, and forks one for each stub that asks.

It ends when its input ends, that is, with the driver.
"""

from __future__ import annotations

import os

# As many workers run at once as there are cores, so each gets one thread. Set this before the import of
# Polars, which reads it.
os.environ.setdefault("POLARS_MAX_THREADS", "1")

import fcntl
import marshal
import runpy
import select
import signal
import socket
import sys
import traceback
import warnings
from collections.abc import Iterator
from typing import Any

from nilometer.spark.warm.prepare import kept_code, prepare
from nilometer.spark.warm.stub import LENGTH, STANDARD

HASH_SEED = "PYTHONHASHSEED"
PATIENCE = 10.0
"""Seconds that a stub has to send its request."""
IDLE = 100
"""Milliseconds without a request, after which there is time for other work."""
DONE = object()


def serve(listener: socket.socket, seed: str | None, work: Iterator[None]) -> None:
    """Fork for each request, until the input ends. Between requests, do a step of the work, while there is any."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a Ctrl-C at the terminal is the driver's
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for children here
    poll = select.poll()
    poll.register(0, select.POLLIN)
    poll.register(listener, select.POLLIN)
    waiting: int | None = IDLE
    while True:
        ready = poll.poll(waiting)
        if not ready:
            done = next(work, DONE) is DONE
            waiting = None if done else IDLE
            continue
        if any(number == 0 for number, _ in ready):
            return
        line, _ = listener.accept()
        line.settimeout(PATIENCE)
        files: list[int] = []
        try:
            start, files, _, _ = socket.recv_fds(line, LENGTH, len(STANDARD))
            request = _request(line, start)
            # The hashing of strings was fixed when this process began, and the workers of one session must
            # agree.
            if request is not None and request[1].get(HASH_SEED, seed) == seed and os.fork() == 0:
                listener.close()
                _become(line, request, files)
        except OSError:
            traceback.print_exc()  # of one stub: it starts a Python of its own
        finally:
            line.close()
            for each in files:
                os.close(each)


def _request(line: socket.socket, start: bytes) -> list[Any] | None:
    """A stub's request: arguments, environment, directory; None if the stub has gone."""
    if len(start) < LENGTH:
        return None
    length = int.from_bytes(start, sys.byteorder)
    text = b""
    while len(text) < length:
        more = line.recv(length - len(text))
        if not more:
            return None
        text += more
    request: list[Any] = marshal.loads(text)
    return request


def _become(line: socket.socket, request: list[Any], files: list[int]) -> None:
    """Become the process that the stub asked for; does not return."""
    code = 1
    try:
        arguments, environment, directory = request
        for file, number in zip(files, STANDARD, strict=True):
            os.dup2(file, number)
            os.close(file)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        os.environ.clear()
        os.environ.update(environment)
        os.chdir(directory)
        # After the existing paths: the first of Spark's are archives of the PySpark already imported, slow to
        # search.
        paths = [each for each in environment.get("PYTHONPATH", "").split(os.pathsep) if each]
        sys.path[:] = [directory, *sys.path[1:], *(each for each in paths if each not in sys.path)]
        _end_with_the_stub(line)
        line.setblocking(True)
        line.sendall(b"+")
        code = _run(arguments)
    except BaseException:
        traceback.print_exc()
    finally:
        try:
            sys.stdout.flush()
            sys.stderr.flush()
            line.sendall(bytes([code]))
        except (OSError, ValueError):
            pass
        os._exit(code)


def _end_with_the_stub(line: socket.socket) -> None:
    """Send this process SIGTERM when the stub is gone. Processes forked from this one are not affected."""
    fcntl.fcntl(line, fcntl.F_SETOWN, os.getpid())
    fcntl.fcntl(line, fcntl.F_SETSIG, signal.SIGTERM)
    fcntl.fcntl(line, fcntl.F_SETFL, fcntl.fcntl(line, fcntl.F_GETFL) | os.O_ASYNC)
    os.register_at_fork(after_in_child=line.close)


def _run(arguments: list[str]) -> int:
    """Run `-m module ...`, and return the exit code."""
    sys.argv = arguments[1:]
    try:
        with warnings.catch_warnings():
            # The module is meant to have been imported before.
            warnings.filterwarnings("ignore", ".*found in sys.modules", RuntimeWarning)
            runpy.run_module(arguments[1], run_name="__main__", alter_sys=True)
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else 0 if end.code is None else 1
    except BaseException as error:
        if not _is_hang_up(error):
            traceback.print_exc()
        return 1
    return 0


def _is_hang_up(error: BaseException | None) -> bool:
    """Whether an error says that Spark no longer listens: it has stopped the query, or has not waited for this process."""
    while error is not None:
        if isinstance(error, ConnectionError) or "CANNOT_OPEN_SOCKET" in str(error):
            return True
        error = error.__cause__ or error.__context__
    return False


def main() -> None:
    """Serve the socket whose number is in the arguments. The imports come first; stubs wait for them in the
    queue.
    """
    prepare()
    serve(socket.socket(fileno=int(sys.argv[1])), os.environ.get(HASH_SEED), kept_code())


if __name__ == "__main__":
    main()
