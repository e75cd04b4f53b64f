"""A site's share of a plan -> a nesC application: the components of SNEE's Fig. 23, and the configuration
that wires them.

Components and interfaces outside the application have TinyOS 2's names (MainC, TimerMilliC, AdcReadClientC,
ActiveMessageC, AMSenderC, AMReceiverC, SerialActiveMessageC, SerialAMSenderC). Those in `tinyos/` are ours
and are copied beside it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from importlib.resources import files

from nilometer.catalog.network import Network, NodeId
from nilometer.errors import UnsupportedError
from nilometer.placement import Fragment
from nilometer.placement.node_paths import NodePath, inputs_with_paths
from nilometer.plan import physical
from nilometer.sensornet.motes.c_text import Lines, block, indented
from nilometer.sensornet.motes.fields import cannot_run, passes_on
from nilometer.sensornet.motes.nesc import operators, radio
from nilometer.sensornet.motes.program import producers_of
from nilometer.sensornet.motes.site import GUARD, Motes, Site
from nilometer.sensornet.motes.starting import START

TOP = "QueryAppC.nc"
"""The file of an application that wires all other files."""

WRITTEN = "written by nilometer compile"
"""The mark in the first line of that file."""

RADIO_CHANNEL = 6
"""The active-message type of our messages."""


@dataclass
class _Application:
    """The components written so far."""

    motes: Motes
    site: Site
    offset: int
    files: dict[str, str] = field(default_factory=dict)
    rows: Lines = field(default_factory=list)
    declared: set[str] = field(default_factory=set)
    components: list[str] = field(default_factory=list)
    wires: list[str] = field(default_factory=list)

    def module(self, name: str, text: str) -> None:
        """Add a generated component."""
        self.files[f"{name}.nc"] = text
        self.components.append(name)

    def declare(self, number: int) -> None:
        """Declare the rows of a fragment that does not run here, once."""
        row = f"f{number}_row"
        runs = {fragment.number for fragment in (*self.site.leaves, *self.site.inner)}
        if number not in runs and row not in self.declared:
            self.declared.add(row)
            self.rows += operators.row_struct(row, self.motes.fields(number))

    def wire(self, one: str, other: str) -> None:
        """Connect a used interface with a provided one."""
        self.wires.append(f"{one} -> {other};")


def check_nesc(network: Network, *, waits: bool) -> None:
    """Refuse the features that only the C programs have: acknowledged packets, and waiting for the start."""
    if waits:
        raise UnsupportedError(
            "the nesC form counts from its reset, and cannot wait for the start",
            detail="the programs in C wait until their parents tell them when to begin",
            hint="leave out --nesc, or --wait-for-start",
        )
    if network.retries:
        raise UnsupportedError(
            "the nesC form sends each packet once, and acknowledges none",
            detail=f"network '{network.name}' says retries = {network.retries}",
            hint="leave out --nesc, or compile with --retries 0",
        )


def application_of(motes: Motes, identifier: NodeId, offset: int = 0) -> dict[str, str]:
    """The files of a site's application, by name; `QueryAppC.nc` is the top. `offset` is the number of the
    first evaluation since the Unix epoch (for SLIDE)."""
    check_nesc(motes.placement.network, waits=motes.starting is not None)
    site = motes.site(identifier)
    made = _Application(motes, site, offset)
    made.components += ["MainC", "new TimerMilliC() as Clock"]
    for fragment in (*site.leaves, *site.inner):
        _fragment(made, fragment)
    for tray in site.trays:
        made.declare(tray.fragment)
        made.components.append(f"new TrayC(f{tray.fragment}_row_t, {tray.capacity}) as {_tray(tray.name)}")
    _tasks(made)
    _agenda(made)
    made.files["rows.h"] = "\n".join(
        ["#ifndef ROWS_H", "#define ROWS_H", "#include <math.h>", *made.rows, "#endif", ""]
    )
    made.files["Makefile"] = "COMPONENT = QueryAppC\ninclude $(MAKERULES)\n"
    made.files[TOP] = _top(made)
    return dict(sorted(made.files.items()))


def library() -> dict[str, str]:
    """Our own interfaces and generic components, which every application needs beside it."""
    folder = files("nilometer.sensornet.motes") / "tinyos"
    return {entry.name: entry.read_text("utf-8") for entry in folder.iterdir() if entry.name.endswith(".nc")}


def _top(made: _Application) -> str:
    listed = [f"components {component};" for component in made.components]
    body = indented([*listed, "", *made.wires])
    head = [f"// Site {made.site.id}, {WRITTEN}.", '#include "rows.h"']
    return "\n".join([*head, "configuration QueryAppC { }", "implementation {", *body, "}", ""])


def _tray(name: str) -> str:
    return "Tray" + "".join(part.capitalize() for part in name.split("_"))


# ---- fragments ---------------------------------------------------------------------------------------------------------


def _fragment(made: _Application, fragment: Fragment) -> None:
    """All operators of a fragment and its task."""
    number = fragment.number
    clearing = [f"{_tray(tray.name)}.Clear" for tray in made.site.trays if tray.consumer == number]
    if fragment.delivers:
        name = f"F{number}DeliverC"
        inputs = [_consumer(made, fragment, kind.producer) for kind in made.motes.delivered]
        made.module(name, radio.deliver(name, [row for _, row in inputs], made.site.beta))
        made.components += ["SerialActiveMessageC", f"new SerialAMSenderC({RADIO_CHANNEL}) as SerialSender"]
        for kind, (top, _) in enumerate(inputs):
            made.wire(f"{name}.Input{kind}", top)
        for tray in clearing:
            made.wire(f"{name}.Trays", tray)
        made.wire(f"{name}.Evaluation", "AgendaC")
        made.wire(f"{name}.Serial", "SerialActiveMessageC")
        made.wire(f"{name}.AMSend", "SerialSender")
        return
    top, row = _operator(made, fragment, (), fragment.root, number in made.motes.ordered)
    made.rows.append(f"typedef {row}_t f{number}_row_t;")
    made.components.append(f"new ProducerC(f{number}_row_t) as F{number}Producer")
    made.wire(f"F{number}Producer.Input", top)
    made.wire(f"F{number}Producer.Output", _tray(made.site.made(number).name))
    if fragment.is_leaf:
        made.components.append(f"new LeafTaskC() as F{number}Task")
        made.wire(f"F{number}Task.Evaluation", "AgendaC")
        for path, node in fragment.with_paths:
            if isinstance(node, physical.SpAcquire):
                made.wire(f"F{number}Task.Sensing", f"{_name(fragment, path, node)}.Sensing")
    else:
        made.components.append(f"new InnerTaskC({made.site.beta}) as F{number}Task")
        for tray in clearing:
            made.wire(f"F{number}Task.Input", tray)
    made.wire(f"F{number}Task.Produce", f"F{number}Producer")


def _operator(
    made: _Application, fragment: Fragment, path: NodePath, node: physical.Node, ordered: bool
) -> tuple[str, str]:
    """The component that provides a node's rows, and their type. `path`: its place in the fragment.
    `ordered`: each row names the site that acquired it."""
    if isinstance(node, physical.Exchange):
        assert node.producer is not None
        return _consumer(made, fragment, node.producer)
    typing, name = made.motes.typing, _name(fragment, path, node)
    if passes_on(node):
        return _operator(made, fragment, (*path, 0), node.inputs[0], ordered)
    if isinstance(node, physical.TimeWindow) and list(typing.ages(node)) == [0]:
        return _sliding(made, node, name, *_operator(made, fragment, (*path, 0), node.input, ordered))
    inside = ordered or isinstance(node, physical.RowWindow)
    inputs = [_operator(made, fragment, at, child, inside) for at, child in inputs_with_paths(path, node)]
    below = [row for _, row in inputs]
    arrivals = made.site.arrivals.get(fragment.number, 0)
    match node:
        case physical.SpAcquire():
            part = operators.acquire(node, typing, name, made.site.id, ordered)
            for column in node.columns + node.reads:
                if column.name.lower() not in ("time", "id"):
                    sensor = operators.sensor_name(column.name)
                    channel = made.motes.channels[node.stream.name.lower(), column.name.lower()]
                    made.components.append(f"new ChannelC({channel}) as {name}{sensor}")
                    made.wire(f"{name}.{sensor}", f"{name}{sensor}")
        case physical.TimeWindow():
            part = operators.time_window(node, typing, name, below[0], ordered)
        case physical.RowWindow():
            part = operators.row_window(node, typing, name, below[0], arrivals)
        case physical.Select() | physical.Project() | physical.Rename():
            part = operators.filtering(node, typing, name, below[0], ordered)
        case physical.NlJoin() | physical.HashJoin():
            part = operators.join(node, typing, name, below[0], below[1])
        case physical.AggregateInit() | physical.AggregateMerge():
            part = operators.aggregate(node, typing, name, below[0], arrivals)
        case _:
            raise cannot_run(node)
    made.module(name, part.text)
    made.rows += part.declaration
    made.wire(f"{name}.Evaluation", "AgendaC")
    ports = ("Left", "Right") if len(inputs) == 2 else ("Input",)
    for port, (component, _) in zip(ports, inputs, strict=False):
        made.wire(f"{name}.{port}", component)
    if isinstance(node, physical.TimeWindow):
        return _sliding(made, node, name, name, part.row)
    return name, part.row


def _sliding(
    made: _Application, node: physical.TimeWindow, name: str, component: str, row: str
) -> tuple[str, str]:
    """A window's component, preceded by one that skips evaluations where its SLIDE says so."""
    every = (node.slide or 0) // made.motes.typing.interval
    if every <= 1:
        return component, row
    slide = f"{name[:-1]}Slide"
    made.components.append(f"new SlideC({row}_t, {every}, {made.offset % every}) as {slide}")
    made.wire(f"{slide}.Input", component)
    return slide, row


