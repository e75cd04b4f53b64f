"""Runs stories by their seeds, and makes a failing one shorter.

The law: a seed, its faults and its steps decide everything, so one command repeats a failure.
"""

from __future__ import annotations

import contextlib
import gc
import tempfile
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from multiprocessing import get_context
from pathlib import Path

from nilometer.laboratory.storm.story import STEPS, Fault, SeedOutcome, Story

ALL = frozenset(Fault)
MEMORY = Path("/dev/shm")  # files in memory, where there are


@dataclass(frozen=True)
class Case:
    """A story by its seed."""

    seed: int
    faults: frozenset[Fault] = ALL
    steps: int = STEPS

    def command(self) -> str:
        """The command that repeats it."""
        parts = [f"./nilo storm --seed {self.seed}"]
        if self.steps != STEPS:
            parts.append(f"--steps {self.steps}")
        if self.faults != ALL:
            parts += [f"--only {fault}" for fault in Fault if fault in self.faults]
        return " ".join(parts)


@dataclass
class Tally:
    """The sum of many stories. `met` and `kept` count, for each thing that happened, the stories that it
    happened in, and those of them that kept every promise."""

    stories: int = 0
    counts: dict[str, int] = field(default_factory=dict)
    met: dict[str, int] = field(default_factory=dict)
    kept: dict[str, int] = field(default_factory=dict)
    wrong: list[tuple[Case, str]] = field(default_factory=list)

    def add(self, case: Case, outcome: SeedOutcome) -> None:
        """One more story."""
        self.stories += 1
        for what, times in outcome.counts.items():
            self.counts[what] = self.counts.get(what, 0) + times
            self.met[what] = self.met.get(what, 0) + (times > 0)
            self.kept[what] = self.kept.get(what, 0) + (times > 0 and outcome.wrong is None)
        if outcome.wrong is not None:
            self.wrong.append((case, outcome.wrong))


def table(tally: Tally) -> str:
    """The tally as a table in Markdown."""
    lines = ["| what happened | times | in stories | of them kept every promise |", "|---|---:|---:|---:|"]
    for what in sorted(tally.counts):
        if tally.counts[what]:
            lines.append(f"| {what} | {tally.counts[what]:,} | {tally.met[what]:,} | {tally.kept[what]:,} |")
    return "\n".join(lines)


def run(case: Case) -> SeedOutcome:
    """Run one story in a directory of its own."""
    place = MEMORY if MEMORY.is_dir() else None
    with tempfile.TemporaryDirectory(prefix="storm-", dir=place) as folder:
        return Story(case.seed, Path(folder), case.faults, case.steps).run()


def run_all(
    cases: Iterable[Case],
    progress: Callable[[Tally], None] = lambda _: None,
    jobs: int = 1,
    more: Callable[[], bool] = lambda: True,
) -> Tally:
    """Run many, in so many processes, while there is `more` time; `progress` is called after each, in the order of
    the cases."""
    tally = Tally()
    with contextlib.ExitStack() as stack:
        together = 1
        each: Callable[[list[Case]], Iterable[SeedOutcome]] = _one_by_one
        if jobs > 1:
            # Spawned, not forked: Polars has threads.
            pool = stack.enter_context(ProcessPoolExecutor(jobs, get_context("spawn"), _settle_memory))
            each, together = partial(pool.map, run), 8 * jobs
        else:
            _settle_memory()
        waiting = iter(cases)
        while more() and (batch := list(islice(waiting, together))):
            for case, outcome in zip(batch, each(batch), strict=True):
                tally.add(case, outcome)
                progress(tally)
    return tally


def _one_by_one(cases: list[Case]) -> Iterator[SeedOutcome]:
    yield from map(run, cases)


def _settle_memory() -> None:
    """The collector need not look at all modules again and again."""
    gc.collect()
    gc.freeze()


def shrink(case: Case) -> Case:
    """A shorter story that still fails: without kinds of faults that it does not need, and with fewer steps."""
    for fault in sorted(case.faults):
        less = Case(case.seed, case.faults - {fault}, case.steps)
        if run(less).wrong is not None:
            case = less
    # Failing need not be monotonic in the number of steps; bisection then finds some short story.
    works, fails = 0, case.steps
    while fails - works > 1:
        middle = (works + fails) // 2
        if run(Case(case.seed, case.faults, middle)).wrong is not None:
            fails = middle
        else:
            works = middle
    return Case(case.seed, case.faults, fails)
