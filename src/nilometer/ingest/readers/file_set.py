"""The data files that a path names: one file, all files of a directory and those below it, or a pattern.

`river.csv`, `river/`, `data/*.csv`, `data/**/part-*.parquet`. Hidden files, and those whose names begin with
`_`, are left out: other programs write them beside the data (`_SUCCESS`). The files come in the order of
their paths. A part `name=value` of a path is a column of the file's rows (Hive's partitions).

>>> partition_of("lake/year=2024/site=Alp%20Grum/part-0.parquet")
{'year': '2024', 'site': 'Alp Grum'}
>>> has_wildcard("data/*.csv"), has_wildcard("data/river.csv")
(True, False)
"""

from __future__ import annotations

import glob
import re
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

from nilometer.errors import DataError

NO_VALUE = "__HIVE_DEFAULT_PARTITION__"
"""Hive's spelling of NULL in a path."""

_PART = re.compile(r"([A-Za-z_]\w*)=(.*)")


@dataclass(frozen=True)
class FileSet:
    """The files of a stream or a table. `source` is the path, directory or pattern that names them."""

    source: Path
    paths: tuple[Path, ...]

    def label(self, path: Path) -> str:
        """The file's name in messages: with its folders, if it is one of several."""
        if len(self.paths) == 1:
            return path.name
        root = Path(*_plain_parts(self.source))
        return str(path.relative_to(root)) if path.is_relative_to(root) else str(path)

    @property
    def name(self) -> str:
        """What to call all of them in messages."""
        return self.source.name or str(self.source)

    @property
    def stem(self) -> str:
        """A name for what they hold: the file's or the directory's, without suffixes."""
        parts = _plain_parts(self.source)
        return Path(*parts).name.split(".")[0] if parts else "readings"


def find_files(source: str | Path) -> FileSet:
    """The data files that a path, a directory or a pattern names; refuses one that names none."""
    from nilometer.ingest.readers.files import is_data_file

    given = Path(source)
    if given.is_dir():
        found = _below(given)
        if not found:
            raise DataError(
                f"'{given}' has no data files",
                detail=f"found {', '.join(sorted(path.name for path in given.iterdir())[:8]) or 'nothing'}",
                hint="data files end in .csv, .jsonl or .parquet, optionally followed by .gz or .zst",
            )
        return FileSet(given, tuple(found))
    if given.exists() or not has_wildcard(str(source)):
        return FileSet(given, (given,))
    matches = [Path(match) for match in sorted(glob.glob(str(source), recursive=True))]
    found = [
        path
        for match in matches
        for path in (_below(match) if match.is_dir() else [match] if is_data_file(match) else [])
    ]
    if not found:
        raise DataError(
            f"no data file matches '{source}'",
            detail=f"it matches {', '.join(path.name for path in matches[:8])}" if matches else None,
            hint="in a shell, put a pattern into quotes; ** matches any folders",
        )
    return FileSet(given, tuple(dict.fromkeys(found)))


def has_wildcard(text: str) -> bool:
    """Whether a path is a pattern."""
    return glob.has_magic(text)


def partition_of(path: str | Path) -> dict[str, str | None]:
    """The columns that the folders of a path give to its rows."""
    found: dict[str, str | None] = {}
    for part in Path(path).parts[:-1]:
        match = _PART.fullmatch(part)
        if match is not None:
            found[match[1]] = None if match[2] == NO_VALUE else unquote(match[2])
    return found


def _plain_parts(source: Path) -> list[str]:
    """The parts of a path before the first wildcard."""
    parts: list[str] = []
    for part in source.parts:
        if has_wildcard(part) and not Path(*parts, part).exists():
            break
        parts.append(part)
    return parts


def _below(directory: Path) -> list[Path]:
    from nilometer.ingest.readers.files import is_data_file

    found = []
    for path in sorted(directory.rglob("*")):
        inside = path.relative_to(directory).parts
        if not any(part.startswith((".", "_")) for part in inside) and path.is_file() and is_data_file(path):
            found.append(path)
    return found
