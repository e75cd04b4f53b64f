"""Runs rounds: in the process in which Spark plans them, or in tasks.

The result of a round is a file for the owner. If the round is run in tasks, the result of each task is one.

A process keeps the state of the parts that it has run. A task is given all rounds since the last *base*, a saved state of
its part: a process that has run the round before runs one round; any other begins with the base, or with the round that it
has run last, and runs those that it has missed, without their answers. So it does not matter which process runs a task, how
often a task is tried, or whether rounds are run in tasks at all.
"""

from __future__ import annotations

import json
import os
import pickle
import secrets
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from nilometer.errors import InternalError
from nilometer.log.resources import resources
from nilometer.spark.faults import carried
from nilometer.spark.shared.changes import Save
from nilometer.spark.shared.graph_flow import GraphFlow
from nilometer.spark.shared.merging import merged
from nilometer.spark.shared.round_planner import RoundPlanner
from nilometer.spark.shared.rounds import Round, RoundResult
from nilometer.spark.shared.way_costs import WayCosts

if TYPE_CHECKING:
    import pyarrow as pa

Give = Callable[[int, int], None]
"""Passes a round on to the owner: its number, and in how many tasks it is run."""

TIMES = "times"
WHERE = "a round of the pipeline"
CALM = 20
"""After so many small rounds in a row, rounds are run where they are planned again."""


@dataclass(frozen=True)
class RoundTask:
    """A part of the last of these rounds. `base` is the number of the round whose state is saved; 0: the beginning."""

    place: str
    folder: str
    part: int
    parts: int
    base: int
    rounds: tuple[Round, ...]


class RoundWork:
    """The rounds of one run. The options: `place`, the data directory; `folder`, that of the run; `max_rows`; `trigger`, in
    seconds; `parts`; `task_rows` (empty: the costs decide, way_costs.py)."""

    def __init__(self, options: Mapping[str, str]) -> None:
        self._place, self._folder = options["place"], Path(options["folder"])
        self._parts = int(options["parts"])
        self._costs = WayCosts(self._parts, int(options["task_rows"]) if options["task_rows"] else None)
        self._elsewhere: dict[int, int] = {}
        """The last rounds that were run in tasks and are not measured yet, with their readings."""
        self._planner = RoundPlanner(
            self._place, self._folder, int(options["max_rows"]), float(options["trigger"])
        )
        self._base = self._base_before = 0
        self._rounds: list[Round] = []
        self._calm = CALM

    def latest(self, start: int, give: Give) -> int:
        """The number of the next round that Spark must run as a micro-batch, or `start` if there is none. Rounds before it
        that read nothing, because queries only come, go or are saved, are run at once and given: 30 ms less for each.
        """
        while True:
            with carried(WHERE):
                round_ = self._planner.next()
                if round_ is None:
                    return start
                if round_.rows or (self._parts > 1 and self._calm < CALM):
                    return round_.number
                self._rounds.append(round_)
                self._run_here(round_)
            give(round_.number, 0)

    def tasks(self, number: int) -> list[RoundTask]:
        """Run a round here, or return its tasks."""
        with carried(WHERE):
            round_ = self._planner.next()
            if round_ is None or round_.number != number:
                raise InternalError(f"round {number} is not the next one")
            self._rounds.append(round_)
            self._note_times()
            self._calm = 0 if self._costs.in_tasks(round_.rows) else self._calm + 1
            if self._parts == 1 or self._calm >= CALM:
                self._run_here(round_)
                return []
            tasks = self._tasks()
            self._elsewhere[round_.number] = round_.rows
            self._done(round_)
            return tasks

    def _tasks(self) -> list[RoundTask]:
        """The tasks of the last round."""
        return [
            RoundTask(self._place, str(self._folder), part, self._parts, self._base, tuple(self._rounds))
            for part in range(self._parts)
        ]

    def _run_here(self, round_: Round) -> None:
        results = [run_task(task) for task in self._tasks()]
        self._costs.note(round_.rows, [result.milliseconds for result in results])
        result = merged(results)
        result.way = f"planner{self._expected(round_.rows)}"
        _leave(self._folder, result)
        self._done(round_)

    def _done(self, round_: Round) -> None:
        self._planner.done(round_)
        self._forget_rounds(round_)

    def _expected(self, rows: int) -> str:
        """Why a round was not run in tasks, for `queries analyze`."""
        if self._parts == 1 or not rows:
            return ""
        here, tasks = self._costs.expected(rows)
        return f" ({here:.0f} ms for {rows:,} readings; in tasks {tasks:.0f})"

    def _note_times(self) -> None:
        """Note the times of the last round in tasks that the owner has taken."""
        if not self._elsewhere:
            return
        with suppress(FileNotFoundError):
            number, *times = json.loads((self._folder / TIMES).read_bytes())
            if number in self._elsewhere:
                self._costs.note(self._elsewhere[number], times)
            self._elsewhere = {other: rows for other, rows in self._elsewhere.items() if other > number}

    def _forget_rounds(self, last: Round) -> None:
        """Forget the rounds that no task needs any more."""
        if self._parts == 1:
            self._base, self._rounds = last.number, []
        elif _saves(last):
            # The tasks of this round may still need the base before it.
            for part in range(self._parts):
                with suppress(FileNotFoundError):
                    _base_path(self._folder, part, self._base_before).unlink()
            self._base_before, self._base, self._rounds = self._base, last.number, []


