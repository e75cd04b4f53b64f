"""Reads the files of declarations as rows that know their place: CSV rows a line, GeoJSON features a number.

Values are typed by the content of their whole column: a single `007` keeps every id of the file a string.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from nilometer.catalog.near_misses import near_misses
from nilometer.errors import CatalogError
from nilometer.types import INT_MAXIMUM, INT_MINIMUM

_INTEGER = re.compile(r"0|-?[1-9][0-9]{0,18}")
_NUMBER = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]{1,3})?")


@dataclass(frozen=True)
class CsvRow:
    """A row of a CSV file: its line, and its cells by lower-case column name, without surrounding blanks."""

    path: Path
    line: int
    cells: dict[str, str]

    def fail(self, column: str, message: str, hint: str | None = None) -> NoReturn:
        """Raise a CatalogError that names file, line and column."""
        found = self.cells.get(column, "")
        raise CatalogError(
            f"{self.path.name}, line {self.line}, column '{column}': {message}",
            detail=f"found '{found}'" if found else "found nothing",
            hint=hint,
        )

    def required(self, column: str) -> str:
        """The cell, which must not be empty."""
        if not self.cells.get(column):
            self.fail(column, "a value is missing", f"every row needs a value in '{column}'")
        return self.cells[column]

    def number(self, column: str) -> float | None:
        """The cell as a number, None if it is empty."""
        text = self.cells.get(column, "")
        if not text:
            return None
        if not _NUMBER.fullmatch(text):
            self.fail(column, "not a number", "write it with a decimal point, without unit or blanks")
        return float(text)


@dataclass(frozen=True)
class CsvFile:
    """A CSV file with a header: its columns in their spelling, and its rows."""

    path: Path
    columns: dict[str, str]
    rows: list[CsvRow]

    def require(self, *wanted: str) -> None:
        """Refuse the file if a column is missing."""
        for column in wanted:
            if column not in self.columns:
                raise CatalogError(
                    f"{self.path.name}, line 1: there is no column '{column}'",
                    detail=f"the columns are {', '.join(self.columns.values())}",
                    hint=near_misses(column, self.columns.values()),
                )


def read_text(path: str | Path) -> str:
    """A file's text; a CatalogError if it cannot be read."""
    try:
        return Path(path).read_text(encoding="utf-8-sig")
    except OSError as error:
        reason = error.strerror or "it cannot be read"
        raise CatalogError(f"cannot read '{path}'", detail=reason.lower(), hint="check the path") from None
    except UnicodeDecodeError:
        raise CatalogError(
            f"cannot read '{path}'", detail="it is not text in UTF-8", hint="save it as UTF-8"
        ) from None


def read_csv(path: str | Path) -> CsvFile:
    """Reads a CSV file with a header; the delimiter is the comma, semicolon or tab that the header
    contains."""
    path = Path(path)
    text = read_text(path)
    header_line = text.split("\n", 1)[0]
    delimiter = max(",;\t", key=header_line.count)
    reader = csv.reader(text.splitlines(keepends=True), delimiter=delimiter, strict=True)
    lines: list[tuple[int, list[str]]] = []
    try:
        for cells in reader:
            lines.append((reader.line_num, [cell.strip() for cell in cells]))
    except csv.Error as error:
        raise CatalogError(
            f"{path.name}, line {reader.line_num}: not CSV",
            detail=str(error),
            hint="check the quotes of that line",
        ) from None
    if not lines or not any(lines[0][1]):
        raise CatalogError(f"{path.name} is empty", hint="the first line names the columns")
    columns = _header(path, lines[0][1])
    rows = []
    for number, cells in lines[1:]:
        if not any(cells):
            continue
        if len(cells) > len(columns):
            raise CatalogError(
                f"{path.name}, line {number}: {len(cells)} cells, but the header names {len(columns)} columns",
                detail=f"the first too many is '{cells[len(columns)]}'",
                hint="put text that contains the delimiter in quotes",
            )
        rows.append(CsvRow(path, number, dict(zip(columns, cells, strict=False))))
    return CsvFile(path, columns, rows)


