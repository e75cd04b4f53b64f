"""AGGR_INIT and AGGR_MERGE in C (SNEE section 4.5): states of constant size, merged on the way to the sink.

Without grouping, the states are local variables; with grouping, they are a small table that is searched from
its beginning. AGGR_EVAL runs at the gateway: it is one division per answer, and a mote has no double.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from nilometer.expressions import ColumnReference, Expression
from nilometer.plan import physical
from nilometer.plan.logical import AggregateItem
from nilometer.sensornet.motes.c_text import Lines, assigned, block, held, identifier, struct
from nilometer.sensornet.motes.emission import Consumer, Emitter
from nilometer.sensornet.motes.fields import Fields, passes_on
from nilometer.sensornet.motes.scalars import NOW, Row, value_of
from nilometer.sensornet.motes.values import TIME_FIELD, Field, Value

Aggregation = physical.AggregateInit | physical.AggregateMerge


def emit_aggregate(emitter: Emitter, node: Aggregation, above: Consumer) -> Lines:
    """The C of a partial aggregation."""
    if passes_on(node):
        return emitter.emit(node.input, above)
    states = emitter.typing.fields(node)
    arguments = {key.name: key.expression for key in node.keys}

    def keys(row: Row) -> dict[str, Value]:
        if isinstance(node, physical.AggregateMerge):
            return {name: row[name] for name in arguments}
        return {name: value_of(expression, row) for name, expression in arguments.items()}

    def update(row: Row, target: str) -> Lines:
        return combine(node, row, target, states)

    if node.keys:
        lines = _grouped(emitter, node, states, keys, update, above)
    else:
        lines = _ungrouped(emitter, node, states, update, above)
    return [f"/* {node.operator} */", *lines]


def combine(node: Aggregation, row: Row, target: str, states: Fields) -> Lines:
    """Add one row to the states: a row of the extent at INIT, a partial result at MERGE."""
    into = _merge if isinstance(node, physical.AggregateMerge) else _init
    return [line for item in node.items for line in into(item, row, target, states)]


Keys = Callable[[Row], dict[str, Value]]
Update = Callable[[Row, str], Lines]


def _ungrouped(emitter: Emitter, node: Aggregation, states: Fields, update: Update, above: Consumer) -> Lines:
    # An INIT answers for an empty window, too; a MERGE only if some site has sent something. Between the evaluations of
    # a sliding window no site sends.
    state = emitter.name("state")
    emitter.declarations += [*struct(state, ["uint8_t any;"], states), f"static struct {state} {state};"]
    merging = isinstance(node, physical.AggregateMerge)
    result = held(f"{state}.", states) | {NOW: Value("evaluation", TIME_FIELD)}

    def opened() -> Lines:
        return [f"memset(&{state}, 0, sizeof {state});", *nulls(states, f"{state}.")]

    def closed() -> Lines:
        given = above.row(result)
        return [*above.open(), *(block(f"if ({state}.any)", given) if merging else given), *above.close()]

    def each(row: Row) -> Lines:
        return [*([f"{state}.any = 1;"] if merging else []), *update(row, f"{state}.")]

    return emitter.emit(node.input, Consumer(each, opened, closed))


def _grouped(
    emitter: Emitter, node: Aggregation, states: Fields, keys: Keys, update: Update, above: Consumer
) -> Lines:
    table = emitter.name("groups")
    arguments = {} if isinstance(node, physical.AggregateMerge) else {k.name: k.expression for k in node.keys}
    capacity = emitter.typing.groups(node, emitter.arrivals)
    emitter.declarations += [
        *struct(table, [], states),
        f"static struct {table} {table}[{capacity}];",
        f"static uint{8 if capacity < 256 else 16}_t {table}_count;",
    ]

    def each(row: Row) -> Lines:
        found, computing = once(keys(row), arguments, states)
        equal = [same(value, f"group->{identifier(name)}", states[name]) for name, value in found.items()]
        search = block(
            f"while (group < {table} + {table}_count && !({' && '.join(equal)}))",
            ["group++;"],
        )
        blank = {name: states[name] for name in found}
        adding = [
            f"if ({table}_count == {capacity}) {{ FAULT(FAULT_STATE_FULL); group--; }} else {{",
            f"    {table}_count++;",
            "    memset(group, 0, sizeof *group);",
            *[f"    {line}" for line in assigned("group->", found, blank)],
            *[
                f"    {line}"
                for line in nulls({n: f for n, f in states.items() if n not in found}, "group->")
            ],
            "}",
        ]
        return block(
            "",
            [
                *computing,
                f"struct {table} *group = {table};",
                *search,
                *block(f"if (group == {table} + {table}_count)", adding),
                *update(row, "group->"),
            ],
        )

    def closed() -> Lines:
        result = held("group->", states) | {NOW: Value("evaluation", TIME_FIELD)}
        giving = block(
            f"for (const struct {table} *group = {table}; group < {table} + {table}_count; group++)",
            above.row(result),
        )
        return [*above.open(), *giving, *above.close()]

    return emitter.emit(node.input, Consumer(each, lambda: [f"{table}_count = 0;"], closed))


def once(
    found: dict[str, Value], expressions: Mapping[str, Expression], states: Fields
) -> tuple[dict[str, Value], Lines]:
    """The keys of a row, and the statements that compute those keys that are not plain columns: once, not for
    every group that is looked at."""
    made = {n: states[n] for n, e in expressions.items() if not isinstance(e, ColumnReference)}
    lines = [
        f"const {field.ctype} {line}"
        for field, line in zip(made.values(), assigned("wanted_", found, made), strict=True)
    ]
    return found | held("wanted_", made), lines


def same(value: Value, member: str, state: Field) -> str:
    """The C condition that a row's key equals a group's key."""
    if not state.nullable:
        return f"{member} == {value.text}"
    null = value.null or "0"
    return f"({state.is_null(member)} ? ({null}) : (!({null}) && {member} == {value.text}))"


def nulls(states: Fields, target: str) -> Lines:
    """SUM, MIN and MAX of no rows are NULL."""
    return [f"{target}{identifier(name)} = {field.null};" for name, field in states.items() if field.nullable]


def _init(item: AggregateItem, row: Row, target: str, states: Fields) -> Lines:
    """Add one row to the state."""
    argument, function = item.aggregate.argument, item.aggregate.function

    def member(part: str) -> str:
        return f"{target}{identifier(f'{item.name}#{part}')}"

    if argument is None:
        return [f"{member('count')}++;"]
    value = value_of(argument, row)
    match function:
        case "count":
            lines = [f"{member('count')}++;"]
        case "sum" | "min" | "max":
            lines = _combined(function, member(function), value.text, states[f"{item.name}#{function}"])
        case "avg":
            lines = [f"{member('sum')} += {value.text};", f"{member('count')}++;"]
        case _:
            lines = [
                f"{member('count')}++;",
                f"{member('sum')} += {value.text};",
                f"{member('squares')} += (int32_t){value.text} * {value.text};",
            ]
    return block(f"if (!({value.null}))", lines) if value.null is not None else lines


def _merge(item: AggregateItem, row: Row, target: str, states: Fields) -> Lines:
    """Merge one partial state into another."""
    parts = {
        "avg": ("sum", "count"),
        "stdev": ("count", "sum", "squares"),
        "variance": ("count", "sum", "squares"),
    }
    function = item.aggregate.function
    lines: Lines = []
    for part in parts.get(function, (function,)):
        name = f"{item.name}#{part}"
        value, member = row[name], f"{target}{identifier(name)}"
        if value.null is None:
            lines.append(f"{member} += {value.text};")
        else:
            lines += block(f"if (!({value.null}))", _combined(function, member, value.text, states[name]))
    return lines


def _combined(function: str, member: str, value: str, state: Field) -> Lines:
    """SUM, MIN or MAX of a state that may be NULL (no rows yet) and a value that is not NULL."""
    null = state.is_null(member)
    if function == "sum":
        return [f"{member} = {null} ? {value} : {member} + {value};"]
    return [f"if ({null} || {value} {'<' if function == 'min' else '>'} {member}) {member} = {value};"]
