"""Reading observations, by columns and segment by segment, gives what a scan of everything gives, one by one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nilometer.catalog import Stream
from nilometer.log import LogSettings, StreamLog
from nilometer.operators.logic import POSITION
from nilometer.server.sensorthings import columnar, own
from nilometer.server.sensorthings import expressions as ex
from nilometer.server.sensorthings.evaluate import evaluate
from nilometer.server.sensorthings.latest import COUNT, FIRST, Latest, Measure
from nilometer.server.sensorthings.looking import look_of
from nilometer.server.sensorthings.model import Entity, Model
from nilometer.server.sensorthings.observation import Row, entity_of
from nilometer.server.sensorthings.observation_columns import columns_of
from nilometer.server.sensorthings.observations import Reader
from nilometer.server.sensorthings.ordering import sorted_by
from nilometer.server.sensorthings.segments import Order
from nilometer.server.sensorthings.selection import Part
from nilometer.server.sensorthings.sources import Source, observed
from nilometer.server.sensorthings.store import EntityStore
from nilometer.types import BOOLEAN, FLOAT, INT, SECOND, STRING, TIME, Column

STREAM = Stream(
    "air",
    (
        Column("time", TIME),
        Column("id", STRING),
        Column("x", FLOAT),
        Column("n", INT),
        Column("s", STRING),
        Column("b", BOOLEAN),
    ),
    id_declared=True,
)
START = 1_772_344_800 * SECOND
ROWS = st.lists(
    st.tuples(
        st.integers(0, 20),
        st.sampled_from("abc"),
        st.sampled_from([None, 0.0, 1.0, 2.5, float("nan"), -3.0]),
        st.sampled_from([None, 0, 1, 7]),
        st.sampled_from([None, "", "on", "2026-03-01T06:00:05Z"]),
        st.sampled_from([None, True, False]),
    ),
    max_size=40,
)
TIMES = [f"2026-03-01T06:00:{second:02}Z" for second in (0, 5, 10, 20)]
SIMPLE = st.sampled_from(
    [
        "result gt 1",
        "result le 1",
        "result eq 2.5",
        "result ne 0",
        "result eq null",
        "result ne null",
        "result eq 'on'",
        "result eq true",
        "result",
        "startswith(result, 'o')",
        "length(result) eq 2",
        "result add 1 gt 2",
        "result div result eq 1",
        "result mul 2 sub 1 ge 1",
        "result mod 2 eq 1",
        "-result lt 0",
        "floor(result) eq 2",
        "round(result) eq 3",
        "ceiling(result) eq 3",
        "second(phenomenonTime) gt 7",
        "resultTime eq phenomenonTime",
        "validTime eq null",
        "phenomenonTime eq result",
        "phenomenonTime add duration'PT3S' gt 2026-03-01T06:00:09Z",
        "Datastream/Thing/name eq 'a'",
        "Datastream/Thing/name ne 'a'",
        "Datastream/properties/x eq 1",
        "Datastream/properties/x eq null",
        "Datastream/id eq 'air:x:b' or Datastream/id eq 'air:n:c'",
        *(f"phenomenonTime {name} {time}" for name in ("eq", "gt", "ge", "lt", "le", "ne") for time in TIMES),
        f"{TIMES[1]} lt phenomenonTime",
        f"phenomenonTime lt {TIMES[1]}/{TIMES[2]}",
    ]
)
CONDITIONS = st.recursive(
    SIMPLE,
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from(["and", "or"]), inner).map(lambda p: f"({p[0]} {p[1]} {p[2]})"),
        inner.map(lambda one: f"not ({one})"),
    ),
    max_leaves=4,
)
ORDERS = st.sampled_from(
    [
        "",
        "phenomenonTime",
        "phenomenonTime desc",
        "result desc,phenomenonTime",
        "result",
        "Datastream/id desc,result mod 2",
    ]
)


def source_of(log: StreamLog) -> Source:
    measures = [Measure(name, name, (name,)) for name in observed(STREAM)]
    latest = Latest(STREAM, log, measures)
    latest.refresh()
    ids = {str(identity): identity for identity in latest.ids}
    return Source(STREAM, latest, dict.fromkeys(ids), ids)


def frame_of(rows: list[tuple[Any, ...]]) -> pl.DataFrame:
    names = [column.name for column in STREAM.columns]
    types = [pl.Int64, pl.String, pl.Float64, pl.Int64, pl.String, pl.Boolean]
    moved = [(START + row[0] * SECOND, *row[1:]) for row in rows]
    return pl.DataFrame(moved, schema=dict(zip(names, types, strict=True)), orient="row")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("logs")


@pytest.fixture(scope="module", autouse=True)
def cut_often() -> Iterator[None]:
    """Rows are cut to those that are wanted as soon as there are a few."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("nilometer.server.sensorthings.observations.GATHERED", 3)
        yield


