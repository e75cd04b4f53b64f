"""All logs of a data directory, `.nilometer/log/<stream>/`, or of a folder of any pyarrow filesystem by its
URL. `logs = "s3://bucket/field"` in the directory's nilometer.toml, or another folder, puts them elsewhere.

A stream's folder is its lower-case name, percent-encoded unless it is a plain word. `entries` is the method
that the gateway's `Sources` needs.
"""

from __future__ import annotations

import secrets
import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote

from nilometer.catalog.extents import Stream
from nilometer.errors import DataError
from nilometer.log import failpoints
from nilometer.log.failpoints import Failpoint
from nilometer.log.files import Files
from nilometer.log.local_files import LocalFiles
from nilometer.log.manifest import manifest_of
from nilometer.log.resources import resources
from nilometer.log.schema import Dtypes
from nilometer.log.segment import OnDamage, SegmentId, refuse, segment_ids
from nilometer.log.settings import LogSettings
from nilometer.log.stream_log import StreamLog
from nilometer.log.writer import NOBODY
from nilometer.settings_file import logs_setting
from nilometer.urls import is_url

if TYPE_CHECKING:
    from nilometer.dataflow.sources import Entry

PLACE = Path(".nilometer") / "log"
GONE = ".gone-"
"""A log that is being deleted is first called so: no stream's folder begins with a dot."""

CommittedOf = Callable[[str], Mapping[str, SegmentId]]
"""For a stream, the committed offsets by what holds them."""


class LogDirectory:
    """`place` is a data directory, or a URL such as `s3://bucket/field`, which then names the folder of the
    logs itself. `committed` gives, for a stream's lower-case name, the offsets that others have committed;
    `on_damage` decides what readers do about damage and gaps.
    """

    def __init__(
        self,
        place: Path | str,
        settings: LogSettings | None = None,
        failpoint: Failpoint | None = None,
        *,
        committed: CommittedOf | None = None,
        on_damage: OnDamage = refuse,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`clock` measures elapsed seconds: the logs are synced by it."""
        self.settings = settings or LogSettings()
        self._committed = committed
        self._on_damage = on_damage
        self._clock = clock
        self._failpoint = failpoint if failpoint is not None else failpoints.from_environment()
        self.place = str(place)
        self._files_of: Callable[[str], Files]
        self._folders: Callable[[], list[str]]
        self._delete: Callable[[str], None]
        root = str(place) if is_url(str(place)) else root_of_logs(Path(place))
        if isinstance(root, Path):
            self._on_disk(root)
        else:
            self.place = root
            self._on_arrow(root)

    def streams(self, *, lost: bool = False) -> list[str]:
        """The names of the streams that have a log; `lost`: also of those that had one."""
        return sorted(
            name
            for name in self.names()
            if segment_ids(files := self._files_of(_folder(name))) or (lost and _had_segments(files))
        )

    def names(self) -> list[str]:
        """The names of the streams that have a folder here, even one without readings."""
        return sorted(unquote(folder) for folder in self._folders() if not folder.startswith(GONE))

    def delete(self, name: str) -> bool:
        """Delete a stream's log and all that is kept beside it; no error if there is none. Returns False if somebody
        writes it now."""
        folder = _folder(name)
        if folder not in self._folders():
            return True
        files = self._files_of(folder)
        with resources(files.place):
            try:
                lock = files.lock()
            except BlockingIOError:
                return False
            try:
                self._delete(folder)
            finally:
                lock.release()
        return True

    def log(self, stream: Stream | str, columns: Dtypes | None = None) -> StreamLog:
        """The log of a stream, in the stream's columns if it is declared."""
        name = stream.name if isinstance(stream, Stream) else stream
        wanted = stream if isinstance(stream, Stream) else columns
        of = self._committed
        return StreamLog(
            self._files_of(_folder(name)),
            wanted,
            self.settings,
            self._clock,
            committed=NOBODY if of is None else lambda: of(name.lower()),
            on_damage=self._on_damage,
        )

    def existing(self, name: str, *, lost: bool = False) -> StreamLog:
        """The log of a stream that must have one; `lost`: or have had one."""
        log = self.log(name)
        if not log.exists and not (lost and _had_segments(log.files)):
            known = self.streams()
            hint = f"there are: {', '.join(known)}" if known else "nothing has been logged there yet"
            raise DataError(f"stream '{name}' has no log in {self.place}", hint=hint)
        return log

    def entries(self, stream: Stream) -> Iterator[Entry]:
        """The log of a stream, in the form that the gateway takes."""
        return self.log(stream).entries()

    def _on_disk(self, root: Path) -> None:
        self._files_of = lambda folder: LocalFiles(root / folder, self._failpoint)
        self._folders = lambda: [path.name for path in root.iterdir()] if root.is_dir() else []

        def delete(folder: str) -> None:
            # In one step, not file by file: a part of a log would be mistaken for all of it.
            (root / folder).rename(root / f"{GONE}{folder}-{secrets.token_hex(4)}")
            for gone in root.glob(f"{GONE}*"):
                shutil.rmtree(gone, ignore_errors=True)

        self._delete = delete

    def _on_arrow(self, url: str) -> None:
        from pyarrow import fs

        from nilometer.log.arrow_files import ArrowFiles
        from nilometer.log.object_store import open_store, store_errors

        filesystem, root = open_store(url)

        def folders() -> list[str]:
            with store_errors(url):
                found: list[Any] = filesystem.get_file_info(fs.FileSelector(root, allow_not_found=True))
            return [each.base_name for each in found if each.type == fs.FileType.Directory]

        self._files_of = lambda folder: ArrowFiles(filesystem, f"{root}/{folder}", self._failpoint)

        def delete(folder: str) -> None:
            with store_errors(url):
                filesystem.delete_dir(f"{root}/{folder}")

        self._folders, self._delete = folders, delete


def root_of_logs(directory: Path) -> Path | str:
    """Where the logs of a data directory are: a folder, or a URL."""
    said = logs_setting(directory)
    if said is None:
        return directory / PLACE
    return said if is_url(said) else directory / said


def place_of_logs(directory: Path | str) -> str:
    """The place that gives a `LogDirectory` of the directory's logs on any machine: the directory, or a URL."""
    root = directory if is_url(directory) else root_of_logs(Path(directory))
    return str(directory) if isinstance(root, Path) else root


def _had_segments(files: Files) -> bool:
    """Whether the manifest names a segment; one that cannot be read had a reason to be written."""
    try:
        return manifest_of(files) is not None
    except DataError:
        return True


def _folder(name: str) -> str:
    return quote(name.lower(), safe="").replace(".", "%2E")
