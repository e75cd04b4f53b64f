"""`nilometer serve --http` as a child that a test kills: the libraries are loaded once, here, and every life is a fork.

Reads lines `live DIRECTORY PORT`, says `born PID`, passes on what the child prints, and says `died CODE`.
"""

from __future__ import annotations

import importlib
import os
import sys
import traceback

from nilometer.cli.main import application
from storm.nursery import prepare

MODULES = (
    "uvicorn",
    "uvicorn.protocols.http.httptools_impl",
    "nilometer.server.http_server",
    "nilometer.server.application",
)


def live(folder: str, port: str) -> None:
    """One life."""
    os.dup2(1, 2)
    application(["serve", "--data", folder, "--http", port], prog_name="nilometer", standalone_mode=False)


def main() -> None:
    """Until stdin ends."""
    prepare()
    for name in MODULES:
        importlib.import_module(name)
    print("ready", flush=True)
    for line in sys.stdin:
        _, folder, port = line.split()
        child = os.fork()
        if child == 0:
            try:
                live(folder, port)
            except BaseException:
                traceback.print_exc()
            finally:
                os._exit(1)
        print(f"born {child}", flush=True)
        _, status = os.waitpid(child, 0)
        print(f"died {os.waitstatus_to_exitcode(status)}", flush=True)


if __name__ == "__main__":
    main()
