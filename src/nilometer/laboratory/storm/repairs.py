"""Verifies and repairs a whole data directory, as `nilometer log verify` and `log repair` do."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from nilometer.live.damage import queries_of, repair_query, repair_shared, verify_query, verify_shared
from nilometer.log import LogDirectory
from nilometer.log.results.committed import CommittedOffsets
from nilometer.log.verify import Verdict


def verdicts(folder: Path) -> Iterator[Verdict]:
    """The verdicts on all parts."""
    logs = LogDirectory(folder, committed=CommittedOffsets(folder))
    for name in logs.streams(lost=True):
        yield logs.existing(name, lost=True).verify()
    for name in queries_of(folder):
        yield from (checked.verdict for checked in verify_query(folder, name))
    yield from (checked.verdict for checked in verify_shared(folder))


def repaired(folder: Path) -> Iterator[str]:
    """Repair all parts. Yields what was done."""
    logs = LogDirectory(folder, committed=CommittedOffsets(folder))
    for name in logs.streams(lost=True):
        yield from logs.log(name).repair().remarks
    for name in queries_of(folder):
        for done in repair_query(folder, name):
            yield from done.remarks
    for done in repair_shared(folder):
        yield from done.remarks
