"""The unit before a stream's log: cuts, restarts and refused writes change nothing, and the books balance."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ingest.manager.streams import KEYED, PUSHED, Reading, result
from ingest.manager.test_entrance import NOW, open_entrance
from log.logs import scratch
from nilometer.catalog.extents import Stream, stream_columns
from nilometer.catalog.form import Form
from nilometer.catalog.through import Through
from nilometer.engine import connect
from nilometer.engine.declaration import statement_of
from nilometer.errors import NilometerError, ResourceError
from nilometer.ingest.manager import Entrance
from nilometer.language import print_statement
from nilometer.log.letters import last_letters
from nilometer.types import FLOAT, SECOND, Column
from nilometer.workers import settings as python
from nilometer.workers import units, worker
from nilometer.workers.meanwhile import meanwhile
from nilometer.workers.settings import PythonSettings

HERE = Path(__file__).parent.parent.parent / "workers"


@pytest.fixture(autouse=True)
def allowed(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(python, "_taken", [PythonSettings(str(HERE))])
    yield
    units.close_idle()


def summed(unit: str = "units:Sums", like: Stream = PUSHED) -> Stream:
    """A stream of sums, whose readings arrive as depths."""
    through = Through("sums", unit, "depth FLOAT", (3.0,))
    return replace(like, columns=stream_columns((Column("total", FLOAT),)), form=Form(through=through))


def rows_of(entrance: Entrance) -> list[tuple[object, ...]]:
    return [row for entry in entrance.log.read() for row in entry.rows.rows()]  # type: ignore[union-attr]


def twin(readings: list[Reading]) -> tuple[list[tuple[int, int, float]], int]:
    """The rows for the log, and how many readings are refused."""
    seen: dict[int, list[float]] = {}
    rows, refused = [], 0
    for time, identity, depth in readings:
        if time is None or depth == 13:
            refused += 1
            continue
        values = seen.setdefault(identity, [])
        values.append(depth)
        if len(values) == 3:
            rows.append((time, identity, sum(values)))
            values.clear()
    return rows, refused


readings_ = st.lists(
    st.tuples(
        st.integers(0, 50).map(lambda n: n * SECOND) | st.none(),
        st.integers(1, 3),
        st.sampled_from((1.0, 2.0, 4.5, 13.0)),
    ),
    max_size=25,
)


@settings(max_examples=25)
@given(readings_, st.lists(st.integers(1, 6), min_size=1), st.lists(st.booleans(), min_size=1))
def test_cuts_and_restarts_change_nothing(
    readings: list[Reading], cuts: list[int], restarts: list[bool]
) -> None:
    stream = summed()
    with scratch() as folder:
        entrance = open_entrance(stream, folder)
        at = turn = 0
        while at < len(readings):
            size = cuts[turn % len(cuts)]
            entrance.admit(result(readings[at : at + size]), NOW)
            at += size
            if restarts[turn % len(restarts)]:
                entrance.log.flush()
                entrance.log.abandon()
                entrance = open_entrance(stream, folder)
            turn += 1
        rows, refused = twin(readings)
        assert rows_of(entrance) == rows
        books = entrance.ledger
        assert books.balanced
        assert (books.received, books.appended, books.garbled) == (len(readings), len(rows), refused)
        assert books.absorbed == len(readings) - refused - len(rows)
        entrance.log.close()


def refuse(*_: object, **__: object) -> None:
    raise ResourceError("the disk is full")


def test_a_refused_write_takes_the_readings_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stream = summed()
    entrance = open_entrance(stream, tmp_path)
    readings: list[Reading] = [(second * SECOND, 1, float(second)) for second in range(1, 6)]
    entrance.admit(result(readings[:2]), NOW)
    with monkeypatch.context() as patch:
        patch.setattr(entrance.log.writer, "append", refuse)
        with pytest.raises(ResourceError, match="full"):
            entrance.admit(result(readings[2:]), NOW)
    assert entrance.ledger.received == 2
    entrance.admit(result(readings[2:]), NOW)
    assert rows_of(entrance) == [(3 * SECOND, 1, 6.0)]
    assert entrance.ledger.balanced


def test_a_reading_that_ends_the_process_costs_its_result_and_nothing_else(tmp_path: Path) -> None:
    entrance = open_entrance(summed(), tmp_path)
    entrance.admit(result([(1 * SECOND, 1, 1.0), (2 * SECOND, 1, 1.0)]), NOW)
    entrance.admit(result([(3 * SECOND, 2, 1.0), (4 * SECOND, 1, 666.0)]), NOW)
    entrance.admit(result([(5 * SECOND, 1, 1.0)]), NOW)
    assert rows_of(entrance) == [(5 * SECOND, 1, 3.0)]
    assert entrance.ledger.as_dict()["absorbed"] == 2
    reasons = last_letters(entrance.log.files)["reason"].to_list()
    assert len(reasons) == 2
    assert all("ended its worker process" in reason for reason in reasons)
    assert entrance.ledger.balanced


def test_nobody_reads_on_while_the_unit_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The owner's loop reads on while a query waits for a worker, but a source must not be entered again."""
    entrance = open_entrance(summed(), tmp_path)
    waits: list[int] = []

    def slow(reads: list[int], writes: list[int], others: list[int], patience: float) -> object:
        waits.append(1)
        return ([], [], []) if len(waits) % 2 else (reads, writes, others)

    monkeypatch.setattr(worker.select, "select", slow)
    readings: list[Reading] = [(second * SECOND, 1, 1.0) for second in range(1, 4)]
    with meanwhile(lambda: pytest.fail("entered again")):
        entrance.admit(result(readings[:2]), NOW)
        entrance.admit(result(readings[2:]), NOW)
    assert len(waits) > 4
    assert rows_of(entrance) == [(3 * SECOND, 1, 3.0)]


