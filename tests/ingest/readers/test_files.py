"""Files to streams: every format, every type, and what happens to what cannot be read."""

from __future__ import annotations

import gzip
import json
from datetime import UTC, datetime
from pathlib import Path

import polars as pl
import pytest

from nilometer.catalog.extents import Stream, stream_columns
from nilometer.catalog.form import Form, Format
from nilometer.errors import DataError
from nilometer.ingest.readers import (
    csv_file,
    files,
    is_data_file,
    read,
    read_file,
    read_frame,
    sniff_id_type,
    sniff_ids,
    values,
)
from nilometer.types import BOOLEAN, FLOAT, INT, POINT, SECOND, STRING, TIME, Column

ALL = Stream(
    "all",
    stream_columns(
        (
            Column("depth", INT),
            Column("level", FLOAT),
            Column("note", STRING),
            Column("wet", BOOLEAN),
            Column("seen", TIME),
            Column("place", POINT),
        )
    ),
)
EXPECTED = [
    (0, 1, 20, 1.5, "a, b", True, 1_000_000, {"x": 1.0, "y": 2.0}),
    (500_000, 2, -3, None, None, False, None, None),
    (60_000_000, None, None, None, "", None, 7, {"x": -1.5, "y": 2e3}),
]
CSV = """\
Seen,TIME,id,depth,level,note,wet,place,extra
1970-01-01T00:00:01Z,1970-01-01T00:00:00Z,1,20,1.5,"a, b",true,1 2,x
,1970-01-01 00:00:00.5,2,-3,nan,,0,,
7,60000000,,,inf,"",,"[-1.5, 2e3]",y
"""
OBJECTS = [
    {
        "time": "1970-01-01T00:00:00Z",
        "id": 1,
        "depth": 20,
        "level": 1.5,
        "note": "a, b",
        "wet": True,
        "seen": "1970-01-01T00:00:01",
        "place": [1, 2],
        "extra": {"a": 1},
    },
    {"time": 500_000, "ID": 2, "Depth": -3.0, "wet": 0, "level": None},
    {"time": "1970-01-01T02:01:00+02:00", "note": "", "seen": 7, "place": "-1.5 2e3"},
]


def lines(objects: list[dict[str, object]]) -> str:
    return "\n".join(map(json.dumps, objects))


def parquet(path: Path) -> None:
    pl.DataFrame(
        {
            "time": [0, 500_000, 60_000_000],
            "Id": [1, 2, None],
            "depth": [20.0, -3.0, None],
            "level": [1.5, float("nan"), float("-inf")],
            "note": ["a, b", None, ""],
            "wet": [True, False, None],
            "seen": [
                datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC),
                None,
                datetime(1970, 1, 1, 0, 0, 0, 7, tzinfo=UTC),
            ],
            "place": [{"x": 1.0, "y": 2.0}, None, {"x": -1.5, "y": 2e3}],
        },
        schema_overrides={"seen": pl.Datetime("us", "UTC"), "Id": pl.Int32},
    ).write_parquet(path)


