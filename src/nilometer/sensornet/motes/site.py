"""A site's share of a placed plan, as its program needs it: trays, which feeds which, and the steps of its
agenda in ticks."""

from __future__ import annotations

import binascii
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import lcm

from nilometer.algebra import Collection
from nilometer.catalog.network import NodeId
from nilometer.errors import InternalError, UnsupportedError
from nilometer.placement import Fragment, FragmentTask, Placement
from nilometer.plan import physical
from nilometer.plan.explain import explain_text
from nilometer.sensornet.motes.converters import Converters
from nilometer.sensornet.motes.fields import Fields, Typing, check_sites, tuple_size
from nilometer.sensornet.motes.starting import START, Starting
from nilometer.sensornet.motes.timekeeping import EXACT, TICKS, Timekeeping
from nilometer.types import format_duration

GUARD = 2
"""Ticks between the opening of a slot, when the receiver starts to listen, and the first byte."""

MAXIMUM_BETA = 254
"""One byte names the evaluation of the period that a tuple belongs to. Its last value ends a frame of the
serial line."""

MAXIMUM_FRAGMENTS = 16
"""Half a byte names the fragment that made the tuples of a run."""


@dataclass(frozen=True)
class Tray:
    """Tuples of a fragment that wait at a site for the fragment `consumer` that runs there, or for the radio
    (None). `local`: the tuples are made and consumed at that site."""

    fragment: int
    consumer: int | None
    local: bool
    capacity: int
    fields: Fields

    @property
    def name(self) -> str:
        """Its name in the C program: `f3_for_f1`, `f3_for_radio`, and `f2_within` for tuples that never leave
        the site."""
        if self.local:
            return f"f{self.fragment}_within"
        return f"f{self.fragment}_for_{'radio' if self.consumer is None else f'f{self.consumer}'}"

    @property
    def row(self) -> str:
        """Its row struct in the C program."""
        return f"row_{self.fragment}"

    @property
    def size(self) -> int:
        """Its bytes."""
        return self.capacity * tuple_size(self.fields)


@dataclass(frozen=True)
class AgendaStep:
    """A step of a site once in a period: `what` is `run` (a fragment), `send`, or `receive` (from `other`).
    `sendings`: how many transmissions the slot has time for, where packets are acknowledged and retried."""

    start: int
    end: int
    what: str
    other: int
    sendings: int | None = None


@dataclass(frozen=True)
class Site:
    """Everything that a program is generated from."""

    id: NodeId
    parent: NodeId | None
    leaves: tuple[Fragment, ...]
    inner: tuple[Fragment, ...]
    trays: tuple[Tray, ...]
    steps: tuple[AgendaStep, ...]
    arrivals: Mapping[int, int]
    alpha: int
    beta: int

    def received(self, fragment: int) -> Tray | None:
        """The tray for a fragment's tuples that arrive by radio: that of the fragment that consumes them
        here, otherwise the radio's."""
        arriving = [t for t in self.trays if t.fragment == fragment and not t.local]
        return next((t for t in arriving if t.consumer is not None), arriving[0] if arriving else None)

    def made(self, fragment: int) -> Tray:
        """The tray for a fragment's tuples that are made here."""
        made = [t for t in self.trays if t.fragment == fragment and (t.local or t.consumer is None)]
        if len(made) != 1:
            raise InternalError(
                f"fragment {fragment} at site {self.id} has {len(made)} places for its tuples"
            )
        return made[0]

    def feeding(self, fragment: int, producers: tuple[int, ...]) -> list[Tray]:
        """The trays of the given producers that a fragment empties."""
        return [t for t in self.trays if t.consumer == fragment and t.fragment in producers]

    @property
    def sends(self) -> bool:
        """Whether it has a slot of its own."""
        return any(step.what == "send" for step in self.steps)

    @property
    def receives(self) -> bool:
        """Whether it listens to any other site."""
        return any(step.what == "receive" for step in self.steps)


@dataclass(frozen=True)
class Delivered:
    """Rows that the sink hands to the gateway: those that an EXCHANGE brings to the fragment that delivers.
    `ordered`: each row names the site that acquired it."""

    node: physical.Exchange
    producer: int
    ordered: bool


