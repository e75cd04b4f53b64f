"""Random declarations: streams, tables, sensors, networks and queries that the catalog takes."""

from __future__ import annotations

from hypothesis import strategies as st

from nilometer.catalog import (
    Catalog,
    CostProfile,
    Link,
    Network,
    NetworkNode,
    QueryDefinition,
    Sensor,
    Stream,
    Table,
)
from nilometer.catalog.catalog import ViewDefinition
from nilometer.catalog.form import Form, Format
from nilometer.catalog.network import MOST_RETRIES
from nilometer.types import (
    BOOLEAN,
    FLOAT,
    INT,
    INT_MAXIMUM,
    INT_MINIMUM,
    POINT,
    STRING,
    TIME,
    Column,
    Kind,
    Type,
)

letters = "abcdefgh"
texts = st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\0"), max_size=12)
names = st.text(letters, min_size=1, max_size=4).map(lambda text: text + "_") | st.sampled_from(
    ["Ärger", "ÑANDÚ", "Str eam"]
)
durations = st.integers(1, INT_MAXIMUM)
finite = st.floats(allow_nan=False, allow_infinity=False)
points = st.tuples(finite, finite)
units = st.none() | st.sampled_from(["Cel", "ug/m3", "%", "m/s", "{count}", "dB", "[degF]"])
types = st.sampled_from(
    [INT, FLOAT, STRING, BOOLEAN, TIME, POINT, Type(Kind.INT, 16), Type(Kind.INT, 8), Type(Kind.FLOAT, 32)]
)


def columns(count: int = 4) -> st.SearchStrategy[tuple[Column, ...]]:
    return st.lists(
        st.builds(Column, names, types, units), max_size=count, unique_by=lambda c: c.name.lower()
    ).map(tuple)


fields = texts.filter(lambda text: not text.startswith("$"))
formats = st.builds(
    Format,
    st.sampled_from(["CSV", "JSON"]),
    header=st.none() | st.booleans(),
    delimiter=st.none() | st.sampled_from([";", "\t"]),
    quote=st.none() | st.sampled_from(["", "'"]),
    decimal=st.none() | st.just(","),
    skip=st.integers(0, 9),
    encoding=st.none() | st.just("latin1"),
    time_format=st.none() | st.just("%d/%m/%Y %H:%M"),
    timezone=st.none() | st.just("Europe/Zurich"),
    nulls=st.lists(texts, max_size=2).map(tuple),
)


def forms(declared: tuple[Column, ...]) -> st.SearchStrategy[Form]:
    known = [column.name.lower() for column in declared]
    pairs = st.tuples(st.sampled_from(known or ["?"]), fields | st.just("$.a.b"))
    return st.builds(
        Form,
        st.lists(pairs, max_size=3 if known else 0).map(tuple),
        st.none() | st.just("$.obs"),
        st.none() | formats,
        st.none() | names,
    )


@st.composite
def streams(draw: st.DrawFn) -> Stream:
    declared = draw(columns())
    implicit = (Column("time", TIME), Column("id", draw(st.sampled_from([INT, STRING]))))
    where = draw(st.integers(0, len(declared)))
    everything = declared[:where] + implicit + declared[where:]
    return Stream(
        name=draw(names),
        columns=everything,
        every=draw(st.none() | durations),
        url=draw(st.none() | texts),
        delay=draw(st.just(0) | durations),
        key=draw(st.sampled_from([(), ("id", "time"), tuple(c.name for c in everything)])),
        expect=draw(st.none() | durations),
        future=draw(durations),
        time_unit=draw(st.none() | st.sampled_from([1, 1_000, 1_000_000])),
        id_declared=draw(st.booleans()),
        form=draw(forms(everything)),
    )


tables = columns().flatmap(
    lambda some: st.builds(
        Table, names, st.just(some), texts, st.none() | texts, st.none() | durations, forms(some)
    )
)


