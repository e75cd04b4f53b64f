"""The saved states of standing queries that commit together: one file for all of them, a file of its own for one
that leaves.

    .nilometer/state/checkpoint-000000000007     header (JSON), then the small panes one after the other
    .nilometer/state/panes/<digest>              panes of 64 KiB and more, written once while they do not change

A part (a door, a stage, a filter) that several queries share is in the file once. The laws: a file is written
whole, or not at all. `load` returns a state that was saved completely, or None: the stream logs can rebuild it. A
file is deleted when no query needs it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any

from nilometer.algebra.identity_map import IdentityMap
from nilometer.live.checkpoints import Panes
from nilometer.log import Offset, failpoints
from nilometer.log.checksum import checksum_of
from nilometer.log.failpoints import Failpoint
from nilometer.log.formats import STAMP, check_format
from nilometer.log.local_files import LocalFiles
from nilometer.log.results.result_log import Offsets
from nilometer.log.segment import Damage
from nilometer.log.writer import resources

PLACE = Path(".nilometer") / "state"
FOLDER = "panes"
PREFIX = "checkpoint-"
FORMAT = 1
FIRST = 34
"""The bytes of a file's first line: the checksum and the length of its header."""
LARGE = 64 << 10
"""From this many bytes on, a pane has a file of its own."""


@dataclass(frozen=True)
class SavedState:
    """The state of one query, right after it had read up to these offsets from where it began, and after the
    commit of that number."""

    version: str
    began: Offsets
    offsets: Offsets
    number: int
    panes: Panes
    layout: str = ""


@dataclass(frozen=True)
class _File:
    """The header of a file: its queries, the parts of each, and where in the file each pane is."""

    number: int
    queries: Mapping[str, Any]
    parts: list[dict[str, Any]]
    body: int


