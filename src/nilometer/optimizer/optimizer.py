"""The rules in their order, and the one runner that applies them.

A phase runs its rules in order, and repeats while one of them changes something, up to its limit. After every
rule the runner checks that schema, collection and delivery are unchanged: a rule may change how an answer is
computed, never the answer. A profile may leave rules out by name.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any

from nilometer.errors import InternalError
from nilometer.optimizer.choose import choose
from nilometer.optimizer.context import OptimizerContext
from nilometer.optimizer.profiles import Profile, profile_named
from nilometer.optimizer.rules.fold_constants import fold_constants
from nilometer.optimizer.rules.merge_selections import merge_selections
from nilometer.optimizer.rules.order_joins import order_joins
from nilometer.optimizer.rules.phenomenon_to_sensor_set import phenomenon_to_sensor_set
from nilometer.optimizer.rules.push_projection_down import push_projection_down
from nilometer.optimizer.rules.push_selection_below_window import push_selection_below_window
from nilometer.optimizer.rules.push_selection_into_acquire import push_selection_into_acquire
from nilometer.optimizer.rules.push_selection_into_join import push_selection_into_join
from nilometer.optimizer.rules.push_selection_into_window_join import push_selection_into_window_join
from nilometer.optimizer.rules.push_selection_through_projection import push_selection_through_projection
from nilometer.optimizer.rules.push_selection_through_rename import push_selection_through_rename
from nilometer.optimizer.rules.remove_now_window import remove_now_window
from nilometer.optimizer.rules.remove_rstream import remove_rstream
from nilometer.optimizer.rules.remove_sort import remove_sort
from nilometer.optimizer.rules.select_product_to_join import select_product_to_join
from nilometer.optimizer.rules.static_predicate_to_sensor_set import static_predicate_to_sensor_set
from nilometer.optimizer.rules.window_columns_above_groups import window_columns_above_groups
from nilometer.plan import logical, physical
from nilometer.plan.explain import PlanNode

Rule = Callable[[Any, OptimizerContext], Any]


@dataclass(frozen=True)
class Phase:
    """Rules that run together. `limit` is how often the phase may run; it stops when nothing changes."""

    name: str
    reason: str
    rules: tuple[Rule, ...]
    limit: int = 1


RULES: tuple[Phase, ...] = (
    Phase(
        "selections",
        "drop rows as early as possible",
        (
            fold_constants,
            remove_sort,
            merge_selections,
            push_selection_through_rename,
            push_selection_through_projection,
            push_selection_into_join,
            push_selection_into_window_join,
            push_selection_below_window,
        ),
        limit=100,
    ),
    Phase(
        "acquisition",
        "hand the conditions that have reached the streams to the sensors",
        (push_selection_into_acquire, static_predicate_to_sensor_set, phenomenon_to_sensor_set),
    ),
    Phase(
        "joins",
        "turn conditions between extents into joins, and order them by size after selection",
        (select_product_to_join, order_joins),
    ),
    Phase(
        "columns",
        "drop columns that nobody reads, once every condition has its place",
        (window_columns_above_groups, push_projection_down),
    ),
    Phase(
        "choice",
        "choose an algorithm for every operator (SNEE's step 3)",
        (choose,),
    ),
    Phase(
        "operators",
        "remove operators that the chosen algorithms do not need",
        (remove_now_window, remove_rstream),
    ),
)


@dataclass(frozen=True)
class RuleApplication:
    """One application of a rule: the plan after it, and whether the plan has changed."""

    phase: str
    rule: str
    changed: bool
    seconds: float
    plan: PlanNode


@dataclass(frozen=True)
class Optimized:
    """The optimized logical plan, its physical plan, and the steps of all rules."""

    plan: logical.Node
    physical: physical.Node
    trace: tuple[RuleApplication, ...]


def optimize(
    plan: logical.Node, context: OptimizerContext, profile: str | Profile | None = None
) -> Optimized:
    """Run all phases over a bound plan. `profile` (a name, or a value) overrides the context's own."""
    if profile is not None:
        chosen = profile_named(profile) if isinstance(profile, str) else profile
        context = replace(context, profile=chosen)
    trace: list[RuleApplication] = []
    optimized = plan
    result: Any = plan
    for phase in RULES:
        result = run_phase(phase, result, context, trace)
        if isinstance(result, logical.Node):
            optimized = result
    return Optimized(optimized, result, tuple(trace))


def run_phase(phase: Phase, plan: Any, context: OptimizerContext, trace: list[RuleApplication]) -> Any:
    """Run the rules of a phase until none changes anything. The trace has every rule once, and later only its
    changes."""
    for turn in range(phase.limit):
        before = plan
        for rule in phase.rules:
            if rule.__name__ in context.profile.without:
                continue
            step = apply_rule(rule, plan, context, phase.name)
            plan = step.plan
            if step.changed or turn == 0:
                trace.append(step)
        if plan is before:
            break
    return plan


def apply_rule(rule: Rule, plan: Any, context: OptimizerContext, phase: str = "") -> RuleApplication:
    """Apply one rule, timed and checked."""
    name = rule.__name__
    start = perf_counter()
    after = rule(plan, context)
    seconds = perf_counter() - start
    changed = after is not plan and after != plan
    if changed:
        _check(name, plan, after)
    return RuleApplication(phase, name, changed, seconds, after if changed else plan)


def _check(name: str, before: PlanNode, after: PlanNode) -> None:
    if before.schema != after.schema:
        raise InternalError(f"{name} changed the schema: ({before.schema}) became ({after.schema})")
    match before, after:
        case logical.Deliver() | physical.Deliver(), logical.Deliver() | physical.Deliver():
            # The input may change from RSTREAM over windows to the windows themselves: both deliver the same
            # rows.
            same = (before.tick, before.within) == (after.tick, after.within)
        case _:
            same = before.collection is after.collection
    if not same:
        raise InternalError(f"{name} changed what is delivered")
