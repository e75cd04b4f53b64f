"""Copies a query's answers out of the commit log: to move them aside when the query begins again, or into result logs
of its own when another host goes on with it.

The law: interrupted at any moment and repeated, the answers are there once. A commit that the copy has is not copied
again; the query's first number says whether the commit log's answers still count.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from nilometer.live.control import REPLACED, control_of, folder_of, keep_floor, settle
from nilometer.live.standing import private_files, private_logs, shared_logs
from nilometer.log import Offset
from nilometer.log.local_files import LocalFiles
from nilometer.log.results import Commit, ResultLog
from nilometer.log.results.numbers import keep_number
from nilometer.log.results.shared_log import index_at
from nilometer.operators.frames import empty


def settle_all(directory: Path, name: str) -> None:
    """Move all answers of a query that is to begin again aside. An interrupted move is completed."""
    aside = control_of(directory, name).aside
    if aside is not None:
        last = export(directory, name, folder_of(directory, name) / REPLACED / str(aside))
        if last is not None:
            keep_floor(directory, name, 0)
            keep_number(directory, name, last.number + 1)
    settle(directory, name)


def export(directory: Path, name: str, place: Path) -> Commit | None:
    """Copy the answers in the commit log into result logs at a place. Returns the query's last commit."""
    shared = shared_logs(directory, name)
    if not shared:
        return None
    at = index_at(directory).place(name)
    assert at is not None, "a query that is not in the commit log"
    own = private_logs(directory, name)
    before = len(private_files(directory, name)) if own[0].exists else 0
    for number, log in enumerate(shared, before + 1):
        target = ResultLog(
            LocalFiles(place / ("results" if number == 1 else f"results-{number}")), log.columns
        )
        last = replace(at.commit, types=log.era.types)
        try:
            done = -1 if target.last is None else target.last.number
            for found in log.found(Offset()):
                if found.number > done:
                    rows = found.rows.select(
                        [column for column in found.rows.columns if column in log.columns]
                    )
                    target.commit(rows, replace(last, number=found.number, version=found.version))
                    done = found.number
            if log is shared[-1] and done < last.number:
                target.commit(empty(dict(log.columns)), last)
        finally:
            target.close()
    return at.commit
