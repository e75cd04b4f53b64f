"""The columns of rows on their way: `@key`, and per input its position, time and values."""

from __future__ import annotations

KEY = "@key"


def position(at: int) -> str:
    """The column of an input's position."""
    return f"@position{at}"


def time(at: int) -> str:
    """The column of an input's time."""
    return f"@time{at}"


def value(at: int, column: str) -> str:
    """The column of an input's value."""
    return f"{at}.{column}"
