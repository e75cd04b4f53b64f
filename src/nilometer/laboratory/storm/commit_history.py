"""Reads from the commit log how far each version of each query had read: one run after the other.

A run is the time in which a query had one plan. Its state may have been rebuilt from the logs, but it answers only
from the offsets on that its predecessor had reached (live/replaced_state.py). If DELAY or KEY of a stream changes,
the run goes on, in another era (log/results/eras.py). A query that was dropped or replayed begins anew.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from nilometer.log import Offset
from nilometer.log.local_files import LocalFiles
from nilometer.log.reader import Cursor
from nilometer.log.results.eras import Era
from nilometer.log.results.result_log import Offsets
from nilometer.log.results.shared_log import PLACE, Index


@dataclass
class Run:
    """`taken` are the offsets from which on it answers, `reached` those that it has reached. Its commits are numbered
    from `first` to `last`, and its first row is at `position`. `anew`: the query was dropped or replayed before it."""

    version: str
    first: int
    position: int
    taken: Offsets
    reached: Offsets
    last: int
    rows: int
    anew: bool
    eras: tuple[Era, ...] = ()

    @property
    def plan(self) -> str:
        """The part of the version that declarations of streams do not change (live/versions.py)."""
        return self.version.rpartition("-")[0]


def runs(folder: Path) -> dict[str, list[Run]]:
    """The runs of each query, oldest first."""
    found: dict[str, list[Run]] = {}
    index = Index()
    for entry in Cursor(LocalFiles(folder / PLACE), Offset()):
        if entry.rows is None or entry.note is None:
            continue
        index.add(entry.rows, entry.note)
        described = entry.rows.filter(entry.rows.get_column("about").is_not_null())
        for name, first in described.select("query", "first").iter_rows():
            place = index.place(name)
            if place is None:
                continue
            own = found.setdefault(name, [])
            offsets = dict(place.offsets)
            anew = not own or first < own[-1].rows or _is_back(offsets, own[-1].reached)
            if anew or place.version.rpartition("-")[0] != own[-1].plan:
                own.append(
                    Run(place.version, place.number, first, offsets, offsets, place.number, first, anew)
                )
            own[-1].version, own[-1].eras = place.version, place.declared
        for name in list(index.places):
            place = index.place(name)
            assert place is not None
            run = found[name][-1]
            run.reached, run.last, run.rows = dict(place.offsets), place.number, place.rows
    return found


def _is_back(offsets: Offsets, reached: Offsets) -> bool:
    return any(at < reached.get(key, at) for key, at in offsets.items())
