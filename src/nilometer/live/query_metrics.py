"""How a standing query does, as the process that runs it says: `.nilometer/queries/<name>/metrics.json`, for other processes to look at.

The law: the file is replaced whole, but not made durable: what counts is in the result log.
"""

from __future__ import annotations

import contextlib
import json
import os
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING

from nilometer.live.control import folder_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from nilometer.ingest.manager import StreamManager

FILE = "metrics.json"


@dataclass(frozen=True)
class QueryMetrics:
    """`rows_in`, `rows_out` and `late` are those of all versions. Times are microseconds; `watermark` None: nothing has been heard; `lag` is by
    how much it is behind the clock. `batch_milliseconds` is how long the last micro-batch took, on the gateway the last round of the loop that
    brought anything. The state is that of the last batch, on the gateway of the last checkpoint. `completeness`: of the readings that the sensors of
    its streams owed since these were opened, the part that came; None if nothing is expected of them. `trouble` is what it waits for, or, if it
    `failed`, what made it stop. `tables_read`: how often the process that runs it has read its tables anew, and `table_failures` how often that
    failed."""

    when: int
    host: str
    version: str
    rows_in: int = 0
    rows_out: int = 0
    late: int = 0
    watermark: int | None = None
    lag: int | None = None
    batch_milliseconds: int | None = None
    state_panes: int = 0
    state_bytes: int = 0
    completeness: float | None = None
    failed: bool = False
    trouble: str | None = None
    tables_read: int = 0
    table_failures: int = 0


def completeness_of(manager: StreamManager, streams: Iterable[str]) -> float | None:
    """Of what the sensors of these streams owed, the part that came."""
    expected = missing = 0
    for stream in streams:
        status = manager.status(stream)
        expected += status.expected or 0
        missing += status.missing or 0
    return None if not expected else 1.0 - missing / expected


def write_metrics(directory: Path, name: str, metrics: QueryMetrics) -> None:
    """Let others see it. Where there is no room they do not."""
    path = folder_of(directory, name) / FILE
    aside = path.with_name(f"{FILE}.aside")
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        aside.write_text(json.dumps(asdict(metrics)), encoding="utf-8")
        os.replace(aside, path)


def read_metrics(directory: Path, name: str) -> QueryMetrics | None:
    """What was last said of the query; None if nothing was."""
    try:
        found = json.loads((folder_of(directory, name) / FILE).read_bytes())
        return QueryMetrics(
            **{field.name: found[field.name] for field in fields(QueryMetrics) if field.name in found}
        )
    except (OSError, ValueError, KeyError, TypeError):
        return None
