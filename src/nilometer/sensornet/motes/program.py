"""A site's share of a plan -> one self-contained C program: the parts of the runtime that it needs, its
trays, its fragments, and the controller that runs its agenda (SNEE section 5.3, Figs. 23 and 24)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files

from nilometer.catalog.network import NodeId
from nilometer.errors import UnsupportedError
from nilometer.placement import Fragment
from nilometer.plan.explain import explain_text
from nilometer.sensornet.motes.c_text import Lines, assigned, block, struct
from nilometer.sensornet.motes.emission import Consumer, Emitter
from nilometer.sensornet.motes.fields import tuple_head
from nilometer.sensornet.motes.scalars import Row
from nilometer.sensornet.motes.site import GUARD, Motes, Site, Tray
from nilometer.sensornet.motes.starting import AIRTIME

DELIVER_MARK = 1
SEND_MARK = 32
RECEIVE_MARK = 33
"""The marks of tasks in the emulator: a fragment's mark is its number plus one; a child's mark is this value
plus its place."""


WRITTEN = "Written by nilometer compile"
"""The mark in the first line of every program."""


@dataclass(frozen=True)
class Program:
    """The C code of one site. `tasks` says what the emulator's marks mean."""

    site: NodeId
    text: str
    tasks: Mapping[int, str]


def program_of(motes: Motes, identifier: NodeId, offset: int = 0) -> Program:
    """The program of a site. `offset` is the number of the first evaluation since the Unix epoch (for SLIDE)."""
    site = motes.site(identifier)
    tasks = _tasks(site)
    return Program(identifier, "\n".join(_program(motes, site, offset)) + "\n", tasks)


def _tasks(site: Site) -> dict[int, str]:
    heard = children(site)
    if RECEIVE_MARK + len(heard) > 256:
        raise UnsupportedError(
            f"a mote listens to at most {256 - RECEIVE_MARK} children",
            detail=f"node {site.id} has {len(heard)}",
            hint="give the network fewer nodes around one, or ask for fewer of them",
        )
    tasks = {fragment.number + 1: fragment.name for fragment in (*site.leaves, *site.inner)}
    if site.sends:
        tasks[SEND_MARK] = f"tx{site.parent}"
    return tasks | {RECEIVE_MARK + place: f"rx{child}" for place, child in enumerate(heard)}


def children(site: Site) -> list[int]:
    """The sites that a site listens to, in the order of their marks."""
    return [step.other for step in site.steps if step.what == "receive"]


def _program(motes: Motes, site: Site, offset: int) -> Lines:
    delivers = any(fragment.delivers for fragment in site.inner + site.leaves)
    senses = any(
        column.name.lower() not in ("time", "id")
        for fragment in site.leaves
        for node in fragment.acquires
        for column in node.columns + node.reads
    )
    fragments, declarations = [], []
    for fragment in (*site.leaves, *site.inner):
        written, kept = _fragment(motes, site, fragment, offset)
        fragments += ["", *written]
        declarations += kept
    parts = ["clock"]
    parts += ["tray"] if site.trays else []
    parts += ["sense"] if senses else []
    parts += _radio_parts(motes, site)
    parts += ["serial"] if delivers else []
    return [
        f"/* Site {site.id}: {_summary(site)}. {WRITTEN} for an ATmega128 at 7.3728 MHz.",
        *(f" *   {line}" for line in explain_text(motes.placement.plan).replace("*/", "* /").splitlines()),
        " */",
        *_runtime("head"),
        "",
        *_constants(motes, site, offset),
        *(line for part in parts for line in ("", *_runtime(part))),
        "",
        "/* ---- this site's part of the query " + "-" * 83 + " */",
        "",
        *(_CLOCKS if fragments else []),
        *_trays(site),
        *([""] if declarations else []),
        *declarations,
        *fragments,
        "",
        *_controller(motes, site, parts),
    ]


def _radio_parts(motes: Motes, site: Site) -> list[str]:
    """The parts of the radio that a site needs, and those for the start, if motes wait for it."""
    parts = _transfer_parts(motes, site)
    if motes.starting is None or not parts:
        return parts
    tells = motes.starting.turn_of(site.id) is not None
    parts += ["transmit"] if tells and "transmit" not in parts else []
    parts += ["listen"] if site.parent is not None and "listen" not in parts else []
    parts += ["start"]
    parts += [] if site.parent is None else ["hear_start"]
    return parts + (["tell_start"] if tells else [])


def _transfer_parts(motes: Motes, site: Site) -> list[str]:
    """The parts for transfers. Where packets are acknowledged, each end must be able both to send and to hear
    a packet."""
    if not (site.sends or site.receives):
        return []
    if motes.retries:
        parts = ["radio", "transmit", "listen", "acknowledge"]
        parts += ["fill", "send_again"] if site.sends else []
        return parts + (["take", "receive_again"] if site.receives else [])
    parts = ["radio"]
    parts += ["transmit", "fill", "send"] if site.sends else []
    return parts + (["listen", "take", "receive"] if site.receives else [])


