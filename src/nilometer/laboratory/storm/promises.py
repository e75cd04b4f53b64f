"""Runs the tests of the promises and makes the tables of docs/reliability.md from what they report.

    tests/promises/promises.toml ─┐
    @pytest.mark.promise(NAME) ───┼─► pytest, of today's tree and of an older one ─► two tables
    record_property("seen", ...) ─┘

Law: the tables say only what a run of the tests has reported. The last outcome of each test is kept, in `today.json`
and in `before.json`, so that a part of them can be run again, and the older tree need not be at hand.
"""

from __future__ import annotations

import ast
import json
import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from xml.etree import ElementTree

from nilometer.errors import ConfigurationError

HOME = "tests/promises"
"""The folder with the promises' names and with the tests that know little of the program's insides."""
ITEMS = range(1, 24)
MARKERS = "chromium long mosquitto motes nesc postgres promise slow spark"


@dataclass(frozen=True)
class Promise:
    """A promise. `before` tells what was seen on the older tree if no test can be run there."""

    name: str
    item: int
    text: str
    before: str
    tests: tuple[str, ...]


@dataclass(frozen=True)
class Outcome:
    """What the cases of a test reported. `seen` are the figures that it recorded, or its first failure's message."""

    tried: int = 0
    kept: int = 0
    skipped: int = 0
    seen: tuple[str, ...] = ()

    def __add__(self, other: Outcome) -> Outcome:
        return Outcome(
            self.tried + other.tried,
            self.kept + other.kept,
            self.skipped + other.skipped,
            tuple(dict.fromkeys(self.seen + other.seen)),
        )


def marked_tests(root: Path) -> dict[str, list[str]]:
    """The tests of each promise, read from the marks: `{"lost-end": ["tests/x.py::test_y"]}`."""
    found: dict[str, list[str]] = {}
    for path in sorted((root / "tests").rglob("test_*.py")):
        text = path.read_text()
        if "mark.promise(" not in text:
            continue
        for node in ast.parse(text).body:
            if not isinstance(node, ast.FunctionDef):
                continue
            for mark in node.decorator_list:
                if isinstance(mark, ast.Call) and ast.unparse(mark.func) == "pytest.mark.promise":
                    name = str(ast.literal_eval(mark.args[0]))
                    found.setdefault(name, []).append(f"{path.relative_to(root)}::{node.name}")
    return found


def promises(root: Path) -> tuple[Promise, ...]:
    """All promises, in the order of the issue's items, each with its tests."""
    declared = root / HOME / "promises.toml"
    if not declared.is_file():
        raise ConfigurationError("the promises' tests are not here", hint="run it in a clone of the source")
    marked = marked_tests(root)
    given = tomllib.loads(declared.read_text())
    if unknown := set(marked) - set(given):
        raise ConfigurationError(f"no promise '{min(unknown)}' in {HOME}/promises.toml")
    found = (
        Promise(name, one["item"], one["promise"], one.get("before", ""), tuple(marked.get(name, ())))
        for name, one in given.items()
    )
    return tuple(sorted(found, key=lambda promise: promise.item))


def run_tests(root: Path, tests: Iterable[str]) -> dict[str, Outcome]:
    """Run these tests with the tree at `root`, and tell what became of each."""
    with tempfile.TemporaryDirectory(prefix="promises-") as folder:
        report = Path(folder) / "report.xml"
        environment = os.environ | {"PYTHONPATH": str(root / "src")}
        options = ["-q", "-p", "no:cacheprovider", f"--junitxml={report}", "-o", "junit_family=xunit1"]
        # An older tree does not know today's marks, and would refuse them.
        options += ["-o", "markers=" + "\n".join(f"{name}: see pyproject.toml" for name in MARKERS.split())]
        command = [sys.executable, "-m", "pytest", *options, *sorted(set(tests))]
        ended = subprocess.run(command, cwd=root, env=environment, stdout=sys.stderr, check=False)
        if ended.returncode not in (0, 1) or not report.is_file():
            raise ConfigurationError(f"pytest ended with {ended.returncode}", hint="its output says why")
        return read_report(report)


