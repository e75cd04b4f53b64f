"""The name under which the program was called: hints begin with it, so that they can be copied.

>>> as_typed("'nilometer inspect air.csv' proposes one; see nilometer.connect", "./nilo")
"'./nilo inspect air.csv' proposes one; see nilometer.connect"
"""

from __future__ import annotations

import os
import re

_CALL = re.compile(r"\bnilometer (?=[a-z-])")
"""A command in a text. A sentence about the program says Nilometer."""


def command_name() -> str:
    """The name that was typed: `nilometer`, or `./nilo`, which says so in NILOMETER_COMMAND."""
    return os.environ.get("NILOMETER_COMMAND") or "nilometer"


def as_typed(text: str, name: str | None = None) -> str:
    """The text, in which the commands begin with the name that was typed."""
    called = name or command_name()
    return text if called == "nilometer" else _CALL.sub(lambda _: f"{called} ", text)
