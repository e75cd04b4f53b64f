"""Where streams end whose sources have ended, told to a query that runs: a small file, replaced whole.

Spark plans micro-batches in a process of its own, which knows nothing of sources; it looks here before each. The end of a stream
completes its last windows (language.md, "Watermark"), as on the gateway; for somebody's passing question only, since a standing
query's log may grow again.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from nilometer.log import Offset
from nilometer.log.local_files import LocalFiles


def tell_ends(path: Path, ends: Mapping[str, Offset]) -> None:
    """By lower-case name of the stream."""
    written = {name: [at.number, at.position] for name, at in ends.items()}
    LocalFiles(path.parent).replace(path.name, json.dumps(written).encode())


def told_ends(path: str | None) -> dict[str, Offset]:
    """What was told last; nothing before."""
    if path is None:
        return {}
    try:
        found = json.loads(Path(path).read_bytes())
    except FileNotFoundError:
        return {}
    return {name: Offset(number, position) for name, (number, position) in found.items()}