_CLOCKS = [
    "static uint8_t epoch;        /* the evaluation in this period */",
    "static uint32_t evaluation;  /* the evaluation since the start */",
]


def _summary(site: Site) -> str:
    does = [f"{'acquires' if f.is_leaf else 'runs'} {f.name}" for f in (*site.leaves, *site.inner)]
    does += [f"listens to {', '.join(map(str, children(site)))}"] if site.receives else []
    does += [f"sends to {site.parent}"] if site.sends else []
    return "; ".join(does) or "has nothing to do"


def _runtime(part: str) -> Lines:
    return (
        (files("nilometer.sensornet.motes") / "runtime" / f"{part}.c").read_text("utf-8").rstrip().split("\n")
    )


def _constants(motes: Motes, site: Site, offset: int) -> Lines:
    payload = motes.placement.costs.packet_room
    turn = None if motes.starting is None else motes.starting.turn_of(site.id)
    telling = []
    if motes.starting is not None and turn is not None:
        telling = [
            f"#define TURN {turn}UL /* when this site tells its children the start, first */",
            f"#define ROUND {motes.starting.round}UL",
            f"#define AIRTIME {AIRTIME} /* ticks until its children have been told */",
        ]
    again = []
    if motes.retries:
        again = [
            f"enum {{ RETRIES = {motes.retries}, SYNCHRONIZE = {int(motes.timekeeping.drifts)} }};",
            f"#define PATIENCE {motes.timekeeping.patience} /* ticks until an acknowledgement is given up */",
        ]
    return [
        f"enum {{ SITE = {site.id}, PARENT = {255 if site.parent is None else site.parent}, PAYLOAD = {payload}, BETA = {site.beta} }};",
        f"#define ALPHA {site.alpha}UL /* ticks between acquisitions */",
        f"#define PERIOD {site.alpha * site.beta}UL",
        f"#define FIRST {motes.first}UL",
        *telling,
        f"#define GUARD {GUARD} /* ticks before the first byte of a slot */",
        *again,
        *(
            []
            if site.sends
            else [
                f"#define PLAN {motes.fingerprint(offset * motes.typing.interval):#06x} /* what this query's frames are known by */"
            ]
        ),
    ]


def _trays(site: Site) -> Lines:
    lines: Lines = []
    for number in dict.fromkeys(tray.fragment for tray in site.trays):
        fields = next(tray.fields for tray in site.trays if tray.fragment == number)
        lines += ["", *struct(f"row_{number}", tuple_head(fields), fields)]
    for tray in site.trays:
        lines += [
            f"static struct {tray.row} {tray.name}_rows[{tray.capacity}];",
            f"static struct tray {tray.name} = {{(uint8_t *){tray.name}_rows, 0, {tray.capacity}, sizeof(struct {tray.row}), {tray.fragment}}};",
        ]
    if site.receives:
        choices = []
        for number in sorted({tray.fragment for tray in site.trays}):
            target = site.received(number)
            choices += [] if target is None else [f"if (kind == {number}) return &{target.name};"]
        lines += ["", *block("static struct tray *tray_of(uint8_t kind)", [*choices, "return 0;"])]
    if site.sends:
        outgoing = ", ".join(f"&{tray.name}" for tray in _leaving(site))
        lines += ["", f"static struct tray *const outgoing[] = {{{outgoing}}};"]
    return lines


def _leaving(site: Site) -> list[Tray]:
    return [tray for tray in site.trays if tray.consumer is None]


def _fragment(motes: Motes, site: Site, fragment: Fragment, offset: int) -> tuple[Lines, Lines]:
    ordered = fragment.number in motes.ordered
    emitter = Emitter(
        motes.typing,
        site.id,
        motes.channels,
        _feeding_trays(site, fragment),
        site.arrivals.get(fragment.number, 0),
        f"f{fragment.number}",
        offset,
        ordered,
    )
    if fragment.delivers:
        bodies = [_handed_over(motes, emitter, number) for number in range(len(motes.delivered))]
    else:
        bodies = [_kept(motes, site, fragment, emitter)]
    mark = [f"MARK({fragment.number + 1});"]
    if fragment.is_leaf:
        return block(
            f"static void run_{fragment.number}(void)", [*mark, *bodies[0], "MARK(0);"]
        ), emitter.declarations
    lines = mark
    for number, body in enumerate(bodies):
        loop = block("for (epoch = 0; epoch < BETA; epoch++, evaluation++)", body)
        framed = [f"serial_open({number}, first);", *loop, "serial_close();"] if fragment.delivers else loop
        lines += ["evaluation = first;", *framed]
    lines += [f"{tray.name}.count = 0;" for tray in site.trays if tray.consumer == fragment.number]
    lines += ["MARK(0);"]
    return block(f"static void run_{fragment.number}(uint32_t first)", lines), emitter.declarations


