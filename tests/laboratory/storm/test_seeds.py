"""Stories of the simulation: what a seed decides, what the product survives, and that the judge notices a fault."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pytest

from nilometer.laboratory.storm.seeds import DEFAULT, Case, run, run_all, shrink
from nilometer.laboratory.storm.story import Fault
from nilometer.log.local_files import LocalAppender
from nilometer.log.results.shared_log import Line, SharedLog

SEEDS = 3
ROTTEN = Case(6, frozenset({Fault.ROT}), steps=40)
LONG_SEEDS = int(os.environ.get("NILOMETER_STORM_SEEDS", "1000"))


def test_seeds_keep_every_promise() -> None:
    tally = run_all(Case(seed, DEFAULT) for seed in range(1, SEEDS))
    assert [(case.command(), wrong) for case, wrong in tally.wrong] == []
    # Or nothing was tried.
    assert tally.counts["answers"] > 10
    assert tally.counts["power cuts"] + tally.counts["kills"] > 1


def test_a_changed_query_that_is_killed_answers_nothing_twice() -> None:
    assert run(Case(0, DEFAULT)).wrong is None


@pytest.mark.long
def test_many_seeds_keep_every_promise() -> None:
    tally = run_all(Case(seed, DEFAULT) for seed in range(SEEDS, SEEDS + LONG_SEEDS))
    assert [(case.command(), wrong) for case, wrong in tally.wrong] == []


def test_a_seed_decides_everything() -> None:
    first, second = run(Case(7, steps=8)), run(Case(7, steps=8))
    assert first.counts == second.counts
    assert [_moment(line) for line in first.trace] == [_moment(line) for line in second.trace]


def _moment(line: str) -> str:
    """A line of the trace without the name of the folder in memory."""
    return line.split("/")[0]


@pytest.mark.long
def test_a_disk_that_syncs_nothing_is_noticed_and_the_story_gets_shorter(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def forgets(appender: LocalAppender) -> None:
        appender.synced = appender.size

    monkeypatch.setattr(LocalAppender, "sync", forgets)
    case = next(
        case
        for case in (Case(seed, frozenset({Fault.KILLS, Fault.POWER, Fault.NETWORK})) for seed in range(9))
        if run(case).wrong is not None
    )
    short = shrink(case)
    assert run(short).wrong is not None
    assert short.steps < case.steps
    assert Fault.NETWORK not in short.faults
    assert short.command().startswith(f"./nilo storm --seed {case.seed} --steps {short.steps} --only kills")


def test_a_lost_answer_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The judge can say no: a commit that keeps no rows is found out."""
    commit = SharedLog.commit

    def forgetful(log: SharedLog, groups: Any, lines: Iterable[Line]) -> None:
        commit(log, groups, [replace(line, frames=()) for line in lines])

    monkeypatch.setattr(SharedLog, "commit", forgetful)
    assert "given" in str(run(Case(1, frozenset(), steps=12)).wrong)


@pytest.mark.xfail(strict=True, reason="issue 15, point 3: the judge knows no eras of declarations")
def test_changed_streams() -> None:
    assert run(Case(25, frozenset({Fault.KILLS, Fault.STREAMS}), steps=14)).wrong is None


def test_rot_is_noticed_or_harmless() -> None:
    assert run(ROTTEN).wrong is None
