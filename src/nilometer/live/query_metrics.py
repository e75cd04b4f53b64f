"""Metrics of standing queries, written for other processes by the one that runs them: `.nilometer/metrics.json` for
all that run, `.nilometer/queries/<name>/metrics.json` for one that was paused or could not start.

The laws: a file is replaced atomically, but not durably; the durable facts are in the result log. The number of files
does not depend on the number of queries that run.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nilometer.live.control import folder_of
from nilometer.log.private import make_directory
from nilometer.plan import physical
from nilometer.types import INT_MAXIMUM, INT_MINIMUM

if TYPE_CHECKING:
    from collections.abc import Iterable

    from nilometer.dataflow.ledger import QueryLedger
    from nilometer.ingest.manager import StreamManager
    from nilometer.live.live_query import LiveQuery
    from nilometer.live.stored_tables import StoredTables

FILE = "metrics.json"
ALL = Path(".nilometer") / FILE


@dataclass(frozen=True)
class QueryMetrics:
    """`rows_in`, `rows_out` and `late` count over all versions. Times are microseconds.

    `watermark` None: no reading or heartbeat has come. `lag` is the distance of the watermark from the clock.
    `batch_milliseconds` is the time of the last micro-batch; on the gateway, that of the last round of the
    loop with input. The state is that of the last batch; on the gateway, that of the last checkpoint.
    `completeness` is the fraction that arrived of the readings that the sensors of its streams owed since the
    streams were opened; None if no readings are expected. `trouble` is what the query waits for, or, if it
    `failed`, the error that stopped it. `tables_read` counts how often the running process has refreshed the
    query's tables, `table_failures` how often that failed. `sessions_lost` is how often brokers have lost what
    they kept for its streams.
    """

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
    sessions_lost: int = 0


def metrics_of(
    live: LiveQuery,
    ledger: QueryLedger,
    manager: StreamManager,
    tables: StoredTables | None,
    *,
    when: int,
    host: str,
    version: str,
    batch_milliseconds: int | None,
    state: tuple[int, int],
) -> QueryMetrics:
    """The metrics of a running query. `state` is its number of panes and bytes."""
    streams = physical.streams_of(live.query.physical)
    # There is no event time before the first reading, nor after the end.
    heard = live.watermark not in (None, INT_MINIMUM, INT_MAXIMUM)
    watermark = live.watermark if heard else None
    waits_for = live.trouble or live.stale or live.apart
    return QueryMetrics(
        when,
        host,
        version,
        rows_in=ledger.read,
        rows_out=live.rows,
        late=ledger.late,
        watermark=watermark,
        lag=None if watermark is None else when - watermark,
        batch_milliseconds=batch_milliseconds,
        state_panes=state[0],
        state_bytes=state[1],
        completeness=completeness_of(manager, streams),
        failed=live.failure is not None,
        trouble=waits_for if live.failure is None else live.failure.message,
        tables_read=0 if tables is None else tables.reads,
        table_failures=0 if tables is None else tables.failures,
        sessions_lost=sessions_lost_of(manager, streams),
    )


def completeness_of(manager: StreamManager, streams: Iterable[str]) -> float | None:
    """The fraction that arrived of the readings that the sensors of these streams owed."""
    expected = missing = 0
    for stream in streams:
        status = manager.status(stream)
        expected += status.expected or 0
        missing += status.missing or 0
    return None if not expected else 1.0 - missing / expected


def sessions_lost_of(manager: StreamManager, streams: Iterable[str]) -> int:
    """How often brokers have lost what they kept for these streams."""
    return sum(manager.status(stream).sessions_lost for stream in streams)


def write_metrics(directory: Path, name: str, metrics: QueryMetrics) -> None:
    """Write the metrics for other processes. Without space on the disk, they are not written."""
    _write(folder_of(directory, name) / FILE, asdict(metrics))


def write_all_metrics(directory: Path, metrics: Mapping[str, QueryMetrics]) -> None:
    """Write the metrics of all queries that run, in one file."""
    _write(directory / ALL, {name.lower(): asdict(one) for name, one in metrics.items()})


def _write(path: Path, value: object) -> None:
    aside = path.with_name(f"{FILE}.aside")
    with contextlib.suppress(OSError):
        make_directory(path.parent)
        aside.touch(mode=0o600)
        aside.write_text(json.dumps(value), encoding="utf-8")
        os.replace(aside, path)


def read_metrics(directory: Path, name: str) -> QueryMetrics | None:
    """The metrics last written; None if there are none."""
    own, common = folder_of(directory, name) / FILE, directory / ALL
    found = [_metrics(_read(own)), _metrics(_read(common).get(name.lower(), {}))]
    return max((one for one in found if one is not None), key=lambda one: one.when, default=None)


def _metrics(found: Mapping[str, Any]) -> QueryMetrics | None:
    try:
        return QueryMetrics(
            **{field.name: found[field.name] for field in fields(QueryMetrics) if field.name in found}
        )
    except TypeError:
        return None


def _read(path: Path) -> Mapping[str, Any]:
    try:
        stat = path.stat()
        return _parsed(path, stat.st_mtime_ns, stat.st_ino)
    except (OSError, ValueError):
        return {}


@lru_cache(maxsize=4)
def _parsed(path: Path, _changed: int, _inode: int) -> Mapping[str, Any]:
    """Kept, because whoever lists the queries asks for each of them."""
    found = json.loads(path.read_bytes())
    return found if isinstance(found, dict) else {}
