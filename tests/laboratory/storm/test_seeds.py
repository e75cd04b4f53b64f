"""Stories of the simulation: what a seed decides, what the product survives, and that the judge notices a fault."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterable
from typing import Any

import pytest

from nilometer.laboratory.storm.seeds import ALL, Case, run, run_all, shrink
from nilometer.laboratory.storm.story import Fault
from nilometer.log.local_files import LocalAppender
from nilometer.log.results.shared_log import Line, SharedLog

SEEDS = 3
ROTTEN = (1, 2, 9)
LONG_SEEDS = int(os.environ.get("NILOMETER_STORM_SEEDS", "1000"))


@pytest.mark.promise("faulty-world")
def test_seeds_keep_every_promise() -> None:
    tally = run_all(Case(seed, ALL) for seed in range(1, SEEDS))
    assert [(case.command(), wrong) for case, wrong in tally.wrong] == []
    # Or nothing was tried.
    assert tally.counts["answers"] > 10
    assert tally.counts["power cuts"] + tally.counts["kills"] > 1


def test_a_changed_query_that_is_killed_answers_nothing_twice() -> None:
    assert run(Case(0, ALL)).wrong is None


def test_a_read_error_while_a_state_is_made_again_stops_nothing() -> None:
    assert run(Case(204, ALL)).wrong is None


def test_a_failed_drop_leaves_the_commit_log_to_others() -> None:
    assert run(Case(344, ALL, steps=6)).wrong is None


def test_a_log_that_has_lost_its_only_segment_is_verified_and_repaired() -> None:
    assert run(Case(368, ALL)).wrong is None


def test_an_index_whose_deletion_was_not_synced_does_not_come_back() -> None:
    assert run(Case(392, ALL)).wrong is None


def test_bytes_whose_sync_failed_in_a_process_that_died_are_written_again() -> None:
    assert run(Case(1044, ALL)).wrong is None


def test_a_changed_filter_knows_which_readings_are_late() -> None:
    assert run(Case(397, ALL)).wrong is None
    assert run(Case(27, frozenset({Fault.NETWORK, Fault.QUERIES}), steps=10)).wrong is None


def test_a_status_that_the_disk_refuses_to_tell_stops_nothing() -> None:
    faults = frozenset({Fault.KILLS, Fault.DISK, Fault.NETWORK, Fault.STREAMS})
    assert run(Case(597, faults, steps=13)).wrong is None


@pytest.mark.promise("not-installed")
def test_a_query_that_could_not_be_installed_does_not_move_on_with_its_group() -> None:
    faults = frozenset({Fault.DISK, Fault.QUERIES, Fault.STREAMS})
    assert run(Case(947, faults, steps=7)).wrong is None


@pytest.mark.long
def test_many_seeds_keep_every_promise() -> None:
    tally = run_all(Case(seed, ALL) for seed in range(SEEDS, SEEDS + LONG_SEEDS))
    assert [(case.command(), wrong) for case, wrong in tally.wrong] == []


@pytest.mark.promise("same-story")
def test_a_seed_decides_everything_in_every_process() -> None:
    """Every event and every byte that goes to the disk, whatever the order of sets and the number of threads."""
    found = set()
    for hashing, threads in (("0", "1"), ("1", "2")):
        said = {"PYTHONHASHSEED": hashing, "POLARS_MAX_THREADS": threads}
        done = subprocess.run(
            [sys.executable, "-c", DIGESTS], env=os.environ | said, capture_output=True, text=True, check=True
        )
        found.add(done.stdout)
    assert len(found) == 1
    assert len(found.pop().split()) == 2


DIGESTS = """
from nilometer.laboratory.storm.seeds import Case, run
for seed in (7, 18):
    print(run(Case(seed, steps=12)).digest)
"""


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
        commit(log, groups, [line._replace(frames=()) for line in lines])

    monkeypatch.setattr(SharedLog, "commit", forgetful)
    assert "given" in str(run(Case(1, frozenset(), steps=12)).wrong)


@pytest.mark.promise("other-declarations")
def test_changed_streams_keep_every_promise() -> None:
    outcome = run(Case(25, frozenset({Fault.KILLS, Fault.STREAMS}), steps=14))
    assert outcome.wrong is None
    assert any("restarts with other streams" in line for line in outcome.trace)


def test_every_version_of_a_query_is_judged() -> None:
    """A changed query answers from where its old text stood, as if it had run all along."""
    outcome = run(Case(18, frozenset({Fault.QUERIES}), steps=28))
    assert outcome.wrong is None
    assert outcome.counts["versions of queries"] > 2


@pytest.mark.promise("rot")
def test_rot_is_noticed_and_repaired_or_harmless() -> None:
    tally = run_all(Case(seed, frozenset({Fault.ROT}), steps=20) for seed in ROTTEN)
    assert tally.wrong == []
    assert tally.counts["rotten files repaired"] > 0


def test_a_query_that_is_declared_again_does_not_take_the_state_of_a_dropped_one() -> None:
    assert run(Case(1096, ALL)).wrong is None
