"""The version of a standing query: an identity made of meaning, not of text.

    plan      the bound plan, as a tree of nodes: what the query asks
    declared  DELAY, KEY and FUTURE of each of its streams: which readings count, and when a window is complete

A query with another plan is another query: it begins with an empty state where the old one stood. A query with
the same plan and other declarations is a new version that takes the state over (`Era`, log/results). The
wording of EXPLAIN, the optimizer's rules and new fields of nodes with a default are in no identity.

The law: `identity(plan)` depends on the meaning of the plan alone, and is the same in every process. Options
that only decide what is emitted (`emission_only`) can be left out: that is the identity of the state.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields, is_dataclass
from enum import Enum
from hashlib import blake2b
from typing import Any

from nilometer.algebra.table_function import FunctionCall, TableFunction
from nilometer.catalog import Stream, Table
from nilometer.errors import InternalError
from nilometer.expressions import ALGEBRAIC
from nilometer.live.declarations import CompiledQuery
from nilometer.log.results.eras import Declared
from nilometer.plan import logical, physical
from nilometer.plan.explain import explain_text

STATE_FORMAT = 2
PARTIALS = "-partials"
"""Ends the layouts of plans whose operators kept rows before they kept partials."""
ON_SPARK = "spark-"
"""The prefix of the versions whose state Spark keeps; no other host can use that state."""

LEFT_OUT = {logical.Acquire: {"columns", "reads"}}
"""Columns that a stream declares and a query does not use; those that it uses stand in its expressions."""


@dataclass(frozen=True)
class Version:
    """A version of a query on a host. `older` is the identity that releases before this one gave it: a hash of
    EXPLAIN's text."""

    plan: str
    declared: Declared
    older: str
    host: str = ""

    @property
    def name(self) -> str:
        """The name by which commits and checkpoints call the version."""
        return f"{self.host}{self.plan}-{_digest(json.dumps(self.declared, sort_keys=True))[:8]}"

    def same_plan(self, name: str) -> bool:
        """Whether a version of that name, perhaps of an older release, has the same plan on the same host."""
        return name == self.host + self.older or name.rpartition("-")[0] == self.host + self.plan


def version_of(query: CompiledQuery, *, on_spark: bool = False) -> Version:
    """The version of a query."""
    older = _digest(f"{STATE_FORMAT}\n{explain_text(query.physical)}")
    declared = {name: declared_of(stream) for name, stream in physical.streams_of(query.physical).items()}
    return Version(identity(query.logical), declared, older, ON_SPARK if on_spark else "")


def declared_of(stream: Stream) -> dict[str, Any]:
    """The declarations that decide which readings of a stream count, and when its windows are complete."""
    return {"delay": stream.delay, "key": list(stream.key), "future": stream.future}


def identity(plan: object, *, emission: bool = True) -> str:
    """A hash of a plan's meaning; without `emission`, of what its state depends on."""
    return _digest(json.dumps(_described(plan, emission), sort_keys=True))


def layout_of(plan: physical.Node) -> str:
    """The identity of a physical plan, and of the form in which its operators keep their state. A state of another
    layout is made again from the logs."""
    return (
        f"{identity(plan)}{PARTIALS}" if any(map(_has_partials, physical.walk_plan(plan))) else identity(plan)
    )


def _has_partials(node: physical.Node) -> bool:
    """Whether a node keeps partials where the first releases kept rows: sessions, and aggregates that are not
    algebraic."""
    match node:
        case physical.TableFunction(operator="SESSION"):
            return True
        case physical.Aggregate(items=items) | physical.AggregateInit(items=items):
            return any(item.aggregate.function not in ALGEBRAIC for item in items)
        case _:
            return False


def _digest(text: str) -> str:
    return blake2b(text.encode(), digest_size=8).hexdigest()


def _described(value: Any, emission: bool) -> Any:
    """A value as JSON. Fields with their default are left out, so that a new field changes no identity."""
    match value:
        case Enum():
            return [type(value).__name__, value.name]
        case None | bool() | int() | str():
            return value
        case float() | bytes():
            return repr(value)
        case Stream():
            return ["Stream", value.name.lower(), value.every, value.coordinates]
        case Table():
            return ["Table", value.name.lower()]
        case TableFunction():
            return ["TableFunction", value.name]
        case FunctionCall() if not emission:
            quiet = {option.word for option in value.function.all_options if option.emission_only}
            kept = tuple(each for each in value.options if each[0] not in quiet)
            return ["FunctionCall", _fields(value, emission) | {"options": _described(kept, emission)}]
        case tuple() | list():
            return [_described(each, emission) for each in value]
        case frozenset() | set():
            return sorted((_described(each, emission) for each in value), key=repr)
        case Mapping():
            return sorted(
                ([_described(k, emission), _described(v, emission)] for k, v in value.items()), key=repr
            )
        case _ if is_dataclass(value) and not isinstance(value, type):
            return [type(value).__name__, _fields(value, emission)]
    raise InternalError(f"a plan holds a {type(value).__name__}, which has no identity")


def _fields(value: Any, emission: bool) -> dict[str, Any]:
    left_out = LEFT_OUT.get(type(value), set())
    found = {}
    for field in fields(value):
        held = getattr(value, field.name)
        default = field.default_factory() if field.default_factory is not MISSING else field.default
        if field.name not in left_out and not (type(held) is type(default) and held == default):
            found[field.name] = _described(held, emission)
    return found
