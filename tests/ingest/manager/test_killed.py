"""kill -9 anywhere between source and log: nothing acknowledged is lost, nothing with a KEY doubled, the books balance."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from ingest.manager import kill_me
from ingest.manager.streams import KEYED, Reading
from nilometer.dataflow.ledger import StreamLedger
from nilometer.log import LogDirectory
from nilometer.log.failpoints import FAILPOINTS
from nilometer.types import DAY

TESTS = Path(__file__).parents[2]


def nursery(*arguments: object) -> list[str]:
    """What the process said that bears the children and sees them die."""
    environment = os.environ | {"POLARS_MAX_THREADS": "1", "PYTHONPATH": str(TESTS)}
    command = [sys.executable, kill_me.__file__, *map(str, arguments)]
    return subprocess.run(
        command, env=environment, stdout=subprocess.PIPE, text=True, check=True
    ).stdout.splitlines()


def expected(batches: int) -> list[Reading]:
    """What the log holds in the end: each key once, at its first coming."""
    return [(kill_me.NOW - DAY + n, n % 3, n / 4) for n in range(5 * batches)]


def check_books(folder: Path, batches: int) -> list[Reading]:
    """As another process sees it: the log has what was acknowledged, once, and says so in its books."""
    log = LogDirectory(folder).log(KEYED)
    rows = [row for frame in log.scan() for row in frame.rows()]
    done = kill_me.acknowledged(folder / "acknowledged")
    assert set(rows) >= {row for number in done for row in kill_me.batch(number)[:5]}
    assert rows == expected(batches)[: len(rows)], "in order, each once"
    note = log.note
    if rows:
        assert note is not None
        ledger = StreamLedger(**note["ledger"])
        assert ledger.balanced
        assert ledger.appended == len(rows)
        assert log.letters()["count"].sum() >= ledger.garbled + ledger.future
    return rows


def check(folder: Path, batches: int) -> None:
    """Right after the last death, and when the rest has come."""
    check_books(folder, batches)
    kill_me.main(folder, batches)
    rows = check_books(folder, batches)
    assert rows == expected(batches)
    assert len(kill_me.acknowledged(folder / "acknowledged")) == batches
    assert not LogDirectory(folder).log(KEYED).verify().damages


@pytest.mark.slow
def test_killed_at_each_failpoint(memory: Path) -> None:
    names = [*(name for name in FAILPOINTS if not name.endswith("cut")), *kill_me.OWN]
    # Early and late; and only a log with a torn tail is cut: that takes two deaths.
    plans = [f"{name}:{number}" for name in names for number in ((1, 2) if "delete" in name else (2, 4))]
    plans += [f"during_write:4,{name}:1" for name in FAILPOINTS if name.endswith("cut")]
    plans += ["after_write:9,before_acknowledge:3,during_aside:2,after_fsync:5"]
    for line in nursery("at_failpoints", memory, *plans):
        assert line.endswith(f" -{signal.SIGKILL.value}"), f"never came there: {line}"
    for plan in plans:
        check(memory / plan, kill_me.BATCHES)


@pytest.mark.long
def test_killed_at_fifty_random_moments(memory: Path) -> None:
    said = nursery("at_random", memory, 20_260_301, 10, 5)
    assert [line.split()[1] for line in said] == [f"-{signal.SIGKILL.value}"] * 50
    for number in range(10):
        check(memory / f"random{number}", kill_me.LONG)