def _consumer(made: _Application, fragment: Fragment, producer: int) -> tuple[str, str]:
    """The component that provides the rows of a producer, and their type."""
    trays = made.site.feeding(fragment.number, producers_of(fragment, producer))
    name = f"F{fragment.number}ConsumerF{producer}"
    row = f"f{producer}_row"
    made.declare(producer)
    found = ""
    for place, tray in enumerate(trays, 1):
        consumer = f"{name}No{place}" if len(trays) > 1 else name
        made.components.append(f"new ConsumerC({row}_t) as {consumer}")
        made.wire(f"{consumer}.Input", f"{_tray(tray.name)}.RawTray")
        if not found:
            found = consumer
            continue
        both = f"{name}To{place}"
        made.components.append(f"new BothC({row}_t) as {both}")
        made.wire(f"{both}.First", found)
        made.wire(f"{both}.Second", consumer)
        found = both
    return found, row


def _name(fragment: Fragment, path: NodePath, node: physical.Node) -> str:
    """F1NlJoinC; a second operator of the same kind is numbered."""
    same = [at for at, other in fragment.with_paths if other.operator == node.operator]
    place = same.index(path) + 1 if len(same) > 1 else ""
    words = "".join(word.capitalize() for word in node.operator.split("_"))
    return f"F{fragment.number}{words}{place}C"


