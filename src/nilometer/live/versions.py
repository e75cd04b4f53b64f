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
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, field, fields, is_dataclass
from enum import Enum
from functools import cache, cached_property, lru_cache
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
from nilometer.types import Column, Schema

STATE_FORMAT = 2
PARTIALS = "-partials"
"""Ends the layouts of plans whose operators kept rows before they kept partials."""
ON_SPARK = "spark-"
"""The prefix of the versions whose state Spark keeps; no other host can use that state."""

LEFT_OUT: dict[type, set[str]] = {logical.Acquire: {"columns", "reads"}, Schema: {"names"}}
"""Columns that a stream declares and a query does not use; those that it uses stand in its expressions. The names of a
schema are those of its columns."""


PLAIN = {type(None), bool, int, str}
"""The types whose values are in JSON as they are."""


@dataclass(frozen=True)
class Version:
    """A version of a query on a host. `physical` is its physical plan."""

    plan: str
    declared: Declared
    physical: physical.Node = field(repr=False, compare=False)
    host: str = ""

    @cached_property
    def older(self) -> str:
        """The identity that releases before this one gave it: a hash of EXPLAIN's text."""
        return _digest(f"{STATE_FORMAT}\n{explain_text(self.physical)}")

    @property
    def name(self) -> str:
        """The name by which commits and checkpoints call the version."""
        return f"{self.host}{self.plan}-{_digest(json.dumps(self.declared, sort_keys=True))[:8]}"

    def same_plan(self, name: str) -> bool:
        """Whether a version of that name, perhaps of an older release, has the same plan on the same host."""
        return name.rpartition("-")[0] == self.host + self.plan or name == self.host + self.older


def version_of(query: CompiledQuery, *, on_spark: bool = False) -> Version:
    """The version of a query."""
    declared = {name: declared_of(stream) for name, stream in physical.streams_of(query.physical).items()}
    return Version(identity(query.logical), declared, query.physical, ON_SPARK if on_spark else "")


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
    kind = type(value)
    if kind in PLAIN:
        return value
    if kind is tuple:
        return [_described(each, emission) for each in value]
    if kind is Column:
        return _described_column(value)
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
            quiet |= {each.name for each in value.function.options if each.emission_only}
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
    found = {}
    kind: Any = type(value)
    for name, default, made in _described_fields(kind):
        held = getattr(value, name)
        default = default if made is None else made()
        if not (type(held) is type(default) and held == default):
            found[name] = _described(held, emission)
    return found


@cache
def _described_fields(kind: Any) -> list[tuple[str, Any, Callable[[], Any] | None]]:
    """The fields of a class that are in its identity: the name, and the default or what makes it."""
    left_out = LEFT_OUT.get(kind, set())
    return [
        (one.name, one.default, None if one.default_factory is MISSING else one.default_factory)
        for one in fields(kind)
        if one.name not in left_out
    ]


@lru_cache(maxsize=4096)
def _described_column(column: Column) -> Any:
    """Kept, because the columns of a stream stand in the plans of all its queries."""
    return ["Column", _fields(column, True)]
