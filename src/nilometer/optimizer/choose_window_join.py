"""Chooses one of STEAM's three forms for a W-join (section 6.2; algorithms, 4.4), and explains the choice.

| the condition | form | reason |
|---|---|---|
| equalities connect every stream with every other | HW_JOIN | each step is a look-up |
| some equality, a band or comparison, or unequal or missing windows of three streams or more | MW_JOIN | the order of the streams and the search at each step matter |
| otherwise | NLW_JOIN | only the window narrows the search, equally for all streams |

All forms find the same tuples. EXPLAIN shows the reason as a comment.
"""

from __future__ import annotations

from collections.abc import Sequence

from nilometer.expressions import Expression, conjunction, conjuncts, uses_now
from nilometer.operators.bands import Band, bands_of
from nilometer.optimizer.equalities import equality_between
from nilometer.plan import logical, physical
from nilometer.plan.window_join_parts import KeyPair, tied
from nilometer.types import format_duration


def window_join(node: logical.WindowJoin, streams: tuple[physical.Node, ...]) -> physical.WindowJoin:
    """The join in its chosen form, over streams whose algorithms are chosen already."""
    keys: list[KeyPair] = []
    residual: list[Expression] = []
    for condition in conjuncts(node.predicate):
        key = _numbered_key(condition, node.streams)
        if key is None:
            residual.append(condition)
        else:
            keys.append(key)
    predicate = conjunction(residual)
    plain = physical.NlwJoin(streams, node.bounds, tuple(keys), predicate, node.memory, node.kind)
    hashed = _hashed(plain)
    if tied(len(streams), hashed):
        return physical.HwJoin(streams, node.bounds, tuple(keys), predicate, node.memory, node.kind)
    if hashed or _bands(plain) or _order_matters(plain):
        return physical.MwJoin(streams, node.bounds, tuple(keys), predicate, node.memory, node.kind)
    return plain


def why(node: logical.Node | physical.Node) -> str | None:
    """The reason for a W-join's form; None for other operators."""
    match node:
        case physical.HwJoin():
            return (
                f"hashes: equalities tie {_names(node, range(len(node.streams)))} together; {_windows(node)}"
            )
        case physical.MwJoin():
            return f"merge: {'; '.join([*_untied(node), *map(_searched, _bands(node)), _windows(node)])}"
        case physical.NlwJoin(keys=()):
            return f"nested loops: no equality, band or order of windows to search by; {_windows(node)}"
        case physical.NlwJoin():
            return f"nested loops, as the plan says; {_windows(node)}"
        case _:
            return None


def _numbered_key(condition: Expression, streams: tuple[logical.Node, ...]) -> KeyPair | None:
    for left in range(len(streams)):
        for right in range(left + 1, len(streams)):
            key = equality_between(condition, streams[left], streams[right])
            if key is not None:
                return KeyPair(left, key[0], right, key[1])
    return None


def _hashed(node: physical.WindowJoin) -> tuple[KeyPair, ...]:
    """The keys that can be looked up by hash: a key that reads NOW cannot, as NOW needs the whole tuple."""
    return tuple(k for k in node.keys if not uses_now(k.left_expression) and not uses_now(k.right_expression))


def _bands(node: physical.WindowJoin) -> tuple[Band, ...]:
    """The bands between two streams."""
    return tuple(
        band
        for band in bands_of(conjuncts(node.predicate))
        if _port(node, band.plus) != _port(node, band.minus)
    )


def _port(node: physical.WindowJoin, column: str) -> int:
    return next(port for port, stream in enumerate(node.streams) if column in stream.schema.names)


def _widths(node: physical.WindowJoin) -> dict[tuple[int, int], int]:
    """The narrowest bound of each pair of streams that has one."""
    widths: dict[tuple[int, int], int] = {}
    for bound in node.bounds:
        pair = (min(bound.left, bound.right), max(bound.left, bound.right))
        widths[pair] = min(bound.width, widths.get(pair, bound.width))
    return widths


def _pairs(node: physical.WindowJoin) -> list[tuple[int, int]]:
    count = len(node.streams)
    return [(left, right) for left in range(count) for right in range(left + 1, count)]


def _order_matters(node: physical.WindowJoin) -> bool:
    widths = _widths(node)
    return len(node.streams) > 2 and (len(widths) < len(_pairs(node)) or len(set(widths.values())) > 1)


def _windows(node: physical.WindowJoin) -> str:
    """Whether the windows are uniform, different or missing, in the paper's terms."""
    widths = _widths(node)
    missing = [pair for pair in _pairs(node) if pair not in widths]
    if missing:
        return f"no window between {', '.join(_names(node, pair) for pair in missing)}: implied by the others"
    if len(set(widths.values())) > 1:
        return "different windows"
    return f"one window of {format_duration(next(iter(widths.values())))}"


def _untied(node: physical.WindowJoin) -> list[str]:
    hashed = _hashed(node)
    if not hashed:
        return ["no equality"]
    tied = {port for key in hashed for port in (key.left, key.right)}
    lonely = [port for port in range(len(node.streams)) if port not in tied]
    return [f"no equality for {_names(node, lonely)}" if lonely else "equalities that do not tie all streams"]


def _searched(band: Band) -> str:
    bounds = "both sides" if band.closed else "one side"
    return f"{band.plus} - {band.minus} is bounded on {bounds}: searched by value"


def _names(node: physical.WindowJoin, ports: Sequence[int]) -> str:
    """The aliases of streams, as a list in words."""
    names = [_alias(node.streams[port]) or f"stream {port}" for port in ports]
    return " and ".join(names) if len(names) < 3 else f"{', '.join(names[:-1])} and {names[-1]}"


def _alias(stream: physical.Node) -> str | None:
    """The name of a stream in FROM: the alias of the first operator below that has one."""
    return next((str(one.alias) for one in physical.walk_plan(stream) if hasattr(one, "alias")), None)
