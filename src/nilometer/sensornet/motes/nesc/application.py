"""A site's share of a plan to a nesC application: the components of SNEE's Fig. 23, and the configuration that wires them.

The names of components and interfaces outside the application are TinyOS 2's (MainC, TimerMilliC, DemoSensorC, ActiveMessageC,
AMSenderC, AMReceiverC, SerialActiveMessageC, SerialAMSenderC); those in `tinyos/` are ours and go with it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from importlib.resources import files

from nilometer.catalog.network import NodeId
from nilometer.errors import UnsupportedError
from nilometer.placement import Fragment
from nilometer.plan import physical
from nilometer.sensornet.motes.c_text import Lines, block, indented
from nilometer.sensornet.motes.fields import is_deferred
from nilometer.sensornet.motes.nesc import operators, radio
from nilometer.sensornet.motes.site import START, Motes, Site

RADIO_CHANNEL = 6
"""The active-message type of our messages."""


@dataclass
class _Application:
    """What has been written so far."""

    motes: Motes
    site: Site
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


def application_of(motes: Motes, identifier: NodeId) -> dict[str, str]:
    """The files of a site's application, by name; `QueryAppC.nc` is the top."""
    if motes.retries:
        raise UnsupportedError(
            "the nesC form sends each packet once, and acknowledges none",
            detail=f"network '{motes.placement.network.name}' says retries = {motes.retries}",
            hint="leave out --nesc, or compile with --retries 0",
        )
    site = motes.site(identifier)
    made = _Application(motes, site)
    made.components += ["MainC", "new TimerMilliC() as Clock"]
    for fragment in (*site.leaves, *site.inner):
        _fragment(made, fragment)
    for tray in site.trays:
        made.declare(tray.fragment)
        made.components.append(f"new TrayC(f{tray.fragment}_row_t, {tray.capacity}) as {_tray(tray.name)}")
    _tasks(made)
    _agenda(made)
    made.files["rows.h"] = "\n".join(["#ifndef ROWS_H", "#define ROWS_H", *made.rows, "#endif", ""])
    made.files["QueryAppC.nc"] = _top(made)
    return dict(sorted(made.files.items()))


def library() -> dict[str, str]:
    """Our own interfaces and generic components, which every application needs beside it."""
    folder = files("nilometer.sensornet.motes") / "tinyos"
    return {entry.name: entry.read_text("utf-8") for entry in folder.iterdir() if entry.name.endswith(".nc")}


def _top(made: _Application) -> str:
    listed = [f"components {component};" for component in made.components]
    body = indented([*listed, "", *made.wires])
    head = [f"// Site {made.site.id}, written by nilometer compile.", '#include "rows.h"']
    return "\n".join([*head, "configuration QueryAppC { }", "implementation {", *body, "}", ""])


def _tray(name: str) -> str:
    return "Tray" + "".join(part.capitalize() for part in name.split("_"))


# ---- fragments ---------------------------------------------------------------------------------------------------------


def _fragment(made: _Application, fragment: Fragment) -> None:
    """All operators of a fragment and its task."""
    top, row = _operator(made, fragment, _delivered(made) if fragment.delivers else fragment.root)
    number = fragment.number
    if fragment.delivers:
        made.module(f"F{number}DeliverC", radio.deliver(f"F{number}DeliverC", row, made.site.beta))
        made.components += ["SerialActiveMessageC", f"new SerialAMSenderC({RADIO_CHANNEL}) as SerialSender"]
        made.wire(f"F{number}DeliverC.Input", top)
        made.wire(f"F{number}DeliverC.Evaluation", "AgendaC")
        made.wire(f"F{number}DeliverC.Serial", "SerialActiveMessageC")
        made.wire(f"F{number}DeliverC.AMSend", "SerialSender")
        return
    made.rows.append(f"typedef {row}_t f{number}_row_t;")
    made.components.append(f"new ProducerC(f{number}_row_t) as F{number}Producer")
    made.wire(f"F{number}Producer.Input", top)
    made.wire(f"F{number}Producer.Output", _tray(made.site.made(number).name))
    if fragment.is_leaf:
        made.components.append(f"new LeafTaskC() as F{number}Task")
        made.wire(f"F{number}Task.Evaluation", "AgendaC")
        for node in fragment.acquires:
            made.wire(f"F{number}Task.Sensing", f"{_name(fragment, node)}.Sensing")
    else:
        made.components.append(f"new InnerTaskC({made.site.beta}) as F{number}Task")
        for tray in made.site.trays:
            if tray.consumer == number:
                made.wire(f"F{number}Task.Input", f"{_tray(tray.name)}.Clear")
    made.wire(f"F{number}Task.Produce", f"F{number}Producer")


