"""A growing sequence of entries -> panes by running number. A round changes only the panes at the end.

This is Bentley and Saxe's logarithmic method (1980) for an append-only sequence. It is cut into blocks of
`LARGEST` entries. The rest at the end is cut into ever smaller blocks, halving down to `SMALLEST`, and a
remainder. So a few new entries change a small pane, each entry is rewritten O(log) times, and there are few
panes. The bytes of a block are made once, even if entries at its front expire later.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import polars as pl

from nilometer.operators.frames import from_bytes, to_bytes

LARGEST = 32_768
SMALLEST = 1_024


class Blocks:
    """The bytes of the blocks at the last snapshot."""

    def __init__(self) -> None:
        self._made: dict[tuple[int, int], bytes] = {}

    def forget(self) -> None:
        """Forget the bytes, because the entries or their numbers have changed."""
        self._made = {}

    def snapshot(
        self, prefix: str, begin: int, end: int, entries: Callable[[int, int], pl.DataFrame]
    ) -> dict[str, bytes]:
        """Returns panes that hold the entries from number `begin` up to `end`, and perhaps some before.
        `entries` returns the entries between two numbers.
        """
        made = {}
        for start, stop in _blocks(begin, end):
            data = self._made.get((start, stop))
            made[start, stop] = to_bytes(entries(max(start, begin), stop)) if data is None else data
        self._made = made
        return {f"{prefix}/{start:015d}": data for (start, _), data in made.items()}

    def restore(self, prefix: str, panes: dict[str, bytes], end: int | None = None) -> list[pl.DataFrame]:
        """Returns the entries of a snapshot, and perhaps some before them. `end` must be given unless `begin`
        was 0.
        """
        names = sorted(name for name in panes if name.startswith(prefix + "/"))
        starts = [int(name.removeprefix(prefix + "/")) for name in names]
        frames = [from_bytes(panes[name]) for name in names]
        if not names:
            return frames
        ends = [*starts[1:], starts[-1] + frames[-1].height if end is None else end]
        self._made = {
            (start, stop): panes[name] for name, start, stop in zip(names, starts, ends, strict=True)
        }
        return frames


def _blocks(begin: int, end: int) -> Iterator[tuple[int, int]]:
    start, size = begin // LARGEST * LARGEST, LARGEST
    while start < end:
        while start + size > end and size > SMALLEST:
            size //= 2
        stop = min(start + size, end)
        if stop > begin:
            yield start, stop
        start = stop