# ---- tasks and the controller --------------------------------------------------------------------------------------------


def _tasks(made: _Application) -> None:
    site = made.site
    if site.sends or site.receives:
        made.components.append("ActiveMessageC")
    if site.receives:
        made.components += [f"new AMReceiverC({RADIO_CHANNEL}) as RadioReceiver", "ListenC"]
        made.wire("ListenC.Receive", "RadioReceiver")
        made.wire("ListenC.AMPacket", "ActiveMessageC")
    for step in site.steps:
        if step.what == "send":
            trays = [tray for tray in site.trays if tray.consumer is None]
            name = f"Tx{step.other}C"
            made.module(name, radio.transmit(name, step.other, [tray.fragment for tray in trays]))
            made.components.append(f"new AMSenderC({RADIO_CHANNEL}) as RadioSender")
            made.wire(f"{name}.Radio", "ActiveMessageC")
            made.wire(f"{name}.AMSend", "RadioSender")
            for tray in trays:
                made.wire(f"{name}.Tray{tray.fragment}", f"{_tray(tray.name)}.RawTray")
        elif step.what == "receive":
            name = f"Rx{step.other}C"
            kinds = sorted({flow.fragment for flow in made.motes.placement.placed.outgoing[step.other]})
            made.module(name, radio.receive(name, kinds, step.end - step.start))
            made.components.append(f"new TimerMilliC() as {name[:-1]}SlotEnd")
            made.wire(f"{name}.SlotEnd", f"{name[:-1]}SlotEnd")
            made.wire(f"{name}.Radio", "ActiveMessageC")
            made.wire(f"{name}.Heard", f"ListenC.Heard[{step.other}]")
            for kind in kinds:
                target = site.received(kind)
                assert target is not None
                made.wire(f"{name}.Tray{kind}", f"{_tray(target.name)}.RawTray")


