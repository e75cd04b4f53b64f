"""The disk to which a full queue writes its batches, as numbered frames. It is a protocol, so that tests can
make the disk fail.

`IpcFiles` writes one Arrow IPC file per frame into a folder of its own. The law: `read(number)` returns the
frame that `write(number, frame)` was given, including dtypes and nulls, and `remove` leaves nothing behind.
"""

from __future__ import annotations

import shutil
import tempfile
from concurrent.futures import Executor, Future
from pathlib import Path
from typing import Any, Protocol

import polars as pl


class SpillFiles(Protocol):
    """The disk, as the buffers see it."""

    def write(self, number: int, frame: pl.DataFrame) -> int:
        """Write the frame under the number. Returns its bytes on disk. Raises OSError, and then leaves
        nothing behind."""

    def read(self, number: int) -> pl.DataFrame:
        """The frame with that number."""

    def remove(self, number: int) -> None:
        """Remove the frame with that number, if there is one."""

    def close(self) -> None:
        """Remove everything."""


class IpcFiles:
    """Arrow IPC files in a temporary folder, which is created when it is first needed."""

    def __init__(self, folder: Path | None = None) -> None:
        self._parent = folder
        self._folder: Path | None = None

    def write(self, number: int, frame: pl.DataFrame) -> int:
        path = self._path(number)
        try:
            frame.write_ipc(path, compression="uncompressed")
        except BaseException as error:
            path.unlink(missing_ok=True)
            if isinstance(error, pl.exceptions.PolarsError):
                raise OSError(str(error)) from error
            raise
        return path.stat().st_size

    def read(self, number: int) -> pl.DataFrame:
        with self._path(number).open("rb") as file:  # not mapped: the file is about to be removed
            return pl.read_ipc(file)

    def remove(self, number: int) -> None:
        self._path(number).unlink(missing_ok=True)

    def close(self) -> None:
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = None

    def names(self) -> list[str]:
        """The names of the files that exist now."""
        return [] if self._folder is None else sorted(path.name for path in self._folder.iterdir())

    def _path(self, number: int) -> Path:
        if self._folder is None:
            self._folder = Path(tempfile.mkdtemp(prefix="nilometer-spill-", dir=self._parent))
        return self._folder / f"{number:08d}.arrow"


class Inline(Executor):
    """An executor that does the work at once, in the caller's thread: deterministic, and the default."""

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except Exception as error:
            future.set_exception(error)
        return future
