"""Data in an object store, `s3://bucket/field` -> a folder on this machine with its files, for as long as the process lives.

s3://bucket/field           the files of a data directory, with its schema.sql; its logs are read where they are
s3://bucket/readings.csv    one file; s3://bucket/air/*.csv.gz: those that match

The laws: nothing is written to the store. A file is whole or the data is refused. What does not fit on the disk is refused
before it is read.
"""

from __future__ import annotations

import atexit
import fnmatch
import glob
import json
import os
import shutil
import tempfile
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from nilometer.engine.data import ENDINGS, SCHEMA_FILE
from nilometer.errors import DataError, ResourceError
from nilometer.settings_file import FILE
from nilometer.urls import is_url

AT_ONCE = 8
"""So many files are read at a time."""
CHUNK = 8 << 20
SEGMENT, PART = ".segment", ".part-"
KEPT = ".nilometer/log/"
"""Where the logs of a data directory are that was copied to the store. Its other folders there hold answers."""
SERVERS = ("http://", "https://")


@dataclass(frozen=True)
class _Object:
    path: str
    name: str
    """The path below the folder that is fetched."""
    size: int


def fetched(source: str | Path) -> str | Path:
    """The source itself, or for a URL of a store a path on this machine that stands for it."""
    if not isinstance(source, str) or not is_url(source) or source.startswith((*SERVERS, "file://")):
        return source
    return _fetch(source, os.getpid())


@lru_cache(maxsize=64)
def _fetch(url: str, process: int) -> Path:
    del process
    from nilometer.log.object_store import open_store

    plain, mark, options = url.rstrip("/").partition("?")
    pattern = ""
    if glob.has_magic(url):
        # A question mark is a wildcard here, so a pattern takes no options.
        plain, mark, options = url, "", ""
        parts = url.split("/")
        first = next(number for number, part in enumerate(parts) if glob.has_magic(part))
        plain, pattern = "/".join(parts[:first]), "/".join(parts[first:])
    filesystem, root = open_store(plain + mark + options)
    objects = _objects(filesystem, root, plain)
    streams = _folders_of_logs(objects)
    logs = min(streams).rpartition("/")[0] if streams and not pattern else None
    wanted = [
        one
        for one in objects
        if _is_wanted(one.name, pattern) and not any(one.name.startswith(each + "/") for each in streams)
    ]
    if logs is not None and not any(one.name == SCHEMA_FILE for one in wanted):
        raise DataError(
            f"the logs at {url} have no declarations",
            detail=f"there are logs of {', '.join(sorted(each.rpartition('/')[2] for each in streams)[:8])}",
            hint=f"copy the {SCHEMA_FILE} that declares these streams to {plain}/{SCHEMA_FILE}",
        )
    if not wanted:
        found = ", ".join(one.name for one in objects[:8]) or "nothing"
        raise DataError(
            f"no data at {url}",
            detail=f"found {found}",
            hint=f"name a file, a pattern, or a folder with {SCHEMA_FILE} and one file per stream",
        )
    folder = Path(tempfile.mkdtemp(prefix="nilometer-fetched-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    place = folder / root.rpartition("/")[2]
    _refuse_huge(wanted, folder, url)
    with ThreadPoolExecutor(AT_ONCE) as pool:
        list(
            pool.map(lambda one: _copy(filesystem, one, place / one.name if one.name else place, url), wanted)
        )
    if logs is not None:
        place.mkdir(parents=True, exist_ok=True)
        where = "/".join(part for part in (plain, logs) if part) + mark + options
        (place / FILE).write_text(f"logs = {json.dumps(where)}\n")
    return place / pattern if pattern else place


def _objects(filesystem: Any, root: str, url: str) -> list[_Object]:
    from pyarrow import fs

    from nilometer.log.object_store import store_errors

    with store_errors(url):
        found = filesystem.get_file_info(root)
        if found.type == fs.FileType.File:
            return [_Object(found.path, "", found.size)]
        below = filesystem.get_file_info(fs.FileSelector(root, allow_not_found=True, recursive=True))
    return [
        _Object(info.path, info.path.removeprefix(root).lstrip("/"), info.size)
        for info in sorted(below, key=lambda info: info.path)
        if info.type == fs.FileType.File
    ]


def _is_wanted(name: str, pattern: str) -> bool:
    if not name:  # the URL is a file
        return True
    if any(part.startswith((".", "_")) for part in name.split("/")):
        return False
    if pattern:
        return fnmatch.fnmatchcase(name, pattern.replace("**/", "*")) and name.lower().endswith(ENDINGS)
    return name == SCHEMA_FILE or name.lower().endswith(ENDINGS)


def _folders_of_logs(objects: Iterable[_Object]) -> set[str]:
    """The folders with a stream's log each: `<folder>/<stream>/<number>.segment`."""
    found = set()
    for one in objects:
        folder, _, name = one.name.rpartition("/")
        hidden = any(part.startswith(".") for part in folder.removeprefix(KEPT).split("/"))
        if folder and not hidden and name.partition(PART)[0].endswith(SEGMENT):
            found.add(folder)
    return found


def _refuse_huge(wanted: Iterable[_Object], folder: Path, url: str) -> None:
    needed, free = sum(one.size for one in wanted), shutil.disk_usage(folder).free
    if needed > free:
        raise ResourceError(
            f"the files of {url} do not fit on the disk",
            detail=f"they have {needed / 1e9:.1f} GB, and {folder.parent} has {free / 1e9:.1f} GB left",
            hint="name fewer files by a pattern, or a larger disk by TMPDIR",
        )


def _copy(filesystem: Any, one: _Object, target: Path, url: str) -> None:
    from nilometer.log.object_store import store_errors

    target.parent.mkdir(parents=True, exist_ok=True)
    with (
        store_errors(url),
        filesystem.open_input_stream(one.path, compression=None) as source,
        target.open("wb") as copy,
    ):
        while chunk := source.read(CHUNK):
            copy.write(chunk)
    if target.stat().st_size != one.size:
        raise DataError(
            f"'{one.path}' has changed while it was read", hint="ask again when nobody writes it any more"
        )