@dataclass(frozen=True)
class Motes:
    """A placement as the code generator sees it. `starting`: how motes are told when to start; None: they
    count from their reset."""

    placement: Placement
    typing: Typing
    ordered: frozenset[int]
    channels: Mapping[tuple[str, str], int]
    timekeeping: Timekeeping = EXACT
    starting: Starting | None = None

    @property
    def first(self) -> int:
        """The tick of the first evaluation; if motes wait for the start, by the sink's clock."""
        return START if self.starting is None else self.starting.first

    @property
    def retries(self) -> int:
        """How often a packet that was not acknowledged is sent again; 0: packets are sent once and not
        acknowledged."""
        return self.placement.network.retries

    @property
    def delivered(self) -> tuple[Delivered, ...]:
        """The rows that the sink hands to the gateway, which does the rest: AGGR_EVAL, and what motes cannot
        run."""
        first = self.placement.fragments[0]
        fed = zip(first.exchanges, first.producers, strict=True)
        return tuple(Delivered(node, number, number in self.ordered) for node, number in fed)

    @property
    def alignment(self) -> int:
        """Microseconds. Programs count from their first evaluation to know when a sliding window is due. So
        the first evaluation may move by whole multiples of this time, and by nothing else."""
        slides = [
            node.slide
            for fragment in self.placement.fragments
            for node in fragment.mote_operators
            if isinstance(node, physical.TimeWindow) and node.slide
        ]
        return lcm(self.typing.interval, *slides)

    def fingerprint(self, start: int) -> int:
        """Two bytes that differ between most programs of different queries, so that the gateway notices which
        one it hears. `start`: the time of the first evaluation."""
        agenda = self.placement.agenda
        layouts = [sorted(self.typing.stored(k.node, k.ordered).items()) for k in self.delivered]
        facts = (
            explain_text(self.placement.plan),
            (agenda.alpha, agenda.beta, start % self.alignment),
            layouts,
            self.typing.converters,
        )
        return binascii.crc_hqx(repr(facts).encode(), 0)

    def fields(self, fragment: int) -> Fields:
        """The columns of the tuples that a fragment makes."""
        return self.typing.stored(self.placement.fragments[fragment].root, fragment in self.ordered)

    def site(self, site: NodeId) -> Site:
        """A site's share."""
        placed, agenda = self.placement.placed, self.placement.agenda
        fragments = placed.fragments_at[site]
        arrivals = {fragment.number: 0 for fragment in fragments}
        for flow in placed.incoming[site]:
            arrivals[flow.consumer] += flow.rows
        return Site(
            site,
            self.placement.routing.parents.get(site),
            tuple(fragment for fragment in fragments if fragment.is_leaf),
            tuple(fragment for fragment in fragments if not fragment.is_leaf),
            self._trays(site),
            self._steps(site),
            arrivals,
            self.ticks(agenda.alpha),
            agenda.beta,
        )

    def _trays(self, site: NodeId) -> tuple[Tray, ...]:
        placed, beta = self.placement.placed, self.placement.agenda.beta
        rows: dict[tuple[int, int | None, bool], int] = {}
        for flow in placed.incoming[site]:
            key = flow.fragment, flow.consumer, flow.local
            rows[key] = rows.get(key, 0) + flow.rows * -(-beta // flow.stride)
        for flow in placed.outgoing[site]:
            leaving = flow.fragment, None, False
            rows[leaving] = rows.get(leaving, 0) + flow.rows * -(-beta // flow.stride)
        return tuple(Tray(*key, count, self.fields(key[0])) for key, count in rows.items())

    def _steps(self, site: NodeId) -> tuple[AgendaStep, ...]:
        steps = []
        for task in self.placement.agenda.column[site]:
            start, end = self.ticks(task.start), self.ticks(task.end)
            if isinstance(task, FragmentTask):
                steps.append(AgendaStep(start, end, "run", task.fragment))
            elif task.source == site:
                steps.append(AgendaStep(start, end, "send", _number(task.target), task.reserved))
            else:
                steps.append(AgendaStep(start, end, "receive", _number(task.source), task.reserved))
        if any(step.start < self.ticks(self.placement.agenda.last_evaluation) for step in steps):
            raise InternalError("a mote sends only after the last acquisition of a period")
        return tuple(sorted(steps, key=lambda step: step.start))

    def ticks(self, agenda_ticks: int) -> int:
        """A time of the agenda on the mote's clock, rounded up. Both ends of a slot round alike."""
        return -(-agenda_ticks * TICKS // self.placement.agenda.tick_rate)


def motes_of(placement: Placement, converters: Converters | None = None) -> Motes:
    """The code generator's view of a placement; refuses a plan that motes cannot run."""
    agenda = placement.agenda
    sites = list(placement.routing.post_order)
    check_sites(sites)
    acquires = [node for fragment in placement.fragments for node in fragment.acquires]
    for node in acquires:
        if node.every is None:
            raise UnsupportedError(
                f"stream '{node.stream.name}' is pushed: no mote acquires it",
                hint="declare it SENSED EVERY ...",
            )
    if agenda.alpha * TICKS % agenda.tick_rate:
        raise UnsupportedError(
            "the acquisition interval is no whole number of ticks of 1/1024 second",
            detail=f"it is {format_duration(placement.interval)}",
            hint="a mote's clock counts these; take a multiple of 1/8 second",
        )
    if agenda.beta > MAXIMUM_BETA:
        raise UnsupportedError(
            f"a mote numbers at most {MAXIMUM_BETA} evaluations in a period",
            detail=f"the buffering factor is {agenda.beta}",
            hint="ask for an earlier delivery, or fix the buffering factor",
        )
    if agenda.period * TICKS // agenda.tick_rate >= 2**31:
        raise UnsupportedError(
            "a mote's clock cannot count a period of more than 24 days",
            detail=f"{agenda.beta} evaluations take {agenda.seconds(agenda.period) / 86400:.1f} days",
            hint="fix a smaller buffering factor, or expect an earlier delivery",
        )
    if len(placement.fragments) > MAXIMUM_FRAGMENTS:
        raise UnsupportedError(
            f"motes tell at most {MAXIMUM_FRAGMENTS} fragments apart",
            detail=f"the plan has {len(placement.fragments)}",
            hint="ask several queries",
        )
    typing = Typing(placement.placed.population, max(_number(site) for site in sites), converters or {})
    return Motes(placement, typing, _ordered(placement), _channels(acquires))


def _ordered(placement: Placement) -> frozenset[int]:
    """The fragments whose tuples name the site that acquired them: their rows are counted in the order of
    sites, or, at the gateway, distinguished by their sources."""
    waiting: list[int] = []
    for fragment in placement.fragments:
        if fragment.host != "mote":
            counts = any(getattr(node, "completeness", None) is not None for node in fragment.operators)
            asked_for = _asked_for_sources(fragment.root, counts, counts)
            fed = zip(asked_for, fragment.producers, strict=True)
            waiting += [number for asked, number in fed if asked]
        elif any(isinstance(node, physical.RowWindow) for node in fragment.operators):
            waiting += fragment.producers
    found: set[int] = set()
    while waiting:
        number = waiting.pop()
        found.add(number)
        waiting += placement.fragments[number].producers
    return frozenset(found)


def _asked_for_sources(node: physical.Node, asked: bool, counts: bool) -> Iterator[bool]:
    """For each EXCHANGE, left to right, whether an operator above it needs the source of a row of a stream,
    or the order of the rows of one tick. Time windows do not, unless `counts` says that they count which
    sensors were heard (COMPLETENESS)."""
    if isinstance(node, physical.Exchange):
        yield asked and node.collection is Collection.STREAM
        return
    forgets = isinstance(node, physical.TimeWindow) and not counts
    asks = not isinstance(node, _SOURCELESS) or (asked and not forgets)
    for child in node.inputs:
        yield from _asked_for_sources(child, asks, counts)


_SOURCELESS = (
    physical.Select,
    physical.Project,
    physical.Rename,
    physical.Union,
    physical.TimeWindow,
    physical.Deliver,
)


def _channels(acquires: list[physical.SpAcquire]) -> dict[tuple[str, str], int]:
    """A channel of the converter for each sensed column, the same at every site."""
    found: dict[tuple[str, str], int] = {}
    for node in acquires:
        for column in node.columns + node.reads:
            if column.name.lower() not in ("time", "id"):
                found.setdefault((node.stream.name.lower(), column.name.lower()), len(found))
    if len(found) > 8:
        raise UnsupportedError(
            "an ATmega128 has 8 channels to sense with",
            detail=f"the query reads {len(found)} columns",
            hint="ask for fewer columns",
        )
    return found


def _number(site: NodeId) -> int:
    assert isinstance(site, int)
    return site
