"""The field at a moment of the past, and one sensor's history, from segments in which they can be.

Time is searched backwards from the moment in windows that grow: the log's segments and records say which times they
have, so what is outside a window is not decoded. The laws: a reading that a newer window has is never replaced by an
older one; the answer says whether all sensors were found or the bound on rows ended the search.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import polars as pl

from nilometer.operators.logic import POSITION
from nilometer.server.field.newest import merged
from nilometer.types import MINUTE

MOST = 4_000_000
"""The most rows that one look back decodes."""
GROWTH = 6
"""Each window is so many times as long as the one before it."""
WINDOW = 1_000_000
"""The most rows that a window is expected to have; a longer one is shortened."""


class View(Protocol):
    """Where readings are: a log or a file."""

    identity: str
    time: str
    columns: list[str]

    def between(self, low: int, high: int, columns: list[str]) -> Iterator[pl.DataFrame]:
        """The rows of a range of times."""

    def spans(self) -> list[tuple[int, int, int]]:
        """Ranges of times, with their numbers of rows."""


def readings_at(view: View, moment: int, sensors: int, interval: int | None) -> tuple[pl.DataFrame, bool]:
    """The newest reading of each sensor up to a moment, and whether the search was complete. It ends as soon as so many
    `sensors` have one."""
    found: list[pl.DataFrame] = []
    heard, decoded = 0, 0
    for low, high in _windows(view, moment, 2 * (interval or MINUTE)):
        rows = _first(list(view.between(low, high, view.columns)))
        if rows is None:
            continue
        decoded += rows.height
        newest = merged(rows, view.identity, view.time)
        if found:
            newest = newest.join(pl.concat(found), on=view.identity, how="anti")
        found.append(newest)
        heard += newest.height
        if heard >= sensors > 0:
            return pl.concat(found, how="diagonal"), True
        if decoded >= MOST:
            return pl.concat(found, how="diagonal"), False
    return (pl.concat(found, how="diagonal") if found else _empty(view)), True


@dataclass(frozen=True)
class History:
    """One sensor's readings, oldest first, and whether older ones may be there."""

    rows: pl.DataFrame
    more: bool


def history_of(
    view: View, sensor: str, columns: list[str], since: int | None, until: int, most: int
) -> History:
    """The newest `most` readings of a sensor in a range of times."""
    found: list[pl.DataFrame] = []
    kept, decoded = 0, 0
    names = list(dict.fromkeys([view.identity, view.time, *columns]))
    for low, high in _windows(view, until, 10 * MINUTE):
        begin = low if since is None else max(low, since)
        if begin >= high:
            break
        parts = []
        for frame in view.between(begin, high, names):
            decoded += frame.height
            own = frame.filter(pl.col(view.identity).cast(pl.String) == sensor)
            if own.height:
                parts.append(own)
        if (rows := _first(parts)) is not None:
            found.append(rows)
            kept += rows.height
        if kept >= most or decoded >= MOST:
            break
    if not found:
        return History(pl.DataFrame(schema=dict.fromkeys(names, pl.Null())), more=False)
    whole = pl.concat(found, how="diagonal").sort(view.time, POSITION)
    return History(whole.tail(most), more=kept >= most or decoded >= MOST)


def _windows(view: View, moment: int, width: int) -> Iterator[tuple[int, int]]:
    """Windows from the moment backwards, in which there are readings, each longer than the one before."""
    spans = [span for span in view.spans() if span[0] <= moment]
    if not spans:
        return
    least = min(span[0] for span in spans)
    high = min(moment, max(span[1] for span in spans)) + 1
    while high > least:
        # A gap without readings is skipped: the next window begins where there are some.
        high = min(high, max(span[1] for span in spans if span[0] < high) + 1)
        expected = sum(_share(span, high - width, high) for span in spans)
        if expected > WINDOW:
            width = max(1, int(width * WINDOW / expected))
        low = max(least, high - width)
        yield low, high
        high, width = low, width * GROWTH


def _share(span: tuple[int, int, int], low: int, high: int) -> float:
    """How many rows of a span are in a window, if they are spread evenly."""
    begin, end, rows = span
    overlap = min(end + 1, high) - max(begin, low)
    return rows * max(0, overlap) / (end + 1 - begin)


def _first(frames: list[pl.DataFrame]) -> pl.DataFrame | None:
    return pl.concat(frames, how="diagonal") if frames else None


def _empty(view: View) -> pl.DataFrame:
    return pl.DataFrame(schema=dict.fromkeys([POSITION, *view.columns], pl.Null()))
