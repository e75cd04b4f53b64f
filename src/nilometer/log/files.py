"""All file access of the log, behind one small protocol from names to bytes.

`LocalFiles` (local_files.py) is a local directory, with fsync and memory maps. `ArrowFiles` (arrow_files.py)
is a folder of any pyarrow filesystem. The laws: `replace` is all or nothing, even in a crash. Once `sync` has
returned, the bytes survive a power cut. A failed `write` leaves nothing that can be read as a record. Errors
are OSErrors.
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
        """Make all written bytes durable."""

    def cut(self, size: int) -> None:
        """Take back the bytes written beyond `size`."""

    def close(self) -> None:
        """Close the file; makes nothing durable."""


class Lock(Protocol):
    """The lock of the one writer."""

    def release(self) -> None:
        """Let another process write."""


class Files(Protocol):
    """The files of one log. Names may have one folder: `readers/spark.json`."""

    place: str

    def names(self, folder: str = "") -> list[str]:
        """The files of a folder, sorted; none if there is no such folder."""

    def size(self, name: str) -> int:
        """The bytes of a file."""

    def read(self, name: str, start: int = 0, size: int = -1) -> Any:
        """A copy of `size` bytes (-1: all) from `start` on, as a pyarrow buffer; for files that may still
        change.
        """

    def map(self, name: str) -> Any:
        """The bytes of a file that no longer changes, as a pyarrow buffer; not copied where possible."""

    def replace(self, name: str, data: bytes) -> None:
        """Replace the file's bytes, durably."""

    def append_to(self, name: str, keep: int, settled: int | None = None) -> Appender:
        """Append to a file after its first `keep` bytes."""

    def seal(self, name: str) -> None:
        """Declare that the file will not be appended to any more."""

    def delete(self, name: str) -> None:
        """Delete a file; no error if there is none."""

    def lock(self) -> Lock:
        """Become the one writer. Raises BlockingIOError, which names the holder."""
