"""After a crash anywhere, reopening gives a prefix that holds all that was acknowledged, each sequence once."""

from __future__ import annotations

import shutil
from pathlib import Path

import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from log.logs import COLUMNS, CrashError, FailAt, frame, open_log, rows_of, scratch
from nilometer.log import Letter, StreamLog
from nilometer.log.local_files import ASIDE
from nilometer.log.record import records_in
from nilometer.log.segment import INDEX, SEGMENT

pytestmark = pytest.mark.slow

Step = int | str
"""How many rows to append, or 'heartbeat', 'letters', 'demand', 'flush', 'close'."""

STEPS = st.lists(
    st.one_of(
        st.integers(0, 12), st.sampled_from(["heartbeat", "letters", "demand", "flush", "close", "evolve"])
    ),
    min_size=1,
    max_size=8,
)


class Machine(FailAt):
    """Runs the steps until the failpoint; knows which bytes were durable, and what was acknowledged."""

    def __init__(self, folder: Path, at: int) -> None:
        super().__init__(CrashError, at)
        self.folder = folder
        self.durable_bytes: dict[str, int] = {}
        self.durable_names: set[str] = set()
        self.aside: dict[str, int] = {}
        self.returned = 0
        self.flushed = 0
        self.bounds = [0]
        self.notes: list[object] = [None]
        self.said: dict[str, list[int]] = {"letters": [], "demand": []}
        self.known = self.settled = (0, 0)

    def __call__(self, name: str) -> None:
        if name == "after_fsync":
            self.durable_bytes |= {f.name: f.stat().st_size for f in self.folder.glob("*" + SEGMENT)}
        elif name == "after_aside":
            # Fsynced before it gets its name: under that name it is whole, or it is not there.
            self.aside = {f.stem: f.stat().st_size for f in self.folder.glob("*" + ASIDE)}
        elif name == "after_rename":
            self.durable_bytes |= self.aside
        elif name in ("after_directory_fsync", "after_delete"):
            self.durable_names = {f.name for f in self.folder.iterdir()}
        super().__call__(name)

    def run(self, steps: list[Step], **options: object) -> bool:
        """Whether it came to the end."""
        log = open_log(self.folder, self, **options)
        try:
            rows = 0
            for sequence, step in enumerate(steps):
                if isinstance(step, int):
                    self.bounds.append(rows + step)
                    self.notes.append({"rows": rows + step, "letters": len(self.said["letters"])})
                    log.append(frame(rows, step), producer="p", sequence=sequence, note=self.notes[-1])
                    rows += step
                elif step == "letters":
                    self.said["letters"].append(sequence)
                    self.notes.append({"rows": rows, "letters": len(self.said["letters"])})
                    log.writer.letters([letter(sequence)], note=self.notes[-1])
                elif step == "demand":
                    self.said["demand"].append(sequence)
                    log.writer.demand({"number": sequence})
                elif step == "evolve":
                    log.evolve(COLUMNS if "w" in log.columns else {**COLUMNS, "w": pl.Int64()})
                elif step == "heartbeat":
                    log.heartbeat(rows)
                elif step == "flush":
                    log.flush()
                else:
                    log.close()
                self.returned = rows
                self.known = (len(self.said["letters"]), len(self.said["demand"]))
                if step in ("flush", "close") or options.get("fsync") == "always":
                    self.settled = self.known
                self.flushed = (
                    rows if step in ("flush", "close") or options.get("fsync") == "always" else self.flushed
                )
            log.close()
        except CrashError:
            log.abandon()
            return False
        return True

    def power_cut(self, kept: float) -> None:
        """Of what was not durable, a part is lost: the last bytes of a file, a file's new name."""
        for file in (f for ending in (SEGMENT, INDEX) for f in self.folder.glob("*" + ending)):
            if file.name not in self.durable_names and kept < 0.5:
                file.unlink()
                continue
            durable, size = self.durable_bytes.get(file.name, 0), file.stat().st_size
            with file.open("r+b") as handle:
                handle.truncate(durable + int((size - durable) * kept))