def _delivered(made: _Application) -> physical.Node:
    kinds = made.motes.delivered
    if len(kinds) > 1:
        raise UnsupportedError(
            "the nesC form hands one kind of rows to the gateway",
            detail=f"what is left to the gateway takes those of {len(kinds)} fragments",
            hint="leave out --nesc: the programs in C hand over all of them",
        )
    return kinds[0].node


def _operator(made: _Application, fragment: Fragment, node: physical.Node) -> tuple[str, str]:
    """The component that gives a node's rows, and their type."""
    typing, name = made.motes.typing, _name(fragment, node)
    if isinstance(node, physical.Exchange):
        return _consumer(made, fragment, node)
    if is_deferred(node) or (isinstance(node, physical.TimeWindow) and list(typing.ages(node)) == [0]):
        return _operator(made, fragment, node.inputs[0])
    inputs = [_operator(made, fragment, child) for child in node.inputs]
    below = [row for _, row in inputs]
    match node:
        case physical.SpAcquire():
            part = operators.acquire(node, typing, name, made.site.id)
            for column in node.columns + node.reads:
                if column.name.lower() not in ("time", "id"):
                    sensor = operators.sensor_name(column.name)
                    made.components.append(f"new DemoSensorC() as {name}{sensor}")
                    made.wire(f"{name}.{sensor}", f"{name}{sensor}")
        case physical.TimeWindow():
            part = operators.time_window(node, typing, name, below[0])
        case physical.Select() | physical.Project():
            part = operators.filtering(node, typing, name, below[0])
        case physical.NlJoin() | physical.HashJoin():
            part = operators.join(node, typing, name, below[0], below[1])
        case physical.AggregateInit() | physical.AggregateMerge():
            part = operators.aggregate(node, typing, name, below[0])
        case _:
            raise operators.not_in_nesc(node.operator)
    made.module(name, part.text)
    made.rows += part.declaration
    made.wire(f"{name}.Evaluation", "AgendaC")
    ports = ("Left", "Right") if len(inputs) == 2 else ("Input",)
    for port, (component, _) in zip(ports, inputs, strict=False):
        made.wire(f"{name}.{port}", component)
    return name, part.row


def _consumer(made: _Application, fragment: Fragment, node: physical.Exchange) -> tuple[str, str]:
    exchanges = [n for n in fragment.with_exchanges if isinstance(n, physical.Exchange)]
    producer = fragment.producers[next(i for i, n in enumerate(exchanges) if n is node)]
    wanted = (producer, fragment.number) if fragment.merges else (producer,)
    trays = made.site.feeding(fragment.number, wanted)
    name = f"F{fragment.number}ConsumerF{producer}"
    row = f"f{producer}_row"
    made.declare(producer)
    if len(trays) == 1:
        made.components.append(f"new ConsumerC({row}_t) as {name}")
        made.wire(f"{name}.Input", f"{_tray(trays[0].name)}.RawTray")
    else:
        made.components.append(f"new TwoTraysConsumerC({row}_t) as {name}")
        for port, tray in zip(("First", "Second"), trays, strict=True):
            made.wire(f"{name}.{port}", f"{_tray(tray.name)}.RawTray")
    return name, row


def _name(fragment: Fragment, node: physical.Node) -> str:
    """F1NlJoinC; a second operator of the same kind is numbered."""
    same = [n for n in fragment.with_exchanges if n.operator == node.operator]
    place = next(i for i, n in enumerate(same) if n is node) + 1 if len(same) > 1 else ""
    words = "".join(word.capitalize() for word in node.operator.split("_"))
    return f"F{fragment.number}{words}{place}C"


# ---- tasks and the controller --------------------------------------------------------------------------------------------


