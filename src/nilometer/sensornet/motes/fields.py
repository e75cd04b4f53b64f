"""The compile-time facts about a plan's columns, from the converter upwards: C types, ranges, and the most
rows.

The functions run over `plan.physical` and look through EXCHANGE, so that both ends of a radio hop lay out a
tuple alike.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from nilometer.algebra import JoinKind
from nilometer.catalog.network import NodeId
from nilometer.errors import UnsupportedError
from nilometer.expressions import Expression
from nilometer.placement.population import Population
from nilometer.placement.tuple_layout import derived_times
from nilometer.placement.volume import groups_by_source, volume_of
from nilometer.plan import physical
from nilometer.plan.logical import AggregateItem
from nilometer.sensornet.motes.converters import PLAIN, Converter, Converters
from nilometer.sensornet.motes.scalars import NOW, joined, value_of
from nilometer.sensornet.motes.values import TIME_FIELD, CType, Field, Value, bounded, integer, real
from nilometer.types import Column, Kind

SITE = "@site"
"""A hidden column: the site that acquired a row. Row windows count the rows of one tick in the order of their
sites."""

Fields = Mapping[str, Field]


@dataclass(frozen=True)
class Typing:
    """The facts that types depend on: how many sites acquire each source and how often, the greatest site
    number, and the scales of sensed columns."""

    population: Population
    greatest_site: int
    converters: Converters = field(default_factory=dict)

    @property
    def interval(self) -> int:
        """Microseconds between acquisitions."""
        return self.population.interval

    def ages(self, window: physical.TimeWindow) -> range:
        """The acquisitions in a window, as ages. Age 0 is the acquisition of the evaluation itself."""
        if window.start is None:
            raise UnsupportedError("a mote cannot keep an UNBOUNDED window", hint="give the window a RANGE")
        start, over = divmod(window.start, self.interval)
        oldest = start - 1 if window.open_start and not over else start
        newest = -(-window.end // self.interval)
        return range(newest, oldest + 1)

    def rows(self, node: physical.Node) -> int:
        """The most rows that an evaluation of the plan below can have."""
        return self.population.rows(node)

    def groups(self, node: physical.AggregateInit | physical.AggregateMerge, arrivals: int) -> int:
        """The most groups of one window at a site that receives `arrivals` rows (0: it acquires them
        itself)."""
        if groups_by_source(node):
            return 1
        below = node.input
        while isinstance(below, physical.Select | physical.Project | physical.Rename):
            below = below.inputs[0]
        if isinstance(below, physical.RowWindow | physical.NlJoin | physical.HashJoin):
            return max(self.rows(below), 1)  # more than arrive: rows of earlier evaluations, or pairs
        return max(arrivals or volume_of(below, self.interval, iter(())).rows, 1)

    def fields(self, node: physical.Node, ordered: bool = False) -> Fields:
        """The columns of a node; `ordered` adds the hidden `SITE`."""
        if is_deferred(node):
            return self.fields(node.inputs[0], ordered)
        match node:
            case physical.SpAcquire():
                return self.acquired(node, node.columns, ordered)
            case physical.Project(items=items):
                below = self.fields(node.input, ordered)
                result = {item.name: self._field(item.expression, below) for item in items}
                return result | ({SITE: below[SITE]} if ordered else {})
            case physical.Rename(alias=alias):
                below = self.fields(node.input, ordered)
                return {name if name == SITE else f"{alias}.{name}": field for name, field in below.items()}
            case physical.RowWindow():
                return {n: f for n, f in self.fields(node.input, True).items() if n != SITE}
            case physical.Select() | physical.TimeWindow() | physical.Exchange() | physical.Deliver():
                return self.fields(node.inputs[0], ordered)
            case physical.NlJoin(kind=JoinKind.INNER) | physical.HashJoin(kind=JoinKind.INNER):
                return {**self.fields(node.left), **self.fields(node.right)}
            case physical.Union():
                left, right = self.fields(node.left, ordered), self.fields(node.right, ordered)
                pairs = zip(left.items(), right.values(), strict=True)
                return {name: joined([one, other], name) for (name, one), other in pairs}
            case physical.AggregateInit():
                return self._partial(node, node.input)
            case physical.AggregateMerge():
                return self._partial(node, _init_of(node).input)
        raise cannot_run(node)

    def stored(self, node: physical.Node, ordered: bool = False) -> Fields:
        """The columns that a tuple of the node carries: all except the times that follow from its
        evaluation."""
        derived = self.derived(node)
        return {name: field for name, field in self.fields(node, ordered).items() if name not in derived}

    def derived(self, node: physical.Node) -> dict[str, int]:
        """The times that follow from the evaluation, each as the number of acquisitions before it."""
        while is_deferred(node):
            node = node.inputs[0]
        return {name: distance // self.interval for name, distance in derived_times(node).items()}

    def acquired(
        self, node: physical.SpAcquire, columns: tuple[Column, ...], ordered: bool
    ) -> dict[str, Field]:
        """The columns that an acquisition provides."""
        found = {f"{node.alias}.{column.name}": self._sensed(node, column) for column in columns}
        return found | ({SITE: self._site()} if ordered else {})

    def _site(self) -> Field:
        return integer(0, self.greatest_site, "a site's id")

    def converter(self, node: physical.SpAcquire, column: Column) -> Converter:
        """The converter of a sensed column."""
        key = node.stream.name.lower(), column.name.lower()
        return self.converters.get(key, PLAIN.get(column.type.kind, PLAIN[Kind.INT]))

    def _sensed(self, node: physical.SpAcquire, column: Column) -> Field:
        scale = self.converter(node, column)
        match column.name.lower(), column.type.kind:
            case "time", _:
                return TIME_FIELD
            case "id", Kind.INT | Kind.STRING:
                return self._site()
            case _, Kind.INT:
                return integer(int(scale.low), int(scale.high), column.name)
            case _, Kind.FLOAT:
                return real(scale.low, scale.high, column.name)
        raise UnsupportedError(
            f"a mote cannot sense a {column.type.kind}",
            detail=f"column '{column.name}'",
            hint="its converter gives numbers: declare INT or FLOAT",
        )

    def _partial(
        self, node: physical.AggregateInit | physical.AggregateMerge, source: physical.Node
    ) -> Fields:
        below = self.fields(source)
        if node.completeness is not None:
            raise UnsupportedError("a mote cannot tell COMPLETENESS", hint="leave it to the gateway")
        found = {key.name: self._field(key.expression, below) for key in node.keys}
        rows = self.rows(source)
        for item in node.items:
            found |= dict(self._state(item, below, rows))
        return found

    def _state(self, item: AggregateItem, below: Fields, rows: int) -> list[tuple[str, Field]]:
        """The state of one aggregate on a mote: `physical.partial_columns`, except that sums of INT are whole
        numbers. This also holds for AVG, STDEV and VARIANCE: the gateway divides, and their answers are
        exact."""
        aggregate, name = item.aggregate, item.name
        count = (f"{name}#count", bounded(0, rows, f"the count in {aggregate}"))
        if aggregate.function == "count":
            return [count]
        assert aggregate.argument is not None
        argument = self._field(aggregate.argument, below)
        match aggregate.function:
            case "min" | "max" as function:
                return [(f"{name}#{function}", Field(argument.ctype, argument.low, argument.high, True))]
            case "sum":
                return [(f"{name}#sum", self._sum(argument, rows, str(aggregate), nullable=True))]
            case "avg":
                return [(f"{name}#sum", self._sum(argument, rows, str(aggregate))), count]
            case "stdev" | "variance" if argument.ctype is not CType.FLOAT:
                most = max(abs(argument.low), abs(argument.high)) ** 2
                squares = bounded(0, int(most) * rows, f"the sum of squares in {aggregate}")
                return [
                    count,
                    (f"{name}#sum", self._sum(argument, rows, str(aggregate))),
                    (f"{name}#squares", squares),
                ]
        raise UnsupportedError(
            f"a mote cannot compute {aggregate}",
            hint="motes know COUNT, SUM, AVG, MIN, MAX, and STDEV and VARIANCE of INT",
        )

    def _sum(self, argument: Field, rows: int, what: str, *, nullable: bool = False) -> Field:
        if argument.is_time:
            raise UnsupportedError(
                f"a mote cannot compute {what}", hint="it knows times by their number only"
            )
        low, high = min(argument.low, 0) * rows, max(argument.high, 0) * rows
        if argument.ctype is CType.FLOAT:
            return real(low, high, what, nullable=nullable)
        return bounded(int(low), int(high), what, nullable=nullable)

    def _field(self, expression: Expression, below: Fields) -> Field:
        row = {name: Value(name, field, "0" if field.nullable else None) for name, field in below.items()}
        found = value_of(expression, row | {NOW: Value(NOW, TIME_FIELD)})
        return Field(found.field.ctype, found.field.low, found.field.high, found.null is not None)


def cannot_run(node: physical.Node) -> UnsupportedError:
    """The error that refuses an operator."""
    return UnsupportedError(
        f"motes cannot run {node.operator}",
        hint="place it at the gateway: what is below it can stay in the network",
    )


def is_deferred(node: physical.Node) -> bool:
    """Whether a node is left to the gateway: AGGR_EVAL, and operators that only rearrange its rows. On a mote
    they pass rows through."""
    while len(node.inputs) == 1:
        if isinstance(node, physical.AggregateEvaluate):
            return True
        node = node.inputs[0]
    return False


def tuple_size(fields: Fields) -> int:
    """The bytes of a tuple: the number of its evaluation in the period, and its columns without gaps. A tuple
    without columns has one byte to spare, so that a packet never has room for more than 15 tuples, the most
    that half a byte counts."""
    return 1 + max(sum(field.size for field in fields.values()), 1)


def tuple_head(fields: Fields) -> list[str]:
    """The members of a tuple's C struct before its columns."""
    return ["uint8_t epoch;"] if fields else ["uint8_t epoch, spare;"]