def _kept(motes: Motes, site: Site, fragment: Fragment, emitter: Emitter) -> Lines:
    """An evaluation of a fragment whose rows go into a tray."""
    fields = motes.fields(fragment.number)
    tray = site.made(fragment.number)

    def kept(row: Row) -> Lines:
        return block(
            "",
            [
                f"struct {tray.row} *new = tray_add(&{tray.name});",
                "new->epoch = epoch;",
                *assigned("new->", row, fields),
            ],
        )

    return emitter.emit(fragment.root, Consumer(kept))


def _handed_over(motes: Motes, emitter: Emitter, number: int) -> Lines:
    """An evaluation of the rows that the sink hands to the gateway in one kind of frames."""
    delivered = motes.delivered[number]
    fields = motes.typing.stored(delivered.node, delivered.ordered)
    name = f"answer_{number}" if number else "answer"
    emitter.declarations += struct(name, tuple_head(fields), fields)

    def delivery(row: Row) -> Lines:
        return block(
            "",
            [
                f"struct {name} answer;",
                "answer.epoch = epoch;",
                *assigned("answer.", row, fields),
                "serial_bytes(&answer, sizeof answer);",
            ],
        )

    return emitter.emit(delivered.node, Consumer(delivery), delivered.ordered)


def _feeding_trays(site: Site, fragment: Fragment) -> dict[int | None, list[tuple[str, str]]]:
    """By producer, the row structs and the names of the trays whose tuples its EXCHANGE brings."""
    found: dict[int | None, list[tuple[str, str]]] = {}
    for producer in fragment.producers:
        wanted = site.feeding(fragment.number, producers_of(fragment, producer))
        found[producer] = [(tray.row, tray.name) for tray in wanted]
    return found


def producers_of(fragment: Fragment, producer: int) -> tuple[int, ...]:
    """The fragments whose tuples the EXCHANGE of a producer brings. Instances of a merging fragment also feed
    one another."""
    return (producer, fragment.number) if fragment.merges else (producer,)


def _controller(motes: Motes, site: Site, parts: list[str]) -> Lines:
    """Fig. 24, with only the site's own column of the agenda."""
    lines = [
        "/* Sleep until a task is due; an agenda that leaves too little time is a fault of the compiler. */",
        *block(
            "static void due(uint32_t at)",
            ["wait_until(at, &never);", "if ((int32_t)(clock_base + TCNT0 - at) > GUARD) FAULT(FAULT_LATE);"],
        ),
        "",
    ]
    acquiring = [
        *block(
            "for (epoch = 0; epoch < BETA; epoch++)",
            [
                "due(period + epoch * ALPHA);",
                "evaluation = first + epoch;",
                *(f"run_{fragment.number}();" for fragment in site.leaves),
            ],
        )
    ]
    stepping: Lines = []
    heard = children(site)
    guard = motes.timekeeping.guard
    for step in site.steps:
        # The clocks of child and parent may differ by the guard, so the child starts and ends that far within the slot.
        begin = step.start + (guard if step.what == "send" else 0)
        stepping.append(f"due(period + {begin}UL);")
        if motes.timekeeping.drifts and step.what != "run":
            stepping.append(f"slot_opened = period + {step.start}UL;")
        match step.what:
            case "run":
                stepping.append(f"run_{step.other}(first);")
            case "send":
                stepping += [
                    f"MARK({SEND_MARK});",
                    f"wait_until(period + {begin}UL + GUARD, &never);",
                    f"send_trays(outgoing, {len(_leaving(site))}{'' if step.sendings is None else f', {step.sendings}'});",
                    "MARK(0);",
                ]
            case "receive":
                stepping += [
                    f"MARK({RECEIVE_MARK + heard.index(step.other)});",
                    f"receive_from({step.other}, period + {step.end}UL);",
                    "MARK(0);",
                ]
    starting = ["clock_start();"]
    starting += ["radio_start();"] if "radio" in parts else []
    starting += ["serial_start();"] if "serial" in parts else []
    period = [*(acquiring if site.leaves else []), *stepping]
    numbered = site.leaves or site.inner
    lines += block(
        "int main(void)",
        [
            *starting,
            "sei();",
            *(f"{part}();" for part in ("hear_start", "tell_start") if part in parts),
            *(["uint32_t first = 0;"] if numbered else []),
            *block(
                f"for (uint32_t period = FIRST;; period += PERIOD{', first += BETA' if numbered else ''})",
                period,
            ),
        ],
    )
    return lines