class StateFiles:
    """All saved states of a directory. `bytes` and `count` describe the panes last saved."""

    def __init__(self, directory: Path, failpoint: Failpoint | None = None) -> None:
        self._files = LocalFiles(directory / PLACE, failpoint or failpoints.from_environment("state"))
        self._open: dict[int, _File] = {}
        self._number = 0
        self._loaded: dict[tuple[int, int], dict[str, bytes]] = {}
        self.bytes = self.count = 0
        for name in self._files.names():
            if name.startswith(PREFIX) and name.removeprefix(PREFIX).isdigit():
                number = int(name.removeprefix(PREFIX))
                self._number = max(self._number, number)
                found = self._header(number)
                if found is not None:
                    self._open[number] = found

    def offsets(self, name: str) -> Offsets | None:
        """The offsets of a query's newest state."""
        found = self._newest(name)
        return None if found is None else _read(found.queries[name]["offsets"])

    def load(self, name: str) -> SavedState | None:
        """The newest state of a query; None if there is none, or if it is damaged."""
        found = self._newest(name)
        if found is None:
            return None
        said = found.queries[name]
        try:
            panes = {part: self._part(found, number) for part, number in said["parts"]}
        except (OSError, ValueError, KeyError, IndexError):
            return None
        return SavedState(
            said["version"],
            _read(said["began"]),
            _read(said["offsets"]),
            said["number"],
            panes,
            said.get("layout", ""),
        )

    def _newest(self, name: str) -> _File | None:
        return next(
            (self._open[n] for n in sorted(self._open, reverse=True) if name in self._open[n].queries), None
        )

    def _part(self, file: _File, number: int) -> dict[str, bytes]:
        found = self._loaded.get((file.number, number))
        if found is None:
            found = {pane: self._pane(file, *where) for pane, where in file.parts[number].items()}
            self._loaded[file.number, number] = found
        return found

    def _pane(self, file: _File, start: int, size: int, digest: str) -> bytes:
        if start < 0:
            data = bytes(self._files.read(f"{FOLDER}/{digest}"))
        else:
            data = bytes(self._files.read(_name(file.number), file.body + start, size))
        if _digest(data) != digest:
            raise ValueError(f"pane {digest} is damaged")
        return data

    def loaded(self) -> None:
        """Forget the panes that were kept in memory for queries that share them."""
        self._loaded.clear()

    def save(self, states: Mapping[str, SavedState], needed: Iterable[str]) -> None:
        """Save the states of queries, durably, and delete the files that none of the `needed` queries needs."""
        parts: list[dict[str, Any]] = []
        numbers: IdentityMap[Mapping[str, bytes], int] = IdentityMap()
        body: list[bytes] = []
        size, total = 0, 0
        there = set(self._files.names(FOLDER))
        queries: dict[str, Any] = {}
        with resources(self._files.place):
            for name, state in states.items():
                own = []
                for part, panes in state.panes.items():
                    if panes not in numbers:
                        numbers[panes] = len(parts)
                        where = {}
                        for pane, data in panes.items():
                            digest = _digest(data)
                            total += len(data)
                            if len(data) < LARGE:
                                where[pane] = [size, len(data), digest]
                                body.append(data)
                                size += len(data)
                            else:
                                where[pane] = [-1, len(data), digest]
                                if digest not in there:
                                    self._files.replace(f"{FOLDER}/{digest}", data)
                                    there.add(digest)
                        parts.append(where)
                    own.append([part, numbers[panes]])
                queries[name] = {
                    "version": state.version,
                    "layout": state.layout,
                    "began": _written(state.began),
                    "offsets": _written(state.offsets),
                    "number": state.number,
                    "parts": own,
                }
            header = json.dumps({STAMP: FORMAT, "queries": queries, "parts": parts}).encode()
            first = f"{checksum_of(header):016x} {len(header):016d}\n".encode()
            self._number += 1
            self._files.replace(_name(self._number), b"".join((first, header, *body)))
            self._open[self._number] = _File(self._number, queries, parts, len(first) + len(header))
            self.bytes, self.count = total, sum(len(part) for part in parts)
            self._tidy(needed, there)

    def _tidy(self, needed: Iterable[str], there: set[str]) -> None:
        wanted = {found.number for name in needed if (found := self._newest(name)) is not None}
        for number in set(self._open) - wanted:
            del self._open[number]
            self._files.delete(_name(number))
        named = {
            digest
            for file in self._open.values()
            for part in file.parts
            for start, _, digest in part.values()
            if start < 0
        }
        for digest in there - named:
            self._files.delete(f"{FOLDER}/{digest}")

    def damages(self) -> list[Damage]:
        """Everything that is not as it was saved. The logs can rebuild it, so none of it is lost."""
        found = []
        for name in self._files.names():
            if name.startswith(PREFIX) and name.removeprefix(PREFIX).isdigit():
                size, file = self._files.size(name), self._open.get(int(name.removeprefix(PREFIX)))
                if file is None:
                    found.append(Damage(name, 0, min(size, FIRST), "its header cannot be read"))
                    continue
                for part in file.parts:
                    for start, length, digest in part.values():
                        wrong = self._wrong_pane(file, start, length, digest)
                        if wrong is not None:
                            at = max(0, file.body + start) if start >= 0 else 0
                            where = name if start >= 0 else f"{FOLDER}/{digest}"
                            found.append(Damage(where, at, at + length, wrong))
        return found

    def _wrong_pane(self, file: _File, start: int, length: int, digest: str) -> str | None:
        try:
            self._pane(file, start, length, digest)
        except (OSError, ValueError):
            return "a part of the state is damaged"
        return None

    @property
    def kept(self) -> tuple[int, int]:
        """How many panes the files hold, and their bytes."""
        sizes = [
            length for file in self._open.values() for part in file.parts for _, length, _ in part.values()
        ]
        return len(sizes), sum(sizes)

    def numbers(self) -> dict[str, tuple[str, int]]:
        """The version and the last commit of each query's newest state."""
        names = {name for file in self._open.values() for name in file.queries}
        newest = {name: found.queries[name] for name in names if (found := self._newest(name)) is not None}
        return {name: (said["version"], said["number"]) for name, said in newest.items()}

    def _header(self, number: int) -> _File | None:
        try:
            first = bytes(self._files.read(_name(number), 0, FIRST))
            checksum, _, length = first.decode().partition(" ")
            if int(length) > self._files.size(_name(number)) - FIRST:
                return None
            header = bytes(self._files.read(_name(number), FIRST, int(length)))
            if f"{checksum_of(header):016x}" != checksum:
                return None
            found = json.loads(header)
            check_format(found, FORMAT, f"the state {_name(number)} at {self._files.place}")
            return _File(number, found["queries"], found["parts"], FIRST + int(length))
        except (OSError, ValueError, KeyError, UnicodeDecodeError):
            return None


def _name(number: int) -> str:
    return f"{PREFIX}{number:012d}"


def _digest(data: bytes) -> str:
    return blake2b(data, digest_size=16).hexdigest()


def _written(offsets: Offsets) -> dict[str, list[int]]:
    return {name: [at.number, at.position] for name, at in offsets.items()}


def _read(written: Mapping[str, Any]) -> dict[str, Offset]:
    return {name: Offset(number, position) for name, (number, position) in written.items()}