def _tasks(made: _Application) -> None:
    site = made.site
    if site.sends or site.receives:
        made.components.append("ActiveMessageC")
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
            made.module(name, radio.receive(name, step.other, kinds, step.end - step.start))
            made.components.append(f"new TimerMilliC() as {name[:-1]}SlotEnd")
            made.wire(f"{name}.SlotEnd", f"{name[:-1]}SlotEnd")
            made.components.append(f"new AMReceiverC({RADIO_CHANNEL}) as {name[:-1]}Receiver")
            made.wire(f"{name}.Radio", "ActiveMessageC")
            made.wire(f"{name}.Receive", f"{name[:-1]}Receiver")
            made.wire(f"{name}.AMPacket", "ActiveMessageC")
            for kind in kinds:
                target = site.received(kind)
                assert target is not None
                made.wire(f"{name}.Tray{kind}", f"{_tray(target.name)}.RawTray")


def _firing(acquiring: Lines, doing: Lines) -> Lines:
    """What to do when the clock fires: acquire until the last evaluation of the period, then the steps of the column."""
    if not acquiring:
        return doing
    return [*block("if (now < BETA)", acquiring), *(block("else", doing) if doing else [])]


def _agenda(made: _Application) -> None:
    """Fig. 24: a timer for the next row of the site's column, and what to do when it fires."""
    site = made.site
    leaves = [f"F{fragment.number}" for fragment in site.leaves]
    steps: list[tuple[int, str]] = []
    for step in site.steps:
        name = {"run": f"F{step.other}", "send": f"Tx{step.other}", "receive": f"Rx{step.other}"}[step.what]
        steps.append((step.start, name))
    used = list(dict.fromkeys([*leaves, *(name for _, name in steps)]))
    choosing = [
        line for at, (start, _) in enumerate(steps) for line in (f"if (step == {at}) return {start}UL;",)
    ]
    doing: Lines = []
    for at, (_, name) in enumerate(steps):
        doing.append(f"{'else ' if at else ''}if (step == {at}) call {name}.run();")
    acquiring = [f"call {name}.run();" for name in leaves]
    body = [
        f"enum {{ BETA = {site.beta}, STEPS = {len(steps)} }};",
        f"enum {{ ALPHA = {site.alpha}UL, PERIOD = {site.alpha * site.beta}UL, FIRST = {START}UL }};",
        "uint32_t period, first;",
        f"uint8_t step, now{'' if leaves else ' = BETA'};",
        "",
        "command uint8_t Evaluation.epoch() { return now; }",
        "command uint32_t Evaluation.number(uint8_t epoch) { return first + epoch; }",
        "",
        *block("uint32_t startOf()", [*choosing, "return 0;"]),
        *block(
            "void sleepOn()",
            [
                *block(
                    "if (now == BETA && step == STEPS)",
                    [
                        "period += PERIOD;",
                        "first += BETA;",
                        "step = 0;",
                        f"now = {'0' if leaves else 'BETA'};",
                    ],
                ),
                "call Clock.startOneShotAt(period, now < BETA ? now * ALPHA : startOf());",
            ],
        ),
        *block("event void Boot.booted()", ["period = call Clock.getNow() + FIRST;", "sleepOn();"]),
        *block("event void Clock.fired()", _firing(acquiring, doing)),
    ]
    for name in used:
        leaf = name in leaves
        last = leaves and name == leaves[-1]
        after = (["now++;", "sleepOn();"] if last else []) if leaf else ["step++;", "sleepOn();"]
        body += block(f"event void {name}.done()", after)
    interfaces = [
        "provides interface Evaluation;",
        "uses interface Boot;",
        "uses interface Timer<TMilli> as Clock;",
        *(f"uses interface AgendaTask as {name};" for name in used),
    ]
    made.module("AgendaC", operators.module("AgendaC", interfaces, body))
    made.wire("AgendaC.Boot", "MainC")
    made.wire("AgendaC.Clock", "Clock")
    for name in used:
        inner = name.startswith("F")
        delivers = inner and name == "F0"
        made.wire(
            f"AgendaC.{name}", f"{name}DeliverC" if delivers else f"{name}Task" if inner else f"{name}C"
        )
