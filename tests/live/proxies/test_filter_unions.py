"""The union of filters passes what any of them passes, however many there are, and still holds something back."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from nilometer.expressions import Call, ColumnReference, Expression, Literal, conjunction
from nilometer.live.proxies import Demand, asks_for
from nilometer.live.proxies.filter_unions import FEW, PARTS, union
from nilometer.types import BOOLEAN, FLOAT, INT, Type

COLUMNS = {"x": INT, "v": FLOAT}


def compare(way: str, name: str, bound: float) -> Expression:
    type: Type = COLUMNS[name]
    value = int(bound) if type is INT else float(bound)
    return Call(way, (ColumnReference(name, type), Literal(value, type)), BOOLEAN)


conditions = st.builds(
    compare, st.sampled_from([">", ">=", "<", "<=", "="]), st.sampled_from("xv"), st.integers(-20, 20)
)
filters = st.lists(conditions, min_size=1, max_size=3).map(conjunction)
rows = st.fixed_dictionaries(
    {
        "x": st.one_of(st.none(), st.integers(-25, 25)),
        "v": st.one_of(st.none(), st.integers(-50, 50).map(lambda half: half / 2)),
    }
)


@given(st.lists(filters, min_size=1, max_size=3 * FEW), st.lists(rows, min_size=1, max_size=20))
def test_what_one_filter_passes_the_union_passes(
    predicates: list[Expression | None], found: list[dict[str, float | None]]
) -> None:
    together = Demand((), frozenset(), union(predicates))
    again = Demand((), frozenset(), union([union(predicates[:-1]), predicates[-1]]))
    for row in found:
        if any(asks_for(Demand((), frozenset(), predicate), row) for predicate in predicates):
            assert asks_for(together, row)
            assert asks_for(again, row)


def test_many_filters_are_one_short_filter_that_still_excludes() -> None:
    assert str(union(compare(">", "v", n) for n in range(1000))) == "v > 0.0"
    ranges = [conjunction([compare(">", "x", 10 * n), compare("<", "x", 10 * n + 5)]) for n in range(1000)]
    found = str(union(ranges))
    assert found.count("OR") == PARTS - 1
    assert "x > 0 AND" in found
    assert "x < 9995" in found
    # Each bounds x or v, but not all bound the same: nothing is held back.
    assert union(compare(">", "x" if n % 2 else "v", n) for n in range(40)) is None
    # One that may fail asks for the tuples on which it fails.
    risky = Call(
        ">", (Call("/", (Literal(1, INT), ColumnReference("x", INT)), INT), Literal(3, INT)), BOOLEAN
    )
    assert union([risky, *ranges]) is None


def test_the_order_of_queries_does_not_matter() -> None:
    many = [compare("<", "v", n) for n in range(50)] + [compare("=", "v", 100 + 2 * n) for n in range(50)]
    assert union(many) == union(reversed(many))
