"""The dead letters of a standing query: the rows that it has set aside, with the reason, for people to read.

    .nilometer/queries/<name>/dead.jsonl     one line a row, the oldest first; the older half goes beyond MOST_BYTES

They are written before the answers are committed. After a crash the same rows are set aside again, and a line that is
there is not written twice, except one that counts rows that are not shown. The law: the number of dead rows is in the query's books, which are durable; a letter that a
full disk has no room for is counted all the same, and its reading is in the stream's log.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from nilometer.dataflow.dead_rows import lines_of
from nilometer.live.control import folder_of
from nilometer.log.private import make_directory
from nilometer.operators.set_aside import Letter
from nilometer.types import format_time

FILE = "dead.jsonl"
MOST_BYTES = 1 << 20


def write_letters(directory: Path, name: str, letters: Sequence[Letter]) -> None:
    """Add letters to those of a query."""
    write_lines(directory, name, lines_of(letters))


def write_lines(directory: Path, name: str, lines: Iterable[Mapping[str, Any]]) -> None:
    """Add lines that are not there yet."""
    path = folder_of(directory, name) / FILE
    with contextlib.suppress(OSError):
        there = _texts(path)
        known = set(there)
        new = [
            text
            for line in lines
            if (text := json.dumps(line, ensure_ascii=False)) not in known or line["row"] is None
        ]
        if not new:
            return
        make_directory(path.parent)
        if not path.exists():
            path.touch(mode=0o600)
        if sum(len(text.encode()) + 1 for text in (*there, *new)) > MOST_BYTES:
            _replace(path, _last(there + new, MOST_BYTES // 2))
            return
        # A kill may have left half a line, which must not become half of ours.
        torn = path.stat().st_size and not path.read_bytes().endswith(b"\n")
        with path.open("a", encoding="utf-8") as file:
            file.write("".join(["\n" if torn else "", *(f"{text}\n" for text in new)]))


def _last(texts: list[str], most: int) -> list[str]:
    kept = len(texts)
    while kept and most > 0:
        kept -= 1
        most -= len(texts[kept].encode()) + 1
    return texts[kept:]


def _replace(path: Path, texts: list[str]) -> None:
    aside = path.with_name(f"{FILE}.aside")
    aside.touch(mode=0o600)
    aside.write_text("".join(f"{text}\n" for text in texts), encoding="utf-8")
    os.replace(aside, path)


def _texts(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8", errors="replace").splitlines()
    except FileNotFoundError:
        return []


def dead_letters(directory: Path, name: str, limit: int | None = None) -> list[dict[str, Any]]:
    """The letters of a query, the oldest first: when (the row's time, or the tick of its window), the reason, the row's
    columns, and the position in the stream's log where the row is a reading."""
    found = []
    for text in _texts(folder_of(directory, name) / FILE)[-limit if limit else None :]:
        with contextlib.suppress(ValueError):  # half a line
            line = json.loads(text)
            row = line["row"] or {}
            when = row.get("@time", row.get("@tick"))
            shown = {key: value for key, value in row.items() if not key.startswith("@")}
            if "@position" not in row and "@tick" in row:
                shown = {"tick": format_time(row["@tick"])} | shown
            found.append(
                {
                    "time": None if when is None else format_time(when),
                    "id": row.get("@id"),
                    "position": row.get("@position"),
                    "reason": line["reason"],
                    "row": shown if row else None,
                    "count": line["count"],
                }
            )
    return found
