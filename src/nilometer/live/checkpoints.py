"""A running query's panes -> files, of which only those that changed are written.

A pane is a file named by the hash of its bytes; the manifest, replaced atomically, says which panes make up the state and
what it belongs to. Panes that no manifest names are deleted after it is durable. The law: `load` gives a state that was
saved whole, or None; a damaged one is None too, since the stream logs can make it again.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

from nilometer.log.checksum import checksum_of
from nilometer.log.files import Files
from nilometer.log.results.result_log import Commit
from nilometer.log.writer import resources

MANIFEST = "manifest.json"
FOLDER = "panes"

Panes = Mapping[str, dict[str, bytes]]
"""By part (a stage, a stream's entrance), then by the name of the pane."""


@dataclass(frozen=True)
class Checkpoint:
    """The state right after a commit; without panes the empty one, of a query that has just been installed."""

    commit: Commit
    panes: Panes


class Checkpoints:
    """The latest checkpoint of one query. `written` counts the bytes of panes written by this process; `panes` and `bytes` are what the
    checkpoint that was last saved or loaded holds."""

    def __init__(self, files: Files) -> None:
        self._files = files
        self.written = 0
        self.panes = self.bytes = 0

    def save(self, checkpoint: Checkpoint) -> None:
        """Make this the checkpoint."""
        there = set(self._files.names(FOLDER))
        named: dict[str, dict[str, str]] = {}
        with resources(self._files.place):
            for part, panes in checkpoint.panes.items():
                named[part] = {}
                for name, data in panes.items():
                    digest = _digest(data)
                    named[part][name] = digest
                    if digest not in there:
                        self._files.replace(f"{FOLDER}/{digest}", data)
                        there.add(digest)
                        self.written += len(data)
            manifest = {"commit": checkpoint.commit.note(), "panes": named}
            body = json.dumps(manifest, sort_keys=True)
            whole = {"checksum": _checksum(body), "manifest": body}
            self._files.replace(MANIFEST, json.dumps(whole).encode())
            for name in there - {digest for panes in named.values() for digest in panes.values()}:
                self._files.delete(f"{FOLDER}/{name}")
        self._count(checkpoint.panes)

    def load(self) -> Checkpoint | None:
        """The latest checkpoint that is whole."""
        try:
            manifest = self._manifest()
            if manifest is None:
                return None
            panes = {
                part: {name: self._pane(digest) for name, digest in named.items()}
                for part, named in manifest["panes"].items()
            }
            self._count(panes)
            return Checkpoint(Commit.of(manifest["commit"]), panes)
        except (FileNotFoundError, ValueError, KeyError, TypeError):
            return None

    def _count(self, panes: Panes) -> None:
        sizes = [len(data) for named in panes.values() for data in named.values()]
        self.panes, self.bytes = len(sizes), sum(sizes)

    def _manifest(self) -> Any:
        whole = json.loads(bytes(self._files.read(MANIFEST)))
        body = whole["manifest"]
        return json.loads(body) if whole["checksum"] == _checksum(body) else None

    def _pane(self, digest: str) -> bytes:
        data = bytes(self._files.read(f"{FOLDER}/{digest}"))
        if _digest(data) != digest:
            raise ValueError(f"pane {digest} is damaged")
        return data


def _digest(data: bytes) -> str:
    return blake2b(data, digest_size=16).hexdigest()


def _checksum(body: str) -> str:
    return f"{checksum_of(body.encode()):016x}"
