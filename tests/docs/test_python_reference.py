"""docs/python.md ends with the public methods and their docstrings, as they are in the code."""

from __future__ import annotations

import inspect
from pathlib import Path
from textwrap import wrap
from typing import Any

import nilometer
from nilometer.engine import Answer, Database, Query
from nilometer.pictures.answer_chart import Chart

PAGE = Path(__file__).resolve().parents[2] / "docs" / "python.md"
BEGIN, END = "<!-- reference: begin -->", "<!-- reference: end -->"


def reference() -> str:
    lines = ["", *_entry("nilometer.connect", nilometer.connect, "###")]
    for kind in (Database, Query, Answer, Chart):
        lines += [f"### {kind.__name__}", "", *_prose(inspect.getdoc(kind) or "")]
        for name, member in vars(kind).items():
            if name.startswith("_"):
                continue
            if inspect.isfunction(member):
                lines += _entry(f"{kind.__name__}.{name}", member, "####")
            elif hasattr(member, "fget") or hasattr(member, "func"):
                says = inspect.getdoc(member) or ""
                assert says, f"{kind.__name__}.{name} has no docstring"
                lines += [f"#### `{kind.__name__}.{name}`", "", *_prose(says)]
    return "\n".join(lines)


def _entry(name: str, function: Any, level: str) -> list[str]:
    says = inspect.getdoc(function) or ""
    assert says, f"{name} has no docstring"
    parameters = [p for p in inspect.signature(function).parameters.values() if p.name != "self"]
    shown = inspect.Signature([p.replace(annotation=inspect.Parameter.empty) for p in parameters])
    return [f"{level} `{name}{shown}`", "", *_prose(says)]


def _prose(text: str) -> list[str]:
    """Paragraphs, wrapped; a numpydoc list of parameters becomes a list."""
    lines: list[str] = []
    for paragraph in text.split("\n\n"):
        rows = paragraph.splitlines()
        if len(rows) > 1 and set(rows[1].strip()) == {"-"}:
            for row in rows[2:]:
                if row.startswith(" "):
                    lines[-1] += " " + row.strip()
                else:
                    lines.append(f"- `{row.rstrip(':')}`:")
            lines = [
                part
                for line in lines
                for part in wrap(line, 110, subsequent_indent="  " if line.startswith("-") else "")
            ]
        else:
            lines += wrap(" ".join(paragraph.split()), 110, break_long_words=False, break_on_hyphens=False)
        lines.append("")
    return lines


def test_the_reference_is_what_the_docstrings_say(rewrite: bool) -> None:
    text = PAGE.read_text(encoding="utf-8")
    before, rest = text.split(BEGIN)
    found, after = rest.split(END)
    expected = reference()
    if rewrite:
        PAGE.write_text(before + BEGIN + expected + END + after, encoding="utf-8")
        return
    assert found == expected, "run ./nilo test tests/docs --rewrite and read the diff"
