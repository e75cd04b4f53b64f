"""A mistake in schema.sql is said with the file, the line and the column."""

from __future__ import annotations

from pathlib import Path

import pytest

from nilometer import connect
from nilometer.errors import DataError, NilometerError

STREAM = "CREATE STREAM air (x FLOAT) SENSED EVERY 1 MINUTE;\n"


def refused(place: Path) -> NilometerError:
    with pytest.raises(NilometerError) as caught:
        connect(place)
    return caught.value


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [
        ("CREATE STREAM air (x FLOAT) SENSED\nEVERY 1 MINUTE MINUTE;", 2, 16),
        (STREAM + STREAM, 2, 1),
        (STREAM + "CREATE VIEW v AS\n SELECT y FROM air;", 3, 9),
        (STREAM + "CREATE QUERY q AS\n SELECT y FROM air;", 3, 9),
    ],
)
def test_a_mistake_has_a_file_and_a_line(tmp_path: Path, text: str, line: int, column: int) -> None:
    schema = tmp_path / "schema.sql"
    schema.write_text(text)
    for place in (tmp_path, schema):
        error = refused(place)
        assert f"\n  {schema}, line {line}, column {column}\n" in str(error)
        assert error.as_dict()["file"] == str(schema)


def test_a_mistake_in_a_statement_that_was_typed_has_no_file(tmp_path: Path) -> None:
    (tmp_path / "schema.sql").write_text(STREAM)
    database = connect(tmp_path)
    with pytest.raises(NilometerError) as caught:
        database.sql("SELECT y FROM air")
    assert "schema.sql" not in str(caught.value)


def test_a_file_that_is_no_text(tmp_path: Path) -> None:
    (tmp_path / "schema.sql").write_bytes(b"-- r\xe9publique\n")
    error = refused(tmp_path)
    assert isinstance(error, DataError)
    assert "is not UTF-8 text" in str(error)
    assert "line 1" in str(error)
