"""Named places at which a test makes the log fail: an injected callable, which does nothing in production.

Every step that changes a file calls `failpoint(name)` before and after it. A test's callable raises ENOSPC or
a simulated crash there. Tests that kill a real process set the variable NILOMETER_FAILPOINT: `after_write:3`
kills the process with SIGKILL when it passes `after_write` for the third time. `after_write:3@results` counts
only the files of that name (log: the streams' logs; results, state: a standing query's; sink: where its
answers are delivered, sinks/sink.py).
"""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Callable

Failpoint = Callable[[str], None]

FAILPOINTS = (
    "before_write",
    "during_write",
    "after_write",
    "before_fsync",
    "after_fsync",
    "before_aside",
    "during_aside",
    "after_aside",
    "before_rename",
    "after_rename",
    "after_directory_fsync",
    "before_delete",
    "after_delete",
    "before_cut",
    "after_cut",
)
"""The steps in files.py: append, make durable, replace a whole file (written aside, renamed), delete, cut off
a tail.
"""

VARIABLE = "NILOMETER_FAILPOINT"
SCOPE = "NILOMETER_FAILPOINT_SCOPE"


def nothing(_: str) -> None:
    """The failpoint of production: does nothing."""


def from_environment(place: str = "log") -> Failpoint:
    """The failpoint that NILOMETER_FAILPOINT asks for in the files of that name; `nothing` if it is not set."""
    setting, _, wanted = os.environ.get(VARIABLE, "").partition("@")
    if not setting or (wanted and wanted != place):
        return nothing
    name, _, passing = setting.partition(":")
    left = int(passing or 1)

    def kill(reached: str) -> None:
        nonlocal left
        left -= reached == name
        if left == 0 and reached == name:
            _kill()

    return kill


def _kill() -> None:
    """Kill the process, or all processes of its session, itself last."""
    if os.environ.get(SCOPE) == "session":
        session = os.getsid(0)
        for name in os.listdir("/proc"):
            with contextlib.suppress(OSError):
                if name.isdigit() and int(name) != os.getpid() and os.getsid(int(name)) == session:
                    os.kill(int(name), signal.SIGKILL)
    os.kill(os.getpid(), signal.SIGKILL)
