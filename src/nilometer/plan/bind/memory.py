"""Binds the MEMORY clause of a WINDOW join: how many rows to keep of each stream, and which to drop first."""

from __future__ import annotations

from nilometer import algebra
from nilometer.language import ast
from nilometer.plan.bind.scope import Scope, nearest, quoted
from nilometer.plan.bind.windows import amount_length
from nilometer.plan.window_join_parts import Memory


def bind_memory(scope: Scope, select: ast.Select) -> Memory | None:
    """Returns None without the clause: the join then keeps every row that its windows need."""
    if not select.memory:
        return None
    rows: dict[int, int] = {}
    for bound in select.memory:
        count = _rows(scope, bound)
        if bound.stream is None:
            rows = dict.fromkeys(range(len(scope.relations)), count)
            continue
        port = _port(scope, bound)
        if port in rows:
            scope.context.fail(f"a second MEMORY of '{bound.stream}'", bound, hint="keep one of them")
        rows[port] = count
    policy = algebra.ShedPolicy(select.shed or algebra.ShedPolicy.RANDOM)
    return Memory(tuple(rows.get(port) for port in range(len(scope.relations))), policy)


def _rows(scope: Scope, bound: ast.MemoryBound) -> int:
    length = amount_length(scope.context, bound.rows, "ROWS")
    if not length.rows:
        scope.context.fail(
            "MEMORY is a number of rows, not a length of time",
            bound,
            hint="write such as MEMORY = 10000 ROWS",
        )
    if length.value < 1:
        scope.context.fail("MEMORY must be at least one row", bound, hint="such as MEMORY = 10000 ROWS")
    return length.value


def _port(scope: Scope, bound: ast.MemoryBound) -> int:
    assert bound.stream is not None
    found = scope.relation(bound.stream)
    if found is None:
        aliases = [relation.alias for relation in scope.relations]
        scope.context.fail(
            f"no stream '{bound.stream}' in FROM",
            bound,
            detail=f"FROM has {quoted(aliases)}",
            hint=nearest(bound.stream, aliases),
        )
    return scope.relations.index(found)
