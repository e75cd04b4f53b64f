"""Prints the optimizer's steps: the plan after each named rule, or `(unchanged)`."""

from __future__ import annotations

from nilometer.optimizer.optimizer import RULES, Optimized
from nilometer.optimizer.why import why
from nilometer.plan import logical
from nilometer.plan.explain import explain_text


def explain_verbose(plan: logical.Node, optimized: Optimized) -> str:
    """The bound plan, and the plan after every rule; the last is the physical plan."""
    reasons = {phase.name: phase.reason for phase in RULES}
    sections = [f"-- bound\n{explain_text(plan)}"]
    phase = ""
    for step in optimized.trace:
        if step.phase != phase:
            phase = step.phase
            sections.append(f"\n-- phase {phase}: {reasons[phase]}")
        body = f"\n{explain_text(step.plan, why)}" if step.changed else " (unchanged)"
        sections.append(f"-- {step.rule}{body}")
    return "\n".join(sections)
