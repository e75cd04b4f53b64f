"""A layout -> text: EXPLAIN's stage "spark". One fragment after the other, then what runs in one bucket and why.

fragment 0 (reader) -> fragment 1 by R.id
  SP_ACQUIRE [river AS R; id, depth]
fragment 1 (stage 1, 16 buckets) -> answer
  DELIVER [TICK]
    AGGR [BY R.id; AVG(R.depth) AS depth]
      TIME_WINDOW [RANGE 1 HOUR SLIDE 1 HOUR]
        RECEIVE [fragment 0]
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from nilometer.plan import physical
from nilometer.plan.explain import explain_text
from nilometer.plan.explain.expressions import print_expression
from nilometer.plan.explain.text import PlanNode
from nilometer.spark.layout.fragments import Fragment, Layout
from nilometer.spark.layout.grid import Grid
from nilometer.spark.layout.stripes import Stripes

_EXCHANGE = re.compile(rf"( *){physical.Exchange.operator}\b.*?((?: @\w+)*)")


Note = Callable[[Fragment, PlanNode], str | None]


def text_of(
    layout: Layout,
    note: Note = lambda _, __: None,
    of_fragment: Callable[[Fragment], str | None] = lambda _: None,
) -> str:
    """The text of a layout, without a final newline. `note` and `of_fragment` add remarks to operators and fragments."""
    fragments = [line for one in layout.fragments for line in _fragment(one, layout, note, of_fragment(one))]
    return "\n".join([*fragments, *layout.reasons])


def _fragment(fragment: Fragment, layout: Layout, note: Note, remark: str | None) -> Iterator[str]:
    where = "reader"
    if fragment.stage:
        where = f"stage {fragment.stage}, {fragment.buckets} bucket{'s' if fragment.buckets > 1 else ''}"
    told = "" if remark is None else f"  -- {remark}"
    yield f"fragment {fragment.number} ({where}) -> {_destination(fragment, layout)}{told}"
    for line in _plan(fragment, note):
        yield f"  {line}"


def _destination(fragment: Fragment, layout: Layout) -> str:
    if fragment.target is None:
        return "answer"
    by = f" by {', '.join(map(print_expression, fragment.keys))}" if fragment.keys else ""
    match fragment.copying:
        case Stripes() as stripes:
            by = f" by stripes of {print_expression(fragment.keys[0])}, {_reach(stripes)}"
        case Grid() as grid:
            shape = " x ".join(map(str, grid.shares(layout.buckets)))
            copies = grid.copies(layout.buckets)
            by += f" in a grid of {shape}, {copies} {'copies' if copies > 1 else 'copy'}"
    if fragment.told:
        by += ", ticks to all buckets" if by else ", with ticks"
    return f"fragment {fragment.target}{by}" if layout.buckets > 1 else f"fragment {fragment.target}"


def _reach(stripes: Stripes) -> str:
    """
    >>> _reach(Stripes(2.0)), _reach(Stripes(2.0, 0.5, 0.5)), _reach(Stripes(4.0, 2.0, 0.0))
    ('2 wide', '2 wide, copies 0.5 below and 0.5 above', '4 wide, copies 2 below and 0 above')
    """
    copies = f", copies {stripes.below:g} below and {stripes.above:g} above"
    return f"{stripes.width:g} wide{copies if stripes.below or stripes.above else ''}"


def _plan(fragment: Fragment, note: Note) -> Iterator[str]:
    """The plan's text, with each exchange as a leaf that names the fragment its rows come from."""
    inputs = iter(fragment.inputs)
    below: int | None = None
    for line in explain_text(fragment.plan, lambda node: note(fragment, node)).splitlines():
        depth = len(line) - len(line.lstrip())
        if below is not None and depth > below:
            continue
        found = _EXCHANGE.fullmatch(line)
        below = None if found is None else depth
        yield line if found is None else f"{found[1]}RECEIVE [fragment {next(inputs)}]{found[2]}"