_FLOWS: OrderedDict[tuple[str, int], GraphFlow] = OrderedDict()
"""The parts that this process has run, by the folder of the run."""
_REMEMBERED = 64


def run_task(task: RoundTask) -> RoundResult:
    """The result of a task."""
    # Stored again after the last round: a round that fails leaves a flow that is half done.
    flow = _FLOWS.pop((task.folder, task.part), None)
    if flow is None or not task.base <= flow.number < task.rounds[-1].number:
        _forget_other_runs(Path(task.folder))
        if task.base and task.parts > 1:
            base = pickle.loads(_base_path(Path(task.folder), task.part, task.base).read_bytes())
            flow = GraphFlow.of_base(task.place, task.part, task.parts, base)
        else:
            flow = GraphFlow(task.place, task.part, task.parts)
    result: RoundResult | None = None
    due = [round_ for round_ in task.rounds if round_.number > flow.number]
    for round_ in due:
        result = flow.run(round_)
    assert result is not None, "a task without rounds"
    result.missed = len(due) - 1
    if task.parts > 1 and _saves(task.rounds[-1]):
        _replace(_base_path(Path(task.folder), task.part, flow.number), pickle.dumps(flow.base()))
    _FLOWS[task.folder, task.part] = flow
    if len(_FLOWS) > _REMEMBERED:
        _FLOWS.popitem(last=False)
    result.way = "tasks"
    return result


def _forget_other_runs(folder: Path) -> None:
    """A pipeline has one run at a time, in a folder of its own within that of the pipeline: the others have ended."""
    for key in [key for key in _FLOWS if key[0] != str(folder) and Path(key[0]).parent == folder.parent]:
        del _FLOWS[key]


def _saves(round_: Round) -> bool:
    return any(isinstance(change, Save) for change in round_.changes)


def _base_path(folder: Path, part: int, number: int) -> Path:
    return folder / f"base-{part}-{number}"


def _replace(path: Path, data: bytes) -> None:
    """Write a file whole. Two attempts of a task may do so at the same time."""
    aside = path.with_name(f"{path.name}.{secrets.token_hex(4)}")
    with resources(str(path.parent)):
        try:
            aside.write_bytes(data)
            os.replace(aside, path)
        except OSError:
            aside.unlink(missing_ok=True)
            raise


def run_and_leave(task: RoundTask) -> None:
    """Run a task, and leave its result for the owner."""
    result = run_task(task)
    _leave(Path(task.folder), result, task.part)


def _leave(folder: Path, result: RoundResult, part: int | None = None) -> None:
    data = pickle.dumps(result, protocol=pickle.HIGHEST_PROTOCOL)
    _replace(_result_path(folder, result.number, part), data)


def _result_path(folder: Path, number: int, part: int | None) -> Path:
    return folder / (f"result-{number}" if part is None else f"result-{number}-{part}")


def take_result(folder: Path, number: int, tasks: int) -> RoundResult:
    """The result of a round: of its tasks, or, without any, of the process that planned it."""
    parts: Sequence[int | None] = range(tasks) if tasks else [None]
    paths = [_result_path(folder, number, part) for part in parts]
    results: list[RoundResult] = [pickle.loads(path.read_bytes()) for path in paths]
    found = merged(results)
    if tasks:
        times = [result.milliseconds for result in results]
        _replace(folder / TIMES, json.dumps([number, *times]).encode())
        anew = sum(result.missed > 0 for result in results)
        elsewhere = f"; {anew} in processes that had not run the round before" if anew else ""
        found.way = f"tasks (the dearest of {tasks} took {max(times):.0f} ms, all together {sum(times):.0f}{elsewhere})"
    for path in paths:
        path.unlink()
    return found


def read_task(task: RoundTask) -> Iterator[pa.RecordBatch]:
    """Run a task of Spark. Its result is a file, so Spark gets no rows."""
    import pyarrow as pa

    with carried(WHERE):
        run_and_leave(task)
    yield pa.RecordBatch.from_pydict({"part": []}, schema=pa.schema([("part", pa.int32())]))
