"""Promises of docs/reliability.md as a user meets them: by the command line and by files alone.

Little here knows the program's insides, so the same tests run against older releases: copy this file into their tests.
"""

from __future__ import annotations

import gzip
import json
import os
import stat
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from nilometer.engine import connect
from nilometer.live.starts import BEGINNING
from nilometer.live.station import Station
from nilometer.live.station_settings import StationSettings
from nilometer.log import LogSettings
from promises.outside import (
    COUNTS,
    NILOMETER,
    Run,
    Seen,
    begun_and_killed,
    declare,
    feed,
    megabytes,
    segments,
)


def cut(last: Path) -> None:
    last.write_bytes(last.read_bytes()[:-1_000])


def flip(last: Path) -> None:
    data = bytearray(last.read_bytes())
    data[-600] ^= 0xFF  # in the last readings; a shorter record follows them
    last.write_bytes(data)


def doubled_or_wrong(run: Run, folder: Path, last: str) -> tuple[int, int]:
    """Of the answers: windows up to `last` that are answered twice or lack a reading, and all."""
    _, out, _ = run("answers", "counts", "--data", str(folder), "--json")
    rows = [json.loads(line) for line in out.splitlines()]
    times = Counter((row["tick"], row["id"]) for row in rows)
    bad = [
        row
        for row in rows
        if times[row["tick"], row["id"]] > 1 or (row["n"] != 5 and "T06:05" <= row["tick"][10:16] < last)
    ]
    return len(bad), len(rows)


@pytest.mark.promise("lost-end")
@pytest.mark.parametrize("killed", [False, True])
@pytest.mark.parametrize("harm", [cut, flip, Path.unlink])
def test_1_a_log_that_lost_its_end(
    run: Run, seen: Seen, tmp_path: Path, harm: Callable[[Path], None], killed: bool
) -> None:
    declare(tmp_path)
    feed(tmp_path, 0, 60)
    if killed:
        begun_and_killed(tmp_path)
    else:
        assert run("run", "--data", str(tmp_path), "--json")[0] == 0
    _, before, _ = run("answers", "counts", "--data", str(tmp_path), "--json")
    harm(segments(tmp_path)[-1])
    feed(tmp_path, 60, 60)
    code, _, said = run("run", "--data", str(tmp_path), "--json")
    bad, all_ = doubled_or_wrong(run, tmp_path, "T07:55")
    seen(f"exit {code}, {bad} of {all_} windows doubled or wrong")
    assert code == 1, "the log has lost readings that were answered, and nobody says so"
    assert "120" in said
    assert run("answers", "counts", "--data", str(tmp_path), "--json")[1] == before
    assert run("log", "verify", "--data", str(tmp_path))[0] == 1


@pytest.mark.promise("missing-segment")
def test_2_a_missing_middle_segment(run: Run, seen: Seen, tmp_path: Path) -> None:
    declare(tmp_path)
    feed(tmp_path, 0, 60)
    database = connect(tmp_path)
    with Station(database, tmp_path, StationSettings(logging=LogSettings(segment_bytes=2_500))) as station:
        station.install(database.sql(COUNTS), start=BEGINNING)
        until = time.monotonic() + 60
        station.run(lambda: time.monotonic() > until)
    assert len(segments(tmp_path)) > 3
    segments(tmp_path)[1].unlink()
    code, out, said = run(
        "query",
        "--no-follow",
        "--data",
        str(tmp_path),
        "--json",
        "SELECT COUNT(*) AS n FROM air [RANGE 1 DAY]",
    )
    most = max((json.loads(line)["n"] for line in out.splitlines()), default=0)
    seen(f"exit {code}, an answer from {most} of 120 readings" if most else f"exit {code}, no answer")
    assert code == 1, "it answers from what is left"
    assert "positions" in said
    assert run("log", "replay", "air", "--data", str(tmp_path))[0] == 1
    code, _, said = run("log", "replay", "air", "--data", str(tmp_path), "--allow-gaps")
    assert code == 0
    assert "positions" in said