def read_report(report: Path) -> dict[str, Outcome]:
    """pytest's report as an outcome for each test, with its cases together."""
    found: dict[str, Outcome] = {}
    for case in ElementTree.parse(report).getroot().iter("testcase"):
        name = f"{case.get('file')}::{str(case.get('name')).partition('[')[0]}"
        seen = tuple(
            str(one.get("value"))
            for one in case.iter("property")
            if one.get("name") == "seen" and one.get("value")
        )
        wrong = next((one for kind in ("failure", "error") for one in case.iter(kind)), None)
        if case.find("skipped") is not None:
            outcome = Outcome(skipped=1)
        elif wrong is not None:
            outcome = Outcome(tried=1, seen=seen or (said(str(wrong.get("message"))),))
        else:
            outcome = Outcome(tried=1, kept=1, seen=seen)
        found[name] = found.get(name, Outcome()) + outcome
    return found


def said(message: str) -> str:
    """The first line of a failure, as far as a table has room for it."""
    first = message.strip().splitlines()[0] if message.strip() else "failed"
    first = first.removeprefix("AssertionError: ").removeprefix("nilometer.errors.")
    return first if len(first) <= 100 else first[:97] + "..."


def try_older(root: Path, older: Path, chosen: Iterable[Promise]) -> None:
    """Run the tests that know little of the program's insides on an older tree, and keep what it did."""
    if not (older / "src" / "nilometer").is_dir() or older.resolve() == root.resolve():
        raise ConfigurationError(f"'{older}' is no other tree", hint="git worktree add ../older b8415d65")
    shutil.copytree(root / HOME, older / HOME, dirs_exist_ok=True)
    tests = [test for promise in chosen for test in promise.tests if test.startswith(HOME)]
    keep(root, "before", run_tests(older, tests))


def keep(root: Path, tree: str, outcomes: Mapping[str, Outcome]) -> None:
    """Keep these outcomes in `before.json` or `today.json`, in place of older ones of the same tests."""
    together = kept(root, tree) | dict(outcomes)
    lines = {test: asdict(together[test]) for test in sorted(together)}
    (root / HOME / f"{tree}.json").write_text(json.dumps(lines, indent=1, ensure_ascii=False) + "\n")


def kept(root: Path, tree: str) -> dict[str, Outcome]:
    """The last outcome of each test."""
    place = root / HOME / f"{tree}.json"
    found = json.loads(place.read_text()) if place.is_file() else {}
    return {
        test: Outcome(one["tried"], one["kept"], one["skipped"], tuple(one["seen"]))
        for test, one in found.items()
    }


def promise_table(
    all_promises: Iterable[Promise], today: Mapping[str, Outcome], before: Mapping[str, Outcome]
) -> str:
    """A row for each promise, in Markdown."""
    lines = ["| item | promise | cases | kept | the tree before | tests |", "|---:|---|---:|---:|---|---|"]
    for promise in all_promises:
        outcome = sum((today.get(test, Outcome()) for test in promise.tests), Outcome())
        older = sum((before[test] for test in promise.tests if test in before), Outcome())
        then = f"{older.tried - older.kept} of {older.tried} cases fail" if older.tried else promise.before
        tests = ", ".join(f"`{test}`" for test in promise.tests)
        lines.append(
            f"| {promise.item} | {promise.text} | {outcome.tried} | {outcome.kept} | {then} | {tests} |"
        )
    return "\n".join(lines)


def outside_table(
    all_promises: Iterable[Promise], today: Mapping[str, Outcome], before: Mapping[str, Outcome]
) -> str:
    """A row for each test from outside: what both trees did."""
    lines = ["| item | test | the tree before | today |", "|---:|---|---|---|"]
    for promise in all_promises:
        for test in promise.tests:
            if test.startswith(HOME):
                then, now = (told(one.get(test, Outcome())) for one in (before, today))
                lines.append(f"| {promise.item} | `{test.partition('::')[2]}` | {then} | {now} |")
    return "\n".join(lines)


def told(outcome: Outcome) -> str:
    """An outcome in words: `2 of 3 fail: cut off as torn`."""
    if not outcome.tried:
        return "not run"
    failed = outcome.tried - outcome.kept
    text = f"{failed} of {outcome.tried} fail" if failed else "kept"
    figures = "; ".join(outcome.seen[:3]).replace("|", "\\|").replace("\n", " ")
    return f"{text}: {figures}" if figures else text
