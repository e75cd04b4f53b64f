"""docs/reliability.md: every promise in its table names tests that are there."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
ROW = re.compile(r"^\| (?P<promise>[^|]+) \| (?P<tests>`tests/[^|]+) \| (?P<before>[^|]+) \|$", re.MULTILINE)
NAMED = re.compile(r"`(?P<file>tests/[\w/]+\.py)::(?P<test>\w+)`")


def test_every_promise_names_tests_that_are_there() -> None:
    page = (ROOT / "docs" / "reliability.md").read_text()
    _, _, table = page.partition("<!-- promises: begin -->")
    table, _, _ = table.partition("<!-- promises: end -->")
    rows = list(ROW.finditer(table))
    assert len(rows) == table.count("\n| ") - 1, "a row without a test"
    missing = [
        f"{named['file']}::{named['test']}"
        for row in rows
        for named in NAMED.finditer(row["tests"])
        if f"def {named['test']}(" not in (ROOT / named["file"]).read_text()
    ]
    assert missing == []
    assert len(rows) >= 20
