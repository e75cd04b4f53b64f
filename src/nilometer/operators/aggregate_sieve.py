"""The rows that an aggregate sets aside: those without a value for a key or an argument (set_aside.py).

>>> import polars as pl
>>> from nilometer.expressions import Aggregate, Call, ColumnReference
>>> from nilometer.operators.set_aside import collecting
>>> from nilometer.types import INT
>>> twice = Call("+", (ColumnReference("n", INT), ColumnReference("n", INT)), INT)
>>> sieve = aggregate_sieve((), (("most", Aggregate("max", twice, False, INT)),))
>>> with collecting() as letters:
...     sieve(pl.DataFrame({"n": [1, 2**63 - 1]})).rows()
[(1,)]
>>> [letter.count for letter in letters]
[1]
"""

from __future__ import annotations

from nilometer.expressions import Expression
from nilometer.operators.aggregate_items import NamedAggregate, NamedExpression
from nilometer.operators.evaluate.evaluate import Sieve, compile_predicate, compile_sieve


def aggregate_sieve(
    keys: tuple[NamedExpression, ...], items: tuple[NamedAggregate, ...], predicate: Expression | None = None
) -> Sieve:
    """Compile the checks. With a predicate, also rows for which it has no value are set aside, and only rows for
    which it is true need the others."""
    needed = [expression for _, expression in keys]
    needed += [argument for _, aggregate in items for argument in aggregate.children()]
    if predicate is None:
        return compile_sieve(needed)
    own = [check for part in compile_predicate(predicate).parts for check in part.overflows]
    return Sieve((*own, *compile_sieve(needed, predicate).checks))
