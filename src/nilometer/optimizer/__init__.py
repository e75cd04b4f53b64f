"""Optimizes: a logical plan -> a cheaper logical plan -> a physical plan. A rule never changes the answer."""

from nilometer.optimizer.choose import choose
from nilometer.optimizer.context import OptimizerContext
from nilometer.optimizer.optimizer import RULES, Optimized, Phase, RuleApplication, optimize
from nilometer.optimizer.profiles import PROFILES, JoinOrder, Profile
from nilometer.optimizer.verbose import explain_verbose
from nilometer.optimizer.why import why

__all__ = [
    "optimize",
    "Optimized",
    "OptimizerContext",
    "RULES",
    "Phase",
    "RuleApplication",
    "PROFILES",
    "Profile",
    "JoinOrder",
    "choose",
    "explain_verbose",
    "why",
]