class Numbered:
    """Counts the logs of a test."""

    count = 0


def log_of(folder: Path, rows: list[tuple[Any, ...]], cuts: int) -> StreamLog:
    """A log of many small segments."""
    Numbered.count += 1
    place = folder / str(Numbered.count)
    with StreamLog(place, STREAM, LogSettings(segment_bytes=1, least_bytes=1)) as log:
        for first in range(0, len(rows), cuts):
            log.append(frame_of(rows[first : first + cuts]))
    return StreamLog(place, STREAM)


@given(
    st.lists(ROWS.filter(bool), min_size=1, max_size=12), st.lists(st.booleans(), min_size=12, max_size=12)
)
def test_what_came_part_by_part_equals_what_came_at_once(
    folder: Path, parts: list[list[tuple[Any, ...]]], looks: list[bool]
) -> None:
    measures = [Measure(name, name, (name,)) for name in observed(STREAM)]
    rows = [row for part in parts for row in part]
    with pytest.MonkeyPatch.context() as patch:
        for name, bound in (("RECENT", 7), ("PART", 4), ("UNSUMMED", 5)):
            patch.setattr(f"nilometer.server.sensorthings.latest.{name}", bound)
        Numbered.count += 1
        with StreamLog(folder / str(Numbered.count), STREAM) as log:
            latest = Latest(STREAM, log, measures)
            for part, look in zip(parts, looks, strict=False):
                log.append(frame_of(part))
                log.flush()
                latest.refresh()
                if look:
                    latest.last("x", part[0][1])
            whole = Latest(STREAM, log, measures)
            whole.refresh()
            assert latest.ids == whole.ids
            for measure in latest.measures:
                assert latest.total(measure) == whole.total(measure)
                for identity in latest.ids:
                    # NaN is not equal to itself; its text is.
                    assert str(latest.last(measure, identity)) == str(whole.last(measure, identity))
                    assert latest.fact(measure, identity, FIRST) == whole.fact(measure, identity, FIRST)
            named = [at for at, row in enumerate(rows) if row[1] is not None]
            newest = latest.since(0).get_column(POSITION).to_list()
            assert newest == named[len(named) - len(newest) :]
            assert len(newest) >= min(7, len(named))
            for position in range(newest[0] if newest else 0, len(rows) + 2):
                found = latest.since(position).get_column(POSITION).to_list()
                assert found == [at for at in named if at >= position]


def naive(
    model: Model, part: Part, rows: list[tuple[Any, ...]], condition: ex.Expression | None
) -> list[tuple[int, Entity]]:
    assert part.column is not None
    place = [column.name for column in STREAM.columns].index(part.column)
    found = []
    for position, row in enumerate(rows):
        if row[place] is None or (part.sensors is not None and row[1] not in part.sensors):
            continue
        entity = entity_of(
            model, Row(part, row[1], START + row[0] * SECOND, position, {part.column: row[place]})
        )
        if condition is None or evaluate(condition, look_of(model, entity)) is True:
            found.append((position, entity))
    return found


