"""Tells a running query where its streams end, once their sources have ended: a small file, replaced
atomically.

Spark plans micro-batches in a process of its own, which knows nothing of sources; it reads this file before
each. The end of a stream completes its last windows (language.md, "Watermark"), as on the gateway. This is
for temporary queries only, since the log of a standing query's stream may grow again.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from nilometer.log import Offset
from nilometer.log.local_files import LocalFiles


def tell_ends(path: Path, ends: Mapping[str, Offset]) -> None:
    """Write the ends, by the stream's lower-case name."""
    written = {name: [at.number, at.position] for name, at in ends.items()}
    LocalFiles(path.parent).replace(path.name, json.dumps(written).encode())


def told_ends(path: str | None) -> dict[str, Offset]:
    """The ends written last; empty if there are none."""
    if path is None:
        return {}
    try:
        found = json.loads(Path(path).read_bytes())
    except FileNotFoundError:
        return {}
    return {name: Offset(number, position) for name, (number, position) in found.items()}