def _firing(acquiring: Lines, doing: Lines) -> Lines:
    """The statements for when the clock fires: acquire until the last evaluation of the period, then the
    steps of the column."""
    if not acquiring:
        return doing
    return [*block("if (now < BETA)", acquiring), *(block("else", doing) if doing else [])]


def _agenda(made: _Application) -> None:
    """Fig. 24: a timer for the next row of the site's column, and the statements for when it fires."""
    site = made.site
    leaves = [f"F{fragment.number}" for fragment in site.leaves]
    steps: list[tuple[int, str]] = []
    for step in site.steps:
        name = {"run": f"F{step.other}", "send": f"Tx{step.other}", "receive": f"Rx{step.other}"}[step.what]
        steps.append((step.start + (GUARD if step.what == "send" else 0), name))
    used = list(dict.fromkeys([*leaves, *(name for _, name in steps)]))
    choosing = [
        line for at, (start, _) in enumerate(steps) for line in (f"if (step == {at}) return {start}UL;",)
    ]
    doing: Lines = []
    for at, (_, name) in enumerate(steps):
        doing.append(f"{'else ' if at else ''}if (step == {at}) call {name}.run();")
    acquiring = [
        f"call {name}.run();" for name in leaves[:1]
    ]  # each starts the next, because there is only one converter
    body = [
        f"enum {{ BETA = {site.beta}, STEPS = {len(steps)} }};",
        f"enum {{ ALPHA = {site.alpha}UL, PERIOD = {site.alpha * site.beta}UL, FIRST = {START}UL }};",
        "uint32_t period = FIRST, first, due;",
        f"uint8_t step, now{'' if leaves else ' = BETA'};",
        "",
        "command uint8_t Evaluation.epoch() { return now; }",
        "command uint32_t Evaluation.number(uint8_t epoch) { return first + epoch; }",
        "",
        *block("uint32_t startOf()", [*choosing, "return 0;"]),
        *block(
            "void sleepOn()",
            [
                "uint32_t before = due;",
                *block(
                    "if (now == BETA && step == STEPS)",
                    [
                        "period += PERIOD;",
                        "first += BETA;",
                        "step = 0;",
                        f"now = {'0' if leaves else 'BETA'};",
                    ],
                ),
                # An enumerator that fits 16 bits is an `int`, whatever its suffix.
                "due = period + (now < BETA ? (uint32_t)now * ALPHA : startOf());",
                "call Clock.startOneShotAt(before, due - before);  // a timer's beginning is in the past",
            ],
        ),
        # Ticks since the clock started, which is the same moment at all sites; their boot times differ.
        *block("event void Boot.booted()", ["sleepOn();"]),
        *block("event void Clock.fired()", _firing(acquiring, doing)),
    ]
    for name in used:
        after = ["step++;", "sleepOn();"]
        if name in leaves:
            others = leaves[leaves.index(name) + 1 :]
            after = [f"call {others[0]}.run();"] if others else ["now++;", "sleepOn();"]
        body += block(f"event void {name}.done()", after)
    interfaces = [
        "provides interface Evaluation;",
        "uses interface Boot;",
        "uses interface Timer<TMilli> as Clock;",
        *(f"uses interface AgendaTask as {name};" for name in used),
    ]
    made.module("AgendaC", '#include "Timer.h"\n' + operators.module("AgendaC", interfaces, body))
    made.wire("AgendaC.Boot", "MainC")
    made.wire("AgendaC.Clock", "Clock")
    for name in used:
        inner = name.startswith("F")
        delivers = inner and name == "F0"
        made.wire(
            f"AgendaC.{name}", f"{name}DeliverC" if delivers else f"{name}Task" if inner else f"{name}C"
        )
