"""Rows -> an aligned text table, and quantities in words."""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence


def table(columns: Sequence[str], rows: Iterable[Sequence[object]], *, left: Container[int]) -> list[str]:
    """Aligned lines under a header. The columns whose numbers are in `left` are left-aligned, the others
    right-aligned."""
    cells = [[str(cell) for cell in row] for row in rows]
    widths = [max([len(name), *(len(row[i]) for row in cells)]) for i, name in enumerate(columns)]

    def line(row: Sequence[str]) -> str:
        parts = [
            cell.ljust(width) if i in left else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        return "  ".join(parts).rstrip()

    return [line(columns), "  ".join("-" * width for width in widths), *map(line, cells)]


def days(seconds: float | None) -> str:
    """A lifetime in days."""
    return "-" if seconds is None else f"{seconds / 86400:.1f}"


UNKNOWN_LIFETIME = "lifetime unknown: no node says how much energy it has (energy = 31320, in joules, in its entry of the network)"


def seconds(value: float) -> str:
    """A time in seconds, to the millisecond."""
    return f"{value:.3f} s"


def joules(value: float) -> str:
    """An energy; below ten joules, in millijoules."""
    return f"{value * 1000:.3f} mJ" if value < 10 else f"{value:.1f} J"


def listed(sites: Iterable[object], most: int = 24) -> str:
    """Sites in braces; if there are many, the first ones and the number of the rest."""
    names = [str(site) for site in sites]
    if len(names) > most:
        return "{" + ", ".join(names[:most]) + f", and {len(names) - most} more" + "}"
    return "{" + ", ".join(names) + "}"
