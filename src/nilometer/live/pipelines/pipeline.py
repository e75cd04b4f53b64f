"""One pipeline: a StreamingQuery of Spark that answers many standing queries, and the commits of its rounds.

A round's answers are one record of the commit log (shared_commits.py), with one fsync, and the next round is committed after
it. So a kill at any moment loses no answer and doubles none: the next run begins at the offsets of the last record, with the
last saved states, and reads what lies between again.
"""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from nilometer.dataflow.sources import TableVersion
from nilometer.errors import ConfigurationError, NilometerError, ResourceError
from nilometer.live.apart import dearest
from nilometer.live.dead_letters import write_lines
from nilometer.live.pipelines.pipeline_query import PipelineQuery
from nilometer.live.pipelines.pipeline_tables import Tables
from nilometer.live.pipelines.run_folders import delete_runs, folder_of_runs
from nilometer.live.standing import CHECKPOINT_EVERY, trimmed_of
from nilometer.live.versions import version_of
from nilometer.log import Offset, StreamLog
from nilometer.log.directory import place_of_logs
from nilometer.log.resources import resources
from nilometer.types import MINUTE, SECOND

if TYPE_CHECKING:
    from nilometer.live.checkpoints import Panes
    from nilometer.live.recovery import Recovered
    from nilometer.live.shared_commits import SharedCommits
    from nilometer.log import LogDirectory
    from nilometer.log.results.shared_log import RecordPlace
    from nilometer.spark.settings import SparkSettings
    from nilometer.spark.shared.changes import Change, Join
    from nilometer.spark.shared.pipeline_run import PipelineRun
    from nilometer.spark.shared.rounds import RoundResult

PATIENCE = 120.0
"""How many seconds to wait for a round that was asked for, where nothing else has to go on."""
LEAVE_PATIENCE = 5.0
"""How many seconds the loop waits for the round in which a query leaves."""


