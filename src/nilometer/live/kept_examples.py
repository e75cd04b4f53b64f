"""The numbers of examples that installed queries and views keep: `.nilometer/examples/NAME.json` in a data directory.

A file has the text of the query, and the numbers by what they are of: `OF 7 AT ... IN air pm25 ...` or `TABLE shapes`. It is
written before the control log records the declaration, and a restart finds the numbers in it (engine/examples.py).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

from nilometer.errors import DataError

FOLDER = Path(".nilometer") / "examples"
HOLDERS = ("QUERY", "VIEW", "ALERT", "DECISION")
"""The kinds of declarations that may keep examples."""
OF_SOURCE = "OF "
"""What the name of an example that a source has read begins with."""


@dataclass(frozen=True)
class KeptExamples:
    """Numbers by what they are of. Those of a table are pairs of a name and numbers."""

    declared: str = ""
    examples: Mapping[str, list[Any]] = field(default_factory=dict)


def read_kept(directory: Path, name: str) -> KeptExamples:
    """What a query or view keeps."""
    return _read(_path(directory, name))


def of_sources(directory: Path) -> dict[str, list[Any]]:
    """What sources have read, as far as anything installed keeps it. Tables change, so theirs are not shared."""
    files = sorted((directory / FOLDER).glob("*.json"))
    found = {key: numbers for file in files for key, numbers in _read(file).examples.items()}
    return {key: numbers for key, numbers in found.items() if key.startswith(OF_SOURCE)}


def keep(directory: Path, name: str, kept: KeptExamples) -> None:
    """Keep the examples of a query or view; without any, nothing."""
    path = _path(directory, name)
    if not kept.examples:
        path.unlink(missing_ok=True)
    elif _read(path) != kept:
        path.parent.mkdir(parents=True, exist_ok=True)
        new = path.with_suffix(".new")
        new.write_text(json.dumps(asdict(kept)), encoding="utf-8")
        new.replace(path)


def forget(directory: Path, name: str) -> None:
    """The query or view is dropped."""
    _path(directory, name).unlink(missing_ok=True)


def _path(directory: Path, name: str) -> Path:
    return directory / FOLDER / f"{quote(name.lower(), safe='')}.json"


def _read(path: Path) -> KeptExamples:
    try:
        return KeptExamples(**json.loads(path.read_text(encoding="utf-8")))
    except FileNotFoundError:
        return KeptExamples()
    except (ValueError, TypeError):
        raise DataError(
            f"the examples in '{path}' are damaged",
            hint="take the file from a backup; or delete it, and the examples are read again",
        ) from None
