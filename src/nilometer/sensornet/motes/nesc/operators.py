"""Physical operators as nesC modules that pull: `open` begins an evaluation, `next` gives its rows.

Each function gives a component's text; its name, what feeds it and its row type are decided by `fragment`.
"""

from __future__ import annotations

from dataclasses import dataclass

from nilometer.errors import UnsupportedError
from nilometer.expressions import Call
from nilometer.plan import physical
from nilometer.plan.logical import JoinKind
from nilometer.sensornet.motes.c_text import Lines, assigned, block, held, identifier, indented, struct
from nilometer.sensornet.motes.fields import Fields, Typing
from nilometer.sensornet.motes.scalars import NOW, Row, is_true, value_of
from nilometer.sensornet.motes.values import TIME_FIELD, Value
from nilometer.types import BOOLEAN


@dataclass(frozen=True)
class Part:
    """A generated component: its file's text, the struct of its rows, and the columns in it."""

    name: str
    text: str
    row: str
    declaration: Lines


def module(name: str, interfaces: Lines, body: Lines) -> str:
    """The text of a module."""
    return "\n".join(
        [f"module {name} {{", *indented(interfaces), "}", "implementation {", *indented(body), "}", ""]
    )


def row_struct(row: str, fields: Fields) -> Lines:
    """Declares a row type."""
    return [*struct(row, ["uint8_t epoch;"], fields), f"typedef struct {row} {row}_t;"]


def scope(target: str, typing: Typing, node: physical.Node) -> dict[str, Value]:
    """The columns of a row that a pointer holds, with the times that follow from the evaluation."""
    now = f"call Evaluation.number({target}epoch)"
    found = held(target, typing.stored(node)) | {NOW: Value(now, TIME_FIELD)}
    for name, distance in typing.derived(node).items():
        found[name] = Value(f"({now} - {distance})" if distance else now, TIME_FIELD)
    return found


def acquire(node: physical.SpAcquire, typing: Typing, name: str, site: object) -> Part:
    """SP_ACQUIRE: senses its columns one after the other when its task runs, then gives one row, or none."""
    fields = typing.stored(node)
    sensed = [c for c in node.columns + node.reads if c.name.lower() not in ("time", "id")]
    wide = typing.acquired(node, node.columns + node.reads, False)
    row: dict[str, Value] = {NOW: Value("call Evaluation.number(epoch)", TIME_FIELD)}
    for column in node.columns + node.reads:
        full = f"{node.alias}.{column.name}"
        match column.name.lower():
            case "time":
                row[full] = row[NOW]
            case "id":
                row[full] = Value(str(site), wide[full])
            case _:
                row[full] = Value(identifier(full), wide[full])
    uses = [f"interface Read<uint16_t> as {sensor_name(c.name)};" for c in sensed]
    body = [f"{wide[f'{node.alias}.{c.name}'].ctype} {identifier(f'{node.alias}.{c.name}')};" for c in sensed]
    body += [f"{name}_row_t row;", "uint8_t epoch;", "bool given;", ""]
    steps = [f"call {sensor_name(c.name)}.read();" for c in sensed] + ["signal Sensing.done();"]
    body += block("command void Sensing.run()", [steps[0]])
    for column, then in zip(sensed, steps[1:], strict=True):
        value = typing.converter(node, column).text("count")
        target = identifier(f"{node.alias}.{column.name}")
        body += block(
            f"event void {sensor_name(column.name)}.readDone(error_t result, uint16_t count)",
            [f"{target} = {value};", then],
        )
    keep = ["given = FALSE;" if node.predicate is None else f"given = !({is_true(node.predicate, row)});"]
    body += block("command void Pull.open(uint8_t now)", ["epoch = now;", *keep])
    body += block(
        f"command const {name}_row_t *Pull.next()",
        [
            "if (given) return NULL;",
            "given = TRUE;",
            "row.epoch = epoch;",
            *assigned("row.", row, fields),
            "return &row;",
        ],
    )
    return Part(
        name,
        module(
            name,
            [
                f"provides interface Pull<{name}_row_t>;",
                "provides interface AgendaTask as Sensing;",
                *(f"uses {u}" for u in uses),
                "uses interface Evaluation;",
            ],
            body,
        ),
        f"{name}_row",
        row_struct(f"{name}_row", fields),
    )


def sensor_name(column: str) -> str:
    """The name of the sensor of a column."""
    return f"{identifier(column).capitalize()}Sensor"


def time_window(node: physical.TimeWindow, typing: Typing, name: str, below: str) -> Part:
    """TIME_WINDOW: a ring of the last readings."""
    ages, fields, kept = typing.ages(node), typing.stored(node), typing.stored(node.input)
    depth = ages.stop
    row = held("ring[slot].", kept) | _window_times(typing, node)
    body = [
        f"{below}_t ring[{depth}];",
        f"bool present[{depth}];",
        f"{name}_row_t row;",
        "uint8_t at, age, epoch;",
        "",
        *block(
            "command void Pull.open(uint8_t now)",
            [
                f"const {below}_t *latest;",
                "epoch = now;",
                "call Input.open(now);",
                "latest = call Input.next();",
                f"if (++at == {depth}) at = 0;",
                "present[at] = latest != NULL;",
                "if (latest) ring[at] = *latest;",
                f"age = {ages.start};",
            ],
        ),
        *block(
            f"command const {name}_row_t *Pull.next()",
            [
                *block(
                    f"for (; age < {ages.stop}; age++)",
                    [
                        f"uint8_t slot = at >= age ? at - age : at + {depth} - age;",
                        "if (!present[slot]) continue;",
                        "row.epoch = epoch;",
                        *assigned("row.", row, fields),
                        "age++;",
                        "return &row;",
                    ],
                ),
                "return NULL;",
            ],
        ),
    ]
    return _pulling(name, below, body, fields)