class Pipeline:
    """A pipeline. Its queries have joined the commit log, and stay there when it stops."""

    def __init__(
        self,
        name: str,
        directory: Path,
        logs: LogDirectory,
        commits: Callable[[], SharedCommits],
        clock: Callable[[], int],
        settings: SparkSettings,
    ) -> None:
        self.name = name
        self.queries: dict[str, PipelineQuery] = {}
        self.offsets: dict[int, Mapping[str, Offset]] = {}
        """How far each group has read and answered."""
        self.rounds = 0
        self._timed = 0, 0
        self._changed: set[str] = set()
        self.way = ""
        """Where the last round was run."""
        self.dear: str | None = None
        """A query that holds up the others."""
        self.retry_at = 0
        self.tries = 0
        self._directory = directory
        self._logs = logs
        self._commits = commits
        self._clock = clock
        self.settings = settings
        self.parts = settings.part_count
        self._run: PipelineRun | None = None
        self._unmade: ResourceError | None = None
        """Why there is no run: its files could not be written."""
        self._told = threading.Condition()
        self._saves = self._saved_at = 0
        self._moved_since_save = self._made_again = False
        self._again: dict[int, int] = {}
        """How many readings each group has read again in this run."""
        self._furthest: dict[int, int] = {}
        """The same of the run that came furthest, since the pipeline last read something new."""
        self._analyses: dict[str, str] = {}
        self._numbers = count(1)
        self._hung = -1
        """The number of rounds when the loop last waited in vain."""

    def add(self, query: PipelineQuery) -> None:
        """A query has come. A round that is being taken looks at them all meanwhile."""
        with self._commits().lock:
            self.queries[query.name] = query

    def forget(self, query: PipelineQuery) -> None:
        """A query could not be installed."""
        with self._commits().lock:
            self.queries.pop(query.name, None)

    # ---- the run -----------------------------------------------------------------------------------------------------

    @property
    def active(self) -> bool:
        """Whether Spark runs it."""
        run = self._run  # other threads ask, too
        return run is not None and run.active

    @property
    def failure(self) -> NilometerError | None:
        """The error that ended the last run."""
        return self._unmade if self._run is None else self._run.failure

    @property
    def begun(self) -> bool:
        """Whether Spark has taken up the last run. If it fails before, no query is to blame."""
        return self._run is not None and self._run.begun

    def start(self) -> None:
        """Begin a run with all queries, each from its last commit. Spark starts in the run's own thread. An error here,
        such as a full disk, is the `failure` of the run, like one that ends it later."""
        self.stop()  # without the lock, for which its last round may wait
        try:
            with resources(str(folder_of_runs(self._directory, self.name))), self._commits().lock:
                self._settle()
                self._start()
        except ResourceError as error:
            self.stop()
            self._unmade = error

    def _start(self) -> None:
        from nilometer.spark.session import spark_session
        from nilometer.spark.shared.pipeline_run import PipelineRun

        self._run = PipelineRun(
            lambda: spark_session(self.settings.session),
            f"pipeline {self.name}",
            place_of_logs(self._directory),
            folder_of_runs(self._directory, self.name) / secrets.token_hex(8),
            self.settings.max_rows,
            self.settings.part_count,
            self._take,
            self.settings.task_rows,
            self.settings.trigger,
        )
        self._recover()
        self._divide_groups()
        self._saved_at = self._clock()
        self.join()
        self._run.start()
        self._commits().states.loaded()

    def _recover(self) -> None:
        """Find where the queries of a run that has ended go on. They skip what retention was forced to delete meanwhile."""
        commits, logs = self._commits(), dict[str, StreamLog]()
        skipped: dict[int, Mapping[str, Offset]] = {}
        for query in self.queries.values():
            if query.goes_on is not None or query.failure is not None:
                continue
            query.group = self._place(query).group
            found = self._recovered(query)
            for key, stream in query.streams.items():
                if key not in logs:
                    logs[key] = self._logs.log(stream).hold()
            own = {key: logs[key] for key in query.streams}
            trimmed, found = trimmed_of(found, own), found.within(own)
            if trimmed.unread:
                commits.note_trimmed(query.opened.standing, trimmed.unread)
                query.live.trimmed += trimmed.unread
                skipped[query.group] = found.committed
            query.goes_on = found.panes or None, found.start, found.committed
        if skipped:
            commits.commit(skipped, {}, self._clock(), at_once=True)

    def _settle(self) -> None:
        """Write what waits to be written: only then does the commit log say where the queries go on."""
        self._retry()
        self._commits().begin(self._clock())
        self._check_space()

    def _retry(self) -> None:
        commits = self._commits()
        if commits.trouble is not None:
            commits.retry()
            self._check_space()

    def _check_space(self) -> None:
        trouble = self._commits().trouble
        if trouble is not None:
            raise ResourceError(trouble, hint="it is tried again")

    def _place(self, query: PipelineQuery) -> RecordPlace:
        """Where the commit log has a query."""
        place = self._commits().log.index.place(query.key)
        assert place is not None, "a query that has not joined"
        return place

    def _recovered(self, query: PipelineQuery) -> Recovered:
        from nilometer.spark.shared.ways import state_fits

        plan, extents = query.query.physical, query.query.extents
        return self._commits().recovered(
            query.opened.standing,
            version_of(query.query, on_spark=True),
            lambda panes: state_fits(panes, plan, extents, self.parts),
        )

    def _divide_groups(self) -> None:
        """Queries of one group whose states are of different moments, or which have answered up to different places, get groups
        of their own until they have caught up."""
        first: dict[int, object] = {}
        others: dict[tuple[int, object], list[PipelineQuery]] = {}
        for query in self.queries.values():
            if query.goes_on is not None:
                at = tuple(tuple(sorted(offsets.items())) for offsets in query.goes_on[1:])
                if first.setdefault(query.group, at) != at:
                    others.setdefault((query.group, at), []).append(query)
        for together in others.values():
            self._begin_group(together)

    def settled(self) -> bool:
        """Write what waits to be written. If there is no space, that is the `failure`, and `restart` tries again."""
        try:
            self._settle()
        except ResourceError as error:
            self._unmade = error
            return False
        return True

    def take_over(self, moving: Iterable[PipelineQuery]) -> None:
        """Queries of another pipeline go on in this one; neither runs, and nothing waits to be written. They get groups of
        their own: a group's offsets in the commit log are those of all its queries, so two runs must never commit the same
        group."""
        groups: dict[int, list[PipelineQuery]] = {}
        for query in moving:
            del query.pipeline.queries[query.name]
            self.queries[query.name] = query
            query.pipeline = self
            if query.failure is None:
                query.group = self._place(query).group
                groups.setdefault(query.group, []).append(query)
        for together in groups.values():
            self._begin_group(together)

    def _begin_group(self, queries: Iterable[PipelineQuery]) -> None:
        """Give queries of one group a new one, at the same offsets. The next commit, whoever makes it, records that."""
        commits = self._commits()
        with commits.lock:
            number = commits.log.begin_group()
            for query in queries:
                goes_on = query.goes_on
                self.offsets[number] = commits.committed(query.group) if goes_on is None else goes_on[2]
                commits.set_apart(query.opened.standing, number, self.offsets[number])
                query.group = number

    def join(self) -> None:
        """Let the queries that wait join the run."""
        waiting = [query for query in self.queries.values() if query.goes_on is not None]
        for query in waiting:
            assert query.goes_on is not None
            _, state_at, committed = query.goes_on
            # Before the run is told: its next round may be taken at once.
            query.number, query.joined, query.behind = next(self._numbers), False, state_at != committed
        tables: dict[str, Tables] = {}
        for query in waiting:
            if query.tables is not None and query.goes_on is not None:
                try:
                    tables[query.name] = query.tables.begin(query.goes_on[0])
                except ResourceError as error:
                    query.failure = error
                    with self._told:
                        self._changed.add(query.name)
        if self._run is not None:
            for change in _joins([query for query in waiting if query.failure is None], tables):
                self._run.tell(change)
        for query in waiting:
            query.goes_on = None

    def stop(self) -> None:
        """Stop the run, without a last round."""
        self._unmade = None
        if self._run is not None:
            self._run.stop()
            self._run = None
            self._again = {}
            for query in self.queries.values():
                query.joined = False
            delete_runs(self._directory, self.name)

    def restart(self) -> None:
        """Try again after a failure that may pass, such as a full disk. The wait grows with each attempt."""
        self.tries += 1
        self.retry_at = self._clock() + min(SECOND << min(self.tries, 10), MINUTE)
        self.start()

    @property
    def milliseconds(self) -> int:
        """How long Spark took for the last round."""
        if self._timed[0] != self.rounds and self._run is not None:
            progress = self._run.progress
            self._timed = self.rounds, 0 if progress is None else progress.milliseconds
        return self._timed[1]

    # ---- what the owner asks for -------------------------------------------------------------------------------------

    def save(self) -> bool:
        """Save the states of all queries now. Returns whether that was done."""
        if not self.begun:
            return False  # the loop does not wait for Spark to start
        before = self._saves
        self._tell(_save())
        return self._wait(lambda: self._saves > before, PATIENCE)

    def ask_analysis(self, query: PipelineQuery) -> Callable[[], str]:
        """Ask for the plan of a query with the work of each operator. The result waits for it, in whatever thread."""
        from nilometer.spark.shared.changes import Analyze

        number, before = query.number, self._analyses.get(query.name)
        self._tell(Analyze(query.name))

        def found() -> str | None:
            text = self._analyses.get(query.name)
            return text if text is not before and self.queries.get(query.name) is query else None

        def answer() -> str:
            self._wait(lambda: found() is not None or self._unasked(query, number) is not None, PATIENCE)
            text = found()
            if text is None:
                raise self._unasked(query, number) or ConfigurationError(
                    f"pipeline '{self.name}' does not run now", hint="ask again later"
                )
            count = f"{len(self.queries)} {'query' if len(self.queries) == 1 else 'queries'}"
            way = f"-- pipeline {self.name}, {count}; the last round ran in the {self.way}"
            return f"{way}\n{text}"

        return answer

    def _unasked(self, query: PipelineQuery, number: int) -> ConfigurationError | None:
        """Why a query will not answer what it was asked as the member of that number; None: it still may."""
        name = query.name
        if query.failure is not None:
            return ConfigurationError(
                f"'{name}' was stopped by an error: {query.failure.message}", hint=query.failure.hint
            )
        if query.pipeline is not self or query.number != number:
            return ConfigurationError(f"the run of '{name}' began again meanwhile", hint="ask again")
        if query.left or self.queries.get(name) is not query:
            return ConfigurationError(
                f"'{name}' was stopped meanwhile", hint="if it was replaced, ask again: the new one answers"
            )
        return None

    def refresh(self, query: PipelineQuery, now: int) -> None:
        """Let a query meet the tables that have changed. It is halted for two rounds (pipeline_tables.py)."""
        from nilometer.spark.shared.changes import Hold, Refresh

        tables = query.tables
        if tables is None or query.failure is not None or not self.active:
            return
        assert self._run is not None
        versions = tables.refreshed(now, query.offsets)
        if versions is not None:
            self._run.tell(Refresh(query.name, versions))
            # Tasks run the rounds since the last save again, and are given their tables with them.
            self._moved_since_save = True
        elif tables.asks_to_hold(now, query.offsets):
            self._run.tell(Hold(query.name))

    def leave(self, query: PipelineQuery) -> None:
        """A query stops, after everything that it has answered is committed.

        The loop waits for the round in which it leaves, but not for long, only once for a round that hangs, and not for Spark
        to start. Without that round the query stops as in a crash: at its last commit, with the last saved state. Rounds that
        come later do not concern it any more.
        """
        commits = self._commits()
        self._tell_leave(query)
        if query.failure is None and self.begun and self._hung != self.rounds:
            done = self._wait(lambda: query.left or query.failure is not None, LEAVE_PATIENCE)
            self._hung = -1 if done else self.rounds
        with commits.lock:
            if query.failure is not None:
                commits.queries.pop(query.key, None)
            elif not query.left:
                self._leave_as_it_stands(query)
            self.queries.pop(query.name, None)
        self._analyses.pop(query.name, None)

    def _leave_as_it_stands(self, query: PipelineQuery) -> None:
        commits, standing = self._commits(), query.opened.standing
        if self._stands(query):
            # The books are those at these offsets, and what has no answers is not committed at once.
            at = {query.group: self.offsets[query.group]}
            commits.commit(at, {}, self._clock(), at_once=True)
            commits.leave(standing, query.ledger, None)
        else:
            commits.leave(standing, standing.place.ledger, None)

    def _stands(self, query: PipelineQuery) -> bool:
        """Whether a query has come as far as `offsets` say. The log is further if the last record of the run had to wait for
        space and was written since: then its answers are those up to there."""
        at = self.offsets.get(query.group)
        if at is None or query.behind or not query.joined or not self.active:
            return False
        with suppress(ResourceError):
            self._settle()
            committed = self._commits().committed(query.group)
            same = self._place(query).group == query.group
            return same and all(at.get(key, offset) >= offset for key, offset in committed.items())
        return False

    def _tell_leave(self, query: PipelineQuery) -> None:
        from nilometer.spark.shared.changes import Leave

        self._tell(Leave(query.name, query.number))

    def _tell(self, change: Change) -> None:
        if self.active:
            assert self._run is not None
            self._run.tell(change)

    def _wait(self, done: Callable[[], bool], patience: float) -> bool:
        """Wait for a round. Called without the lock of the commits, which the round needs."""
        deadline = time.monotonic() + patience
        # Not asked under the lock, which the thread that takes rounds needs.
        while not done() and self.active and time.monotonic() < deadline:
            with self._told:
                if not done():
                    self._told.wait(0.2)
        return done()

    # ---- rounds ------------------------------------------------------------------------------------------------------

    def _take(self, result: RoundResult) -> None:
        """Commit a round. The run calls this in a thread of its own."""
        commits = self._commits()
        with commits.lock:
            self._retry()
            now = self._clock()
            for name, number in result.joined.items():
                if name in self.queries and self.queries[name].number == number:
                    self.queries[name].joined = True
            self._note_failures(result)
            for name, lines in result.letters.items():
                found = self._known(name)
                if found is not None and lines:
                    found.dead = str(lines[-1]["reason"])
                    write_lines(self._directory, name, lines)
            # From here on nothing fails before the commit: no query moves without the answers of this round.
            into = dict(result.merged)
            merging = [query for query in self.queries.values() if query.group in into and not query.left]
            for query in merging:
                commits.move(query.opened.standing, into[query.group])
            for name, left in result.left.items():
                leaving = self.queries.get(name)
                if leaving is not None and leaving.number == left.number and not leaving.left:
                    commits.commit(result.offsets, {}, now, at_once=True)
                    leaving.left, standing = True, leaving.opened.standing
                    panes, ledger = (None, standing.place.ledger) if left.state is None else left.state
                    commits.leave(standing, ledger, None if panes is None else _as_is(panes))
            answers = {}
            for name, rows in result.answers.items():
                found = self._known(name)
                if found is not None and found.failure is None:
                    answers[found.key] = rows, result.books[name]
            commits.commit(
                result.offsets, answers, now, at_once=bool(answers or result.left or result.panes is not None)
            )
            self._check_space()
            self._note(result)
            for query in merging:
                query.group = into[query.group]
            if result.panes is not None:
                keyed = {
                    known.key: panes
                    for name, panes in result.panes.items()
                    if (known := self._known(name)) is not None
                }
                books = {
                    known.key: book
                    for name, book in result.books.items()
                    if (known := self._known(name)) is not None
                }
                commits.checkpoint(keyed, books, now)
                self._saved_at, self._moved_since_save = now, False
        for name, frontier in result.frontiers.items():
            found = self._known(name)
            if found is not None and found.tables is not None:
                found.tables.note(frontier)
        with self._told:
            self._analyses |= {name: text for name, text in result.analyses.items() if self._known(name)}
            self._saves += result.panes is not None
            self._told.notify_all()
        due = self._moved_since_save and abs(now - self._saved_at) >= CHECKPOINT_EVERY
        if (due or self._made_again) and self._run is not None:
            self._saved_at, self._made_again = now, False
            self._run.tell(_save())

    def _known(self, name: str) -> PipelineQuery | None:
        """The query that a result speaks of: not one of an earlier query of this name."""
        query = self.queries.get(name)
        return query if query is not None and query.joined and not query.left else None

    def changed(self) -> set[str]:
        """The queries with news since the last call."""
        with self._told:
            found, self._changed = self._changed, set()
        return found

    def _note_failures(self, result: RoundResult) -> None:
        commits = self._commits()
        for name, error in result.failures.items():
            query = self._known(name)
            if query is not None:
                query.ledger = result.books.get(name, query.ledger)
                commits.fail(query.opened.standing, commits.committed(query.group))
                query.failure = error
                with self._told:
                    self._changed.add(name)
                self._tell_leave(query)

    def _note(self, result: RoundResult) -> None:
        """Note what the station shows."""
        self.rounds += 1
        self.way = result.way
        for spent in result.spent:
            self.dear = self.dear or dearest(spent.times, spent.busy, spent.elapsed)
        for name, ledger in result.books.items():
            query = self._known(name)
            if query is not None and query.failure is None:
                query.ledger, query.watermark = ledger, result.watermarks.get(name)
                query.work = result.works.get(name, query.work)
                if query.behind:
                    # Perhaps after hours: what was made again is not lost by the next crash.
                    query.behind, self._made_again = False, True
                if query.taking:
                    query.taking = False
                    self._commits().discount(query.opened.standing, ledger)
        for name, rows in result.answers.items():
            query = self._known(name)
            if query is not None and query.failure is None:
                # Before the offsets: another thread that sees the offsets also finds the rows.
                query.fresh.extend(rows)
        with self._told:
            self._changed |= {*result.books, *result.answers}
        if any(self.offsets.get(group) != at for group, at in result.offsets.items()):
            self._moved_since_save = True
            # Not after any round: a run begins with one that reads nothing new, even if it fails at the next reading.
            self.tries = 0
            self._furthest.clear()
        self._note_again(result.again)
        self.offsets |= result.offsets
        if result.panes is not None:
            for name, panes in result.panes.items():
                query = self._known(name)
                if query is not None:
                    sizes = [len(pane) for part in panes.values() for pane in part.values()]
                    query.state = len(sizes), sum(sizes)

    def _note_again(self, again: Mapping[int, int]) -> None:
        """Groups have read again, perhaps for hours. It is progress to come further than any run before: one that fails at the
        same reading again and again is not. A save makes the bases from which tasks go on."""
        for group, rows in again.items():
            self._moved_since_save = True
            self._again[group] = self._again.get(group, 0) + rows
            if self._again[group] > self._furthest.get(group, 0):
                self._furthest[group] = self._again[group]
                self.tries = 0