@pytest.mark.promise("completeness-of-gaps")
def test_2_completeness_counts_what_a_gap_holds(run: Run, tmp_path: Path) -> None:
    declare(
        tmp_path,
        "EXPECT EVERY 1 MINUTE; CREATE SENSOR 1 OF air AT (0.0, 0.0); CREATE SENSOR 2 OF air AT (1.0, 0.0)",
    )
    feed(tmp_path, 0, 60)
    begun_and_killed(tmp_path, segment_bytes=2_500)
    ask = ("query", "--no-follow", "--data", str(tmp_path), "--json")
    whole = "SELECT COMPLETENESS() AS whole FROM air [RANGE 5 MINUTES SLIDE 5 MINUTES]"

    def found(*options: str) -> float:
        code, out, said = run(*ask, *options, whole)
        assert code == 0, said
        return sum(json.loads(line)["whole"] for line in out.splitlines())

    before = found()
    segments(tmp_path)[1].unlink()
    # Where gaps are not noticed, nobody has to allow them.
    options = () if run(*ask, whole)[0] == 0 else ("--allow-gaps",)
    assert found(*options) < before - 1.5


@pytest.mark.promise("other-declarations")
@pytest.mark.parametrize("options", ["DELAY 2 MINUTES", "KEY (id, time)", "FUTURE 1 HOUR"])
def test_3_other_declarations(run: Run, seen: Seen, tmp_path: Path, options: str) -> None:
    declare(tmp_path)
    feed(tmp_path, 0, 33)
    begun_and_killed(tmp_path)
    declare(tmp_path, options)
    feed(tmp_path, 33, 30)
    assert run("run", "--data", str(tmp_path), "--json")[0] == 0
    bad, all_ = doubled_or_wrong(run, tmp_path, "T06:58")
    seen(f"{options}: {bad} of {all_} windows doubled or wrong")
    assert bad == 0


