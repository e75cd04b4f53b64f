"""SIMILAR against all pairs in the order (time, id, position), in its four forms."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import product
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nilometer.errors import InternalError, ResourceError
from nilometer.operators import frames
from nilometer.operators.logic import Progress
from nilometer.operators.similar import similar as module
from nilometer.operators.similar.similar import Similar
from nilometer.operators.similar.stripe_home import StripeHome, stripe_width
from nilometer.types import BOOLEAN, FLOAT, INT, POINT, STRING, Column, OwnWindow, Schema, Type
from operators.twins import Row, Script, counted, few, null_first, scripts

SAMPLE = 2
TYPES = (INT, FLOAT, STRING, BOOLEAN, POINT)
R = Schema(tuple(Column(f"R.{type_}", type_) for type_ in TYPES))


def naive(script: Script, column: int, epsilon: float, window: int | OwnWindow, form: str) -> list[Any]:
    rows = sorted((row for row in script.rows() if row.tick < script.watermark), key=similar_order)
    result = []
    for number, row in enumerate(rows):
        matches = [other for other in rows[:number] if like(row, other, column, epsilon, window)]
        head = (row.tick, row.time, row.id, row.position, row.time, row.id, row.values[column])
        if form == "PAIRS":
            result += [(*head, other.time, other.id, other.values[column]) for other in matches]
            continue
        times: dict[int, list[int]] = {}
        for other in sorted(matches, key=lambda other: (other.id, other.time)):
            times.setdefault(other.id or 0, []).append(other.time)
        if not times:
            continue
        if form == "SAMPLE":
            taken: dict[int, list[int]] = {}
            for other in sorted(spread(matches, SAMPLE, row.time), key=lambda other: (other.id, other.time)):
                taken.setdefault(other.id or 0, []).append(other.time)
            members = [{"id": source, "times": found} for source, found in taken.items()]
            result.append((*head, 1 + len(times), len(matches), members))
        elif form == "COUNTS":
            result.append((*head, 1 + len(times), len(matches)))
        elif form == "LIST":
            members = [{"id": source, "times": found} for source, found in times.items()]
            result.append((*head, 1 + len(times), members))
        else:
            for chosen in product(*times.values()):
                members = [{"id": s, "time": t} for s, t in zip(times, chosen, strict=True)]
                result.append((*head, 1 + len(times), members))
    return result


def spread(matches: list[Row], count: int, time: int) -> list[Row]:
    if len(matches) <= count:
        return matches
    offset = Fraction((time * 0x9E3779B97F4A7C15 % 2**64) >> 48, 65_536)
    return [matches[int((number + offset) * len(matches) / count)] for number in range(count)]


def similar_order(row: Row) -> Any:
    return (row.time, null_first(row.id), null_first(row.position))


def like(row: Row, other: Row, column: int, epsilon: float, window: int | OwnWindow) -> bool:
    value, earlier = row.values[column], other.values[column]
    if isinstance(window, OwnWindow):
        own = other.values[R.names.index(window.column)]
        window = -1 if own is None else round(own * window.unit)
    if None in (row.id, other.id, value, earlier) or row.id == other.id or row.time - other.time > window:
        return False
    return bool(value == earlier if epsilon == 0 else abs(value - earlier) <= epsilon)


@few
@given(st.sampled_from(["LIST", "PAIRS", "FLATTEN", "COUNTS", "SAMPLE"]), scripts(R), st.data())
def test_similar_pairs_with_earlier_tuples(form: str, script: Script, data: st.DataObject) -> None:
    column = data.draw(st.integers(0, 4))
    epsilon = data.draw(st.sampled_from([0, 0.5, 1, 2, 1 / 64, 1 / 32])) if column < 2 else 0
    window = data.draw(
        st.sampled_from(
            [0, 2, 6, 100, OwnWindow("R.INT", 1), OwnWindow("R.INT", 5), OwnWindow("R.FLOAT", 160)]
        )
    )
    spec = Similar(R, R.names[column], epsilon, window, form, "Q", sample=SAMPLE if form == "SAMPLE" else 0)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "MATCHES_AT_ONCE", data.draw(st.sampled_from([1, 3, 1_000])))
        assert script.play(spec) == counted(naive(script, column, epsilon, window, form))


@few
@given(st.sampled_from(["LIST", "COUNTS", "SAMPLE"]), scripts(R), st.sampled_from([6, OwnWindow("R.INT", 5)]))
def test_every_tuple_is_answered_where_it_is_at_home(
    form: str, script: Script, window: int | OwnWindow
) -> None:
    whole = Similar(R, "R.FLOAT", 1 / 64, window, form, "Q", sample=SAMPLE if form == "SAMPLE" else 0)
    buckets = [replace(whole, home=StripeHome(stripe_width(whole.epsilon), 3, bucket)) for bucket in range(3)]
    answers = sum((script.play(spec) for spec in buckets), start=counted([]))
    assert answers == script.play(whole)


def test_flatten_refuses_what_nobody_could_read() -> None:
    schema = Schema((Column("R.value", INT),))
    logic = Similar(schema, "R.value", 0, 1_000, "FLATTEN", "Q", limit=1_000_000).build()
    rows = [(time, time, source, time, 7) for time, source in enumerate([*range(20)] * 3)] + [
        (99, 99, 99, 99, 7)
    ]
    logic.update(0, pl.DataFrame(rows, schema=frames.stream_dtypes(schema), orient="row"))
    with pytest.raises(ResourceError, match="would build") as refused:
        logic.advance(Progress(1_000))
    assert "SIMILAR ... FLATTEN would build 6,973,568,820 rows at once" in str(refused.value)
    assert "the limit is 1,000,000" in str(refused.value)
    assert "leave FLATTEN out" in str(refused.value)


@pytest.mark.parametrize("type_", [INT, POINT])
@pytest.mark.parametrize(
    ("form", "sample", "message"),
    [
        ("PAIRS", 0, "SIMILAR ... PAIRS would build 1,770 matches at once"),
        ("LIST", 0, "SIMILAR ... LIST would build 1,770 matches at once"),
        ("SAMPLE", 20, "SIMILAR ... SAMPLE would build 990 matches at once"),
        ("SAMPLE", 2, None),
        ("COUNTS", 0, None),
    ],
)
def test_a_round_of_too_many_matches_is_refused_with_their_number(
    form: str, sample: int, message: str | None, type_: Type
) -> None:
    schema = Schema((Column("R.value", type_),))
    value = 7 if type_ is INT else {"x": 0.5, "y": 1.0}
    logic = Similar(schema, "R.value", 0, 1_000, form, "Q", sample=sample, limit=500).build()
    rows = [(time, time, time, time, value) for time in range(60)]
    logic.update(0, pl.DataFrame(rows, schema=frames.stream_dtypes(schema), orient="row"))
    if message is None:
        assert logic.advance(Progress(1_000)).rows.height == 59
        return
    with pytest.raises(ResourceError, match=message) as refused:
        logic.advance(Progress(1_000))
    assert "of 60 readings; the limit is 500" in str(refused.value)


@pytest.mark.parametrize(
    ("column", "epsilon", "window", "form", "message"),
    [
        ("R.depth", 0, 1, "LIST", "which is not there"),
        ("R.INT", -1, 1, "LIST", "negative"),
        ("R.INT", 0, -1, "LIST", "negative"),
        ("R.INT", 0, OwnWindow("R.patience", 1), "LIST", "which is not there"),
        ("R.INT", 0, 1, "TREE", "form TREE"),
        ("R.STRING", 1, 1, "LIST", "distance of STRING"),
    ],
)
def test_refuses_to_be_built_wrong(
    column: str, epsilon: float, window: int | OwnWindow, form: str, message: str
) -> None:
    with pytest.raises(InternalError, match=message):
        Similar(R, column, epsilon, window, form, "Q")


def test_the_forms_have_the_columns_of_the_plan() -> None:
    assert str(Similar(R, "R.FLOAT", 0, 1, "LIST", "Q", STRING).schema) == (
        "Q.time TIME, Q.id STRING, Q.value FLOAT, Q.arity INT, Q.members LIST<STRUCT<id STRING, times LIST<TIME>>>"
    )
    wide = Schema((Column("R.wide", Type(INT.kind, 16)),))
    assert str(Similar(wide, "R.wide", 0, 1, "PAIRS", "Q").schema) == (
        "Q.time TIME, Q.id INT, Q.value INT, Q.other_time TIME, Q.other_id INT, Q.other_value INT"
    )
