"""docs/reliability.md: the tables of promises are those that the command makes of today's tests."""

from __future__ import annotations

import re
from pathlib import Path

from nilometer.laboratory.storm.promises import (
    ITEMS,
    Outcome,
    kept,
    outside_table,
    promise_table,
    promises,
    read_report,
)

ROOT = Path(__file__).parents[2]


def rows_of(name: str) -> list[list[str]]:
    page = (ROOT / "docs" / "reliability.md").read_text()
    _, _, table = page.partition(f"<!-- {name}: begin -->")
    lines = table.partition(f"<!-- {name}: end -->")[0].splitlines()
    return [
        [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        for line in lines
        if line.startswith("|")
    ][2:]


def cells(table: str) -> list[list[str]]:
    rows = [line for line in table.splitlines() if line.startswith("|")][2:]
    return [[cell.strip() for cell in re.split(r"(?<!\\)\|", row)[1:-1]] for row in rows]


def test_the_table_has_every_promise_and_every_marked_test() -> None:
    known = promises(ROOT)
    table = promise_table(known, kept(ROOT, "today"), kept(ROOT, "before"))
    shown = rows_of("promises")
    again = "renew it: ./nilo storm --promises --write docs/reliability.md"
    assert shown == cells(table), again
    assert [row[1] for row in shown if not row[2].isdecimal() or row[2] == "0"] == [], (
        "nobody has tried these"
    )
    assert [row[1] for row in shown if row[2] != row[3]] == [], "these are not kept"
    outside = outside_table(known, kept(ROOT, "today"), kept(ROOT, "before"))
    assert rows_of("outside") == cells(outside), again


def test_every_item_of_the_issue_has_a_promise_and_every_promise_a_test() -> None:
    known = promises(ROOT)
    assert [one.name for one in known if not one.tests] == []
    assert {one.item for one in known} == set(ITEMS)


def test_a_report_is_read(tmp_path: Path) -> None:
    (tmp_path / "report.xml").write_text(
        """<testsuites><testsuite>
        <testcase file="tests/a.py" name="test_x[1]"><properties><property name="seen" value="3 of 4"/></properties>
        </testcase>
        <testcase file="tests/a.py" name="test_x[2]"><failure message="AssertionError: gone&#10;more"/></testcase>
        <testcase file="tests/a.py" name="test_y"><skipped message="no broker"/></testcase>
        </testsuite></testsuites>"""
    )
    assert read_report(tmp_path / "report.xml") == {
        "tests/a.py::test_x": Outcome(2, 1, 0, ("3 of 4", "gone")),
        "tests/a.py::test_y": Outcome(skipped=1),
    }
