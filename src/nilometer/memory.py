"""The memory of this process, divided among its parts: one setting, `memory = "2GB"`.

The first of these counts: what the command line or `connect(memory=...)` says, the variable NILOMETER_MEMORY, the key
`memory` of nilometer.toml, 4 GiB. SHARES is the table of docs/live-reference.md, and the parts ask for theirs when they
begin to work. The interpreter and the libraries take about 200 MB, which is in the part that nobody has.

>>> Budget(4_000_000_000).inbox, Budget(4_000_000_000).operators, size_of("500 MB")
(125000000, 2000000000, 500000000)
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass

from nilometer.errors import ConfigurationError

VARIABLE = "NILOMETER_MEMORY"
DEFAULT = 4 << 30
LEAST = 100_000_000
UNITS = {
    "B": 1,
    "kB": 10**3,
    "MB": 10**6,
    "GB": 10**9,
    "TB": 10**12,
    "KiB": 2**10,
    "MiB": 2**20,
    "GiB": 2**30,
}
SHARES = {"operators": 2, "sorting": 4, "files": 16, "inbox": 32, "ring": 64, "results": 64, "backlog": 256}
"""By which number the whole is divided for each part. Sorting and files are not used together with the others."""


@dataclass(frozen=True)
class Budget:
    """The whole, in bytes, and the parts of it."""

    whole: int = DEFAULT

    @property
    def operators(self) -> int:
        """For the rows that one operator builds at once, or keeps. More stops its query."""
        return self.whole // SHARES["operators"]

    @property
    def sorting(self) -> int:
        """For the rows of files that are sorted in memory. More are sorted on disk."""
        return self.whole // SHARES["sorting"]

    @property
    def files(self) -> int:
        """For the bytes of one compressed file, without its compression. A larger one is refused: reading takes about ten
        times as much."""
        return self.whole // SHARES["files"]

    @property
    def inbox(self) -> int:
        """For messages of all sources that nobody has read yet. When they fill it, the senders wait."""
        return self.whole // SHARES["inbox"]

    @property
    def ring(self) -> int:
        """For the recent entries of all streams. Queries read older ones from the log."""
        return self.whole // SHARES["ring"]

    @property
    def results(self) -> int:
        """For answers of one query that nobody has fetched. The oldest are dropped and counted."""
        return self.whole // SHARES["results"]

    @property
    def backlog(self) -> int:
        """For readings of one stream while its disk refuses. More wait at the source, or are shed by policy."""
        return self.whole // SHARES["backlog"]


_said: dict[str, int] = {}


def budget() -> Budget:
    """The budget that counts now."""
    if "given" in _said:
        return Budget(_said["given"])
    if os.environ.get(VARIABLE):
        return Budget(_checked(os.environ[VARIABLE], VARIABLE))
    return Budget(_said.get("file", DEFAULT))


def give(text: str | None) -> None:
    """Take the word of the command line or the caller; None takes it back."""
    _remember("given", text, "--memory")


def take_from_file(value: object, path: str) -> None:
    """Take the word of a settings file; None: it has none."""
    if value is not None and not isinstance(value, str):
        raise ConfigurationError(f"memory is {value!r} in {path}", hint='write memory = "2GB"')
    _remember("file", value, path)


def size_of(text: str) -> int:
    """A size in bytes: `500kB`, `2GB`, `512 MiB`."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?) ?(B|[kMGT]B|[KMG]iB)", text.strip())
    if found is None:
        raise ConfigurationError(f"'{text}' is no size", hint="write it as 500kB, 20MB or 2GB")
    return int(float(found[1]) * UNITS[found[2]])


def _remember(origin: str, text: str | None, place: str) -> None:
    if text is None:
        _said.pop(origin, None)
    else:
        _said[origin] = _checked(text, place)


def _checked(text: str, place: str) -> int:
    size = size_of(text)
    if size < LEAST:
        raise ConfigurationError(
            f"the memory of {place} is {text}, and must be at least {LEAST // 10**6} MB",
            hint="the program itself takes about 200 MB",
        )
    return size
