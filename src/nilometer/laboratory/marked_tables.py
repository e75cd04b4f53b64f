"""Puts a table into a document, between two marks: `<!-- NAME: begin -->` and `<!-- NAME: end -->`."""

from __future__ import annotations

from pathlib import Path

from nilometer.errors import ConfigurationError


def write_table(document: Path, name: str, text: str) -> None:
    """Replace what stands between the marks."""
    begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
    before, found, rest = document.read_text().partition(begin)
    _, ended, after = rest.partition(end)
    if not found or not ended:
        raise ConfigurationError(f"'{document}' has no place for the table", hint=f"add {begin} and {end}")
    document.write_text(f"{before}{begin}\n{text}\n{end}{after}")
