"""What the data directory holds beside what was declared: said in notes, once, and only of streams that were read."""

from __future__ import annotations

from pathlib import Path

import pytest

import nilometer
from nilometer import NilometerError


def opened(directory: Path, schema: str, **files: str) -> nilometer.Database:
    (directory / "schema.sql").write_text(schema)
    for name, text in files.items():
        (directory / name.replace("__", ".")).write_text(text)
    return nilometer.connect(directory)


def test_a_stream_without_a_file_is_noted_when_it_is_asked(tmp_path: Path) -> None:
    schema = "CREATE STREAM s (v INT) PUSHED; CREATE STREAM r (v INT) PUSHED;"
    db = opened(tmp_path, schema, r__csv="time,id,v\n1,1,1\n", S_data__csv="time,id,v\n")
    assert len(db.sql("SELECT * FROM r").run()) == 1
    assert db.data.notes == []
    for _ in range(2):
        assert len(db.sql("SELECT * FROM s").run()) == 0
    assert db.data.notes == [
        f"no file for s in {tmp_path.name}/ (looked for s.csv, s.jsonl ...; found S_data.csv)"
    ]


def test_two_files_for_one_stream_are_refused(tmp_path: Path) -> None:
    with pytest.raises(NilometerError, match=r"2 files for 's': s\.csv, s\.jsonl"):
        opened(tmp_path, "CREATE STREAM s (v INT) PUSHED;", s__csv="time,id,v\n", s__jsonl="")


def test_missing_columns_text_ids_and_empty_files_are_noted(tmp_path: Path) -> None:
    schema = "CREATE STREAM s (v INT) PUSHED; CREATE STREAM e (v INT) PUSHED;"
    db = opened(tmp_path, schema, s__csv="time,id,vv,n\n1,1,1,1\n2,2,2,2\n3,x9,3,3\n", e__csv="")
    assert len(db.sql("SELECT id, v FROM s").run()) == 3
    assert db.data.notes == [
        "ids of s are text, because of 'x9' in line 4; declare id INT to set such rows aside",
        "s.csv has no column 'v' (found time, id, vv, n): it is NULL; did you mean 'vv'?",
    ]
    assert len(db.sql("SELECT * FROM e").run()) == 0
    assert db.data.notes[2:] == ["e.csv is empty"]
