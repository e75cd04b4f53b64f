"""Physical operators as nesC modules that pull: `begin` starts an evaluation, `open` its next window, `next`
returns its rows.

Each function returns a component's text. `application` chooses its name, its inputs and its row type.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from nilometer.algebra import JoinKind
from nilometer.plan import physical
from nilometer.sensornet.motes.aggregation import combine, nulls, once, same
from nilometer.sensornet.motes.c_text import Lines, assigned, block, held, identifier, indented, struct
from nilometer.sensornet.motes.fields import SITE, Fields, Typing, cannot_run, tuple_head
from nilometer.sensornet.motes.scalars import NOW, Row, conditions_of, is_true, value_of
from nilometer.sensornet.motes.values import TIME_FIELD, Value


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
    return [*struct(row, tuple_head(fields), fields), f"typedef struct {row} {row}_t;"]


def scope(target: str, typing: Typing, node: physical.Node, ordered: bool = False) -> dict[str, Value]:
    """The columns of a row behind a pointer, with the times that follow from the evaluation."""
    now = f"call Evaluation.number({target}epoch)"
    found = held(target, typing.stored(node, ordered)) | {NOW: Value(now, TIME_FIELD)}
    for name, distance in typing.derived(node).items():
        found[name] = Value(f"({now} - {distance})" if distance else now, TIME_FIELD)
    return found


def acquire(node: physical.SpAcquire, typing: Typing, name: str, site: object, ordered: bool) -> Part:
    """SP_ACQUIRE: senses its columns one after the other when its task runs, then gives one row, or none."""
    fields = typing.stored(node, ordered)
    sensed = [c for c in node.columns + node.reads if c.name.lower() not in ("time", "id")]
    wide = typing.acquired(node, node.columns + node.reads, ordered)
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
    if ordered:
        row[SITE] = Value(str(site), wide[SITE])
    uses = [f"interface Read<uint16_t> as {sensor_name(c.name)};" for c in sensed]
    body = [f"{wide[f'{node.alias}.{c.name}'].ctype} {identifier(f'{node.alias}.{c.name}')};" for c in sensed]
    body += [f"{name}_row_t row;", "uint8_t epoch;", "bool opened, given;", ""]
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
    body += block("command void Pull.begin(uint8_t now)", ["epoch = now;", "opened = FALSE;"])
    body += block("command bool Pull.open()", [*_ONCE, *keep, "return TRUE;"])
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


_ONCE = ["if (opened) return FALSE;", "opened = TRUE;"]
"""The body of `open` where an evaluation has one window."""


def sensor_name(column: str) -> str:
    """The name of the sensor of a column."""
    return f"{identifier(column).capitalize()}Sensor"


def time_window(node: physical.TimeWindow, typing: Typing, name: str, below: str, ordered: bool) -> Part:
    """TIME_WINDOW: a ring of the last readings."""
    ages, fields, kept = typing.ages(node), typing.stored(node, ordered), typing.stored(node.input, ordered)
    depth = ages.stop
    row = held("ring[slot].", kept) | _window_times(typing, node)
    body = [
        f"{below}_t ring[{depth}];",
        f"bool present[{depth}];",
        f"{name}_row_t row;",
        "uint8_t at, age, epoch;",
        "bool opened;",
        "",
        *block(
            "command void Pull.begin(uint8_t now)",
            [
                f"const {below}_t *latest;",
                "epoch = now;",
                "opened = FALSE;",
                "call Input.begin(now);",
                "latest = call Input.open() ? call Input.next() : NULL;",
                f"if (++at == {depth}) at = 0;",
                "present[at] = latest != NULL;",
                "if (latest) ring[at] = *latest;",
            ],
        ),
        *block("command bool Pull.open()", [*_ONCE, f"age = {ages.start};", "return TRUE;"]),
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


def filtering(
    node: physical.Select | physical.Project | physical.Rename,
    typing: Typing,
    name: str,
    below: str,
    ordered: bool,
) -> Part:
    """SELECT, PROJECT and RENAME: row by row."""
    fields = typing.stored(node, ordered)
    row: Row = scope("input->", typing, node.input, ordered)
    out, condition = dict(row), ""
    match node:
        case physical.Select(predicate=predicate):
            condition = f"if (!({is_true(predicate, row)})) continue;"
        case physical.Project(items=items):
            hidden = {SITE: row[SITE]} if ordered else {}
            out = {item.name: value_of(item.expression, row) for item in items} | hidden
        case physical.Rename(alias=alias):
            out = {n if n.startswith("@") else f"{alias}.{n}": value for n, value in row.items()}
    body = [
        f"{name}_row_t row;",
        "",
        *_PASSED_ON,
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


_PASSED_ON = [
    "command void Pull.begin(uint8_t epoch) { call Input.begin(epoch); }",
    "command bool Pull.open() { return call Input.open(); }",
]


def join(node: physical.NlJoin | physical.HashJoin, typing: Typing, name: str, left: str, right: str) -> Part:
    """Nested loops over the rows of one evaluation."""
    if node.kind is not JoinKind.INNER:
        raise cannot_run(node)
    fields = typing.stored(node)
    row = {**scope("left->", typing, node.left), **scope("right->", typing, node.right)}
    test = [f"if (!({is_true(c, row)})) continue;" for c in conditions_of(node)]
    body = [
        f"const {left}_t *left;",
        f"{name}_row_t row;",
        "uint8_t epoch;",
        "",
        *block("command void Pull.begin(uint8_t now)", ["epoch = now;", "call Left.begin(now);"]),
        *block("void restartRight()", ["call Right.begin(epoch);", "call Right.open();"]),
        *block(
            "command bool Pull.open()",
            [
                "if (!call Left.open()) return FALSE;",
                "left = call Left.next();",
                "restartRight();",
                "return TRUE;",
            ],
        ),
        *block(
            f"command const {name}_row_t *Pull.next()",
            [
                f"const {right}_t *right;",
                *block(
                    "for (; left; left = call Left.next(), restartRight())",
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


def aggregate(
    node: physical.AggregateInit | physical.AggregateMerge,
    typing: Typing,
    name: str,
    below: str,
    arrivals: int,
) -> Part:
    """AGGR_INIT and AGGR_MERGE. `arrivals` is the most rows that arrive for one evaluation (0: the site
    acquires them itself)."""
    fields = typing.stored(node)
    row = scope("input->", typing, node.input)
    if node.keys:
        return _pulling(name, below, _grouped(node, typing, name, below, row, arrivals), fields)
    merging = isinstance(node, physical.AggregateMerge)
    body = [
        f"{name}_row_t row;",
        "uint8_t epoch;",
        "bool given;",
        "",
        *block("command void Pull.begin(uint8_t now)", ["epoch = now;", "call Input.begin(now);"]),
        *block(
            "command bool Pull.open()",
            [
                f"const {below}_t *input;",
                "if (!call Input.open()) return FALSE;",
                "memset(&row, 0, sizeof row);",
                "row.epoch = epoch;",
                *nulls(fields, "row."),
                f"given = {'TRUE' if merging else 'FALSE'};",
                *block(
                    "while ((input = call Input.next()))",
                    [*(["given = FALSE;"] if merging else []), *combine(node, row, "row.", fields)],
                ),
                "return TRUE;",
            ],
        ),
        *block(
            f"command const {name}_row_t *Pull.next()",
            ["if (given) return NULL;", "given = TRUE;", "return &row;"],
        ),
    ]
    return _pulling(name, below, body, fields)


def _grouped(
    node: physical.AggregateInit | physical.AggregateMerge,
    typing: Typing,
    name: str,
    below: str,
    row: Row,
    arrivals: int,
) -> Lines:
    """A small table that is searched from its beginning. A key that follows from the evaluation is the same
    in all groups."""
    fields, capacity = typing.stored(node), typing.groups(node, arrivals)
    merging = isinstance(node, physical.AggregateMerge)
    arguments = {} if merging else {k.name: k.expression for k in node.keys if k.name in fields}
    keys = {k.name: row[k.name] if merging else value_of(k.expression, row) for k in node.keys}
    found, computing = once({key: keys[key] for key in keys if key in fields}, arguments, fields)
    equal = [same(value, f"group->{identifier(key)}", fields[key]) for key, value in found.items()]
    states = {state: field for state, field in fields.items() if state not in found}
    return [
        f"{name}_row_t groups[{capacity}];",
        "uint16_t count, at;",
        "uint8_t epoch;",
        "",
        *block("command void Pull.begin(uint8_t now)", ["epoch = now;", "call Input.begin(now);"]),
        *block(
            "command bool Pull.open()",
            [
                f"const {below}_t *input;",
                "if (!call Input.open()) return FALSE;",
                "count = at = 0;",
                *block(
                    "while ((input = call Input.next()))",
                    [
                        *computing,
                        f"{name}_row_t *group = groups;",
                        f"while (group < groups + count && !({' && '.join(equal) or '1'})) group++;",
                        *block(
                            "if (group == groups + count)",
                            [
                                f"if (count == {capacity}) continue;  // cannot be: there is room for all",
                                "count++;",
                                "memset(group, 0, sizeof *group);",
                                "group->epoch = epoch;",
                                *assigned("group->", found, {key: fields[key] for key in found}),
                                *nulls(states, "group->"),
                            ],
                        ),
                        *combine(node, row, "group->", fields),
                    ],
                ),
                "return TRUE;",
            ],
        ),
        *block(
            f"command const {name}_row_t *Pull.next()",
            ["return at < count ? &groups[at++] : NULL;"],
        ),
    ]


def row_window(node: physical.RowWindow, typing: Typing, name: str, below: str, arrivals: int) -> Part:
    """ROW_WINDOW: gathers the rows of a tick, sorts them by site, and counts them one by one."""
    assert node.start is not None
    fields, kept, size = typing.stored(node), typing.fields(node.input, True), node.start + 1
    site = identifier(SITE)
    ordering = [
        f"for (; place > 0 && gathered[place - 1].{site} > input->{site}; place--)",
        "    gathered[place] = gathered[place - 1];",
    ]
    old = held("old->", kept) | {NOW: Value("call Evaluation.number(epoch)", TIME_FIELD)}
    body = [
        f"{name}_kept_t gathered[{max(arrivals, 1)}], window[{size}];",
        f"{name}_row_t row;",
        "uint8_t epoch, count, taken, at, filled, since, back;",
        "",
        *block(
            "command void Pull.begin(uint8_t now)",
            [
                f"const {below}_t *input;",
                "epoch = now;",
                "count = taken = 0;",
                "call Input.begin(now);",
                *block(
                    "while (call Input.open())",
                    block(
                        "while ((input = call Input.next()))",
                        [
                            "uint8_t place = count++;",
                            *(ordering if arrivals > 1 else []),  # one row is in order
                            *assigned("gathered[place].", scope("input->", typing, node.input, True), kept),
                        ],
                    ),
                ),
            ],
        ),
        *block(
            "command bool Pull.open()",
            [
                *block(
                    "while (taken < count)",
                    [
                        f"if (++at >= {size}) at = 0;",
                        "window[at] = gathered[taken++];",
                        f"if (filled < {size}) filled++;",
                        f"if (++since < {node.slide}) continue;",
                        "since = 0;",
                        f"back = {node.end};",
                        "return TRUE;",
                    ],
                ),
                "return FALSE;",
            ],
        ),
        *block(
            f"command const {name}_row_t *Pull.next()",
            [
                f"const {name}_kept_t *old;",
                f"if (back > {node.start} || back >= filled) return NULL;",
                f"old = &window[at >= back ? at - back : at + {size} - back];",
                "back++;",
                "row.epoch = epoch;",
                *assigned("row.", old, fields),
                "return &row;",
            ],
        ),
    ]
    part = _pulling(name, below, body, fields)
    return replace(part, declaration=[*row_struct(f"{name}_kept", kept), *part.declaration])
