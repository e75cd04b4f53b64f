"""Reads the plain part of YAML that our files use: maps, lists and scalars by indentation. PyYAML is in no lock of ours."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def load(path: Path) -> Any:
    """The document of a file; raises ValueError for what it does not know."""
    lines = []
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.strip() and not line.lstrip().startswith("#"):
            if "\t" in line or (len(line) - len(line.lstrip())) % 2:
                raise ValueError(f"odd indentation: {line!r}")
            lines.append(line)
    found, rest = _block(lines, 0)
    if rest:
        raise ValueError(f"cannot read {rest[0]!r}")
    return found


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _block(lines: list[str], indent: int) -> tuple[Any, list[str]]:
    if lines and lines[0].lstrip().startswith("- "):
        return _list(lines, indent)
    found: dict[str, Any] = {}
    while lines and _indent(lines[0]) == indent and not lines[0].lstrip().startswith("- "):
        name, colon, text = lines[0].strip().partition(":")
        if not colon or (text and not text.startswith(" ")) or name in found:
            raise ValueError(f"cannot read {lines[0]!r}")
        lines = lines[1:]
        if text.strip():
            found[name] = _scalar(text.strip())
        elif lines and _indent(lines[0]) > indent:
            found[name], lines = _block(lines, _indent(lines[0]))
        else:
            found[name] = None
    return found, lines


def _list(lines: list[str], indent: int) -> tuple[list[Any], list[str]]:
    found = []
    while lines and _indent(lines[0]) == indent and lines[0].lstrip().startswith("- "):
        text = lines[0].strip()[2:]
        name, colon, rest = text.partition(":")
        if (
            colon
            and not text.startswith(('"', "[", ".", "/"))
            and (not rest or rest.startswith(" "))
            and name
        ):
            inner = [" " * (indent + 2) + text]
            lines = lines[1:]
            while lines and _indent(lines[0]) > indent:
                inner.append(lines[0])
                lines = lines[1:]
            one, left = _block(inner, indent + 2)
            if left:
                raise ValueError(f"cannot read {left[0]!r}")
            found.append(one)
        else:
            found.append(_scalar(text))
            lines = lines[1:]
    return found, lines


def _scalar(text: str) -> Any:
    if text.startswith(("[", '"', "{")):
        return json.loads(text)
    return int(text) if text.isdecimal() else {"true": True, "false": False}.get(text, text)