def _as_is(panes: Panes) -> Callable[[], Panes]:
    return lambda: panes


def _save() -> Change:
    from nilometer.spark.shared.changes import Save

    return Save()


def _joins(queries: Iterable[PipelineQuery], tables: Mapping[str, Tables]) -> list[Join]:
    """The changes that let queries join, one for each group. `tables` has those of the queries that join any."""
    from nilometer.spark.shared.changes import Join, Member

    groups: dict[int, list[PipelineQuery]] = {}
    for query in queries:
        groups.setdefault(query.group, []).append(query)
    found = []
    for number, together in groups.items():
        assert together[0].goes_on is not None
        _, state_at, committed = together[0].goes_on
        members, versions = [], tuple[TableVersion, ...]()
        for query in together:
            assert query.goes_on is not None
            first: Mapping[str, pl.DataFrame] = {}
            if query.name in tables:
                first, versions = tables[query.name]
            sensors = {
                key: tuple(query.query.extents.sensors(stream)) for key, stream in query.streams.items()
            }
            member = Member(
                query.name,
                query.query.physical,
                sensors,
                query.goes_on[0],
                skips=not query.stops,
                tables=first,
                number=query.number,
            )
            members.append(member)
        streams = dict(together[0].streams)
        found.append(Join(number, streams, tuple(members), state_at, committed, versions))
    return found
