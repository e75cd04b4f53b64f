"""Checks declared streams and tables; an invalid one is refused, with the reason."""

from __future__ import annotations

from nilometer.algebra.places import WGS84
from nilometer.catalog.extents import Extent, Stream, Table
from nilometer.catalog.json_path import is_path, parse_path
from nilometer.catalog.near_misses import near_misses
from nilometer.catalog.units import convertible, parse_unit
from nilometer.errors import CatalogError
from nilometer.types import INT_MAXIMUM, Column, Kind, format_duration

COLUMN_KINDS = (Kind.INT, Kind.FLOAT, Kind.STRING, Kind.BOOLEAN, Kind.TIME, Kind.POINT, Kind.VECTOR)


def check_extent(extent: Extent) -> None:
    """Raise a CatalogError if the declaration is invalid."""
    _check_columns(extent)
    _check_form(extent)
    match extent:
        case Stream():
            _check_stream(extent)
        case Table():
            _check_duration(extent, "REFRESH EVERY", extent.refresh, 1)


def _check_columns(extent: Extent) -> None:
    seen: set[str] = set()
    for column in extent.columns:
        if column.name.lower() in seen:
            raise CatalogError(
                f"column '{column.name}' stands twice in '{extent.name}'",
                hint="names ignore case; give one of the two another name",
            )
        seen.add(column.name.lower())
        _check_column(extent, column)


def _check_form(extent: Extent) -> None:
    """The columns that are declared FROM somewhere exist, and the paths can be read."""
    for name, origin in extent.form.origins:
        arriving = extent.arriving if isinstance(extent, Stream) else extent
        if arriving.column(name) is None:
            raise CatalogError(f"'{extent.name}' has no column '{name}' that could come from '{origin}'")
        if is_path(origin):
            parse_path(origin)
    if extent.form.each is not None:
        parse_path(extent.form.each)


def _check_column(extent: Extent, column: Column) -> None:
    if column.type.kind not in COLUMN_KINDS:
        raise CatalogError(
            f"column '{column.name}' of '{extent.name}' cannot be {column.type}",
            hint="a column is INT, FLOAT, STRING, BOOLEAN, TIME, POINT, or a vector such as FLOAT[16]",
        )
    if column.unit is not None and not (column.unit == WGS84 and column.type.kind is Kind.POINT):
        try:
            parse_unit(column.unit)
        except CatalogError as error:
            raise CatalogError(
                f"column '{column.name}' of '{extent.name}': {error.message}",
                detail=error.detail,
                hint=error.hint,
            ) from None


def _check_stream(stream: Stream) -> None:
    time, source = stream.column("time"), stream.column("id")
    if time is None or time.type.kind is not Kind.TIME:
        raise CatalogError(f"stream '{stream.name}' needs a column time of type TIME")
    if source is None or source.type.kind not in (Kind.INT, Kind.STRING):
        raise CatalogError(
            f"stream '{stream.name}' needs a column id that is INT or STRING",
            detail=f"id is {source.type}" if source else None,
            hint="id is the source of a reading: its number or its name",
        )
    _check_coordinates(stream)
    _check_duration(stream, "SENSED EVERY", stream.every, 1)
    _check_duration(stream, "EXPECT EVERY", stream.expect, 1)
    _check_duration(stream, "DELAY", stream.delay, 0)
    _check_duration(stream, "FUTURE", stream.future, 0)
    for name in stream.key:
        # The tick of a sensed reading is not a column, but (id, tick) distinguishes a reading from its
        # duplicates.
        if name.lower() != "tick" and stream.column(name) is None:
            raise CatalogError(
                f"the key of '{stream.name}' names '{name}', which is no column of it",
                hint=near_misses(name, [column.name for column in stream.columns]),
            )


def _check_coordinates(stream: Stream) -> None:
    if stream.coordinates is None or stream.coordinates == WGS84:
        return
    if not convertible(stream.coordinates, "m"):
        raise CatalogError(
            f"COORDINATES of '{stream.name}' are WGS84 or a unit of length",
            detail=f"found '{stream.coordinates}'",
            hint="write COORDINATES WGS84 for longitude and latitude in degrees, or COORDINATES 'm'",
        )


def _check_duration(extent: Extent, clause: str, duration: int | None, least: int) -> None:
    if duration is None or least <= duration <= INT_MAXIMUM:
        return
    short = duration < least
    raise CatalogError(
        f"{clause} of '{extent.name}' is too {'short' if short else 'long'}",
        detail=f"it is {format_duration(duration)}",
        hint="give " + (("a duration above 0" if least else "0 or more") if short else "a shorter one"),
    )
