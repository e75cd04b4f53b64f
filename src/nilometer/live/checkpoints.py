"""Checkpoints of a running query: writes its panes to files, and only those that changed.

A pane is a file named by the hash of its bytes. The manifest says which panes make up the state and which
commit the state belongs to; it is replaced atomically. Panes that no manifest names are deleted once the new
manifest is durable. The law: `load` returns a state that was saved completely, or None. It also returns None
for a damaged state, because the stream logs can rebuild it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

from nilometer.log.checksum import checksum_of
from nilometer.log.files import Files
from nilometer.log.formats import STAMP, check_format
from nilometer.log.results.result_log import Commit
from nilometer.log.writer import resources

MANIFEST = "manifest.json"
FOLDER = "panes"
FORMAT = 1

Panes = Mapping[str, dict[str, bytes]]
"""By part (a stage, or a stream's entrance), then by the name of the pane."""


@dataclass(frozen=True)
class Checkpoint:
    """The state right after a commit. Without panes it is the empty state of a newly installed query. `layout`
    is the identity of the physical plan whose state it is."""

    commit: Commit
    panes: Panes
    layout: str = ""


class Checkpoints:
    """The latest checkpoint of one query.

    `written` counts the bytes of panes that this process wrote. `panes` and `bytes` describe the checkpoint
    last saved or loaded.
    """

    def __init__(self, files: Files) -> None:
        self._files = files
        self.written = 0
        self.panes = self.bytes = 0

    def save(self, checkpoint: Checkpoint) -> None:
        """Make this the latest checkpoint."""
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
            manifest = {
                STAMP: FORMAT,
                "layout": checkpoint.layout,
                "commit": checkpoint.commit.note(),
                "panes": named,
            }
            body = json.dumps(manifest, sort_keys=True)
            whole = {"checksum": _checksum(body), "manifest": body}
            self._files.replace(MANIFEST, json.dumps(whole).encode())
            for name in sorted(there - {digest for panes in named.values() for digest in panes.values()}):
                self._files.delete(f"{FOLDER}/{name}")
        self._count(checkpoint.panes)

    def load(self) -> Checkpoint | None:
        """The latest complete checkpoint."""
        try:
            return self._load()
        except (FileNotFoundError, ValueError, KeyError, TypeError):
            return None

    def damage(self) -> str | None:
        """The reason why a checkpoint that was saved cannot be loaded; None if it can, or if there is none."""
        try:
            self._load()
        except FileNotFoundError as error:
            missing = str(error.filename or "")
            return None if missing.endswith(MANIFEST) else "a pane of the checkpoint is missing"
        except (ValueError, KeyError, TypeError) as error:
            return f"the checkpoint is damaged: {error}"
        return None

    def _load(self) -> Checkpoint:
        manifest = self._manifest()
        check_format(manifest, FORMAT, f"the checkpoint at {self._files.place}")
        panes = {
            part: {name: self._pane(digest) for name, digest in named.items()}
            for part, named in manifest["panes"].items()
        }
        self._count(panes)
        return Checkpoint(Commit.of(manifest["commit"]), panes, manifest.get("layout", ""))

    def _count(self, panes: Panes) -> None:
        sizes = [len(data) for named in panes.values() for data in named.values()]
        self.panes, self.bytes = len(sizes), sum(sizes)

    def _manifest(self) -> Any:
        whole = json.loads(bytes(self._files.read(MANIFEST)))
        body = whole["manifest"]
        if whole["checksum"] != _checksum(body):
            raise ValueError("its manifest fails its checksum")
        return json.loads(body)

    def _pane(self, digest: str) -> bytes:
        data = bytes(self._files.read(f"{FOLDER}/{digest}"))
        if _digest(data) != digest:
            raise ValueError(f"pane {digest} is damaged")
        return data


def _digest(data: bytes) -> str:
    return blake2b(data, digest_size=16).hexdigest()


def _checksum(body: str) -> str:
    return f"{checksum_of(body.encode()):016x}"
