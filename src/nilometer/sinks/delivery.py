"""Delivers the commits of one query to one sink: gathers them, sends them, retries.

The law: commits are delivered in order. After any failure, the sink is opened again and asked which commit it
has, and reading begins after that one. So no row is lost or delivered twice, whatever happened before. A sink
that cannot say is assumed to have what it acknowledged before the offset that is kept beside the result log.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from hashlib import blake2b

from nilometer.dataflow.failures import Caught
from nilometer.errors import ConfigurationError, DataError, InternalError, NilometerError, ResourceError
from nilometer.log.results.shared_results import SharedResults
from nilometer.log.stream_log import StreamLog
from nilometer.sinks.commits import CommitPlace, Commits, Logs
from nilometer.sinks.places import keep_place, kept_place
from nilometer.sinks.sink import Answered, Sink
from nilometer.types import SECOND

GROUP_COMMITS = 4_096
"""After this many commits without rows, the sink is told how far they reach."""
POLL = 0.2
"""Seconds between two looks of a thread for new commits."""
RETRY, LONGEST_RETRY = 0.25, 30.0
"""How soon a sink that failed is tried again, in seconds; doubled each time."""


@dataclass(frozen=True)
class Progress:
    """The progress of a delivery: rows and commits that this process delivered, the number of failures, why
    the sink fails now, and the rows that were trimmed from the result log by force before the sink received
    them.
    """

    rows: int = 0
    commits: int = 0
    failures: int = 0
    trouble: str | None = None
    trimmed: int = 0


class Delivery:
    """The delivery to one sink; for use by one thread. `error` is the error of the last attempt. `ended`: it
    can never succeed, because its settings are wrong.
    """

    def __init__(self, logs: Logs, sink: Sink, clock: Callable[[], float] = time.monotonic) -> None:
        self.sink = sink
        self._logs = logs
        self._clock = clock
        self._commits = Commits(logs)
        self._open = False
        # The next group to deliver: commits of one version, and where each ends. `_complete`: the next commit
        # is of another version.
        self._group: list[tuple[Answered, CommitPlace]] = []
        self._rows, self._complete = 0, False
        self._since = 0.0
        self._retry_at = 0.0
        self._wait = RETRY
        self.progress = Progress()
        self.error: NilometerError | None = None
        self.ended = False
        self._counted: CommitPlace | None = None

    def step(self, *, all_of_it: bool = False) -> bool:
        """Deliver the commits that are due, or all of them. Returns whether anything was delivered. Failures
        are stored, not raised.
        """
        if self.ended or (self._clock() < self._retry_at and not all_of_it):
            return False
        try:
            # After a failure nothing is gathered: the sink has recovered when all waiting commits are
            # delivered.
            moved = self._deliver(all_of_it or self.error is not None)
        except Caught as error:
            self._fail(error)
            return False
        if self.error is not None:
            self._wait, self._retry_at, self.error = RETRY, 0.0, None
            self.progress = replace(self.progress, trouble=None)
        return moved

    def unanswered(self) -> None:
        """Record that the sink neither took the last answers nor refused them."""
        if self.progress.trouble is None:
            trouble = "the sink does not answer"
            self.progress = replace(self.progress, failures=self.progress.failures + 1, trouble=trouble)

    def close(self) -> None:
        """Close the sink."""
        self._open = False
        self.sink.close()

    # ---- on the way --------------------------------------------------------------------------------------------------

    def _deliver(self, all_of_it: bool) -> bool:
        if not self._open:
            self._reach()
        moved = False
        while True:
            more = self._gather()
            if self._due(all_of_it):
                self._send()
                moved = True
            if not more:
                return moved

    def _reach(self) -> None:
        """Open the sink, and go to the place after its last commit."""
        self._empty()
        self.sink.open()
        self._open = True
        kept = self._kept()
        self._count_trimmed(kept)
        if self.sink.keeps_place:
            self._check()
            if self.sink.last is None and self.sink.start_now:
                self.sink.write([self._commits.nothing_yet()])
            self._commits.seek_after(self.sink.last)
        else:
            if kept is None and self.sink.start_now:
                kept = self._commits.end()
                self._keep(kept)
            self._commits.seek(kept or CommitPlace())
        if kept is None:
            # From here on, retention waits for the sink.
            self._tell_retention(self._commits.place)

    def _count_trimmed(self, kept: CommitPlace | None) -> None:
        """Count, once, the rows between the stored place and the beginning of what is left."""
        if kept is not None and kept != self._counted:
            log = self._logs()[kept.log]
            first = log.first if isinstance(log, SharedResults) else StreamLog(log).start.position
            lost = max(0, first - kept.offset.position)
            self.progress = replace(self.progress, trimmed=self.progress.trimmed + lost)
            self._counted = kept

    def _check(self) -> None:
        last = self._commits.last()
        if self.sink.last is not None and self.sink.last > (-1 if last is None else last):
            raise DataError(
                f"{self.sink.name} has commit {self.sink.last} of {self.sink.origin}, and the result log ends with {last}",
                hint="the query's folder was deleted, or an older copy of it put back: give its answers another place",
            )

    def _gather(self) -> bool:
        """Take commits of one version until there are enough. Returns whether there may be more."""
        while not self._full:
            before = self._commits.place
            found = self._commits.read(self.sink.group_rows - self._rows)
            if not found:
                return False
            for answered, place in found:
                if self._group and answered.version != self._group[0][0].version:
                    self._commits.seek(before)
                    self._complete = True
                    return True
                if not self._has(answered):
                    self._since = self._since if self._group else self._clock()
                    self._group.append((answered, place))
                    self._rows += answered.rows.height
                before = place
        return True

    def _has(self, answered: Answered) -> bool:
        """Whether the sink has this commit already."""
        return self.sink.keeps_place and self.sink.last is not None and answered.number <= self.sink.last

    @property
    def _full(self) -> bool:
        return self._complete or self._rows >= self.sink.group_rows or len(self._group) >= GROUP_COMMITS

    def _due(self, all_of_it: bool) -> bool:
        if not self._group:
            return False
        waited = self._rows > 0 and self._clock() - self._since >= self.sink.every / SECOND
        return waited or self._full or all_of_it

    def _send(self) -> None:
        commits = [answered for answered, _ in self._group]
        self.sink.write(commits)
        if self.sink.keeps_place:
            self._tell_retention(self._group[-1][1])
        else:
            self._keep(self._group[-1][1])
        done = self.progress
        self.progress = replace(done, rows=done.rows + self._rows, commits=done.commits + len(commits))
        self._empty()

    def _empty(self) -> None:
        self._group, self._rows, self._complete = [], 0, False

    def _fail(self, error: BaseException) -> None:
        known = (
            error if isinstance(error, NilometerError) else InternalError(f"{type(error).__name__}: {error}")
        )
        self.error = known
        self.ended = isinstance(known, ConfigurationError)
        text = known.message if known.detail is None else f"{known.message}: {known.detail}"
        self.progress = replace(self.progress, failures=self.progress.failures + 1, trouble=text)
        self._retry_at = self._clock() + self._wait
        self._wait = min(2 * self._wait, LONGEST_RETRY)
        self.close()

    # ---- the place, for a sink that cannot say what it has, and for retention ----------------------------------------

    @property
    def reader(self) -> str:
        """The reader of the result log under whose name the place is stored."""
        digest = blake2b(self.sink.name.encode(), digest_size=8).hexdigest()
        return f"sink-{self.sink.address.scheme}-{digest}"

    def _kept(self) -> CommitPlace | None:
        return kept_place(self._logs(), self.reader)

    def _keep(self, place: CommitPlace) -> None:
        keep_place(self._logs(), self.reader, place, self.sink.failpoint)

    def _tell_retention(self, place: CommitPlace) -> None:
        """Store the place for retention, for a sink that itself knows which commits it has. If this fails,
        the log is kept a little longer.
        """
        if place.log < len(self._logs()):
            with contextlib.suppress(ResourceError):
                self._keep(place)


class Courier:
    """A delivery in its own thread, so that no query waits for a slow or unreachable sink."""

    def __init__(self, delivery: Delivery, poll: float = POLL) -> None:
        self.delivery = delivery
        self._poll = poll
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"to {delivery.sink.name}", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while not self._stopped.is_set():
            self.delivery.step()
            self._stopped.wait(self._poll)
        # Deliver everything committed until now, with one more attempt if the sink was unreachable.
        self.delivery.step(all_of_it=True)
        self.delivery.close()

    def stop(self) -> None:
        """Deliver everything committed so far, and end; `join` waits for that."""
        self._stopped.set()

    def join(self, patience: float | None = None) -> bool:
        """Wait for the end. Returns whether it has come."""
        self._thread.join(patience)
        return not self._thread.is_alive()

    def give_up(self) -> None:
        """Say that the sink has not answered to the end. Its thread is left behind and ends with the process."""
        self.delivery.unanswered()
