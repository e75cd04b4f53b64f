"""Physical operators -> C, in the push style: a source pushes each row through everything above it, in nested
blocks.

Every operator is a function of its node and of a `Consumer`: the code that the operator above wants at the
start of an evaluation, for each row, and at the end. State that outlives an evaluation becomes a static
variable. In scope are `epoch` (the evaluation within this period) and `evaluation` (since the start).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from nilometer.algebra import JoinKind
from nilometer.catalog.network import NodeId
from nilometer.errors import InternalError, UnsupportedError
from nilometer.plan import physical
from nilometer.sensornet.motes.c_text import Lines, assigned, block, held, identifier, struct
from nilometer.sensornet.motes.fields import SITE, Typing, cannot_run, is_deferred
from nilometer.sensornet.motes.scalars import NOW, Row, conditions_of, is_true, value_of
from nilometer.sensornet.motes.values import TIME_FIELD, Value


@dataclass(frozen=True)
class Consumer:
    """The code that the operator above contributes."""

    row: Callable[[Row], Lines]
    open: Callable[[], Lines] = list
    close: Callable[[], Lines] = list


@dataclass
class Emitter:
    """Writes one fragment at one site. `trays` has, by the producer of each EXCHANGE, the (row struct, tray)
    names that feed it. `arrivals` is the most rows that they bring for one evaluation. `offset` is the number
    of the first evaluation since the Unix epoch, to which slides are aligned."""

    typing: Typing
    site: NodeId
    channels: Mapping[tuple[str, str], int]
    trays: Mapping[int | None, list[tuple[str, str]]]
    arrivals: int
    prefix: str
    offset: int = 0
    ordered: bool = False
    declarations: Lines = field(default_factory=list)
    used: int = 0

    def emit(self, node: physical.Node, above: Consumer, ordered: bool | None = None) -> Lines:
        """The C that runs a node and hands its rows to the operator above."""
        ordered = self.ordered if ordered is None else ordered
        if is_deferred(node) and not isinstance(node, physical.Exchange):
            return self.emit(node.inputs[0], above, ordered)
        match node:
            case physical.SpAcquire():
                return self._acquire(node, above, ordered)
            case physical.Exchange():
                return self._exchange(node, above, ordered)
            case physical.Select(predicate=predicate):
                return self.emit(
                    node.input,
                    Consumer(
                        lambda row: block(f"if ({is_true(predicate, row)})", above.row(row)),
                        above.open,
                        above.close,
                    ),
                    ordered,
                )
            case physical.Project(items=items):

                def projected(row: Row) -> Lines:
                    hidden = {name: row[name] for name in (NOW, SITE) if name in row}
                    return above.row({i.name: value_of(i.expression, row) for i in items} | hidden)

                return self.emit(node.input, Consumer(projected, above.open, above.close), ordered)
            case physical.Rename(alias=alias):

                def renamed(row: Row) -> Lines:
                    return above.row({n if n.startswith("@") else f"{alias}.{n}": v for n, v in row.items()})

                return self.emit(node.input, Consumer(renamed, above.open, above.close), ordered)
            case physical.TimeWindow():
                return self._time_window(node, above, ordered)
            case physical.RowWindow():
                return self._row_window(node, above)
            case physical.NlJoin() | physical.HashJoin():
                return self._join(node, above)
            case physical.Union():
                return self._union(node, above, ordered)
            case physical.AggregateInit() | physical.AggregateMerge():
                from nilometer.sensornet.motes.aggregation import emit_aggregate

                return emit_aggregate(self, node, above)
        raise cannot_run(node)

    def name(self, what: str) -> str:
        """A variable name that is unique in this fragment."""
        self.used += 1
        return f"{self.prefix}_{what}_{self.used}"

    # ---- sources -----------------------------------------------------------------------------------------------------

    def _acquire(self, node: physical.SpAcquire, above: Consumer, ordered: bool) -> Lines:
        wide = self.typing.acquired(node, node.columns + node.reads, ordered)
        row: dict[str, Value] = {NOW: Value("evaluation", TIME_FIELD)}
        sensing: Lines = []
        for column in node.columns + node.reads:
            name = f"{node.alias}.{column.name}"
            match column.name.lower():
                case "time":
                    row[name] = Value("evaluation", wide[name])
                    continue
                case "id":
                    row[name] = Value(str(self.site), wide[name])
                    continue
            channel = self.channels[(node.stream.name.lower(), column.name.lower())]
            value = self.typing.converter(node, column).text(f"sense({channel})")
            row[name] = Value(identifier(name), wide[name])
            sensing.append(f"{wide[name].ctype} {identifier(name)} = {value};")
        if ordered:
            row[SITE] = Value(str(self.site), wide[SITE])
        if sensing:
            sensing.append("sense_off();")
        body = above.row(row)
        if node.predicate is not None:
            body = block(f"if ({is_true(node.predicate, row)})", body)
        return [f"/* {_comment(node)} */", *above.open(), *sensing, *body, *above.close()]

    def _exchange(self, node: physical.Exchange, above: Consumer, ordered: bool) -> Lines:
        fields = self.typing.stored(node.input, ordered)
        times = _times(self.typing.derived(node.input), "")
        loops: Lines = []
        for row_struct, tray in self.trays[node.producer]:
            at = self.name("at")
            row = held(f"{at}->", fields) | times
            first = f"const struct {row_struct} *{at} = tray_next(&{tray}, {tray}.rows, epoch)"
            loops += block(f"for ({first}; {at}; {at} = tray_next(&{tray}, {at} + 1, epoch))", above.row(row))
        return [*above.open(), *loops, *above.close()]

    def _union(self, node: physical.Union, above: Consumer, ordered: bool) -> Lines:
        names = list(self.typing.fields(node, ordered))

        def right_row(row: Row) -> Lines:
            own = list(self.typing.fields(node.right, ordered))
            return above.row({new: row[old] for new, old in zip(names, own, strict=True)} | {NOW: row[NOW]})

        left = self.emit(node.left, Consumer(above.row), ordered)
        return [*above.open(), *left, *self.emit(node.right, Consumer(right_row), ordered), *above.close()]

    # ---- windows -----------------------------------------------------------------------------------------------------

    def _time_window(self, node: physical.TimeWindow, above: Consumer, ordered: bool) -> Lines:
        ages = self.typing.ages(node)
        self._check_source(node)
        if list(ages) == [0]:
            return self._sliding(node, self.emit(node.input, above, ordered))
        fields = self.typing.stored(node.input, ordered)
        window = self.name("window")
        depth = ages.stop
        self.declarations += [
            *struct(window, ["uint8_t present;"], fields),
            f"static struct {window} {window}[{depth}];",
            f"static uint8_t {window}_at;",
        ]

        def kept(row: Row) -> Lines:
            return ["slot->present = 1;", *assigned("slot->", row, fields)]

        taking = [
            f"if (++{window}_at == {depth}) {window}_at = 0;",
            f"struct {window} *slot = &{window}[{window}_at];",
            "slot->present = 0;",
            *self.emit(node.input, Consumer(kept), ordered),
        ]
        row = held("slot->", fields) | _times(self.typing.derived(node.input), " - age")
        looking = block(
            f"for (uint8_t age = {ages.start}; age < {ages.stop}; age++)",
            [
                f"const struct {window} *slot = &{window}[{window}_at >= age ? {window}_at - age : {window}_at + {depth} - age];",
                "if (!slot->present) continue;",
                *above.row(row),
            ],
        )
        comment = f"/* {_comment(node)} */"
        return [comment, *block("", taking), *self._sliding(node, [*above.open(), *looking, *above.close()])]

    def _sliding(self, node: physical.TimeWindow, evaluating: Lines) -> Lines:
        """The evaluation of a window, skipped where its SLIDE says so."""
        if node.slide is None or node.slide == self.typing.interval:
            return evaluating
        every, over = divmod(node.slide, self.typing.interval)
        if over or every > 255:
            raise UnsupportedError(
                "a mote evaluates a window at acquisitions only",
                hint="give a SLIDE of at most 255 acquisition intervals",
            )
        # A window that keeps nothing also acquires nothing between its evaluations, because it would not use the reading.
        counter = self.name("slide")
        self.declarations.append(f"static uint8_t {counter} = {self.offset % every};")
        return [
            *block(f"if ({counter} == 0)", evaluating),
            f"if (++{counter} == {every}) {counter} = 0;",
        ]

    def _check_source(self, node: physical.TimeWindow) -> None:
        below = node.input
        while isinstance(below, physical.Select | physical.Project | physical.Rename):
            below = below.inputs[0]
        if not isinstance(below, physical.SpAcquire):
            raise UnsupportedError(
                f"motes cannot run TIME_WINDOW over {below.operator}",
                hint="they keep windows of what they acquire",
            )

    def _row_window(self, node: physical.RowWindow, above: Consumer) -> Lines:
        """Gathers the rows of a tick, sorts them by site, and counts them one by one."""
        depth = self.typing.rows(node)
        assert node.start is not None
        if max(depth + node.end, node.slide, self.arrivals) > 255:
            raise UnsupportedError("a mote keeps and counts at most 255 rows", hint="take a smaller window")
        fields = self.typing.fields(node.input, True)
        gathered, window = self.name("gathered"), self.name("rows")
        size = node.start + 1
        self.declarations += [
            *struct(gathered, [], fields),
            f"static struct {gathered} {gathered}[{max(self.arrivals, 1)}], {window}[{size}];",
            f"static uint8_t {gathered}_count, {window}_at, {window}_filled, {window}_slide;",
        ]
        site = identifier(SITE)

        def gather(row: Row) -> Lines:
            ordering = block(
                f"while (place > 0 && {gathered}[place - 1].{site} > {row[SITE].text})",
                [f"{gathered}[place] = {gathered}[place - 1];", "place--;"],
            )
            return [
                f"uint8_t place = {gathered}_count++;",
                *(ordering if self.arrivals > 1 else []),  # one row is in order
                *assigned(f"{gathered}[place].", row, fields),
            ]

        outer = {name: f for name, f in fields.items() if name != SITE}
        row = held("old->", outer) | {NOW: Value("evaluation", TIME_FIELD)}
        looking = block(
            f"for (uint8_t back = {node.end}; back <= {node.start} && back < {window}_filled; back++)",
            [
                f"const struct {gathered} *old = &{window}[{window}_at >= back ? {window}_at - back : {window}_at + {size} - back];",
                *above.row(row),
            ],
        )
        counting = [
            f"if (++{window}_at == {size}) {window}_at = 0;",
            f"{window}[{window}_at] = {gathered}[i];",
            f"if ({window}_filled < {size}) {window}_filled++;",
            f"if (++{window}_slide < {node.slide}) continue;",
            f"{window}_slide = 0;",
            *above.open(),
            *looking,
            *above.close(),
        ]
        return [
            f"/* {_comment(node)} */",
            f"{gathered}_count = 0;",
            *self.emit(node.input, Consumer(lambda row: block("", gather(row))), True),
            *block(f"for (uint8_t i = 0; i < {gathered}_count; i++)", counting),
        ]

    # ---- joins -------------------------------------------------------------------------------------------------------

    def _join(self, node: physical.NlJoin | physical.HashJoin, above: Consumer) -> Lines:
        """Nested loops: few rows meet in one evaluation, and a hash table would cost the RAM that buffers need."""
        if node.kind is not JoinKind.INNER:
            raise UnsupportedError(f"motes cannot run a {node.kind} join", hint="leave it to the gateway")
        slides = {w.slide for w in physical.walk_plan(node) if isinstance(w, physical.TimeWindow)} - {
            self.typing.interval,
            None,
        }
        if slides or any(isinstance(w, physical.RowWindow) for w in physical.walk_plan(node)):
            raise UnsupportedError(
                "motes join windows that are evaluated at every acquisition",
                hint="leave SLIDE and ROWS out, or join at the gateway",
            )
        for side in node.inputs:
            if is_deferred(side) or not _is_stateless(side):
                raise UnsupportedError(f"motes cannot join what {side.operator} gives, at the same site")
        conditions = conditions_of(node)

        def met(left: Row) -> Callable[[Row], Lines]:
            def pair(right: Row) -> Lines:
                row = {**left, **right}
                body = above.row(row)
                return (
                    block(f"if ({' && '.join(f'({is_true(c, row)})' for c in conditions)})", body)
                    if conditions
                    else body
                )

            return pair

        def inner(left: Row) -> Lines:
            return self.emit(node.right, Consumer(met(left)))

        loops = self.emit(node.left, Consumer(inner))
        return [f"/* {_comment(node)} */", *above.open(), *loops, *above.close()]


def _times(derived: Mapping[str, int], age: str) -> dict[str, Value]:
    """The columns that follow from the evaluation, and the evaluation itself."""
    found = {NOW: Value("evaluation", TIME_FIELD)}
    for name, distance in derived.items():
        text = f"(evaluation{age}{f' - {distance}' if distance else ''})"
        found[name] = Value(text, TIME_FIELD)
    return found


def _is_stateless(node: physical.Node) -> bool:
    while isinstance(node, physical.Select | physical.Project | physical.Rename):
        node = node.inputs[0]
    return isinstance(node, physical.Exchange)


def _comment(node: physical.Node) -> str:
    from nilometer.plan.explain import explain_text

    try:
        text = explain_text(node).splitlines()[0]
    except InternalError:
        text = node.operator
    return text.replace("*/", "* /")
