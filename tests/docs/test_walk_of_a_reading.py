"""ARCHITECTURE.md's walk of one reading: the calls that it names happen, in its order."""

from __future__ import annotations

import functools
import importlib
import re
import time
from pathlib import Path
from typing import Any

import pytest

from nilometer.engine import connect
from nilometer.live.delivery import deliver
from nilometer.live.starts import BEGINNING
from nilometer.live.station import Station

DOCUMENT = Path(__file__).resolve().parents[2] / "ARCHITECTURE.md"
SCHEMA = """
CREATE STREAM air (x FLOAT) PUSHED FROM 'file://{folder}/air.csv' KEY (id, time);
CREATE QUERY means AS SELECT id, AVG(x) AS mean FROM air [RANGE 1 MINUTE SLIDE 1 MINUTE] GROUP BY id;
"""


def named() -> list[str]:
    text = DOCUMENT.read_text(encoding="utf-8")
    walk = text.split("<!-- walk of a reading: begin -->")[1].split("<!-- walk of a reading: end -->")[0]
    return re.findall(r"^\| `([\w.]+)`", walk, flags=re.MULTILINE)


def observe(path: str, calls: list[str], patch: pytest.MonkeyPatch) -> None:
    """Note the first call of a method."""
    module, owner, method = path.rsplit(".", 2)
    found = getattr(importlib.import_module(f"nilometer.{module}"), owner)
    original = getattr(found, method)

    @functools.wraps(original)
    def noted(*arguments: Any, **options: Any) -> Any:
        # The first round pulls tables, before any reading.
        first_round = owner in ("Group", "Answers") and not len(arguments[1])
        if path not in calls and not first_round:
            calls.append(path)
        return original(*arguments, **options)

    patch.setattr(found, method, noted)


def test_a_reading_goes_the_way_that_is_drawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "air.csv").write_text("time,id,x\n2026-01-01T00:00:30Z,1,4.0\n2026-01-01T00:02:30Z,1,6.0\n")
    (tmp_path / "schema.sql").write_text(SCHEMA.format(folder=tmp_path))
    database = connect(tmp_path)
    calls: list[str] = []
    for path in named():
        observe(path, calls, monkeypatch)
    with Station(database, tmp_path) as station:
        station.install(database.query("means"), "means", durable=True, start=BEGINNING)
        calls.clear()  # installing it looked at the empty log
        deadline = time.monotonic() + 60
        station.run(lambda: time.monotonic() > deadline)
    deliver(database, "means", f"jsonl:{tmp_path}/out.jsonl")
    assert '"mean":4.0' in (tmp_path / "out.jsonl").read_text().replace(" ", "")
    assert calls == named()
