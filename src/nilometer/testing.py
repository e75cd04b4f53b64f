"""Contract tests for authors of functions, units and adapters: `check_function(f, ...)`, `check_unit(MyUnit)` and
`check_adapter(make, ...)`.

They run the code in this process, on random columns of a fixed seed, and raise an AssertionError that says which law it
breaks. A function's value depends on its own row alone. A unit gives the same rows however they are cut into batches,
with its state saved and taken back in between; one that says `by_source` also if each sensor has a unit of its own. An
adapter gives rows in the stream's columns, loses none that it numbers, and ends for good.

>>> from nilometer.workers.example_unit import Differences
>>> check_unit(Differences, 0.5)
>>> import numpy as np
>>> check_function(np.sqrt, ["FLOAT"], "FLOAT")
>>> check_function(lambda x: x - x.mean(), ["FLOAT"], "FLOAT")
Traceback (most recent call last):
AssertionError: rows 0 to 0 alone have other values than among the others
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from time import time_ns
from typing import Any

import numpy as np

from nilometer.algebra.table_functions.unit import type_named
from nilometer.catalog.address import Address
from nilometer.catalog.extents import Stream, stream_columns
from nilometer.ingest.adapters.adapter import Adapter, ReadResult, Status
from nilometer.ingest.adapters.registry import Maker
from nilometer.operators.frames import dtype
from nilometer.types import Column
from nilometer.workers.child import DTYPES, ContractError, taken

__all__ = ["check_adapter", "check_function", "check_unit"]

READS = 200
"""So many times an adapter is asked."""
PATIENCE = 0.05
"""A source that pushes has so many seconds for each."""
ROWS = 60
SOURCES = 4
SECOND = 1_000_000


def check_function(
    function: Callable[..., Any], arguments: Sequence[str], returns: str, seed: int = 0
) -> None:
    """Check a function of such types, as CREATE FUNCTION would declare them: `["FLOAT", "INT[4]"]`, `"FLOAT"`."""
    random = np.random.default_rng(seed)
    columns = [_column(random, text, ROWS) for text in arguments]
    whole = _values(function, columns, returns)
    assert _same(whole, _values(function, columns, returns)), "a second call has other values"
    for first, last in ((0, 1), (0, ROWS // 2), (ROWS // 2, ROWS), (7, 19)):
        part = _values(function, [column[first:last] for column in columns], returns)
        same = _same([one[first:last] for one in whole], part)
        assert same, f"rows {first} to {last - 1} alone have other values than among the others"
    order = random.permutation(ROWS)
    mixed = _values(function, [column[order] for column in columns], returns)
    assert _same([one[order] for one in whole], mixed), "rows in another order have other values"


def check_unit(unit: Any, *numbers: float, ids: str = "INT", seed: int = 0) -> None:
    """Check a unit that is made with these numbers."""
    columns = dict(unit.columns(*numbers) if callable(unit.columns) else unit.columns)
    random = np.random.default_rng(seed)
    sources = random.integers(0, SOURCES, ROWS)
    named = sources if ids == "INT" else np.array([f"s{one}" for one in sources], dtype=object)
    times = np.cumsum(random.integers(0, 3, ROWS)) * SECOND
    given = [times, named, *(_column(random, text, ROWS) for text in unit.inputs)]
    whole = _rows(unit(*numbers), columns, given, [0, ROWS])
    for cuts in ([0, *range(1, ROWS), ROWS], [0, 1, ROWS // 3, ROWS // 2, ROWS]):
        assert _equal(whole, _rows(unit(*numbers), columns, given, cuts)), (
            "batches that are cut otherwise give other rows"
        )
        restored = _rows(unit(*numbers), columns, given, cuts, lambda: unit(*numbers))
        assert _equal(whole, restored), "a unit whose state was saved and taken back gives other rows"
    if getattr(unit, "by_source", False):
        alone = []
        for source in range(SOURCES):
            own = np.flatnonzero(sources == source)
            found = _rows(unit(*numbers), columns, [one[own] for one in given], [0, len(own)])
            alone += [(int(own[place]), *rest) for place, *rest in found]
        together = sorted(whole, key=lambda row: row[0])
        assert _equal(together, sorted(alone, key=lambda row: row[0])), (
            "it says by_source, but sensors depend on each other"
        )


def check_adapter(make: Maker, url: str, columns: Mapping[str, str]) -> int:
    """Check an adapter, by a source at this address that gives readings of these columns (`{"x": "FLOAT"}`) soon. Returns how
    many readings it gave.

    Its clock begins at the present moment and goes a second further with every read, so that a paced source need not be waited
    for. It is opened twice: the second time with what a log would have, if the source numbers its readings.
    """
    declared = tuple(Column(name, type_named(text)) for name, text in columns.items())
    stream = Stream("checked", stream_columns(declared), url=url)
    consumed: dict[str, int] = {}
    numbered = received = 0
    for result in _results(make, stream, {}):
        received += result.received
        if result.sequence is not None:
            before = consumed.get(result.part, 0)
            assert result.sequence == before, (
                f"a result has the sequence {result.sequence}, and {before} readings of the part '{result.part}' came before it"
            )
            consumed[result.part] = before + result.received
            numbered += result.received
    assert received, f"no reading came in {READS} reads"
    assert numbered in (0, received), "some results have a sequence, and others have none"
    if numbered:
        again = sum(
            result.received
            for result in _results(make, stream, consumed)
            if result.sequence is not None and result.sequence < consumed.get(result.part, 0)
        )
        assert not again, f"{again} readings came again that `resume` said are in the log"
    return received


def _results(make: Maker, stream: Stream, consumed: Mapping[str, int]) -> list[ReadResult]:
    """What an adapter gives until it ends, or is asked no more. Each result keeps the contract by itself."""
    now = [time_ns() // 1_000]
    assert stream.url is not None
    adapter = make(stream, Address.parse(stream.url), lambda: now[0], "check")
    assert isinstance(adapter, Adapter), f"it makes a {type(adapter).__name__}, which is no Adapter"
    wanted = {column.name: dtype(column.type) for column in stream.columns}
    found: list[ReadResult] = []
    adapter.open()
    if consumed:
        adapter.resume(consumed)
    for _ in range(READS):
        result = adapter.read()
        assert isinstance(result, ReadResult), f"read gives a {type(result).__name__}, not a ReadResult"
        assert dict(result.rows.schema) == wanted, f"its rows have {dict(result.rows.schema)}, not {wanted}"
        assert result.received or result.presences or result.status is not Status.NEW_VALUE, (
            "NEW_VALUE comes without a reading"
        )
        assert not (result.received and result.status is Status.NO_VALUE), "NO_VALUE comes with readings"
        found.append(result)
        if result.handle is not None:
            adapter.acknowledge(result.handle)
        if result.status is Status.END:
            break
        now[0] += SECOND
        if not result.received and adapter.wake is not None:
            adapter.wake.wait(PATIENCE)
    adapter.close()
    adapter.close()
    return found


def _column(random: np.random.Generator, text: str, rows: int) -> Any:
    kind, _, size = text.partition("[")
    shape = (rows, int(size.removesuffix("]"))) if size else (rows,)
    if kind == "STRING":
        return random.choice(np.array(["a", "b", "long text", "ä"], dtype=object), rows)
    if kind == "BOOLEAN":
        return random.random(shape) < 0.5
    if kind == "FLOAT":
        return np.round(random.normal(10, 20, shape), 3)
    return random.integers(-5, 100, shape) * (SECOND if kind == "TIME" else 1)


def _values(function: Callable[..., Any], columns: list[Any], returns: str) -> list[Any]:
    kind, _, size = returns.partition("[")
    copies = [column.copy() for column in columns]
    with np.errstate(all="ignore"):
        given = function(*copies)
    for column, copy in zip(columns, copies, strict=True):
        assert np.array_equal(column, copy), "it changes the columns that it is given"
    try:
        form = {"kind": kind, "size": int(size.removesuffix("]")) if size else None}
        values, nulls = taken(given, len(columns[0]), form)
    except ContractError as error:
        raise AssertionError(str(error)) from None
    return [np.array(values, dtype=DTYPES.get(kind, object)), np.asarray(nulls)]


def _same(one: list[Any], other: list[Any]) -> bool:
    return all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))


def _rows(
    unit: Any,
    columns: dict[str, str],
    given: list[Any],
    cuts: list[int],
    again: Callable[[], Any] | None = None,
) -> list[tuple[Any, ...]]:
    """The rows that it gives for these batches; with `again`, a new unit takes the state over after each."""
    found: list[tuple[Any, ...]] = []
    for first, last in pairwise(cuts):
        if first == last:
            continue
        answer = unit.update(*(column[first:last].copy() for column in given))
        if answer is not None:
            strange = set(answer) - {*columns, "row"}
            assert not strange, f"it gives columns that it has not declared: {', '.join(sorted(strange))}"
            assert set(columns) <= set(answer), f"it gives no {', '.join(sorted(set(columns) - set(answer)))}"
            places = np.asarray(answer.get("row", np.arange(last - first)))
            assert (np.diff(places) >= 0).all(), "'row' must be in the order of the rows"
            for at, place in enumerate(places):
                values = [np.asarray(answer[name])[at] for name in columns]
                found.append((int(place) + first, *(np.asarray(one).tolist() for one in values)))
        if again is not None:
            state = unit.snapshot()
            assert isinstance(state, bytes), "snapshot gives bytes"
            unit = again()
            unit.restore(state)
    return found


def _equal(one: list[tuple[Any, ...]], other: list[tuple[Any, ...]]) -> bool:
    return repr(one) == repr(other)
