"""Every operator has a bound, and says so by its name; memory that a library asks for in vain is told in the same way."""

from __future__ import annotations

import polars as pl
import pytest

from contract.operators import CASES, Case
from contract.rounds import generate, rounds, run
from nilometer.errors import ResourceError
from nilometer.expressions import ColumnReference
from nilometer.memory import budget
from nilometer.operators import frames, limits
from nilometer.operators.limits import check_built, check_kept, operator
from nilometer.operators.logic import Output, Progress
from nilometer.operators.unnest import Unnesting
from nilometer.types import INT, list_of

BUILDS = {
    "windows join, hash, INNER": "a join of windows",
    "windows join, hash, LEFT": "a join of windows",
    "windows join, product": "a join of windows",
    "windows with table": "a join with a table",
    "stream with table, INNER": "a join with a table",
    "table with table, FULL": "a join with a table",
    "table outer join": "a join with a table",
    "window join, product": "a join by WINDOW",
    "window join, merge": "a join by WINDOW",
    "window join, HW, a table": "a join by WINDOW",
    "union of windows": "UNION",
    "time window, sliding": "TIME_WINDOW",
    "row window": "ROW_WINDOW",
    "aggregate over a join": "an aggregate over a join",
    "changes of a join, ISTREAM": "ISTREAM or DSTREAM of a join",
    "changes of a product": "ISTREAM or DSTREAM of a join",
}
KEEPS = {
    "as-of join": "ASOF_JOIN",
    "lag": "LAG",
    "sample": "SAMPLE",
    "silent": "SILENT",
    "outer window join, LEFT, HW": "a join by WINDOW",
    "row window": "ROW_WINDOW",
    "time window, sliding": "TIME_WINDOW",
    "window aggregate, sliding": "an aggregate of windows",
    "window aggregate, holistic": "an aggregate of windows",
    "window join, merge": "a join by WINDOW",
    "window join, HW, a table": "a join by WINDOW",
    "windows with table": "a join with a table",
    "table with table, FULL": "a join with a table",
    "table outer join": "a join with a table",
    "union of tables": "UNION",
}


def case(name: str) -> Case:
    return next(one for one in CASES if one.name == name)


def whole(name: str) -> list[Output]:
    found = case(name)
    return list(run(found.spec.build(), rounds(generate(found.inputs, 60, 1), 20)))


@pytest.mark.parametrize("name", BUILDS)
def test_what_an_operator_builds_has_a_bound(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "ROWS_AT_ONCE", 5)
    with pytest.raises(ResourceError, match=f"^{BUILDS[name]} would build [0-9,]+ rows at once") as caught:
        whole(name)
    assert caught.value.detail is not None
    assert caught.value.detail.endswith("the limit is 5")
    assert caught.value.hint is not None


@pytest.mark.parametrize("name", KEEPS)
def test_what_an_operator_keeps_has_a_bound(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "ROWS_KEPT", 0)
    with pytest.raises(ResourceError, match=r"would keep [0-9,]+ rows") as caught:
        whole(name)
    assert caught.value.message.startswith((KEEPS[name], "an operator"))


def test_bytes_are_bounded_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "BYTES_AT_ONCE", 800)
    check_built(10, 10)
    with pytest.raises(ResourceError, match="would build 11 rows"):
        check_built(11, 10)
    check_built(11, 1)
    check_kept(min(limits.ROWS_KEPT, budget().operators // 8))


@pytest.mark.parametrize("found", CASES, ids=str)
def test_memory_asked_for_in_vain_is_told_by_name(found: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    def in_vain(*_: object, **__: object) -> pl.DataFrame:
        raise MemoryError("Unable to allocate 12.0 GiB")

    logic = found.spec.build()
    sequence = rounds(generate(found.inputs, 40, 1), 40)
    for port, rows in sequence[0].updates:
        logic.update(port, rows)
    for name in ("concatenate", "conform", "empty", "evaluations"):
        monkeypatch.setattr(frames, name, in_vain)
    monkeypatch.setattr(pl.DataFrame, "join", in_vain)
    monkeypatch.setattr(pl, "DataFrame", in_vain)
    monkeypatch.setattr(pl, "concat", in_vain)
    with pytest.raises(ResourceError, match="needs more memory than there is") as caught:
        logic.advance(sequence[0].progress)
    assert caught.value.detail == "Unable to allocate 12.0 GiB"
    assert not caught.value.message.startswith("an operator")


def test_the_name_is_that_of_the_innermost_operator() -> None:
    class Inner:
        @operator("INNER")
        def advance(self, progress: Progress) -> None:
            check_built(1e12, 1)

    class Outer:
        @operator("OUTER")
        def advance(self, progress: Progress) -> None:
            Inner().advance(progress)

    with pytest.raises(ResourceError, match=r"^INNER"):
        Outer().advance(Progress(0))
    with pytest.raises(ResourceError, match=r"^an operator"):
        check_built(1e12, 1)


def test_lists_that_unnest_copies_to_each_element_are_bounded() -> None:
    """A list of n elements that stays beside them takes n times n values: once, that ended the process."""
    long = ColumnReference("l", list_of(INT))
    rows = pl.DataFrame({"l": [list(range(100_000))]})
    with pytest.raises(ResourceError, match=r"^UNNEST would build 10,000,000,000 rows at once"):
        Unnesting("n", long, stream=False)(rows)
    assert Unnesting("n", long, stream=False, dropped=True)(rows).height == 100_000
