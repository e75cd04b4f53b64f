"""PH_SUMMARY: phenomena and the totals of all sources -> a few rows that stand for the readings of an evaluation.

A phenomenon has a row with its mean, least and greatest value and who joined and left it; so has each cell of the other
sensors (algebra/cells.py), whose id is NULL. Members and cells are told as changes since the summary before. These
rows are enough to read every sensor back (reconstruction.py).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

import polars as pl

from nilometer.algebra.cells import cells_of
from nilometer.algebra.places import Place
from nilometer.operators import frames
from nilometer.operators.limits import check_kept
from nilometer.phenomena.mean import mean_of
from nilometer.phenomena.neighbours import Source
from nilometer.phenomena.phenomenon import Standing
from nilometer.phenomena.readings import place_of
from nilometer.phenomena.tracker import Tracker

Row = tuple[Any, ...]
_NOTHING: Row = (0, None, None, None)


class Summary:
    """The totals of all sources, and what was told last."""

    def __init__(self, id_dtype: pl.DataType, every: int, most: int, coordinates: str | None) -> None:
        self.every = every
        self._most, self._coordinates = most, coordinates
        self._columns: frames.Dtypes = {"id": id_dtype, "known": pl.Boolean(), "n": pl.Int64()}
        self._columns |= dict.fromkeys(("sum", "low", "high", "x", "y"), pl.Float64())
        self._totals: dict[Source, Standing] = {}
        self._places: dict[Source, Place | None] = {}
        self._cells: list[list[Source]] | None = None
        self._told_cells: list[list[Source]] = []
        self._told: dict[str, list[Source]] = {}
        self._alive = 0  # sources with readings in the window

    @property
    def quiet(self) -> bool:
        """Whether nothing is left to tell until something changes."""
        return (
            not self._alive and not self._told and self._cells is not None and self._cells == self._told_cells
        )

    def take(self, rows: Sequence[Row]) -> list[Row]:
        """Note the totals and places; return the rows of candidates."""
        others = []
        for row in rows:
            if row[2] is not None:
                others.append(row)
                continue
            source, n = row[1], row[3]
            if n is None:
                self._places[source] = place_of(row[7])
                self._cells = None
                continue
            if source not in self._totals:
                self._cells = None
            self._alive += (n > 0) - (source in self._totals and self._totals[source][0] > 0)
            self._totals[source] = (n, row[4], row[5], row[6])
        check_kept(len(self._places) + len(self._totals))
        return others

    def rows(self, tick: int, tracker: Tracker) -> Iterator[Row]:
        """The rows of an evaluation, from `time` on."""
        inside: set[Source] = set()
        told: dict[str, list[Source]] = {}
        for each in tracker.phenomena:
            inside.update(each.members)
            told[each.id] = each.members
            _, readings, mean, low, high = tracker.state(each)[:5]
            changed = _changed(self._told.get(each.id, []), each.members)
            yield tick, each.id, None, len(each.members), *changed, readings, mean, low, high
        for id_, members in self._told.items():
            if id_ not in told:
                yield tick, id_, None, 0, [], members, *_NOTHING
        self._told = told
        if self._cells is None:
            places = {source: self._places.get(source) for source in self._totals}
            self._cells = cells_of(places, self._most, self._coordinates)
        for number in range(max(len(self._cells), len(self._told_cells))):
            now = self._cells[number] if number < len(self._cells) else []
            before = self._told_cells[number] if number < len(self._told_cells) else []
            gained, lost = ([], []) if now is before else _changed(before, now)
            mean = _mean([self._totals[source] for source in now if source not in inside])
            if mean[0] or gained or lost:
                yield tick, None, number, len(now), gained, lost, *mean
        self._told_cells = self._cells

    def snapshot(self) -> dict[str, bytes]:
        """Returns the totals, and what was told, as panes."""
        rows = [
            (
                source,
                source in self._totals,
                *self._totals.get(source, (0, None, None, None)),
                *(self._places.get(source) or (None, None)),
            )
            for source in sorted({*self._totals, *self._places})
        ]
        told = {"phenomena": self._told, "cells": self._told_cells}
        return {
            "totals": frames.to_bytes(pl.DataFrame(rows, self._columns, orient="row")),
            "told": json.dumps(told).encode(),
        }

    def restore(self, panes: dict[str, bytes]) -> None:
        """Take back what `snapshot` gave."""
        for source, known, n, total, low, high, x, y in frames.from_bytes(panes["totals"]).iter_rows():
            if known:
                self._totals[source] = (n, total, low, high)
                self._alive += n > 0
            self._places[source] = None if x is None else (x, y)
        told = json.loads(panes["told"])
        self._told, self._told_cells = told["phenomena"], told["cells"]


def _changed(before: Sequence[Source], now: Sequence[Source]) -> tuple[list[Source], list[Source]]:
    """Who joined and who left."""
    old, new = set(before), set(now)
    return [each for each in now if each not in old], [each for each in before if each not in new]


def _mean(standings: Sequence[Standing]) -> Row:
    """Number, mean, least and greatest of the readings of sources."""
    some = [each for each in standings if each[0]]
    count = sum(each[0] for each in some)
    if not count:
        return _NOTHING
    mean = mean_of((each[1] for each in some), count)  # type: ignore[misc]
    return count, mean, min(each[2] for each in some), max(each[3] for each in some)  # type: ignore[type-var]
