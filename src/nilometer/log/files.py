"""Names -> bytes: all file access of the log, behind one small protocol.

`LocalFiles` (local_files.py) is a directory of this machine, with fsync and memory maps; `ArrowFiles` (arrow_files.py) is a
folder of any pyarrow filesystem. The laws: `replace` is all or nothing, also in a crash; what `sync` returned for is
there after a power cut; a failed `write` leaves nothing that can be read as a record. Errors are OSErrors.
"""

from __future__ import annotations

from typing import Any, Protocol


class Appender(Protocol):
    """The open end of a file."""

    @property
    def size(self) -> int:
        """Bytes written."""

    @property
    def synced(self) -> int:
        """Bytes that are durable."""

    def write(self, data: memoryview) -> None:
        """Append; either all of it or nothing."""

    def sync(self) -> None:
        """Make what was written durable."""

    def cut(self, size: int) -> None:
        """Take back what was written beyond `size`."""

    def close(self) -> None:
        """Let go of the file; makes nothing durable."""


class Lock(Protocol):
    """Held by the one writer."""

    def release(self) -> None:
        """Let another writer in."""


class Files(Protocol):
    """The files of one log. Names may have one folder: `readers/spark.json`."""

    place: str

    def names(self, folder: str = "") -> list[str]:
        """The files of a folder, sorted; none if it is not there."""

    def size(self, name: str) -> int:
        """The bytes of a file."""

    def read(self, name: str, start: int = 0, size: int = -1) -> Any:
        """A copy of `size` bytes (-1: all) from `start` on, as a pyarrow buffer: of files that may still change."""

    def map(self, name: str) -> Any:
        """The bytes of a file that changes no more, as a pyarrow buffer; not copied where that is possible."""

    def replace(self, name: str, data: bytes) -> None:
        """Let the file be these bytes, durably."""

    def append_to(self, name: str, keep: int) -> Appender:
        """Append to a file, of which the first `keep` bytes are kept."""

    def seal(self, name: str) -> None:
        """The file will not be appended to any more."""

    def delete(self, name: str) -> None:
        """Remove it; no error if it is not there."""

    def lock(self) -> Lock:
        """Become the one writer; raises BlockingIOError, saying who is."""
