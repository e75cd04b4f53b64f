"""What a thread does while it waits for a worker that does not answer: the owner's loop goes on to take readings.

    with meanwhile(station.manager.poll):
        station.advance()     # a function of a user's sleeps for 30 s; readings are acknowledged

The law: the call touches nothing that whoever waits has in hand. A call that fails is not made again in this `with`: the
loop meets the reason in its own turn.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

_HERE = threading.local()

LOOK = 0.02
"""So often the call is made, in seconds."""


@contextmanager
def meanwhile(call: Callable[[], object]) -> Iterator[None]:
    """In this thread, make the call again and again while a worker is waited for."""
    before = getattr(_HERE, "call", None)
    _HERE.call = call
    try:
        yield
    finally:
        _HERE.call = before


@contextmanager
def alone() -> Iterator[None]:
    """In this thread, make no call while a worker is waited for: whoever waits would be entered again."""
    before = getattr(_HERE, "call", None)
    _HERE.call = None
    try:
        yield
    finally:
        _HERE.call = before


def busy() -> bool:
    """Whether there is something to do in this thread."""
    return getattr(_HERE, "call", None) is not None


def go_on() -> None:
    """Make the call, if there is one."""
    call = getattr(_HERE, "call", None)
    if call is None:
        return
    _HERE.call = None  # not from within itself
    try:
        call()
    except Exception:
        return
    _HERE.call = call