def _window_times(typing: Typing, node: physical.TimeWindow) -> dict[str, Value]:
    now = "call Evaluation.number(epoch)"
    found = {NOW: Value(now, TIME_FIELD)}
    for name, distance in typing.derived(node.input).items():
        found[name] = Value(f"({now} - age - {distance})", TIME_FIELD)
    return found


def _pulling(name: str, below: str, body: Lines, fields: Fields) -> Part:
    interfaces = [
        f"provides interface Pull<{name}_row_t>;",
        f"uses interface Pull<{below}_t> as Input;",
        "uses interface Evaluation;",
    ]
    return Part(name, module(name, interfaces, body), f"{name}_row", row_struct(f"{name}_row", fields))


def filtering(node: physical.Select | physical.Project, typing: Typing, name: str, below: str) -> Part:
    """SELECT and PROJECT: row by row."""
    fields = typing.stored(node)
    row: Row = scope("input->", typing, node.input)
    if isinstance(node, physical.Select):
        out, condition = row, f"if (!({is_true(node.predicate, row)})) continue;"
    else:
        out, condition = {item.name: value_of(item.expression, row) for item in node.items}, ""
    body = [
        f"{name}_row_t row;",
        "",
        "command void Pull.open(uint8_t epoch) { call Input.open(epoch); }",
        *block(
            f"command const {name}_row_t *Pull.next()",
            [
                f"const {below}_t *input;",
                *block(
                    "while ((input = call Input.next()))",
                    [
                        *([condition] if condition else []),
                        "row.epoch = input->epoch;",
                        *assigned("row.", out, fields),
                        "return &row;",
                    ],
                ),
                "return NULL;",
            ],
        ),
    ]
    return _pulling(name, below, body, fields)


def join(node: physical.NlJoin | physical.HashJoin, typing: Typing, name: str, left: str, right: str) -> Part:
    """Nested loops over the rows of one evaluation."""
    if node.kind is not JoinKind.INNER:
        raise not_in_nesc(f"{node.operator} that is {node.kind}")
    fields = typing.stored(node)
    row = {**scope("left->", typing, node.left), **scope("right->", typing, node.right)}
    conditions = (
        [c for c in (node.predicate,) if c is not None]
        if isinstance(node, physical.NlJoin)
        else [
            *(Call("=", pair, BOOLEAN) for pair in node.keys),
            *(c for c in (node.residual,) if c is not None),
        ]
    )
    test = [f"if (!({is_true(c, row)})) continue;" for c in conditions]
    body = [
        f"const {left}_t *left;",
        f"{name}_row_t row;",
        "uint8_t epoch;",
        "",
        *block(
            "command void Pull.open(uint8_t now)",
            ["epoch = now;", "call Left.open(now);", "left = call Left.next();", "call Right.open(now);"],
        ),
        *block(
            f"command const {name}_row_t *Pull.next()",
            [
                f"const {right}_t *right;",
                *block(
                    "for (; left; left = call Left.next(), call Right.open(epoch))",
                    block(
                        "while ((right = call Right.next()))",
                        [*test, "row.epoch = epoch;", *assigned("row.", row, fields), "return &row;"],
                    ),
                ),
                "return NULL;",
            ],
        ),
    ]
    interfaces = [
        f"provides interface Pull<{name}_row_t>;",
        f"uses interface Pull<{left}_t> as Left;",
        f"uses interface Pull<{right}_t> as Right;",
        "uses interface Evaluation;",
    ]
    return Part(name, module(name, interfaces, body), f"{name}_row", row_struct(f"{name}_row", fields))


def not_in_nesc(what: str) -> UnsupportedError:
    """The refusal of what only the C programs have."""
    return UnsupportedError(
        f"the nesC form has no {what}", hint="leave --nesc out: the C programs may have it"
    )


def aggregate(
    node: physical.AggregateInit | physical.AggregateMerge, typing: Typing, name: str, below: str
) -> Part:
    """AGGR_INIT and AGGR_MERGE without groups: one row an evaluation."""
    from nilometer.sensornet.motes.aggregation import combine

    if node.keys:
        raise not_in_nesc(f"{node.operator} with groups")
    fields = typing.stored(node)
    row = scope("input->", typing, node.input)
    nulls = [f"row.{identifier(n)} = {f.null};" for n, f in fields.items() if f.nullable]
    merging = isinstance(node, physical.AggregateMerge)
    body = [
        f"{name}_row_t row;",
        "bool given;",
        "",
        *block(
            "command void Pull.open(uint8_t epoch)",
            [
                f"const {below}_t *input;",
                "memset(&row, 0, sizeof row);",
                "row.epoch = epoch;",
                *nulls,
                f"given = {'TRUE' if merging else 'FALSE'};",
                "call Input.open(epoch);",
                *block(
                    "while ((input = call Input.next()))",
                    [*(["given = FALSE;"] if merging else []), *combine(node, row, "row.", fields)],
                ),
            ],
        ),
        *block(
            f"command const {name}_row_t *Pull.next()",
            ["if (given) return NULL;", "given = TRUE;", "return &row;"],
        ),
    ]
    return _pulling(name, below, body, fields)
