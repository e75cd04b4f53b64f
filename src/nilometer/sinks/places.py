"""The place up to which a reader has taken a query's answers, kept beside the logs of the answers. Retention waits for it."""

from __future__ import annotations

from collections.abc import Sequence

from nilometer.log.failpoints import Failpoint, nothing
from nilometer.log.local_files import LocalFiles
from nilometer.log.readers import store_offset, stored_offset
from nilometer.log.results.shared_results import SharedResults
from nilometer.sinks.commits import CommitPlace, Source


def kept_place(logs: Sequence[Source], reader: str) -> CommitPlace | None:
    """The place that the reader has stored; None if it has stored none."""
    for log, files in reversed(list(enumerate(logs))):
        if isinstance(files, SharedResults):
            offset = stored_offset(files.files, files.reader(reader))
            if offset is not None and offset.position < files.era.position:
                continue
        else:
            offset = stored_offset(files, reader)
        if offset is not None:
            return CommitPlace(log, offset)
    return None


def keep_place(
    logs: Sequence[Source], reader: str, place: CommitPlace, failpoint: Failpoint = nothing
) -> None:
    """Store the reader's place, durably."""
    log = logs[place.log]
    if isinstance(log, SharedResults):
        files, name = log.files, log.reader(reader)
    else:
        files, name = log, reader
    store_offset(LocalFiles(files.directory, failpoint), name, place.offset)
