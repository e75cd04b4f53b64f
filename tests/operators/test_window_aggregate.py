"""Fused window aggregates equal the aggregate of each window, however the input comes."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nilometer.algebra import Completeness
from nilometer.errors import DataError, InternalError, ResourceError
from nilometer.expressions import Aggregate, Call, ColumnReference, Expression, Literal, Now
from nilometer.operators.frames import dtype
from nilometer.operators.logic import Progress
from nilometer.operators.window_aggregate.window_aggregate import WindowAggregate, fusible
from nilometer.plan import scalar
from nilometer.types import BOOLEAN, FLOAT, INT, INT_MAXIMUM, MINUTE, POINT, STRING, TIME, Type, parse_time
from operators.streams import (
    Log,
    Range,
    Round,
    Row,
    drive,
    evaluations,
    fewer,
    frame,
    logs,
    ranges,
    rows,
    ways,
)

WHOLE, REAL, TEXT = ColumnReference("i", INT), ColumnReference("f", FLOAT), ColumnReference("s", STRING)


def aggregate(function: str, argument: Expression | None, type_: Type, distinct: bool = False) -> Aggregate:
    return Aggregate(function, argument, distinct, type_)


ALGEBRAIC = {
    "n": aggregate("count", None, INT),
    "ni": aggregate("count", WHOLE, INT),
    "ns": aggregate("count", TEXT, INT),
    "si": aggregate("sum", WHOLE, INT),
    "sf": aggregate("sum", REAL, FLOAT),
    "ai": aggregate("avg", WHOLE, FLOAT),
    "af": aggregate("avg", REAL, FLOAT),
    "li": aggregate("min", WHOLE, INT),
    "lf": aggregate("min", REAL, FLOAT, distinct=True),
    "hi": aggregate("max", WHOLE, INT),
    "hf": aggregate("max", REAL, FLOAT),
    "vf": aggregate("variance", REAL, FLOAT),
    "di": aggregate("stdev", WHOLE, FLOAT),
    "double": aggregate("sum", Call("*", (WHOLE, Literal(2, INT)), INT), INT),
}
HOLISTIC = {
    "mf": aggregate("median", REAL, FLOAT),
    "mi": aggregate("median", WHOLE, FLOAT),
    "cd": aggregate("count", TEXT, INT, distinct=True),
    "sd": aggregate("sum", WHOLE, INT, distinct=True),
    "vd": aggregate("variance", WHOLE, FLOAT, distinct=True),
    "ls": aggregate("min", TEXT, STRING),
    "n": aggregate("count", None, INT),
}
KEYS: dict[str, tuple[tuple[str, Expression], ...]] = {
    "none": (),
    "text": (("k", TEXT),),
    "two": (
        ("k", TEXT),
        ("even", Call("=", (Call("%", (WHOLE, Literal(2, INT)), INT), Literal(0, INT)), BOOLEAN)),
    ),
    "whole": (("k", WHOLE),),
    "float": (("k", REAL),),
}
POSITIVE = Call(">", (WHOLE, Literal(0, INT)), BOOLEAN)


@st.composite
def items(draw: st.DrawFn, choices: dict[str, Aggregate]) -> tuple[tuple[str, Aggregate], ...]:
    names = draw(st.lists(st.sampled_from(sorted(choices)), min_size=1, max_size=4, unique=True))
    return tuple((name, choices[name]) for name in names)


def spec(range_: Range, **others: Any) -> WindowAggregate:
    return WindowAggregate(
        range_.start, range_.end, range_.slide, range_.open_start, range_.interval, **others
    )


def naive(window: WindowAggregate, range_: Range, log: Log) -> list[tuple[Any, ...]]:
    answers = []
    for tick in range_.ticks(log):
        content = range_.content(log, tick)
        groups: dict[tuple[Any, ...], tuple[list[dict[str, Any]], list[Row]]] = (
            {} if window.keys else {(): ([], [])}
        )
        for row in content:
            values = {"i": row.i, "f": row.f, "s": row.s}
            key = tuple(scalar.evaluate(expression, values, tick) for _, expression in window.keys)
            passes = window.predicate is None or scalar.evaluate(window.predicate, values, tick) is True
            kept, heard = groups.setdefault(key, ([], []))
            heard.append(row)
            if passes:
                kept.append(values)
        for key, (kept, heard) in groups.items():
            if window.keys and not kept:
                continue
            answer: list[Any] = [tick, tick, *key]
            for _, item in window.items:
                if item.argument is None:
                    answer.append(len(kept))
                else:
                    found = [scalar.evaluate(item.argument, values, tick) for values in kept]
                    answer.append(scalar.aggregate(item.function, item.distinct, found))
            if window.completeness is not None:
                answer.append(complete(window.completeness, window, range_, log, tick, len(heard)))
            answers.append(tuple(answer))
    return answers


def complete(
    completeness: Completeness, window: WindowAggregate, range_: Range, log: Log, tick: int, heard: int
) -> float | None:
    sensors = completeness.sensors
    if window.keys:
        sensors = 1
    elif sensors is None:
        sensors = len({row.id for row in log.rows if row.tick <= tick and row.id is not None})
    assert log.first_tick is not None
    start = log.first_tick - completeness.interval
    if range_.start is not None:
        start = max(start, tick - range_.start - (0 if range_.open_start else completeness.interval))
    due = sensors * max(0, tick - range_.end - start)
    return heard * completeness.interval / due if due > 0 else None


def key_of(row: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple((value is not None, round(value, 6) if isinstance(value, float) else value) for value in row)


def assert_same(given_: list[tuple[Any, ...]], expected: list[tuple[Any, ...]]) -> None:
    assert len(given_) == len(expected)
    for one, other in zip(sorted(given_, key=key_of), sorted(expected, key=key_of), strict=True):
        for left, right in zip(one, other, strict=True):
            if isinstance(left, float) and isinstance(right, float):
                assert math.isclose(left, right, rel_tol=1e-9, abs_tol=1e-9), (one, other)
            else:
                assert left == right, (one, other)
                assert type(left) is type(right)


def check(window: WindowAggregate, range_: Range, log: Log) -> None:
    expected = naive(window, range_, log)
    for driven, restart in ways(log):
        outputs = drive(window, driven, restart=restart)
        assert evaluations(outputs) == [(t, t) for t in range_.ticks(log)]
        assert_same(rows(outputs), expected)


@fewer
@given(ranges(), logs(), st.sampled_from(sorted(KEYS)), items(ALGEBRAIC), st.sampled_from([None, POSITIVE]))
def test_algebraic(
    range_: Range,
    log: Log,
    keys: str,
    chosen: tuple[tuple[str, Aggregate], ...],
    predicate: Expression | None,
) -> None:
    window = spec(range_, keys=KEYS[keys], items=chosen, predicate=predicate)
    assert window.sliding
    check(window, range_, log)


@fewer
@given(ranges(interval=4), logs(interval=4), st.sampled_from(sorted(KEYS)), items(ALGEBRAIC))
def test_sensed(range_: Range, log: Log, keys: str, chosen: tuple[tuple[str, Aggregate], ...]) -> None:
    check(spec(range_, keys=KEYS[keys], items=chosen), range_, log)


@fewer
@given(ranges(), logs(), st.sampled_from(sorted(KEYS)), items(HOLISTIC), st.sampled_from([None, POSITIVE]))
def test_holistic(
    range_: Range,
    log: Log,
    keys: str,
    chosen: tuple[tuple[str, Aggregate], ...],
    predicate: Expression | None,
) -> None:
    check(spec(range_, keys=KEYS[keys], items=chosen, predicate=predicate), range_, log)


@fewer
@given(
    ranges(),
    logs(),
    st.sampled_from(["none", "text"]),
    st.sampled_from([None, 2]),
    st.sampled_from([None, POSITIVE]),
    st.sampled_from(["n", "mf"]),
)
def test_completeness(
    range_: Range, log: Log, keys: str, sensors: int | None, predicate: Expression | None, item: str
) -> None:
    window = spec(
        range_,
        keys=KEYS[keys],
        items=((item, (ALGEBRAIC | HOLISTIC)[item]),),
        predicate=predicate,
        completeness=Completeness("complete", 4, sensors),
    )
    check(window, range_, log)


huge = st.sampled_from([INT_MAXIMUM, -INT_MAXIMUM - 1, INT_MAXIMUM // 2, 1, -1, 2**32, -(2**31)])


@fewer
@given(ranges(), logs(integers=huge), st.sampled_from(["none", "text"]), st.sampled_from([False, True]))
def test_sums_are_exact_or_an_error(range_: Range, log: Log, keys: str, holistic: bool) -> None:
    chosen = (("s", ALGEBRAIC["si"]), ("a", ALGEBRAIC["ai"]), ("l", ALGEBRAIC["li"]))
    window = spec(range_, keys=KEYS[keys], items=(*chosen, ("m", HOLISTIC["mf"])) if holistic else chosen)
    try:
        naive(window, range_, log)
    except DataError:
        with pytest.raises(DataError, match="integer overflow in "):
            drive(window, log)
    else:
        check(window, range_, log)


def test_a_long_silence_is_cheap() -> None:
    for keys in ("none", "text"):
        logic = spec(Range(10, 0, 1, True), keys=KEYS[keys], items=(("n", ALGEBRAIC["n"]),)).build()
        logic.update(0, frame([Row(0, 0, 1, 0, 1, None, None)]))
        output = logic.advance(Progress(1_000_000, 0))
        assert output.evaluations.height == 1_000_000
        assert output.rows.height == (1_000_000 if keys == "none" else 10)


@pytest.mark.parametrize("item", ["n", "mf"])
@pytest.mark.parametrize("keys", ["none", "text"])
def test_a_stray_time_stamp_is_refused(item: str, keys: str) -> None:
    begin, stray = parse_time("2026-01-01"), parse_time("9999-01-01")
    chosen = ((item, (ALGEBRAIC | HOLISTIC)[item]),)
    logic = spec(Range(5 * MINUTE, 0, MINUTE, True), keys=KEYS[keys], items=chosen).build()
    logic.update(0, frame([Row(t, t, 1, 0, 1, 1.0, "a") for t in (begin, stray)]))
    with pytest.raises(
        ResourceError, match="slides by 1 MINUTE would be evaluated 4,193,392,320 times"
    ) as raised:
        logic.advance(Progress(stray, begin))
    assert "a gap of 2912078 DAYS" in str(raised.value)
    assert "larger SLIDE" in str(raised.value.hint)


def feed(steps: int, group: Callable[[int], str]) -> list[list[Row]]:
    return [
        [Row(t, t, 1, t, t % 7, t / 64, group(t)) for t in range(step * 500, step * 500 + 500)]
        for step in range(steps)
    ]


@pytest.mark.parametrize("item", ["af", "vf", "mf"])
def test_state_stays_flat(item: str) -> None:
    # A new group every ten ticks: what no window holds is forgotten, its group too.
    chosen = ((item, (ALGEBRAIC | HOLISTIC)[item]),)
    logic = WindowAggregate(2_000, 0, 100, True, keys=KEYS["text"], items=chosen).build()
    sizes = []
    for batch in feed(120, lambda t: str(t // 10)):
        logic.update(0, frame(batch))
        logic.advance(Progress(batch[-1].tick, 0))
        sizes.append(sum(map(len, logic.snapshot().values())))
    assert max(sizes[60:]) <= 1.5 * max(sizes[20:60])


def test_forgetting_groups_changes_no_answer() -> None:
    window = WindowAggregate(
        300, 0, 100, True, keys=KEYS["text"], items=(("a", ALGEBRAIC["vf"]), ("n", ALGEBRAIC["n"]))
    )
    batches = feed(40, lambda t: str(t // 3))
    log = Log(tuple(Round(tuple(batch), batch[-1].tick - 20) for batch in batches))
    outputs = drive(window, log)
    expected = (
        pl.concat([frame(batch) for batch in batches])
        .with_columns(pl.int_ranges(-(-pl.col("@tick") // 100) * 100, pl.col("@tick") + 300, 100).alias("t"))
        .explode("t")
        .filter(pl.col("t") < log.watermark)
        .group_by("t", "s")
        .agg(pl.col("f").var().alias("a"), pl.len().cast(pl.Int64).alias("n"))
    )
    assert_same(rows(outputs), [(t, t, s, a, n) for t, s, a, n in expected.rows()])
    assert_same(rows(drive(window, log, restart=True)), rows(outputs))


def test_points_are_keys() -> None:
    place = ColumnReference("p", POINT)
    logic = WindowAggregate(10, 0, 10, True, keys=(("p", place),), items=(("n", ALGEBRAIC["n"]),)).build()
    points = [{"x": 0.0, "y": 1.0}, None, {"x": -0.0, "y": 1.0}, None]
    tags = pl.DataFrame({"@tick": [1, 2, 3, 4], "p": pl.Series(points, dtype=dtype(POINT))})
    logic.update(0, tags.head(2))
    logic.update(0, tags.tail(2))
    answers = logic.advance(Progress(11, 1)).rows
    assert sorted(answers["n"].to_list()) == [2, 2]
    assert sorted(answers["p"].struct.field("y").to_list(), key=str) == [1.0, None]


def test_float_sums_do_not_drift() -> None:
    logic = WindowAggregate(10, 0, 1, True, items=(("s", ALGEBRAIC["sf"]), ("v", ALGEBRAIC["vf"]))).build()
    values = [1e15 if t < 500 else t / 64 for t in range(1000)]
    logic.update(0, frame([Row(t, t, 1, t, None, v, None) for t, v in enumerate(values)]))
    last = logic.advance(Progress(1000, 0)).rows.tail(1).row(0)
    assert last[2] == sum(values[990:])
    assert math.isclose(last[3], scalar.aggregate("variance", False, values[990:]), rel_tol=1e-12)


def test_what_the_predicate_keeps_out_cannot_overflow() -> None:
    square = aggregate("sum", Call("sqr", (WHOLE,), INT), INT)
    small = Call("<", (WHOLE, Literal(10, INT)), BOOLEAN)
    window = WindowAggregate(
        10, 0, 10, True, items=(("s", square),), predicate=small, completeness=Completeness("c", 5, 1)
    )
    log = Log((Round((Row(1, 1, 1, 0, INT_MAXIMUM, None, None), Row(2, 2, 1, 1, 3, None, None)), 11),))
    assert rows(drive(window, log)) == [(10, 10, 9, 1.0)]


def test_what_reads_now_cannot_be_fused() -> None:
    late = Call(">", (Now(), Literal(0, TIME)), BOOLEAN)
    assert not fusible((), (), late)
    with pytest.raises(InternalError):
        WindowAggregate(10, 0, 1, True, predicate=late)


BASES = [10**9, 10**12, 10**15, -(10**15)]


@fewer
@given(
    st.sampled_from([0, *BASES]),
    st.lists(st.one_of(st.integers(-50, 50), st.none()), min_size=2, max_size=30),
    st.sampled_from(["none", "text"]),
    st.sampled_from([3, 9, None]),
    st.booleans(),
)
def test_variance_of_values_far_from_zero(
    base: int, steps: list[int | None], keys: str, length: int | None, holistic: bool
) -> None:
    # The other group lies elsewhere, so that no single reference would do for both.
    values = [
        None if step is None else base + step - (2 * base if n % 4 == 3 else 0)
        for n, step in enumerate(steps)
    ]
    batch = [
        Row(
            n,
            n,
            1,
            n,
            None if v is None else 4 * v + 1,
            None if v is None else v + 0.125 * (n % 3),
            "ab"[n % 4 == 3],
        )
        for n, v in enumerate(values)
    ]
    log = Log((Round(tuple(batch[:5]), min(3, len(batch))), Round(tuple(batch[5:]), len(batch))))
    functions = {
        "vi": ("variance", WHOLE),
        "vf": ("variance", REAL),
        "di": ("stdev", WHOLE),
        "df": ("stdev", REAL),
    }
    chosen = tuple((name, aggregate(f, argument, FLOAT)) for name, (f, argument) in functions.items())
    if holistic:
        chosen = (*chosen, ("cd", HOLISTIC["cd"]))
    range_ = Range(length, 0, 2, True)
    check(spec(range_, keys=KEYS[keys], items=chosen), range_, log)


@pytest.mark.parametrize("holistic", [False, True])
def test_variance_of_the_greatest_integers(holistic: bool) -> None:
    values = [INT_MAXIMUM, INT_MAXIMUM - 1, INT_MAXIMUM - 5, INT_MAXIMUM - 1030, INT_MAXIMUM - 7]
    log = Log((Round(tuple(Row(n, n, 1, n, v, None, None) for n, v in enumerate(values)), 9),))
    chosen = (("v", aggregate("variance", WHOLE, FLOAT)), *((("cd", HOLISTIC["cd"]),) if holistic else ()))
    check(spec(Range(4, 0, 1, True), items=chosen), Range(4, 0, 1, True), log)


@pytest.mark.parametrize("keys", ["none", "text"])
@pytest.mark.parametrize("value", [20.547, 0.1, -1e-3, 1e300])
def test_sums_of_equal_values_are_the_references(value: float, keys: str) -> None:
    batch = tuple(Row(n, n, 1, n, None, value, "a") for n in range(40))
    chosen = tuple((name, ALGEBRAIC[name]) for name in ("af", "sf", "hf", "n"))
    for slide in (1, 3):
        window = spec(Range(5, 0, slide, True), keys=KEYS[keys], items=chosen)
        for restart in (False, True):
            log = Log((Round(batch[:13], 11), Round(batch[13:], 40)))
            for answer in rows(drive(window, log, restart=restart)):
                mean, total, greatest, count = answer[-4:]
                assert total == math.fsum([value] * count)
                assert mean == total / count == scalar.aggregate("avg", False, [value] * count)
                # Of 0.1 three times the reference's mean, too, is a step above: its sum is rounded, then the quotient.
                assert mean <= greatest or value == 0.1


@fewer
@given(
    st.lists(st.floats(-1e9, 1e9, allow_subnormal=False), min_size=1, max_size=40),
    st.sampled_from([1, 3, 7]),
    st.sampled_from([4, 15, None]),
)
def test_float_sums_are_rounded_once(values: list[float], slide: int, length: int | None) -> None:
    batch = tuple(Row(n, n, 1, n, None, value, None) for n, value in enumerate(values))
    range_ = Range(length, 0, slide, True)
    window = spec(range_, items=(("s", ALGEBRAIC["sf"]),))
    log = Log((Round(batch[:9], min(len(batch), 7)), Round(batch[9:], len(batch))))
    for driven, restart in ways(log):
        for tick, _, total in rows(drive(window, driven, restart=restart)):
            content = [Fraction(row.f or 0.0) for row in range_.content(log, tick)]
            # Two doubles hold 106 bits: more than the sum keeps, unless nearly all of it cancels out.
            error = abs(Fraction(total or 0.0) - sum(content))
            assert error <= math.ulp(total or 0.0) / 2 + float(sum(map(abs, content))) * 2.0**-100


def test_a_float_sum_too_great_is_null() -> None:
    batch = tuple(Row(n, n, 1, n, None, value, None) for n, value in enumerate([1e308, 1e308, 1.0, 2.0]))
    window = spec(Range(2, 0, 1, True), items=(("s", ALGEBRAIC["sf"]), ("a", ALGEBRAIC["af"])))
    answers = rows(drive(window, Log((Round(batch, 4),))))
    assert [answer[2:] for answer in answers] == [(1e308, 1e308), (None, None), (1e308, 5e307), (3.0, 1.5)]
