"""The proof that a query lies within the phenomenon that guides it, as a line for EXPLAIN.

    proved: pm25 > 60.0 implies pm25 > 35.0, so air is read at 'smoke' and 1 step around alone

The binder refuses GUIDED BY without this proof (plan/bind/guided.py). It is made anew here, from the optimized plan.
"""

from __future__ import annotations

from nilometer.expressions import conjunction, conjuncts
from nilometer.plan import logical
from nilometer.plan.bind.guided import class_of, plain
from nilometer.plan.implication import implies
from nilometer.plan.summaries import bare


def guided_notes(plan: logical.Node) -> list[str]:
    """A line for each acquisition that follows a phenomenon in whose class all its readings are."""
    nodes = list(logical.walk_plan(plan))
    told = {
        each.call["NAMED"]: each
        for each in nodes
        if isinstance(each, logical.TableFunction) and each.call.name == "MEMBERSHIP"
    }
    lines = []
    for leaf in nodes:
        if not isinstance(leaf, logical.Acquire) or leaf.of is None or leaf.predicate is None:
            continue
        followed = told.get(leaf.of[0])
        wanted = None if followed is None else class_of(followed)
        if followed is None or wanted is None:
            continue
        streams = [each for each in logical.walk_plan(followed) if isinstance(each, logical.Acquire)]
        strong = conjunction([plain(bare(part, leaf.alias)) for part in conjuncts(leaf.predicate)])
        weak = bare(wanted, streams[0].alias)
        if strong is not None and implies(strong, weak):
            name, hops = leaf.of
            steps = "" if not hops else " and 1 step around" if hops == 1 else f" and {hops} steps around"
            lines.append(
                f"proved: {strong} implies {weak}, so {leaf.stream.name} is read at '{name}'{steps} alone"
            )
    return lines
