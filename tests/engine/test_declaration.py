"""Forms in declarations: what is refused and why, and declarations that are printed and declared again."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nilometer.catalog.extents import Stream
from nilometer.catalog.form import Format
from nilometer.engine.declaration import statement_of
from nilometer.engine.declare import stream_of
from nilometer.errors import CatalogError, DataError, NilometerError
from nilometer.language import ast, parse, print_statement


def declared(text: str) -> Stream:
    statement = parse(text)
    assert isinstance(statement, ast.CreateStream)
    return stream_of(statement, text)


@pytest.mark.parametrize(
    "text",
    [
        "CREATE STREAM s () PUSHED",
        "CREATE STREAM s (time FROM ts, id FROM 'a b', v FLOAT(32) UNIT 'Cel' FROM '$.a[''b c''][0]') PUSHED",
        "CREATE STREAM s (v INT, id STRING, time INT UNIT 'ms' FROM t) SENSED EVERY 90 SECONDS",
        "CREATE STREAM s (stamp TIME, id STRING FROM dev) PUSHED FROM 'mqtt://h/a/+' DELAY 1500 MILLISECONDS KEY (id)",
        "CREATE STREAM s (v INT) PUSHED EXPECT EVERY 1 HOUR FUTURE 1 DAY EACH '$.obs' FORMAT JSON",
        "CREATE STREAM s (v INT) PUSHED FORMAT CSV (HEADER OFF, DELIMITER 'TAB', QUOTE '', DECIMAL ',', NULL ('', 'NA'), "
        "SKIP 3, ENCODING 'latin1', TIME FORMAT '%d.%m.%y %H:%M:%S.%f', TIMEZONE 'Europe/Zurich')",
    ],
)
def test_a_declaration_of_a_stream_declares_it_again(text: str) -> None:
    stream = declared(text)
    assert declared(print_statement(statement_of(stream))) == stream


@pytest.mark.parametrize(
    ("clause", "message"),
    [
        ("(v FROM a) PUSHED", "the column 'v' needs a type"),
        ("(v INT FROM '') PUSHED", "FROM needs the name of a field"),
        ("(v INT FROM '$.a..b') PUSHED", "'..b' is no step of a JSON path"),
        ("(v INT) PUSHED EACH 'obs'", "the path 'obs' does not begin with $"),
        ("(v INT) PUSHED EACH '$.obs' FORMAT CSV", "EACH is for JSON, not for CSV"),
        ("(v INT) PUSHED FORMAT CSV (DELIMITER '||')", "DELIMITER is one character"),
        ("(v INT) PUSHED FORMAT CSV (QUOTE '<>')", "QUOTE is one character"),
        ("(v INT) PUSHED FORMAT CSV (DECIMAL ';')", "DECIMAL is '.' or ','"),
        ("(v INT) PUSHED FORMAT CSV (ENCODING 'martian')", "no encoding 'martian'"),
        ("(v INT) PUSHED FORMAT CSV (ENCODING 'base64')", "no encoding 'base64'"),
        ("(v INT) PUSHED FORMAT CSV (TIMEZONE 'Mars/North')", "no time zone 'Mars/North'"),
        ("(v INT) PUSHED FORMAT CSV (TIMEZONE '../etc/passwd')", "no time zone '../etc/passwd'"),
        ("(v INT) PUSHED FORMAT CSV (TIMEZONE '')", "no time zone ''"),
        ("(v INT) PUSHED FORMAT CSV (TIME FORMAT '%d/%m/%Q')", "TIME FORMAT has no directive '%Q'"),
        ("(v INT) PUSHED FORMAT CSV (TIME FORMAT '%Y%')", "TIME FORMAT has no directive '%'"),
        ("(v INT) PUSHED FORMAT CSV (TIME FORMAT '%H:%M')", "TIME FORMAT has no year"),
        ("(v INT) PUSHED FORMAT CSV (TIME FORMAT '%Y')", "TIME FORMAT has no day and month"),
        (
            "(v INT) PUSHED FORMAT CSV (TIME FORMAT '%d/%m/%Y %H')",
            "TIME FORMAT has only a part of the time of day",
        ),
        ("(v INT) PUSHED FORMAT CSV (TIME FORMAT '%d/%m/%Y %I:%M')", "TIME FORMAT needs %I and %p together"),
        (
            "(v INT) PUSHED FORMAT CSV (TIME FORMAT '%d/%m/%Y %H:%M %f')",
            "TIME FORMAT has %f only behind '%S.'",
        ),
        ("(v INT) PUSHED FORMAT JSON (DELIMITER ';')", "DELIMITER is an option of CSV, not of JSON"),
    ],
)
def test_what_is_refused(clause: str, message: str) -> None:
    with pytest.raises(CatalogError) as caught:
        declared(f"CREATE STREAM s {clause}")
    assert caught.value.message == message
    assert caught.value.span is not None


@given(
    st.lists(
        st.sampled_from([*"%Y %m %d %H %M %S %f %I %p %b %B %j %z %s %e %y %% / : . T".split(), " "]),
        max_size=8,
    )
)
def test_a_time_format_that_is_accepted_can_be_used(parts: list[str]) -> None:
    import polars as pl

    from nilometer.ingest.readers.local_times import parse_local_times

    time_format = "".join(parts)
    try:
        quoted = time_format.replace("'", "''")
        declared(
            f"CREATE STREAM s (v INT) PUSHED FORMAT CSV (TIME FORMAT '{quoted}', TIMEZONE 'Europe/Zurich')"
        )
    except NilometerError:
        return
    rules = Format("CSV", time_format=time_format, timezone="Europe/Zurich")
    with suppress(DataError):  # such as two different years
        parse_local_times(pl.Series(["2026-01-31 12:00", "x", None, "1772344800"]), rules)
