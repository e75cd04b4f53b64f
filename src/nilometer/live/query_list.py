"""Lists the standing queries of a data directory and the state of each; nothing need be running.

Durable facts (rows, offsets in the logs) come from the result log. Facts about the run come from the metrics
that its process last wrote (query_metrics.py).
"""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nilometer.live.control import PLACE, control_of, folder_of
from nilometer.live.query_metrics import read_metrics
from nilometer.live.standing import host_of, result_log, result_logs, runner_of, shared_logs
from nilometer.live.versions import ON_SPARK, version_of
from nilometer.log import LogDirectory
from nilometer.log.results.numbers import first_number
from nilometer.log.results.shared_log import index_at

if TYPE_CHECKING:
    from collections.abc import Mapping

    from nilometer.live.declarations import Declarations
    from nilometer.log import Offset

SHOWN = 8
"""The number of digits of a version that are shown."""


class RunState(StrEnum):
    """NEW: the query has never run. FAILED: it stopped with an error, or could not start. UNDECLARED: it has
    run, and is no longer declared.
    """

    NEW = "new"
    RUNNING = "running"
    PAUSED = "paused"
    STOPPED = "stopped"
    FAILED = "failed"
    UNDECLARED = "not declared any more"


@dataclass(frozen=True)
class QueryState:
    """`version` is that of the last commit. `changed`: the declaration has changed since, so the next run
    begins a new version. `rows` counts all rows ever answered. `behind` counts the readings in the logs that
    are not answered for yet. `dead` counts the rows that were set aside (dead_letters.py). Times are microseconds. The other fields are as in QueryMetrics, and as old as
    `when` says.
    """

    name: str
    state: RunState
    host: str | None = None
    version: str | None = None
    changed: bool = False
    rows: int = 0
    read: int = 0
    late: int = 0
    shed: int = 0
    dead: int = 0
    behind: int | None = None
    watermark: int | None = None
    lag: int | None = None
    batch_milliseconds: int | None = None
    state_bytes: int | None = None
    state_panes: int | None = None
    completeness: float | None = None
    runner: str | None = None
    trouble: str | None = None
    when: int | None = None

    def as_dict(self) -> dict[str, Any]:
        """The fields by name."""
        return asdict(self) | {"state": self.state.value}


def query_names(database: Declarations, directory: Path) -> list[str]:
    """The names of the standing queries that are declared or once were: spelled as declared, or as their
    folders.
    """
    declared = {query.name.lower(): query.name for query in database.catalog.queries()}
    place = directory / PLACE
    folders = {path.name for path in place.iterdir() if path.is_dir()} if place.is_dir() else set()
    index = index_at(directory)
    ran = sorted(folders | {n for n, at in index.places.items() if at.number >= first_number(directory, n)})
    return list(({**declared} | {name: name for name in ran if name not in declared}).values())


def query_list(database: Declarations, now: int | None = None) -> list[QueryState]:
    """All standing queries of a data directory; none without a directory."""
    directory = database.data.base
    if directory is None:
        return []
    moment = time.time_ns() // 1_000 if now is None else now
    return [query_state(database, directory, name, moment) for name in query_names(database, directory)]


def query_state(database: Declarations, directory: Path, name: str, now: int) -> QueryState:
    """The state of one query."""
    definition = database.catalog.query(name)
    if not folder_of(directory, name).is_dir() and not shared_logs(directory, name):
        return QueryState(name, RunState.NEW)
    last = result_log(directory, name).last
    metrics = read_metrics(directory, name)
    runner = runner_of(directory, name)
    failed = metrics is not None and metrics.failed
    if definition is None and runner is None:
        state = RunState.UNDECLARED
    elif control_of(directory, name).paused and runner is None:
        state = RunState.PAUSED
    elif failed:
        state = RunState.FAILED
    elif runner is not None:
        state = RunState.RUNNING
    else:
        state = RunState.NEW if last is None else RunState.STOPPED
    changed = False
    if definition is not None and last is not None:
        version = version_of(database.sql(definition.text))
        changed = not version.same_plan(last.version.removeprefix(ON_SPARK))
    ledger = None if last is None else last.earlier + last.ledger
    watermark = None if metrics is None else metrics.watermark
    return QueryState(
        name,
        state,
        host=None if last is None else host_of(last.version),
        version=None if last is None else last.version.removeprefix(ON_SPARK)[:SHOWN],
        changed=changed,
        rows=sum(log.rows for log in result_logs(directory, name)),
        read=0 if ledger is None else ledger.read,
        late=0 if ledger is None else ledger.late,
        shed=0 if ledger is None else ledger.shed,
        dead=0 if ledger is None else ledger.dead,
        behind=None if last is None else behind(directory, last.offsets),
        watermark=watermark,
        lag=None if watermark is None else now - watermark,
        batch_milliseconds=None if metrics is None else metrics.batch_milliseconds,
        state_bytes=None if metrics is None else metrics.state_bytes,
        state_panes=None if metrics is None else metrics.state_panes,
        completeness=None if metrics is None else metrics.completeness,
        runner=runner,
        trouble=None if metrics is None else metrics.trouble,
        when=None if metrics is None else metrics.when,
    )


def behind(directory: Path, offsets: Mapping[str, Offset]) -> int:
    """The number of readings in the logs beyond these offsets."""
    logs = LogDirectory(directory)
    return sum(max(0, logs.log(key).end.position - at.position) for key, at in offsets.items())
