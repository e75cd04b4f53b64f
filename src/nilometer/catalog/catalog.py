"""The catalog: names -> extents, sensors, networks, queries, views and phenomena. No parsing, no planning.

Lookups ignore case; declarations keep their spelling and order. Every change is checked first, then kept by
the `Keeper` (the store, if there is one), then applied in memory. A change that fails has no effect.

>>> from nilometer.types import INT, Column
>>> catalog = Catalog()
>>> catalog.add_stream(Stream("river", stream_columns((Column("depth", INT),)), every=900_000_000))
>>> catalog.add_sensor(Sensor(5, "river", (120.0, 44.5), (("kind", "gauge"),)))
>>> [str(column) for column in catalog.static_columns("RIVER")]
['location POINT', 'kind STRING']
>>> catalog.sensor_rows()
[{'id': 5, 'stream': 'river', 'location': (120.0, 44.5), 'kind': 'gauge'}]
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, fields, replace
from threading import RLock
from typing import Any, Protocol

from nilometer.catalog.answer_streams import SUFFIX, answer_stream, audit_stream
from nilometer.catalog.declarations import check_extent
from nilometer.catalog.extents import Extent, Sensor, Stream, Table, stream_columns
from nilometer.catalog.near_misses import join_names, near_misses
from nilometer.catalog.network import Network
from nilometer.catalog.sensor_set import SENSORS_URL, SensorSet
from nilometer.errors import CatalogError
from nilometer.types import Column, Type

__all__ = [
    "Catalog",
    "Change",
    "Contents",
    "FunctionDefinition",
    "Keeper",
    "PhenomenonDefinition",
    "QueryDefinition",
    "ViewDefinition",
    "stream_columns",
]

KINDS = (
    "STREAM",
    "TABLE",
    "SENSOR",
    "NETWORK",
    "QUERY",
    "VIEW",
    "ALERT",
    "DECISION",
    "PHENOMENON",
    "FUNCTION",
)


@dataclass(frozen=True, slots=True)
class QueryDefinition:
    """A standing query: its text, and where in the log it starts (None: now; 'BEGINNING'; microseconds). `columns`
    are those of its answers, which are at most `delay` late; without them it cannot be read in FROM. `stops`: a row
    without a value stops it (ON ERROR STOP). `made_by`: the CREATE ALERT or CREATE DECISION that it belongs to.
    `pipeline`: the one that it runs in on Spark (None: the one of all others)."""

    name: str
    text: str
    starting: str | int | None = None
    columns: tuple[Column, ...] = field(default=(), compare=False)
    delay: int = field(default=0, compare=False)
    stops: bool = False
    made_by: str | None = None
    pipeline: str | None = None

    @property
    def duty(self) -> str | None:
        """ALERT or DECISION, if the query is one's."""
        return None if self.made_by is None else self.made_by.split(maxsplit=2)[1]


@dataclass(frozen=True, slots=True)
class ViewDefinition:
    """A named query that other queries read: its text, and names for its columns (none: its own)."""

    name: str
    text: str
    columns: tuple[str, ...] = ()


@dataclass(frozen=True)
class PhenomenonDefinition:
    """A phenomenon: its name and the text of its CREATE PHENOMENON."""

    name: str
    text: str


@dataclass(frozen=True)
class FunctionDefinition:
    """A function in Python: its arguments, the type that it gives, and `module:function`."""

    name: str
    arguments: tuple[Column, ...]
    returns: Type
    reference: str

    def __str__(self) -> str:
        return f"{self.name}({', '.join(map(str, self.arguments))}) RETURNS {self.returns}"


Item = (
    Stream
    | Table
    | Sensor
    | Network
    | QueryDefinition
    | ViewDefinition
    | PhenomenonDefinition
    | FunctionDefinition
)


@dataclass
class Contents:
    """Everything in a catalog, by lower-case name, in the order of declaration."""

    extents: dict[str, Extent] = field(default_factory=dict)
    sensors: dict[tuple[str, int | str], Sensor] = field(default_factory=dict)
    networks: dict[str, Network] = field(default_factory=dict)
    queries: dict[str, QueryDefinition] = field(default_factory=dict)
    views: dict[str, ViewDefinition] = field(default_factory=dict)
    phenomena: dict[str, PhenomenonDefinition] = field(default_factory=dict)
    functions: dict[str, FunctionDefinition] = field(default_factory=dict)