@given(
    ROWS,
    st.integers(1, 12),
    st.sampled_from("xnsb"),
    st.none() | CONDITIONS,
    ORDERS,
    st.integers(1, 8),
    st.sampled_from([None, ("a",), ("a", "b"), ("a", "b", "c")]),
)
def test_reading_equals_evaluating_one_by_one(
    folder: Path,
    rows: list[tuple[Any, ...]],
    cuts: int,
    column: str,
    text: str | None,
    order: str,
    need: int,
    sensors: tuple[str, ...] | None,
) -> None:
    source = source_of(log_of(folder, rows, cuts))
    model = Model({"air": source}, EntityStore(folder / "nothing"))
    part = Part(source, column, sensors)
    condition = None if text is None else ex.parse(text)
    keys = ex.parse_order(order) if order else ()
    every = naive(model, part, rows, condition)
    if keys and keys[0][1]:
        every.reverse()  # equal ones: the last first
    wanted = sorted_by(model, every, keys, lambda pair: pair[1])
    reader = Reader(model)
    groups = reader.rows(part, condition, Order(keys), need)
    groups.sort(key=lambda row: row.position, reverse=bool(keys) and keys[0][1])
    found = sorted_by(
        model, [(row.position, reader.entity(row)) for row in groups], keys or (), lambda pair: pair[1]
    )
    assert [position for position, _ in found][:need] == [position for position, _ in wanted][:need]
    assert reader.count(part, condition) == len(wanted)
    if sensors is not None:
        each = reader.rows(part, condition, Order(keys), need, each=True)
        for sensor in sensors:
            own_rows = [row.position for row in each if row.sensor == sensor]
            expected = [position for position, _ in wanted if rows[position][1] == sensor][:need]
            assert own_rows == expected, sensor


@given(ROWS, CONDITIONS)
def test_columns_equal_one_by_one(folder: Path, rows: list[tuple[Any, ...]], text: str) -> None:
    """Wherever a condition can be evaluated by columns, it means the same."""
    source = source_of(log_of(folder, rows[:1], 1))
    model = Model({"air": source}, EntityStore(folder / "nothing"))
    condition = ex.parse(text)
    if any(path.parts[0] == "Datastream" for path in ex.paths_of(condition)):
        return
    frame = frame_of(rows)
    for column in "xnsb":
        part = Part(source, column, None)
        test = columnar.condition(condition, columns_of(part))
        if test is None:
            continue
        values = (
            frame.filter(pl.col(column).is_not_null())
            .select(test.alias("held").fill_null(False))
            .get_column("held")
        )
        held = values.to_list()
        place = [each.name for each in STREAM.columns].index(column)
        kept = [row for row in rows if row[place] is not None]
        if len(held) == 1 and len(kept) != 1:  # a constant
            held *= len(kept)
        for row, by_columns in zip(kept, held, strict=True):
            entity = entity_of(model, Row(part, row[1], START + row[0] * SECOND, 0, {column: row[place]}))
            assert (evaluate(condition, look_of(model, entity)) is True) == by_columns, (row, column)


@settings(max_examples=15)
@given(ROWS, st.integers(1, 12), st.integers(0, 40))
def test_the_latest_equals_a_scan(folder: Path, rows: list[tuple[Any, ...]], cuts: int, known: int) -> None:
    """Whether it is read at once, or part by part."""
    log = log_of(folder, rows[:known], cuts)
    source = source_of(log)
    with StreamLog(log.files, STREAM, LogSettings(segment_bytes=1, least_bytes=1)) as more:
        for first in range(known, len(rows), cuts):
            more.append(frame_of(rows[first : first + cuts]))
    source.latest.refresh()
    assert list(source.latest.ids) == list(dict.fromkeys(row[1] for row in rows))
    for place, column in enumerate(STREAM.columns[2:], 2):
        for sensor in "abc":
            own_rows = [
                (START + row[0] * SECOND, position, row[place])
                for position, row in enumerate(rows)
                if row[1] == sensor and row[place] is not None
            ]
            last = source.latest.last(column.name, sensor)
            if not own_rows:
                assert last is None
                continue
            time, position, value = max(own_rows, key=lambda row: row[:2])
            assert last is not None
            assert (last["time"], last[POSITION]) == (time, position)
            assert last[column.name] == value or value != value
            assert source.latest.fact(column.name, sensor, COUNT) == len(own_rows)
            assert source.latest.fact(column.name, sensor, FIRST) == min(row[0] for row in own_rows)


def test_the_stream_of_clients_fits_its_statement() -> None:
    from nilometer.engine import connect

    database = connect()
    database.execute(own.STATEMENT)
    assert own.is_own(database.catalog.stream(own.NAME))