@pytest.mark.parametrize(
    ("unit", "reason"),
    [("units:Doubling", "several rows for one reading"), ("units:Greedy", "keeps 1,000,001 bytes")],
)
def test_units_that_do_not_fit_before_a_log(tmp_path: Path, unit: str, reason: str) -> None:
    entrance = open_entrance(summed(unit), tmp_path)
    entrance.admit(result([(1 * SECOND, 1, 1.0), (2 * SECOND, 1, 1.0)]), NOW)
    assert entrance.ledger.garbled == entrance.ledger.received == 2
    assert reason in last_letters(entrance.log.files)["reason"][0]


def test_doubles_are_found_among_its_rows_and_its_version_is_on_record(tmp_path: Path) -> None:
    entrance = open_entrance(summed(like=replace(KEYED, key=("id", "total"))), tmp_path)
    entrance.admit(result([(second * SECOND, 1, 1.0) for second in range(1, 7)]), NOW)
    assert (entrance.ledger.appended, entrance.ledger.duplicate, entrance.ledger.absorbed) == (1, 1, 4)
    entrance.log.flush()
    note = entrance.log.note
    assert note is not None
    assert {**note["through"], "state": ""} == {
        "name": "sums", "unit": "units:Sums", "version": "3", "numbers": [3.0], "state": ""
    }  # fmt: skip


# ---- as it is declared -----------------------------------------------------------------------------------------------

DECLARED = "CREATE STREAM s (total FLOAT) PUSHED FROM '{0}' THROUGH 'units:Sums'(depth FROM '$.d' WITH (2)) KEY (id, time)"


def test_it_is_declared_and_shown() -> None:
    database = connect()
    python._taken[:] = [PythonSettings(str(HERE))]
    database.execute(DECLARED.format("mqtt://h/x"))
    stream = database.catalog.stream("s")
    assert [str(column) for column in stream.arriving.columns][2:] == ["depth FLOAT"]
    assert stream.arriving.form.origin("depth") == "$.d"
    assert Form.from_json(json.loads(json.dumps(stream.form.as_json()))) == stream.form
    assert "THROUGH 'units:Sums'(depth FROM '$.d' WITH (2.0))" in print_statement(statement_of(stream))
    assert "THROUGH" in database.show("STREAMS")[0]["form"]
    with pytest.raises(NilometerError, match="come through the unit"):
        database.append("s", pl.DataFrame({"time": [1], "id": [1], "total": [1.0]}))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("(x FLOAT) PUSHED THROUGH 'units:Sums'(depth)", "gives (total FLOAT)"),
        ("(total FLOAT) PUSHED THROUGH 'units:Sums'(a, b)", "takes 1 columns, not 2"),
        ("(total FLOAT) PUSHED THROUGH 'units:Sums'(time)", "every unit is given 'time'"),
        ("(total FLOAT FROM t) PUSHED THROUGH 'units:Sums'(depth)", "'total' comes from the unit"),
        ("(total FLOAT) PUSHED THROUGH 'units:Sums'(depth WITH (n))", "takes numbers, no parameters"),
        ("(total FLOAT) PUSHED THROUGH sums(depth)", "no unit 'sums'"),
        ("(total FLOAT) SENSED EVERY 1 SECOND THROUGH sums(depth)", "expected"),
    ],
)
def test_declarations_that_are_refused(text: str, message: str) -> None:
    database = connect()
    python._taken[:] = [PythonSettings(str(HERE))]
    with pytest.raises(NilometerError) as caught:
        database.execute(f"CREATE STREAM s {text}")
    assert message in str(caught.value)
