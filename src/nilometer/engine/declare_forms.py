"""What a declaration says about the form of its data (FROM, EACH, FORMAT) -> the catalog's `Form`, checked."""

from __future__ import annotations

import codecs
import re
from dataclasses import replace
from typing import NoReturn
from zoneinfo import ZoneInfo

from nilometer.catalog.form import Form, Format
from nilometer.catalog.json_path import PathError, is_path, parse_path
from nilometer.errors import CatalogError, Span
from nilometer.language import ast

DIRECTIVES = "YymdHIMSfpbBjzse"
"""The letters that may follow % in TIME FORMAT, besides %% and %-d and their like (no leading zero)."""

_TEXT_ONLY = ("HEADER", "DELIMITER", "QUOTE", "DECIMAL", "SKIP", "ENCODING", "CLOCK")
"""The options that only CSV has."""


def form_of(
    columns: tuple[ast.ColumnDefinition, ...],
    each: ast.Origin | None,
    format: ast.Format | None,
    text: str | None,
) -> Form:
    """The form of a declared extent; an error points at the culprit in `text`."""
    origins = []
    for definition in columns:
        if definition.origin is not None:
            _check_origin(definition.origin, text)
            origins.append((definition.name.lower(), definition.origin.text))
    if each is not None:
        _check_path(each, text)
        if format is not None and format.kind != "JSON":
            _fail(text, each, f"EACH is for JSON, not for {format.kind}", "leave EACH or FORMAT out")
    declared = None if format is None else _format(format, text)
    return Form(tuple(origins), None if each is None else each.text, declared)


def _check_origin(origin: ast.Origin, text: str | None) -> None:
    if not origin.text.strip():
        _fail(text, origin, "FROM needs the name of a field", "such as FROM ts_utc, or FROM '$.a.b'")
    if is_path(origin.text):
        _check_path(origin, text)


def _check_path(origin: ast.Origin, text: str | None) -> None:
    try:
        parse_path(origin.text)
    except PathError as error:
        raise error.at(text, _place(origin, error.place, text)) from None


def _place(origin: ast.Origin, place: int, text: str | None) -> Span:
    """The span from an offset in a string to its end. In the text, a quote in a string is doubled."""
    written = "" if text is None else text[origin.span.start : origin.span.end]
    start = 1
    for _ in range(place):
        start += 2 if written.startswith("''", start) else 1
    return Span(min(origin.span.start + start, origin.span.end - 1), origin.span.end - 1)


def _format(format: ast.Format, text: str | None) -> Format:
    found = Format(format.kind)
    for option in format.options:
        if format.kind != "CSV" and option.word in _TEXT_ONLY:
            _fail(text, option, f"{option.word} is an option of CSV, not of {format.kind}")
        found = _with_option(found, option, text)
    return found


def _with_option(found: Format, option: ast.FormatOption, text: str | None) -> Format:
    match option.word, option.value:
        case "HEADER", bool() as header:
            return replace(found, header=header)
        case "SKIP", int() as skip:
            return replace(found, skip=skip)
        case "NULL", tuple() as nulls:
            return replace(found, nulls=nulls)
        case "DELIMITER", str() as delimiter:
            delimiter = {"\\t": "\t", "TAB": "\t"}.get(delimiter, delimiter)
            if len(delimiter) != 1 or not delimiter.isascii() or delimiter in '"\r\n':
                _fail(text, option, "DELIMITER is one character", "such as ';', or 'TAB'")
            return replace(found, delimiter=delimiter)
        case "QUOTE", str() as quote:
            if len(quote) > 1 or not quote.isascii() or quote in ("\r", "\n"):
                _fail(
                    text, option, "QUOTE is one character", "such as '\"'; '' means that there are no quotes"
                )
            return replace(found, quote=quote)
        case "DECIMAL", str() as decimal:
            if decimal not in (".", ","):
                _fail(text, option, "DECIMAL is '.' or ','")
            return replace(found, decimal=decimal)
        case "ENCODING", str() as encoding:
            try:
                known = codecs.lookup(encoding)
                "".encode(known.name)
            except (LookupError, ValueError, AttributeError):
                _fail(text, option, f"no encoding '{encoding}'", "such as 'utf-8', 'latin1' or 'cp1252'")
            return replace(found, encoding=known.name)
        case "CLOCK", str() as clock:
            if not clock.strip():
                _fail(text, option, "CLOCK needs the name of a field", "such as CLOCK 'Uhrzeit'")
            return replace(found, clock=clock)
        case "TIMEZONE", str() as zone:
            try:
                ZoneInfo(zone)
            except (KeyError, ValueError, OSError):
                _fail(
                    text,
                    option,
                    f"no time zone '{zone}'",
                    "give an IANA name, such as 'Europe/Zurich' or 'UTC'",
                )
            return replace(found, timezone=zone)
        case "TIME FORMAT", str() as time_format:
            _check_time_format(time_format, option, text)
            return replace(found, time_format=time_format)
        case word, value:
            _fail(text, option, f"{word} cannot be {value!r}")


def _check_time_format(time_format: str, option: ast.FormatOption, text: str | None) -> None:
    found = re.findall(r"%[-_0]?(.?)", time_format)
    strange = next((letter for letter in found if letter not in (*DIRECTIVES, "%")), None)
    if strange is not None:
        letters = " ".join("%" + letter for letter in DIRECTIVES)
        _fail(text, option, f"TIME FORMAT has no directive '%{strange}'", f"the directives are {letters}")
    if "s" in found:
        return
    hours = {"H", "I"} & set(found)
    if not {"Y", "y"} & set(found):
        hint = "such as '%d/%m/%Y %H:%M', or '%s' for seconds since 1970"
        _fail(text, option, "TIME FORMAT has no year", hint)
    if "j" not in found and not ({"d", "e"} & set(found) and {"m", "b", "B"} & set(found)):
        _fail(text, option, "TIME FORMAT has no day and month", "such as '%d/%m/%Y %H:%M'")
    if bool(hours) != ("M" in found) or ("S" in found and not hours):
        _fail(
            text, option, "TIME FORMAT has only a part of the time of day", "write %H:%M, or leave both out"
        )
    if ("I" in found) != ("p" in found):
        _fail(text, option, "TIME FORMAT needs %I and %p together", "or %H for hours up to 23")
    if len(re.findall("%f", time_format)) != len(re.findall(r"%S\.%f", time_format)):
        _fail(text, option, "TIME FORMAT has %f only behind '%S.'", "such as '%H:%M:%S.%f'")


def _fail(text: str | None, node: ast.Node, message: str, hint: str | None = None) -> NoReturn:
    raise CatalogError(message, hint=hint).at(text, node.span)