@pytest.mark.promise("verify-reads-all")
def test_7_damage_that_was_read_long_ago(run: Run, tmp_path: Path) -> None:
    declare(tmp_path)
    feed(tmp_path, 0, 60)
    assert run("run", "--data", str(tmp_path), "--json")[0] == 0
    results = [
        path
        for path in (tmp_path / ".nilometer").rglob("*.segment")
        if "log" not in path.relative_to(tmp_path / ".nilometer").parts[:1]
    ]
    data = bytearray(results[0].read_bytes())
    data[len(data) // 2] ^= 0xFF
    results[0].write_bytes(data)
    assert run("log", "verify", "--data", str(tmp_path))[0] == 1, "log verify does not read the answers"


@pytest.mark.promise("newer-files")
def test_6_a_record_of_a_newer_release(run: Run, tmp_path: Path) -> None:
    declare(tmp_path)
    feed(tmp_path, 0, 60)
    begun_and_killed(tmp_path)
    (log,) = segments(tmp_path)
    data = log.read_bytes()
    last = data.rindex(b"NLG1")
    log.write_bytes(data[:last] + b"NLG2" + data[last + 4 :])
    written = log.read_bytes()
    feed(tmp_path, 60, 10)
    code, _, said = run("run", "--data", str(tmp_path), "--json")
    assert log.read_bytes()[: len(written)] == written, "a record of a newer release is cut off"
    assert code == 1
    assert "NLG2" in said


@pytest.mark.promise("old-damage")
def test_7_damage_in_an_old_segment_does_not_stop_readings(run: Run, tmp_path: Path) -> None:
    declare(tmp_path, "KEY (id, time)")
    feed(tmp_path, 0, 60)
    begun_and_killed(tmp_path, segment_bytes=2_500, killed=False)
    oldest = segments(tmp_path)[0]
    data = bytearray(oldest.read_bytes())
    data[-700] ^= 0xFF
    oldest.write_bytes(data)
    feed(tmp_path, 60, 60)
    code, _, said = run("run", "--data", str(tmp_path), "--json")
    assert code == 0, said
    _, out, _ = run("answers", "counts", "--data", str(tmp_path), "--json")
    assert max(json.loads(line)["tick"][11:16] for line in out.splitlines()) >= "07:50", "nothing came in"


@pytest.mark.promise("lost-answers")
def test_7_answers_that_are_lost(run: Run, tmp_path: Path) -> None:
    """The end of the newest file of answers is gone, and a state goes on after it."""
    declare(tmp_path)
    feed(tmp_path, 0, 60)
    assert run("run", "--data", str(tmp_path), "--json")[0] == 0
    results = sorted(
        path
        for path in (tmp_path / ".nilometer").rglob("*.segment")
        if "log" not in path.relative_to(tmp_path / ".nilometer").parts[:1]
    )[-1]
    data = results.read_bytes()
    results.with_suffix(".index").unlink(missing_ok=True)
    # Records of answers, up to the last but two; of the next one a part.
    at = len(data)
    for _ in range(3):
        at = data.rindex(b"NLG1", 0, at)
    results.write_bytes(data[: at + 100])
    assert run("log", "verify", "--data", str(tmp_path))[0] == 1, "nobody notices that answers are lost"


@pytest.mark.promise("poison")
@pytest.mark.parametrize("item", ["x * 2", "SUM(x)"])
def test_9_a_poison_reading(run: Run, tmp_path: Path, item: str) -> None:
    if item == "SUM(x)":
        text = "SELECT SUM(x) AS y FROM air [RANGE 5 MINUTES SLIDE 5 MINUTES]"
    else:
        text = f"SELECT {item} AS y FROM air"
    declare(tmp_path, query=text, type_="INT")
    feed(tmp_path, 0, 10, "1")
    feed(tmp_path, 10, 1, "9223372036854775807")
    feed(tmp_path, 11, 30, "1")
    code, _, said = run("run", "--data", str(tmp_path), "--json")
    assert code == 0, said
    _, out, _ = run("answers", "counts", "--data", str(tmp_path), "--json")
    rows = [json.loads(line)["y"] for line in out.splitlines()]
    assert rows[-1] == (10 if item == "SUM(x)" else 2), "the query has stopped"
    assert "dead" in run("queries", "--data", str(tmp_path))[1]


@pytest.mark.promise("like")
def test_13_a_pattern_that_never_ends(run: Run, tmp_path: Path) -> None:
    (tmp_path / "air.csv").write_text("time,id,name\n2026-03-01T06:00:00Z,1," + "a" * 32 + "\n")
    began = time.process_time()
    code, out, said = run(
        "query",
        "--on",
        "reference",
        "--data",
        str(tmp_path / "air.csv"),
        "--json",
        f"SELECT id FROM air WHERE name LIKE '{'%a' * 16}b'",
    )
    assert (code, out) == (0, ""), said
    assert time.process_time() - began < 30


@pytest.mark.promise("identity")
def test_13_garbage_in_the_identity(run: Run, tmp_path: Path) -> None:
    declare(tmp_path)
    feed(tmp_path, 0, 5)
    (tmp_path / ".nilometer").mkdir(0o700)
    (tmp_path / ".nilometer" / "identity").write_bytes(b"\xff\xfe\0")
    (tmp_path / "schema.sql").write_text(
        "CREATE STREAM air (x FLOAT) PUSHED FROM 'mqtt://127.0.0.1:1/air/{id}?retry=1h';"
    )
    code, _, said = run("query", "--data", str(tmp_path), "--seconds", "0.1", "SELECT * FROM air")
    assert code == 1
    assert "identity" in said


@pytest.mark.promise("keys-bound")
def test_14_keys_do_not_grow_with_the_readings(run: Run, seen: Seen, tmp_path: Path) -> None:
    """The size of all that is kept besides the readings and the answers."""

    def kept(name: str, readings: int) -> int:
        folder = tmp_path / name
        (folder / "in").mkdir(parents=True)
        declare(
            folder, "KEY (id, time)", "SELECT COUNT(*) AS n FROM air [RANGE 1 DAY SLIDE 1 DAY]", batch=1_000
        )
        lines = "".join(f"{1_772_000_000 + second},{1 + second % 2},1\n" for second in range(readings))
        (folder / "in" / "a.csv").write_text("time,id,x\n" + lines)
        code, _, said = run("run", "--data", str(folder), "--json")
        assert code == 0, said
        home = folder / ".nilometer"
        files = [path for path in home.rglob("*") if path.is_file()]
        return sum(path.stat().st_size for path in files if path.relative_to(home).parts[0] != "log")

    many, few = kept("many", 100_000), kept("few", 10_000)
    seen(f"{few // 1000} kB after 10,000 readings, {many // 1000} kB after 100,000")
    assert many < few + 100_000


@pytest.mark.promise("one-setting")
def test_15_a_file_that_unpacks_to_gigabytes(seen: Seen, tmp_path: Path) -> None:
    """A small one, with a small budget. Where there is no such option, the process shows what it takes."""
    packed = tmp_path / "air.csv.gz"
    packed.write_bytes(gzip.compress(b"time,id,x\n" + b"2026-01-01T00:00:00Z,1,2\n" * 6_000_000, 1))
    for options in (("--memory", "100MB"), ()):
        command = [
            *NILOMETER,
            "query",
            *options,
            "--no-follow",
            "--data",
            str(packed),
            "SELECT COUNT(*) FROM air",
        ]
        ended = subprocess.run(command, capture_output=True, text=True, check=False)
        if "No such option" not in ended.stderr:
            break
    peak = megabytes(ended.stderr)
    seen(f"150 MB, packed into {packed.stat().st_size >> 10} kB: exit {ended.returncode}, {peak} MB at most")
    assert ended.returncode == 1
    assert "without its compression" in ended.stderr


@pytest.mark.parametrize(
    "url",
    [
        "http://me:hunter2pw@127.0.0.1:port/x",
        "tcp://me:hunter2pw@127.0.0.1:99999999/x",
        "mqtt://me:hunter2pw@[::1/x",
        "mqtt://me:a/bhunter2pw@127.0.0.1:1/x",
        "mqtt://127.0.0.1:1/x?password=hunter2pw",
    ],
)
def test_16_a_malformed_address_keeps_its_password(run: Run, tmp_path: Path, url: str) -> None:
    (tmp_path / "schema.sql").write_text(f"CREATE STREAM air (x FLOAT) PUSHED FROM '{url}';")
    said = run("query", "--data", str(tmp_path), "--seconds", "0.1", "SELECT * FROM air")
    said += run("streams", "--data", str(tmp_path))
    assert "hunter2pw" not in str(said)


@pytest.mark.promise("redirects")
def test_16_credentials_do_not_follow_a_redirect(run: Run, tmp_path: Path) -> None:
    seen: dict[str, str | None] = {}

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            seen[self.path] = self.headers.get("Authorization")
            away = self.path.startswith("/away")
            self.send_response(302 if away else 200)
            if away:
                self.send_header("Location", f"http://127.0.0.1:{second.server_port}/end")
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Keep quiet."""

    first, second = (ThreadingHTTPServer(("127.0.0.1", 0), Handler) for _ in range(2))
    for server in (first, second):
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    try:
        (tmp_path / "schema.sql").write_text(
            f"CREATE STREAM air (x FLOAT) PUSHED FROM"
            f" 'http://me:hunter2pw@127.0.0.1:{first.server_port}/away?interval=100ms';"
        )
        until = time.monotonic() + 120
        while "/end" not in seen and time.monotonic() < until:
            run("query", "--data", str(tmp_path), "--seconds", "0.5", "SELECT * FROM air")
    finally:
        for server in (first, second):
            server.shutdown()
            server.server_close()
    assert next(said for path, said in seen.items() if path.startswith("/away")) is not None
    assert seen["/end"] is None, "the password went to another server"


@pytest.mark.promise("escapes")
def test_17_escapes_do_not_reach_a_terminal(run: Run, tmp_path: Path) -> None:
    (tmp_path / "air.csv").write_text("time,id,name\n2026-03-01T06:00:00Z,1,\x1b[2Jgone\n")
    code, out, said = run("query", "--data", str(tmp_path / "air.csv"), "SELECT id, name FROM air")
    assert code == 0, said
    assert "\x1b" not in out
    assert "gone" in out


@pytest.mark.promise("private")
def test_18_the_directory_is_for_its_owner(run: Run, tmp_path: Path) -> None:
    declare(tmp_path)
    feed(tmp_path, 0, 5)
    before = os.umask(0o022)
    try:
        assert run("run", "--data", str(tmp_path), "--json")[0] == 0
    finally:
        os.umask(before)
    made = [tmp_path / ".nilometer", *(tmp_path / ".nilometer").rglob("*")]
    assert [path for path in made if stat.S_IMODE(path.lstat().st_mode) & 0o077] == []
