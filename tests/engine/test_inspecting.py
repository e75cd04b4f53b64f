"""Whatever the columns are called, the proposed declaration is one that can be executed."""

from __future__ import annotations

from pathlib import Path

import polars as pl
from hypothesis import given
from hypothesis import strategies as st

import nilometer
from nilometer.engine.inspecting import inspect
from nilometer.engine.inspecting.dialect import Dialect, dialect_of, dialect_of_bytes
from nilometer.engine.inspecting.from_json import json_sample
from nilometer.engine.inspecting.inspection import inspect_sample
from nilometer.engine.inspecting.sample import Sample
from nilometer.types import SECOND

NAMES = st.one_of(
    st.sampled_from(
        ["select", "from", "time", "id", "tick", "Time", "group", "a b", "PM2.5 (ug/m3)", "5", "it's", "é"]
    ),
    st.text(st.characters(codec="utf-8", exclude_categories=("Cs", "Cc")), min_size=1, max_size=8),
)


@given(st.lists(NAMES, min_size=1, max_size=5, unique_by=str.lower), st.integers(3, 12))
def test_the_declaration_of_any_columns_can_be_executed(names: list[str], rows: int) -> None:
    columns = {name: [str(n) for n in range(rows)] for name in names if name.lower() != "timestamp"}
    columns = {"timestamp": [f"2026-01-01T00:00:{n:02}Z" for n in range(rows)], **columns}
    found = inspect_sample(Sample("s", "s.csv", pl.DataFrame(columns)))
    made = nilometer.connect()
    made.execute(found.declaration)
    assert len(made.catalog.stream("s").columns) >= len(columns)


JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-9, 9), st.floats(-5, 5), st.text(max_size=4)),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(NAMES, inner, max_size=3)),
    max_leaves=8,
)


@given(st.lists(JSON, min_size=1, max_size=4))
def test_any_messages_can_be_looked_at(messages: list[object]) -> None:
    import json

    payloads = [json.dumps(message).encode() for message in messages]
    sample = json_sample(
        payloads, "s", "s", arrived=[n * SECOND for n in range(len(payloads))], url="mqtt://h/t"
    )
    if sample.columns.height and sample.columns.width:
        nilometer.connect().execute(inspect_sample(sample).declaration)


def test_the_dialects_of_csv() -> None:
    assert dialect_of("") == Dialect()
    assert dialect_of("# made by x\n# y\na\tb\n1\t2\n") == Dialect("\t", skip=2)
    assert dialect_of('a,b\n"x, y",2\n') == Dialect(",")
    assert dialect_of("sep=;\nZeit;Wert\n2026-01-01;1,5\n") == Dialect(";", decimal=",", skip=1)
    rows = "".join(f"{n},2026-01-01 00:0{n},5\n" for n in range(1, 9))
    assert dialect_of(f"Plot Title: hut\n\n#,Date Time,Temp\n{rows}").skip == 2
    assert (
        dialect_of(f"Date Time,Temp\n{rows}").skip == 0
    )  # a header that lacks the row names, as R writes it
    assert dialect_of("2026-01-01;3,5;1.5\n2026-01-02;4,5;2.5\n").decimal == ","
    assert dialect_of("a;b\n1.5;2\n").decimal is None
    assert dialect_of('a,b\n"1,234.5",2\n').decimal == "."
    assert dialect_of("a;b\n1.234,5;2\n").decimal == ","
    assert dialect_of('a,b\n"1,234",2\n').decimal is None
    assert dialect_of("a,b\n1.5,x\nN/A,-\n").nulls == ("N/A",)
    assert dialect_of("ts,773869\n2026-01-01,5\n").header
    assert not dialect_of("773869,5\n773870,6\n").header
    assert dialect_of_bytes("a;Gerät\n1;2\n".encode("cp1252")).encoding == "cp1252"
    assert dialect_of_bytes("a;Gerät\n1;2\n".encode()[:-8]).encoding is None  # the last character is cut
    assert dialect_of_bytes(b"a;b\n1;\xff\x81\n").encoding is None  # no text of Windows: a damaged line


def test_a_year_of_two_digits_is_of_this_century(tmp_path: Path) -> None:
    path = tmp_path / "hut.csv"
    path.write_text("when,temp\n" + "".join(f"01/{day}/26 06:00:00 PM,{day}\n" for day in range(10, 20)))
    assert "TIME FORMAT '%m/%d/%y %I:%M:%S %p'" in inspect(str(path)).declaration
    (first, *_) = nilometer.connect(path).sql("SELECT time FROM hut").run()
    assert first["time"].isoformat() == "2026-01-10T18:00:00+00:00"


def test_a_column_without_a_name_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "flux.csv"
    path.write_text(
        "#group,false\n,time,host,_value\n" + "".join(f",2026-01-01T0{n}:00Z,a,{n}\n" for n in range(9))
    )
    assert "FROM ''" not in inspect(str(path)).declaration
    assert [row["value"] for row in nilometer.connect(path).sql("SELECT value FROM flux").run()] == [
        *range(9)
    ]


def test_the_gateways_that_heard_a_message_are_no_readings() -> None:
    """A message of The Things Network is one reading, however many gateways heard it."""
    heard = '"rx_metadata": [{"rssi": -97, "time": "2026-03-01T06:00:00Z"}, {"rssi": -113}]'
    payloads = [
        f'{{"end_device_ids": {{"device_id": "soil-{n % 2}"}}, "received_at": "2026-03-01T06:0{n}:00Z",'
        f' "uplink_message": {{"decoded_payload": {{"moisture": {n}.5}}, {heard}}}}}'.encode()
        for n in range(6)
    ]
    sample = json_sample(payloads, "soil", "soil.jsonl")
    assert sample.each is None
    assert sample.columns["moisture"].to_list() == [f"{n}.5" for n in range(6)]
    # An array beside nothing but a time and a name is what the message brings.
    collected = [b'{"time": "2026-03-01T06:00:00Z", "id": "a", "obs": [{"v": 1}, {"v": 2}]}'] * 3
    assert json_sample(collected, "s", "s.jsonl").each == "$.obs"