def letter(number: int) -> Letter:
    """A letter that tells its place."""
    return Letter(number, f"s{number}", "why", bytes([number, 255]))


def check(
    machine: Machine, steps: list[Step], acknowledged: int, said: tuple[int, int], **options: object
) -> None:
    """A prefix, then the same steps once more."""
    seen = StreamLog(machine.folder).note
    log = open_log(machine.folder, **options)
    found = log.writer.end.position
    letters = log.letters()["arrived"].to_list()
    assert letters == machine.said["letters"][: len(letters)]
    demands = [change["number"] for change in log.demands()]
    assert demands == machine.said["demand"][: len(demands)]
    assert (len(letters), len(demands)) >= said
    note = log.writer.note
    assert note == seen, "a reader knows the same note"
    assert note in machine.notes
    # The note stands or falls with its record: it is that of the last rows and letters there are.
    assert note is None or note == {"rows": found, "letters": len(letters)}
    assert found >= acknowledged
    assert found in machine.bounds, "an append is in the log whole or not at all"
    assert_frame_equal(rows_of(log), frame(0, found))
    assert not log.verify().damages
    assert log.note == note
    rows = 0
    for sequence, step in enumerate(steps):
        if isinstance(step, int):
            log.append(frame(rows, step), producer="p", sequence=sequence)
            rows += step
    log.flush()
    assert_frame_equal(rows_of(log), frame(0, rows))
    log.close()
    assert not log.verify().damages
    assert_frame_equal(rows_of(StreamLog(machine.folder)), frame(0, rows))


@settings(max_examples=8)
@given(STEPS, st.sampled_from([600, 2_000, 50_000]), st.sampled_from(["always", "interval", "never"]))
def test_any_crash_leaves_a_prefix(steps: list[Step], segment_bytes: int, fsync: str) -> None:
    at, done = 0, False
    while not done:
        at += 1
        with scratch() as folder:
            machine = Machine(Path(folder), at)
            done = machine.run(steps, segment_bytes=segment_bytes, fsync=fsync)
            check(machine, steps, machine.returned, machine.known, segment_bytes=segment_bytes, fsync=fsync)


@settings(max_examples=60)
@given(
    STEPS,
    st.sampled_from([600, 50_000]),
    st.sampled_from(["always", "interval"]),
    st.integers(1, 120),
    st.floats(0, 1),
)
def test_a_power_cut_loses_nothing_durable(
    steps: list[Step], segment_bytes: int, fsync: str, at: int, kept: float
) -> None:
    with scratch() as folder:
        machine = Machine(Path(folder), at)
        machine.run(steps, segment_bytes=segment_bytes, fsync=fsync)
        machine.power_cut(kept)
        check(machine, steps, machine.flushed, machine.settled, segment_bytes=segment_bytes, fsync=fsync)


@settings(max_examples=30)
@given(STEPS, st.integers(1, 120), st.integers(2, 30))
def test_gathered_appends_are_durable_after_flush(steps: list[Step], at: int, gather: int) -> None:
    with scratch() as folder:
        machine = Machine(Path(folder), at)
        machine.run(steps, gather_rows=gather)
        check(machine, steps, machine.flushed, machine.settled, gather_rows=gather)


def test_torn_at_every_byte_of_the_last_record(memory: Path) -> None:
    whole = memory / "whole"
    log = open_log(whole, segment_bytes=1 << 20)
    log.append(frame(0, 5), producer="p", sequence=0)
    before = next(whole.glob("*" + SEGMENT)).stat().st_size
    log.append(frame(5, 3), producer="p", sequence=1)
    log.abandon()
    after = next(whole.glob("*" + SEGMENT)).stat().st_size
    for size in range(before, after + 1):
        torn = memory / "torn"
        shutil.copytree(whole, torn)
        with next(torn.glob("*" + SEGMENT)).open("r+b") as file:
            file.truncate(size)
        kept = 8 if size == after else 5
        assert_frame_equal(rows_of(StreamLog(torn)), frame(0, kept))
        log = open_log(torn, segment_bytes=1 << 20)
        assert log.writer.torn == (0 if size == after else size - before)
        assert log.append(frame(5, 3), producer="p", sequence=1).duplicate == (size == after)
        assert_frame_equal(rows_of(log), frame(0, 8))
        log.close()
        assert not log.verify().damages
        shutil.rmtree(torn)