@dataclass
class Change:
    """The effect of one declaration: what to remove, then to replace in place, then to add."""

    removed: list[Item] = field(default_factory=list)
    replaced: list[Stream] = field(default_factory=list)
    added: list[Item] = field(default_factory=list)


class Keeper(Protocol):
    """Makes changes durable."""

    def changing(self, seen: int) -> AbstractContextManager[tuple[int, Contents | None]]:
        """A transaction: yields the revision, and the contents if they are newer than the revision seen."""

    def keep(self, change: Change) -> None:
        """Write the change, inside the transaction."""

    def refresh(self, seen: int) -> tuple[int, Contents | None]:
        """The revision, and the contents if they are newer than the revision seen."""


class Catalog:
    """The one place where names are looked up. With a keeper, the changes of other programs become visible at
    the next change made here or at `refresh()`."""

    def __init__(
        self, contents: Contents | None = None, keeper: Keeper | None = None, revision: int = 0
    ) -> None:
        self._contents = contents or Contents()
        self._keeper = keeper
        self._revision = revision
        self._sensor_set: SensorSet | None = None
        self._turn = RLock()

    def copy(self) -> Catalog:
        """The same declarations, in memory. A declaration in one of the two is not in the other."""
        known = self._contents
        return Catalog(Contents(**{each.name: dict(getattr(known, each.name)) for each in fields(known)}))

    # ---- looking up ----------------------------------------------------------------------------------------------

    def extent(self, name: str) -> Extent | None:
        """The stream or table of that name, or the answers of the standing query of that name; `sensors` is built in
        unless a user's extent has that name."""
        found = self._contents.extents.get(name.lower())
        query = self._contents.queries.get(name.lower())
        if found is None and query is not None and query.columns and name.lower() not in self._contents.views:
            return answer_stream(query.name, query.columns, query.delay)
        decision = self._contents.queries.get(name.lower().removesuffix(SUFFIX)) if found is None else None
        if decision is not None and decision.duty == "DECISION" and query is None:
            return audit_stream(decision.name)
        if found is None and name.lower() == "sensors":
            return Table("sensors", self._sensors.relation_columns(), SENSORS_URL)
        return found

    def extents(self) -> tuple[Extent, ...]:
        """The declared streams and tables, in order, without the built-in relation."""
        return tuple(self._contents.extents.values())

    def streams(self) -> tuple[Stream, ...]:
        """The declared streams, in order."""
        return tuple(extent for extent in self.extents() if isinstance(extent, Stream))

    def tables(self) -> tuple[Table, ...]:
        """The declared stored extents, in order."""
        return tuple(extent for extent in self.extents() if isinstance(extent, Table))

    def stream(self, name: str) -> Stream:
        """The stream of that name, or a CatalogError."""
        found = self._contents.extents.get(name.lower())
        if found is None and (name.lower() in self._contents.queries or name.lower().endswith(SUFFIX)):
            found = self.extent(name)
        if isinstance(found, Stream):
            return found
        if found is not None:
            raise CatalogError(
                f"'{found.name}' is a stored table, not a stream",
                hint="only streams have sensors; name a stream",
            )
        names = [stream.name for stream in self.streams()]
        raise CatalogError(
            f"no stream '{name}'", hint=near_misses(name, names) or f"declare it: CREATE STREAM {name} (...)"
        )

    def sensors(self, stream_name: str | None = None) -> tuple[Sensor, ...]:
        """The sensors of one stream, or of all, with attributes named and typed as in `static_columns`."""
        return self._sensors.of(stream_name)

    def static_columns(self, stream_name: str) -> tuple[Column, ...]:
        """The columns that a stream has from its sensors: `location`, if one has a place, and all their
        attributes."""
        return self._sensors.static_columns(self.stream(stream_name))

    def sensor_rows(self) -> list[dict[str, Any]]:
        """The rows of the built-in relation `sensors`, with all its columns."""
        return self._sensors.rows()

    def network(self, name: str) -> Network | None:
        """The network of that name."""
        return self._contents.networks.get(name.lower())

    def networks(self) -> tuple[Network, ...]:
        """All networks, in order."""
        return tuple(self._contents.networks.values())

    def query(self, name: str) -> QueryDefinition | None:
        """The standing query of that name."""
        return self._contents.queries.get(name.lower())

    def queries(self) -> tuple[QueryDefinition, ...]:
        """All standing queries, in order."""
        return tuple(self._contents.queries.values())

    def reactions(self, duty: str) -> tuple[QueryDefinition, ...]:
        """The queries of all alerts, or of all decisions, in order."""
        return tuple(query for query in self.queries() if query.duty == duty)

    def view(self, name: str) -> ViewDefinition | None:
        """The view of that name."""
        return self._contents.views.get(name.lower())

    def views(self) -> tuple[ViewDefinition, ...]:
        """All views, in order."""
        return tuple(self._contents.views.values())

    def phenomenon(self, name: str) -> PhenomenonDefinition | None:
        """The phenomenon of that name."""
        return self._contents.phenomena.get(name.lower())

    def phenomena(self) -> tuple[PhenomenonDefinition, ...]:
        """All phenomena, in order."""
        return tuple(self._contents.phenomena.values())

    def function(self, name: str) -> FunctionDefinition | None:
        """The declared function of that name."""
        return self._contents.functions.get(name.lower())

    def functions(self) -> tuple[FunctionDefinition, ...]:
        """All declared functions, in order."""
        return tuple(self._contents.functions.values())

    def refresh(self) -> None:
        """Read what other programs have declared since the last look."""
        if self._keeper is not None:
            self._renew(*self._keeper.refresh(self._revision))

    # ---- declaring -----------------------------------------------------------------------------------------------

    def add_stream(self, stream: Stream) -> None:
        """Declare a stream."""
        self._add_extent(stream)

    def add_table(self, table: Table) -> None:
        """Declare a stored extent."""
        self._add_extent(table)

    def replace_stream(self, stream: Stream) -> None:
        """Replace a stream's declaration when its data show more (the type of `id`); its sensors stay, with
        ids of that type."""
        check_extent(stream)
        with self._change() as change:
            before = self.stream(stream.name)
            stream = replace(stream, name=before.name)
            change.replaced.append(stream)
            self._sensors.check_stream(stream)
            if before.id_type != stream.id_type:
                retyped = self._sensors.retyped(stream)
                change.removed += [old for old, _ in retyped]
                change.added += [new for _, new in retyped]

    def add_sensor(self, sensor: Sensor) -> None:
        """Declare one sensor of a stream."""
        self.add_sensors([sensor])

    def add_sensors(self, sensors: list[Sensor]) -> None:
        """Declare sensors: all of them, or none if one is refused."""
        with self._change() as change:
            streams = {sensor.stream.lower(): self.stream(sensor.stream) for sensor in sensors}
            added = self._sensors.adding(sensors, streams)
            change.removed += added.removed
            change.replaced += added.streams
            change.added += added.sensors

    def add_network(self, network: Network) -> None:
        """Declare a network."""
        with self._change() as change:
            _check_new("network", network.name, self._contents.networks)
            change.added.append(network)

    def add_query(self, query: QueryDefinition) -> None:
        """Declare a standing query."""
        with self._change() as change:
            _check_new("query", query.name, self._contents.queries)
            if query.name in (".", "..") or {"/", "\0"} & set(query.name):
                raise CatalogError(
                    f"a query cannot be named '{query.name}', because a folder has its name",
                    hint="choose a name without '/'",
                )
            change.added.append(query)

    def add_view(self, view: ViewDefinition) -> None:
        """Declare a view; streams and tables have none of its name."""
        with self._change() as change:
            _check_new("view", view.name, self._contents.views)
            _check_new("extent", view.name, self._contents.extents)
            _check_new("phenomenon", view.name, self._contents.phenomena)
            change.added.append(view)

    def add_phenomenon(self, phenomenon: PhenomenonDefinition) -> None:
        """Declare a phenomenon; streams, tables and views have none of its name."""
        with self._change() as change:
            _check_new("phenomenon", phenomenon.name, self._contents.phenomena)
            _check_new("extent", phenomenon.name, self._contents.extents)
            _check_new("view", phenomenon.name, self._contents.views)
            change.added.append(phenomenon)

    def add_function(self, function: FunctionDefinition) -> None:
        """Declare a function."""
        with self._change() as change:
            _check_new("function", function.name, self._contents.functions)
            change.added.append(function)

    def drop(self, kind: str, name: str | int, if_exists: bool = False, stream: str | None = None) -> bool:
        """Remove a STREAM (with its sensors), TABLE, SENSOR (of `stream`), NETWORK, QUERY, VIEW, PHENOMENON or FUNCTION.

        Returns whether it existed. Raises a CatalogError if it did not, unless `if_exists`.
        """
        with self._change() as change:
            found = self._find(kind.upper(), name, stream, if_exists)
            if found is None:
                return False
            if isinstance(found, Stream):
                change.removed += self._sensors.declared(found.name)
            change.removed.append(found)
        return True

    # ---- inside --------------------------------------------------------------------------------------------------

    @property
    def _sensors(self) -> SensorSet:
        if self._sensor_set is None:
            self._sensor_set = SensorSet(self._contents.sensors.values())
        return self._sensor_set

    def _add_extent(self, extent: Extent) -> None:
        check_extent(extent)
        with self._change() as change:
            _check_new("extent", extent.name, self._contents.extents)
            _check_new("view", extent.name, self._contents.views)
            _check_new("phenomenon", extent.name, self._contents.phenomena)
            change.added.append(extent)

    def _find(self, kind: str, name: str | int, stream: str | None, if_exists: bool) -> Item | None:
        if kind == "SENSOR":
            return self._sensors.find(name, stream, if_exists)
        known: dict[str, Any]
        match kind:
            case "STREAM":
                known = {
                    key: extent
                    for key, extent in self._contents.extents.items()
                    if isinstance(extent, Stream)
                }
            case "TABLE" | "MODEL":
                known = {
                    key: extent for key, extent in self._contents.extents.items() if isinstance(extent, Table)
                }
            case "NETWORK":
                known = self._contents.networks
            case "QUERY":
                known = self._contents.queries
            case "VIEW":
                known = self._contents.views
            case "ALERT" | "DECISION":
                known = {query.name.lower(): query for query in self.reactions(kind)}
            case "PHENOMENON":
                known = self._contents.phenomena
            case "FUNCTION":
                known = self._contents.functions
            case _:
                raise CatalogError(
                    f"{kind} cannot be dropped", hint=f"what can be dropped: {', '.join(KINDS)}"
                )
        found: Item | None = known.get(str(name).lower())
        if found is None and not if_exists:
            raise CatalogError(
                f"no {kind.lower()} '{name}'",
                hint=near_misses(str(name), [item.name for item in known.values()])
                or f"there is no {kind.lower()} at all; SHOW lists what there is",
            )
        return found

    @contextmanager
    def _change(self) -> Iterator[Change]:
        """Collects a change. Inside the block the contents are the newest, and nobody else can change
        them."""
        change = Change()
        with self._turn:
            if self._keeper is None:
                yield change
            else:
                with self._keeper.changing(self._revision) as (revision, newer):
                    self._renew(revision, newer)
                    yield change
                    if change.removed or change.replaced or change.added:
                        self._keeper.keep(change)
                        revision += 1
                self._revision = revision
            _apply(change, self._contents)
            if change.removed or self._sensor_set is None:
                self._sensor_set = None
            else:
                self._sensor_set.extend(item for item in change.added if isinstance(item, Sensor))

    def _renew(self, revision: int, newer: Contents | None) -> None:
        if newer is not None:
            self._contents, self._revision, self._sensor_set = newer, revision, None