@pytest.mark.parametrize(
    "name", ["all.csv", "all.csv.gz", "all.jsonl", "all.ndjson.gz", "all.json", "all.parquet"]
)
def test_every_type_in_every_format(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    if "parquet" in name:
        parquet(path)
    else:
        text = (CSV if "csv" in name else lines(OBJECTS)).encode()
        path.write_bytes(gzip.compress(text) if name.endswith("gz") else text)
    rows = read_file(path, ALL)
    assert rows.columns == ["time", "id", "depth", "level", "note", "wet", "seen", "place"]
    assert [str(kind) for kind in rows.dtypes[:6]] == [
        "Int64",
        "Int64",
        "Int64",
        "Float64",
        "String",
        "Boolean",
    ]
    assert rows.rows() == EXPECTED


def test_a_json_array_is_read_as_well(tmp_path: Path) -> None:
    path = tmp_path / "all.json"
    path.write_text(json.dumps(OBJECTS, indent=2))
    assert read_file(path, ALL).rows() == EXPECTED


RIVER = Stream("river", stream_columns((Column("depth", INT),)))


def test_garbled_rows_of_csv_are_left_out_counted_and_kept_with_their_line(tmp_path: Path) -> None:
    path = tmp_path / "river.csv"
    path.write_text("time,id,depth\n1,1,5\n2,1,deep\n\n3,1\nsoon,1,7\n4,1,8,9\n,1,9\n5,1,2.5\n6,1,10\n")
    reading = read(path, RIVER)
    assert reading.rows.rows() == [(1, 1, 5), (6, 1, 10)]
    assert reading.garbled == 6
    assert reading.received == 8
    assert [str(letter) for letter in reading.dead_letters] == [
        "line 3: depth is 'deep', not an INT",
        "line 5: 2 fields where 3 are named",
        "line 6: time is 'soon', not a TIME",
        "line 7: 4 fields where 3 are named",
        "line 8: no time",
        "line 9: depth is '2.5', not an INT",
    ]


def test_garbled_lines_of_json_are_left_out_counted_and_kept_with_their_line(tmp_path: Path) -> None:
    path = tmp_path / "river.jsonl"
    path.write_text(
        '{"time":1,"depth":5}\n{"time":2,\n\n[1,2]\n{"time":3,"depth":"deep"}\n{"depth":4}\n{"time":6,"depth":10}\n'
    )
    reading = read(path, RIVER)
    assert reading.rows.rows() == [(1, None, 5), (6, None, 10)]
    assert [str(letter) for letter in reading.dead_letters] == [
        "line 2: not a JSON object",
        "line 4: not a JSON object",
        "line 5: depth is 'deep', not an INT",
        "line 6: no time",
    ]
    assert reading.garbled == 4


def test_only_the_first_few_letters_are_kept_but_all_are_counted(tmp_path: Path) -> None:
    path = tmp_path / "river.csv"
    path.write_text("time,depth\n" + "x,1\n" * 500 + "1,1\n")
    reading = read(path, RIVER)
    assert (reading.rows.height, reading.garbled, len(reading.dead_letters)) == (1, 500, 10)


@pytest.mark.parametrize("name", ["river.csv", "river.jsonl"])
def test_a_byte_that_is_no_text_spoils_its_own_row_only(tmp_path: Path, name: str) -> None:
    stream = Stream("river", stream_columns((Column("note", STRING),)))
    path = tmp_path / name
    if name.endswith("csv"):
        path.write_bytes(b"\xef\xbb\xbftime,note\n1,caf\xc3\xa9\n2,caf\xe9\n3,tea\n")
    else:
        path.write_bytes(
            b'{"time":1,"note":"caf\xc3\xa9"}\n{"time":2,"note":"caf\xe9"}\n{"time":3,"note":"tea"}\n'
        )
    reading = read(path, stream)
    assert reading.rows["note"].to_list() == ["café", "tea"]
    assert str(reading.dead_letters[0]).endswith("bytes that are not UTF-8 text")


def test_quoted_fields_may_hold_separators_quotes_and_line_ends(tmp_path: Path) -> None:
    stream = Stream("river", stream_columns((Column("note", STRING),)))
    path = tmp_path / "river.csv"
    path.write_text('time;note\r\n1;"a;""b""\nc"\r\n2;plain\r\n')
    assert read_file(path, stream)["note"].to_list() == ['a;"b"\nc', "plain"]


@pytest.mark.parametrize(
    ("text", "rows", "garbled"),
    [
        ('1,1,"1\n"\n2,1,"2\n\n3,1,3\n4,1,4\n', [(3, 1, 3), (4, 1, 4)], [2, 3, 4]),
        ('1,1,2\n2,1,"2\n3,1,3\n4,"1",3\n5,1,4\n', [(1, 1, 2), (3, 1, 3), (4, 1, 3), (5, 1, 4)], [3]),
        ('1,1,"2\n2,1,3\n3,1,"4\n4,1,5\n', [(2, 1, 3), (4, 1, 5)], [2, 4]),
        ('1,1,"2"\n2,1,5"\n3,1,4\n', [(1, 1, 2), (3, 1, 4)], [3]),
    ],
)
def test_a_quote_that_is_not_closed_spoils_its_own_line_only(
    tmp_path: Path, text: str, rows: list[tuple[int, ...]], garbled: list[int]
) -> None:
    path = tmp_path / "river.csv"
    path.write_text("time,id,depth\n" + text)
    reading = read(path, RIVER)
    assert reading.rows.rows() == rows
    assert [letter.line for letter in reading.dead_letters] == garbled
    assert reading.received == sum(1 for line in text.splitlines() if line)


def test_numbers_as_times_have_the_declared_unit(tmp_path: Path) -> None:
    stream = Stream("river", stream_columns((Column("time", INT), Column("depth", INT))), time_unit=SECOND)
    path = tmp_path / "river.csv"
    path.write_text("time,depth\n1,1\n1.25,2\n-2,3\n99999999999999999,4\n1970-01-01T00:00:09Z,5\n")
    reading = read(path, stream)
    assert reading.rows["time"].to_list() == [1_000_000, 1_250_000, -2_000_000, 9_000_000]
    assert reading.garbled == 1


def test_missing_columns_are_null_and_others_ignored(tmp_path: Path) -> None:
    path = tmp_path / "river.csv"
    path.write_text("time,height\n1,2\n")
    assert read_file(path, RIVER).rows() == [(1, None, None)]


@pytest.mark.parametrize(
    ("name", "text"), [("r.csv", "time,id,Depht\n1,1,2\n"), ("r.jsonl", '{"time":1,"id":1,"Depht":2}\n')]
)
def test_a_declared_column_that_is_missing_is_noted(tmp_path: Path, name: str, text: str) -> None:
    path = tmp_path / name
    path.write_text(text)
    note = f"{name} has no column 'depth' (found time, id, Depht): it is NULL; did you mean 'Depht'?"
    assert read(path, RIVER).notes == (note,)
    assert read(path, RIVER, frozenset({"time", "id"})).notes == ()


def test_an_id_that_is_text_among_numbers_is_named(tmp_path: Path) -> None:
    path = tmp_path / "r.csv"
    path.write_text("time,id\n1,1\n2,2\n3,x9\n")
    assert sniff_ids(path) == (STRING, "'x9' in line 4")
    path.write_text("time,id\n1,a\n2,b\n3,9\n")
    assert sniff_ids(path) == (STRING, None)


def test_an_empty_file_and_one_with_a_header_have_no_rows(tmp_path: Path) -> None:
    path = tmp_path / "river.csv"
    path.write_text("time,depth\n")
    assert read_file(path, RIVER).rows() == []
    assert read(path, RIVER).notes == (
        "river.csv has no column 'id' (found time, depth): it is NULL, so no reading belongs to a sensor; "
        "`nilometer inspect river.csv` proposes a column for it",
    )
    for name in ("river.csv", "river.jsonl", "river.parquet"):
        (tmp_path / name).write_text("")
        reading = read(tmp_path / name, RIVER, frozenset({"time"}))
        assert reading.rows.shape == (0, 3)
        assert reading.notes == (f"{name} is empty",)


@pytest.mark.parametrize(
    ("name", "text"), [("river.csv", "stamp,depth\n1,2\n"), ("river.jsonl", '{"stamp":1,"depth":2}\n')]
)
def test_a_file_without_times_says_which_columns_it_has(tmp_path: Path, name: str, text: str) -> None:
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(DataError) as caught:
        read_file(path, RIVER)
    assert str(caught.value) == (
        f"'{name}' has no column 'time'\n"
        "  detail: columns found: stamp, depth\n"
        "  hint: every reading needs its event time: name that column 'time' in the file"
    )


def test_what_is_no_data_file_is_refused_with_a_hint(tmp_path: Path) -> None:
    (tmp_path / "lake.csv").write_text("time\n")
    with pytest.raises(DataError, match="there is no file") as caught:
        read_file(tmp_path / "river.csv", RIVER)
    assert caught.value.hint == "data files there: lake.csv"
    with pytest.raises(DataError, match="is not supported"):
        read_file(tmp_path / "river.xls", RIVER)
    (tmp_path / "dir.csv").mkdir()
    with pytest.raises(DataError, match="is a directory"):
        read_file(tmp_path / "dir.csv", RIVER)
    (tmp_path / "cut.csv.gz").write_bytes(gzip.compress(b"time\n1\n" * 100)[:-9])
    with pytest.raises(DataError, match="not a whole gzip file"):
        read_file(tmp_path / "cut.csv.gz", RIVER)
    (tmp_path / "not.parquet").write_bytes(b"hello")
    with pytest.raises(DataError, match="Parquet file that cannot be read"):
        read_file(tmp_path / "not.parquet", RIVER)
    assert is_data_file("a.CSV.gz")
    assert not is_data_file("schema.sql")


@pytest.mark.parametrize(
    ("text", "expected"),
    [("time,id\n1,5\n2,\n", INT), ("time,ID\n1,5\n2,b7\n", STRING), ("time\n1\n", None), ("time,id\n", INT)],
)
def test_the_type_of_ids_is_found_in_the_file(tmp_path: Path, text: str, expected: object) -> None:
    path = tmp_path / "river.csv"
    path.write_text(text)
    assert sniff_id_type(path) == expected


def test_text_ids_are_garbled_where_int_was_declared_and_read_where_string_was(tmp_path: Path) -> None:
    path = tmp_path / "river.csv"
    path.write_text("time,id,depth\n1,b7,1\n2,8,2\n")
    assert read(path, RIVER).garbled == 1
    stream = Stream("river", stream_columns((Column("depth", INT),), STRING))
    assert read_file(path, stream)["id"].to_list() == ["b7", "8"]


def test_a_frame_is_checked_like_a_file() -> None:
    reading = read_frame(pl.DataFrame({"Time": [1, None, 3], "depth": ["7", "8", "x"]}), RIVER)
    assert reading.rows.rows() == [(1, None, 7)]
    assert reading.garbled == 2


MAPPED = Stream(
    "river",
    stream_columns((Column("depth", INT), Column("again", INT))),
    form=Form((("time", "ts"), ("depth", "$.level.cm"), ("again", "$.level.cm"))),
)


@pytest.mark.parametrize("name", ["r.jsonl", "r.parquet"])
def test_columns_come_from_fields_and_paths(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    frame = pl.DataFrame({"ts": [1, 2], "id": [7, 8], "level": [{"cm": 5}, {"cm": None}]})
    (frame.write_ndjson if name.endswith("jsonl") else frame.write_parquet)(path)
    assert read_file(path, MAPPED).rows() == [(1, 7, 5, 5), (2, 8, None, None)]


def test_a_stranger_among_json_lines_is_set_aside(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    path.write_text(
        '{"time":1,"depth":5}\nx\n{"time":2,"deep":6}\n\n{"time":3,"depth":null}\n{"time":"y","depth":1}\n'
    )
    reading = read(path, RIVER)
    assert reading.rows["time"].to_list() == [1, 3]
    assert [(letter.line, letter.reason) for letter in reading.dead_letters] == [
        (2, "not a JSON object"),
        (3, "no declared column in it: it has time, deep; expected depth"),
        (6, "time is 'y', not a TIME"),
    ]
    assert reading.garbled == 3


def test_a_format_names_a_file_of_any_ending(tmp_path: Path) -> None:
    path = tmp_path / "export.dat"
    path.write_text("time|id|depth\n1|~7~|5\n2|8|~x\ny~\n")
    form = Form(format=Format("CSV", delimiter="|", quote="~"))
    stream = Stream("river", stream_columns((Column("depth", STRING),)), form=form)
    assert read_file(path, stream).rows() == [(1, 7, "5"), (2, 8, "x\ny")]
    with pytest.raises(DataError, match=r"the format of 'export\.dat' is not supported"):
        read_file(path, RIVER)


CLEAN = "Time,id,depth,level\n" + "".join(
    f"2026-01-01T00:00:{s:02}Z, s{s % 3} ,{s},{s / 4}\n" for s in range(60)
)


@pytest.mark.parametrize(
    "text",
    [
        CLEAN,
        CLEAN.replace("\n", "\r\n"),
        "\n \n" + CLEAN.replace(":31Z", ":31") + "\n\n",
        "\ufeff" + CLEAN,
        "\ufeff\n" + CLEAN,
        CLEAN.replace(",31,", ",deep,"),
        CLEAN.replace(",31,", ",,"),
        CLEAN.replace(",31,", ',"31",'),
        CLEAN.replace(",31,", ",31,,"),
        CLEAN.replace(",31,", ",31,\ufffd"),
        CLEAN.replace("2026-01-01T00:00:31Z", "1767225600"),
        CLEAN.replace("2026-01-01T00:00:31Z", ""),
        CLEAN.replace("Time", "moment"),
        CLEAN.replace("level", "lvl"),
        "time,id\n" + "".join(f"{s},{s % 3}\n" for s in range(60)),
        "time,id\n" + "".join(f"{s},{s % 3}\n" for s in (*range(50), 1_767_225_600)),
    ],
)
@pytest.mark.parametrize("unit", [None, SECOND])
def test_a_long_file_is_read_in_pieces_as_it_is_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, unit: int | None
) -> None:
    def told() -> tuple[object, ...]:
        try:
            found = read(path, stream)
        except DataError as error:
            return error.message, error.detail, error.hint
        rows = found.rows
        return (
            rows.to_dict(as_series=False),
            rows.schema,
            found.garbled,
            found.dead_letters,
            found.notes,
            found.unknown,
        )

    path = tmp_path / "long.csv"
    path.write_text(text, newline="")
    stream = Stream(
        "long",
        stream_columns((Column("id", STRING), Column("depth", INT), Column("level", FLOAT))),
        time_unit=unit,
    )
    whole = told()
    monkeypatch.setattr(files, "TEXT", 100)
    monkeypatch.setattr(values, "PART", 4)
    monkeypatch.setattr("nilometer.ingest.readers.lines.PIECE", 60)
    monkeypatch.setattr(csv_file, "PIECE", 0)
    assert told() == whole


def test_of_a_long_file_without_faults_only_a_piece_is_text_in_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: Path) -> bytes:
        raise AssertionError(f"{path.name} is read whole")

    path = tmp_path / "long.csv"
    path.write_text(CLEAN)
    stream = Stream("long", stream_columns((Column("id", STRING), Column("depth", INT))))
    monkeypatch.setattr(files, "TEXT", 100)
    monkeypatch.setattr(files, "contents", refuse)
    rows = read(path, stream).rows
    assert (rows["depth"].to_list(), rows["id"].to_list()[:4]) == (list(range(60)), ["s0", "s1", "s2", "s0"])
    path.write_text(CLEAN.replace(",31,", ",deep,"))
    with pytest.raises(AssertionError, match="read whole"):
        read(path, stream)