def _header(path: Path, names: list[str]) -> dict[str, str]:
    columns: dict[str, str] = {}
    for place, name in enumerate(names, 1):
        if not name or name.lower() in columns:
            what = f"column '{name}' stands twice" if name else f"column {place} has no name"
            raise CatalogError(f"{path.name}, line 1: {what}", hint="give every column a name of its own")
        columns[name.lower()] = name
    return columns


def typed(texts: Iterable[str]) -> list[Any]:
    """The values of one column, typed by its content: all BOOLEAN, INT or FLOAT, else STRING; empty cells are
    None.

    >>> typed(["1", "2.5", ""]), typed(["1", "x"]), typed(["007"]), typed(["true", "FALSE"])
    ([1.0, 2.5, None], ['1', 'x'], ['007'], [True, False])
    """
    cells = list(texts)
    present = [cell for cell in cells if cell]
    if all(cell.lower() in ("true", "false") for cell in present):
        return [cell.lower() == "true" if cell else None for cell in cells]
    if all(is_integer(cell) for cell in present):
        return [int(cell) if cell else None for cell in cells]
    # A number with a leading zero is a code, unless a decimal point follows.
    if all(_NUMBER.fullmatch(cell) and not re.match(r"[+-]?0[0-9]", cell) for cell in present):
        return [float(cell) if cell else None for cell in cells]
    return [cell or None for cell in cells]


def is_integer(text: str) -> bool:
    """Whether the text is an INT exactly as we would print it, so that reading it as one loses nothing."""
    return bool(_INTEGER.fullmatch(text)) and INT_MINIMUM <= int(text) <= INT_MAXIMUM


@dataclass(frozen=True)
class Feature:
    """A GeoJSON feature: its number in the file, geometry type, positions without altitude, and properties."""

    path: Path
    number: int
    geometry: str | None
    positions: tuple[tuple[float, float], ...]
    properties: dict[str, Any]

    def fail(self, message: str, detail: str | None = None, hint: str | None = None) -> NoReturn:
        """Raise a CatalogError that names file and feature."""
        raise CatalogError(f"{self.path.name}, feature {self.number}: {message}", detail=detail, hint=hint)


def read_geojson(path: str | Path) -> tuple[dict[str, Any], list[Feature]]:
    """The whole object and its features; the `id` of a feature itself is put among its properties."""
    path = Path(path)
    try:
        whole = json.loads(read_text(path))
    except json.JSONDecodeError as error:
        raise CatalogError(
            f"{path.name}, line {error.lineno}, column {error.colno}: not JSON",
            detail=error.msg.lower(),
            hint="check that place in the file",
        ) from None
    features = whole.get("features") if isinstance(whole, dict) else None
    if not isinstance(features, list):
        raise CatalogError(
            f"{path.name} is not GeoJSON", hint='the file must be a {"type": "FeatureCollection", ...}'
        )
    return whole, [_feature(path, number, feature) for number, feature in enumerate(features, 1)]


def _feature(path: Path, number: int, raw: Any) -> Feature:
    properties = raw.get("properties") or {} if isinstance(raw, dict) else None
    geometry = raw.get("geometry") or {} if isinstance(raw, dict) else None
    if not isinstance(properties, dict) or not isinstance(geometry, dict):
        raise CatalogError(f"{path.name}, feature {number}: not a GeoJSON feature")
    if "id" not in properties and "id" in raw:
        properties = {"id": raw["id"]} | properties
    kind = geometry.get("type")
    feature = Feature(path, number, kind, (), properties)
    if kind is None:
        return feature
    if kind not in ("Point", "LineString"):
        feature.fail(f"a {kind} has no use here", hint="use Point and LineString")
    coordinates = geometry.get("coordinates")
    listed: list[Any] = [coordinates] if kind == "Point" else coordinates or []
    try:
        positions = tuple((float(position[0]), float(position[1])) for position in listed)
    except (TypeError, ValueError, IndexError, KeyError):
        feature.fail(
            "its coordinates are not numbers",
            detail=f"found {coordinates!r}",
            hint="write [x, y] or [lon, lat]",
        )
    if len(positions) < (1 if kind == "Point" else 2):
        feature.fail("it has too few coordinates", detail=f"found {coordinates!r}")
    return Feature(path, number, kind, positions, properties)