def has_row_window(node: physical.Node) -> bool:
    """Whether an operator below counts rows (looks through EXCHANGE)."""
    return any(isinstance(below, physical.RowWindow) for below in physical.walk_plan(node))


def passes_on(node: physical.Node) -> bool:
    """Whether a node does nothing on a mote: a node that is left to the gateway, or a MERGE above a row
    window. The row window has seen the whole extent at one site, so its partial results are complete."""
    return is_deferred(node) or (isinstance(node, physical.AggregateMerge) and has_row_window(node))


def _init_of(node: physical.Node) -> physical.AggregateInit:
    for below in physical.walk_plan(node):
        if isinstance(below, physical.AggregateInit):
            return below
    raise cannot_run(node)


def check_sites(sites: list[NodeId]) -> None:
    """Refuse site numbers that do not fit into the one byte that addresses a site on the air."""
    if len(sites) > 255:
        raise UnsupportedError(
            "a byte on the air addresses a mote, and tells at most 255 of them apart",
            detail=f"{len(sites)} nodes take part",
            hint="divide the network, each part with a sink of its own, or ask for fewer of its nodes (WHERE id IN ...)",
        )
    for site in sites:
        if not isinstance(site, int) or not 0 <= site < 255:
            raise UnsupportedError(
                f"node {site!r} cannot be a mote's address",
                hint="number the nodes of the network from 0 to 254",
            )