@st.composite
def sensors(draw: st.DrawFn, stream: Stream) -> Sensor:
    identifiers = texts if stream.id_type == STRING else st.integers(INT_MINIMUM, INT_MAXIMUM)
    values = {
        "kind": texts,
        "height": st.integers(-9, 9) | finite,
        "Active": st.booleans(),
        "floor": st.integers(INT_MINIMUM, INT_MAXIMUM),
    }
    chosen = draw(st.lists(st.sampled_from(sorted(values)), unique=True))
    attributes = tuple((name, draw(st.none() | values[name])) for name in chosen)
    return Sensor(draw(identifiers), stream.name, draw(st.none() | points), attributes)


@st.composite
def networks(draw: st.DrawFn) -> Network:
    ids = draw(
        st.lists(
            st.integers(0, 99) | st.text(letters, min_size=1, max_size=3),
            min_size=1,
            max_size=6,
            unique_by=str,
        )
    )
    amounts = st.none() | st.integers(0, INT_MAXIMUM)
    nodes = tuple(
        NetworkNode(
            identifier,
            draw(amounts),
            draw(amounts),
            draw(st.none() | st.floats(0, 1e9)),
            draw(st.none() | points),
            tuple(draw(st.lists(names, max_size=2))),
        )
        for identifier in ids
    )
    quality = st.floats(0, 1, exclude_min=True)
    tree = [(ids[place], ids[draw(st.integers(0, place - 1))]) for place in range(1, len(ids))]
    pairs = st.tuples(st.sampled_from(ids), st.sampled_from(ids)).filter(lambda pair: pair[0] != pair[1])
    more = draw(st.lists(pairs, max_size=4)) if len(ids) > 1 else []
    links = tuple(Link(*pair, draw(quality), draw(st.floats(0, 100))) for pair in dict.fromkeys(tree + more))
    parameters = draw(st.dictionaries(st.text(letters, min_size=1), finite, max_size=3))
    return Network(
        draw(names),
        draw(st.sampled_from(ids)),
        nodes,
        links,
        CostProfile(draw(texts), tuple(parameters.items())),
        draw(st.integers(0, MOST_RETRIES)),
    )


queries = st.builds(
    QueryDefinition,
    names,
    texts,
    st.none() | st.just("BEGINNING") | st.integers(INT_MINIMUM, INT_MAXIMUM),
    made_by=st.none() | texts.map(lambda text: f"CREATE ALERT {text}"),
)


views = st.builds(ViewDefinition, names, texts, st.lists(names, max_size=3).map(tuple))


@st.composite
def filled(draw: st.DrawFn, catalog: Catalog) -> Catalog:
    """The catalog with random declarations, and some of them dropped again."""
    extents = draw(st.lists(streams() | tables, max_size=4, unique_by=lambda extent: extent.name.lower()))
    for extent in extents:
        (catalog.add_stream if isinstance(extent, Stream) else catalog.add_table)(extent)
    for stream in catalog.streams():
        catalog.add_sensors(draw(st.lists(sensors(stream), max_size=4, unique_by=lambda sensor: sensor.id)))
    for network in draw(st.lists(networks(), max_size=2, unique_by=lambda network: network.name.lower())):
        catalog.add_network(network)
    for query in draw(st.lists(queries, max_size=3, unique_by=lambda query: query.name.lower())):
        catalog.add_query(query)
    taken = {extent.name.lower() for extent in extents}
    for view in draw(st.lists(views, max_size=2, unique_by=lambda view: view.name.lower())):
        if view.name.lower() not in taken:
            catalog.add_view(view)
    droppable = [
        *(("SENSOR", s.id, s.stream) for s in catalog.sensors()),
        *(("STREAM", e.name, None) for e in catalog.streams()),
        *(("TABLE", e.name, None) for e in catalog.tables()),
        *(("NETWORK", n.name, None) for n in catalog.networks()),
        *(("QUERY", q.name, None) for q in catalog.queries()),
        *(("VIEW", v.name, None) for v in catalog.views()),
    ]
    dropped = draw(st.lists(st.sampled_from(droppable), unique=True, max_size=2)) if droppable else []
    for kind, name, stream in dropped:
        catalog.drop(kind, name, if_exists=True, stream=stream)
    return catalog