def _check_new(kind: str, name: str, known: dict[str, Any]) -> None:
    if not name:
        raise CatalogError(f"{'an' if kind == 'extent' else 'a'} {kind} needs a name")
    found = known.get(name.lower())
    if found is not None:
        is_a = {Stream: "stream", Table: "table"}.get(type(found), kind)
        raise CatalogError(
            f"there is a {is_a} '{found.name}' already",
            detail=f"declared so far: {join_names([item.name for item in known.values()], 'and')}",
            hint=f"choose another name, or DROP {is_a.upper()} {found.name} first",
        )


def _apply(change: Change, contents: Contents) -> None:
    for item in change.removed:
        match item:
            case Stream() | Table():
                del contents.extents[item.name.lower()]
            case Sensor():
                del contents.sensors[item.stream.lower(), item.id]
            case Network():
                del contents.networks[item.name.lower()]
            case QueryDefinition():
                del contents.queries[item.name.lower()]
            case ViewDefinition():
                del contents.views[item.name.lower()]
            case PhenomenonDefinition():
                del contents.phenomena[item.name.lower()]
            case FunctionDefinition():
                del contents.functions[item.name.lower()]
    for item in (*change.replaced, *change.added):
        match item:
            case Stream() | Table():
                contents.extents[item.name.lower()] = item
            case Sensor():
                contents.sensors[item.stream.lower(), item.id] = item
            case Network():
                contents.networks[item.name.lower()] = item
            case QueryDefinition():
                contents.queries[item.name.lower()] = item
            case ViewDefinition():
                contents.views[item.name.lower()] = item
            case PhenomenonDefinition():
                contents.phenomena[item.name.lower()] = item
            case FunctionDefinition():
                contents.functions[item.name.lower()] = item