@settings(max_examples=40)
@given(
    st.lists(st.integers(0, 40), max_size=10),
    st.integers(300, 8_000),
    st.integers(1, 60),
    st.integers(0, 100),
)
def test_round_trip_by_scan_and_by_reader(
    sizes: list[int], segment_bytes: int, limit: int, from_position: int
) -> None:
    with scratch() as folder:
        log = open_log(Path(folder), segment_bytes=segment_bytes)
        for size in sizes:
            log.append(frame(log.end.position, size), arrived=7)
            log.heartbeat(log.end.position)
        total = frame(0, sum(sizes))
        assert_frame_equal(rows_of(log), total)
        found = list(log.scan(from_position, ["v", "@position"]))
        expected = total.select("v", pl.col("time").alias("@position"))[from_position:]
        assert_frame_equal(pl.concat([expected.clear(), *found]), expected)
        reader = log.reader("r")
        entries = []
        while read := reader.read(limit):
            assert sum(e.rows.height for e in read if e.rows is not None) <= limit
            entries += read
            # A new reader at the same offset goes on just so.
            reader.commit(read[-1].after)
            reader = log.reader("r")
        rows = [e.rows for e in entries if e.rows is not None]
        assert_frame_equal(pl.concat([total.clear(), *rows]), total)
        beats = [e.tick for e in entries if e.rows is None]
        assert beats == [sum(sizes[: i + 1]) for i in range(len(sizes))]
        assert all(e.arrived == 7 for e in entries if e.rows is not None)
        log.close()
        assert not log.verify().damages


@pytest.mark.parametrize("ending", [INDEX, ".aside"])
def test_what_an_old_crash_left_does_no_harm(tmp_path: Path, ending: str) -> None:
    log = open_log(tmp_path)
    log.append(frame(0, 5))
    log.close()
    (tmp_path / f"{99:020d}-{9:012d}{ending}").write_bytes(b"x")
    log = open_log(tmp_path)
    log.append(frame(5, 5))
    log.close()
    assert not log.verify().damages
    assert_frame_equal(rows_of(log), frame(0, 10))


def test_a_repeated_append_is_durable_when_it_is_acknowledged(tmp_path: Path) -> None:
    log = open_log(tmp_path)
    log.append(frame(0, 5), producer="p", sequence=0)
    log.abandon()
    synced = FailAt(CrashError, 1_000, "after_fsync")
    log = open_log(tmp_path, synced)
    token = log.append(frame(0, 5), producer="p", sequence=0)
    assert token.duplicate
    assert log.durable(token)
    assert synced.passed, "the dead process had not made it durable"
    log.close()


def test_a_segment_that_lost_its_producers_still_takes_each_sequence_once(memory: Path) -> None:
    log = open_log(memory, segment_bytes=600)
    log.append(frame(0, 5), producer="p", sequence=0)
    log.append(frame(5, 5), producer="p", sequence=1)
    log.evolve({**COLUMNS, "w": pl.Int64()})
    log.abandon()
    last = max(memory.glob("*" + SEGMENT))
    whole = last.read_bytes()
    schema = next(iter(records_in(pa.py_buffer(whole)))).end
    assert schema < len(whole)
    for size in range(schema, len(whole), 8):
        with scratch() as folder:
            torn = Path(folder) / "log"
            shutil.copytree(memory, torn)
            with (torn / last.name).open("r+b") as file:
                file.truncate(size)
            for sequence in (1, 2):
                log = open_log(torn)
                token = log.append(frame(5 * sequence, 5), producer="p", sequence=sequence)
                assert token.duplicate == (sequence == 1)
                log.abandon()
            assert open_log(torn).append(frame(10, 5), producer="p", sequence=2).duplicate
            assert (torn / last.name).stat().st_size == size, "what was settled is not cut off"
            assert_frame_equal(rows_of(StreamLog(torn, COLUMNS)), frame(0, 15))
