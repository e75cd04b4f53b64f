"""Java, a Python process of Spark, or the owner is killed alone, at random moments, while readings keep coming.

The owner outlives Java and the Python processes, and goes on from the last commit. What belongs to an owner that was killed ends
by itself and commits nothing. In the end the answers are the gateway's: none lost, none doubled.
"""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import nilometer
from nilometer.types import SECOND
from spark.test_kill import SCHEMA, SETTINGS, check, empty_field

pytestmark = [pytest.mark.spark, pytest.mark.slow]

LIFE = Path(__file__).with_name("following_life.py")
PATIENCE = 120.0
START = 1_767_225_600_000_000
FILE = 60
"""The readings of a file, in as many tenths of a second."""
ZYGOTE = "nilometer.spark.warm.zygote"


def follow_folders(folder: Path) -> None:
    """The streams of test_kill.py, each a folder of files that grows."""
    empty_field(folder)
    schema = SCHEMA.format(folder=folder)
    for name in ("river", "rain"):
        (folder / f"{name}-files").mkdir()
        schema = schema.replace(
            f"directory://{folder}/in'", f"directory://{folder}/{name}-files?follow=1'", 1
        )
    (folder / "schema.sql").write_text(schema)


def write(folder: Path, number: int) -> None:
    """The next file of both streams."""
    chance = np.random.default_rng(number)
    for name, column in (("river", "depth"), ("rain", "fall")):
        tenths = number * FILE + np.arange(FILE)
        rows = pl.DataFrame(
            {
                "time": START + (tenths // 10 - chance.integers(0, 6, FILE)) * SECOND,
                "id": chance.integers(0, 6, FILE),
                column: chance.normal(10, 3, FILE).round(3),
            }
        )
        aside = folder / f"{name}-files" / f".{number:05d}.csv"
        rows.write_csv(aside)
        aside.rename(aside.with_name(f"{number:05d}.csv"))


class Life:
    """An owner, and all that it has started, which is in the same session of the system."""

    def __init__(self, folder: Path, readings: int) -> None:
        self.output = folder / f"output-{time.monotonic_ns()}"
        with self.output.open("w") as output:
            self.owner = subprocess.Popen(
                [sys.executable, str(LIFE), str(folder), str(readings)],
                env=os.environ | {"PYTHONWARNINGS": "ignore"},
                stdout=output,
                stderr=output,
                start_new_session=True,
            )

    def processes(self) -> dict[int, tuple[int, str]]:
        """The parent and the command of each process."""
        found = {}
        for place in Path("/proc").glob("[0-9]*"):
            try:
                fields = (place / "stat").read_text().rpartition(")")[2].split()
                command = (place / "cmdline").read_bytes().replace(b"\0", b" ").decode()
            except OSError:
                continue
            if int(fields[3]) == self.owner.pid and fields[0] != "Z":
                found[int(place.name)] = int(fields[1]), command
        return found

    def java(self) -> list[int]:
        return [pid for pid, (_, command) in self.processes().items() if "java" in command.split(" ")[0]]

    def python(self) -> list[int]:
        """The processes in which Spark plans and runs Python, but not the one that they are forked from."""
        return [
            pid
            for pid, (parent, command) in self.processes().items()
            if ZYGOTE in command and parent != self.owner.pid
        ]

    def wait_for(self, found: Callable[[], object]) -> None:
        until = time.monotonic() + PATIENCE
        while not found():
            assert self.owner.poll() is None, self.output.read_text()[-4000:]
            assert time.monotonic() < until, self.output.read_text()[-4000:]
            time.sleep(0.1)

    def wait_for_nobody(self) -> None:
        """Wait until nothing is left of it."""
        until = time.monotonic() + PATIENCE
        while left := self.processes():
            assert time.monotonic() < until, left
            time.sleep(0.1)


def kill(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError):  # it has just ended by itself
        os.kill(pid, signal.SIGKILL)


@pytest.mark.parametrize(
    ("victim", "parts", "deaths"),
    [
        ("java", 1, 2),
        *(
            pytest.param(victim, parts, deaths, marks=pytest.mark.long)
            for victim, deaths in (("java", 15), ("python", 50), ("owner", 15))
            for parts in (1, 2)
        ),
    ],
)
def test_one_is_killed_alone(
    request: pytest.FixtureRequest, tmp_path: Path, victim: str, parts: int, deaths: int
) -> None:
    follow_folders(tmp_path)
    (tmp_path / "nilometer.toml").write_text(SETTINGS.format(parts=parts))
    chance, files = random.Random(f"{victim} {parts}"), 4 * deaths + 10
    life, written = Life(tmp_path, files * FILE), 0
    request.addfinalizer(lambda: [kill(pid) for pid in life.processes()])
    for death in range(deaths):
        life.wait_for(life.python)
        for _ in range(4):
            write(tmp_path, written)
            written += 1
            time.sleep(chance.uniform(0, 0.5 if victim == "python" else 2.5))
        if victim == "owner":
            kill(life.owner.pid)
            life.owner.wait()
            before, life = life, Life(tmp_path, files * FILE)
            before.wait_for_nobody()
        else:
            found = life.java() if victim == "java" else life.python()
            if found:
                kill(chance.choice(sorted(found)))
            assert life.owner.poll() is None, f"death {death}: {life.output.read_text()[-4000:]}"
    while written < files:
        write(tmp_path, written)
        written += 1
    (tmp_path / "stop").touch()
    assert life.owner.wait(2 * PATIENCE) == 0, life.output.read_text()[-4000:]
    life.wait_for_nobody()
    database = nilometer.connect(tmp_path)
    assert all(query.host == "spark" for query in database.queries())
    check(tmp_path)
