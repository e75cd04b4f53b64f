"""A client's side of the owner's Spark session (lender.py)."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from nilometer.errors import NilometerError
from nilometer.live.asked_folders import AskedFolder
from nilometer.live.owner.client import Client, find_owner
from nilometer.live.owner.lender import FOLDER, JOB
from nilometer.live.owner.lock import Holder, holder_of
from nilometer.log.private import make_directory
from nilometer.operators.frames import from_bytes
from nilometer.spark.settings import SparkSettings

if TYPE_CHECKING:
    from nilometer.spark.finite import Finite
    from nilometer.spark.job import Job


@dataclass(frozen=True)
class Borrowed:
    """The session of an owner, as its client sees it."""

    place: Path
    """A folder for the data of the question, which the owner's Spark can read."""
    partitions: int
    owner: str
    _client: Client

    def run(self, job: Job, *, at_once: bool) -> Finite:
        """Let the owner run a job."""
        from nilometer.spark.counts import Counts
        from nilometer.spark.finite import Finite

        (self.place / JOB).write_text(job.pack())
        reply = self._client.request("spark", place=str(self.place.absolute()), at_once=at_once).header
        frames = [from_bytes((self.place / f"answer-{n}").read_bytes()) for n in range(reply["frames"])]
        return Finite(frames, reply["watermark"], Counts.of_json(reply["counts"]))


@contextlib.contextmanager
def borrowed(directory: Path | None, settings: SparkSettings) -> Iterator[Borrowed | None]:
    """The session of the directory's owner, or of the one that the settings name; None if there is none that would do."""
    lender = directory if settings.session_of is None else Path(settings.session_of)
    client = None if lender is None else _client_of(lender)
    if client is None or lender is None:
        yield None
        return
    with client:
        try:
            partitions = int(client.request("lend", settings=settings.session).header["partitions"])
        except NilometerError:
            yield None  # another release, other settings, or no Spark there
            return
        make_directory(lender / FOLDER)
        with AskedFolder(lender / FOLDER) as place:
            yield Borrowed(place, partitions, client.owner, client)


def _client_of(directory: Path) -> Client | None:
    holder = holder_of(directory)
    if holder is None or holder.embedded or _is_me(holder):
        return None
    with contextlib.suppress(NilometerError):
        return find_owner(directory)
    return None


def _is_me(holder: Holder) -> bool:
    return holder.pid == os.getpid()
