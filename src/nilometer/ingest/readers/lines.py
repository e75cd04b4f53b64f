"""Turns the bytes of a text file into valid UTF-8 and finds the line numbers of its records.

The law: a byte that is not UTF-8 spoils its own row, never the file.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import polars as pl

REPLACEMENT = "\N{REPLACEMENT CHARACTER}"
PIECE = 1 << 24
"""About how many bytes are cut into lines at once to number them."""


def in_utf8(data: bytes, encoding: str | None = None) -> bytes:
    """The text in UTF-8, with line feeds. UTF-16 is known by its byte-order mark, and files of old Macs by line ends
    that are carriage returns alone. A byte that the encoding does not have becomes a REPLACEMENT."""
    if encoding in (None, "utf-8") and data.startswith((b"\xff\xfe", b"\xfe\xff")):
        encoding = "utf-16"
    if encoding not in (None, "utf-8"):
        data = data.decode(encoding, errors="replace").lstrip("\ufeff").encode()
    return data.replace(b"\r", b"\n") if b"\r" in data and b"\n" not in data else data


def repaired(data: bytes) -> tuple[bytes, bool]:
    """The text without its byte-order mark, and whether it had bytes that are not UTF-8 (each is now
    REPLACEMENT)."""
    data = data.removeprefix(b"\xef\xbb\xbf")
    try:
        data.decode()
    except UnicodeDecodeError:
        return data.decode(errors="replace").encode(), True
    return data, False


def split_lines(text: bytes) -> pl.Series:
    """The lines, without their line ends."""
    whole = pl.Series("line", [text.decode()])
    return whole.str.split("\n").explode().str.strip_suffix("\r")


def nonblank_lines(text: bytes) -> npt.NDArray[np.int64]:
    """The 1-based numbers of the lines that are not blank."""
    found: list[npt.NDArray[np.int64]] = []
    place = before = 0
    while place <= len(text):
        end = text.find(b"\n", place + PIECE)
        end = len(text) if end < 0 else end
        filled = split_lines(text[place:end]).str.strip_chars() != ""
        found.append(filled.arg_true().to_numpy().astype(np.int64) + before + 1)
        place, before = end + 1, before + len(filled)
    return np.concatenate(found)


def spoiled_rows(columns: pl.DataFrame) -> pl.Series | None:
    """Marks the rows that hold a REPLACEMENT; None for a file without columns."""
    if not columns.width:
        return None
    marks = pl.any_horizontal(pl.all().str.contains(REPLACEMENT, literal=True).fill_null(False))
    return columns.select(marks.alias("spoiled")).to_series()
