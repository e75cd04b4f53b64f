"""Declarations <-> rows of the store's tables, exact both ways. Imports SQLAlchemy, so only the store loads
it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import sqlalchemy as sql

from nilometer.catalog import store_tables as tables
from nilometer.catalog.catalog import (
    Change,
    Contents,
    FunctionDefinition,
    Item,
    PhenomenonDefinition,
    QueryDefinition,
    ViewDefinition,
)
from nilometer.catalog.extents import Extent, Sensor, Stream, Table
from nilometer.catalog.form import Form
from nilometer.catalog.network import CostProfile, Link, Network, NetworkNode
from nilometer.errors import CatalogError
from nilometer.types import Column, Kind, Type, vector_of

Rows = list[tuple[sql.Table, dict[str, Any]]]


# ---- declarations to rows --------------------------------------------------------------------------------------------


def rows_of(item: Item, position: int) -> Rows:
    """The rows of one declaration, parents first; `position` is its place in the order of declaration."""
    match item:
        case Stream() | Table():
            rows = _extent_rows(item, position)
        case Sensor():
            rows = _sensor_rows(item, position)
        case Network():
            rows = _network_rows(item, position)
        case QueryDefinition():
            rows = _query_rows(item, position)
        case ViewDefinition():
            rows = _view_rows(item, position)
        case PhenomenonDefinition(name, text):
            row = {"key": name.lower(), "position": position, "name": name, "text": text}
            rows = [(tables.phenomena, row)]
        case FunctionDefinition(name, arguments, returns, reference):
            row = {"key": name.lower(), "position": position, "name": name, "returns": str(returns)}
            row |= {"arguments": [[one.name, str(one.type)] for one in arguments], "reference": reference}
            rows = [(tables.functions, row)]
    for _, row in rows:
        for column, value in row.items():
            if isinstance(value, str) and not _storable(value):
                raise CatalogError(
                    f"a text cannot be stored: {column} has a character that no database takes",
                    detail=f"found {value!r}",
                    hint="leave out NUL characters and half surrogates",
                )
    return rows


def _storable(text: str) -> bool:
    return "\0" not in text and not any("\ud800" <= character <= "\udfff" for character in text)


def _extent_rows(extent: Extent, position: int) -> Rows:
    key = extent.name.lower()
    row: dict[str, Any] = {"key": key, "position": position, "name": extent.name, "url": extent.url}
    row["form"] = extent.form.as_json()
    match extent:
        case Stream():
            row |= {
                "kind": "sensed" if extent.sensed else "pushed",
                "sensed_every": extent.every,
                "expect_every": extent.expect,
                "delay": extent.delay,
                "future": extent.future,
                "key_columns": list(extent.key),
                "time_unit": extent.time_unit,
                "id_declared": extent.id_declared,
                "coordinates": extent.coordinates,
            }
        case Table():
            row |= {"kind": "stored", "stored_table": extent.table, "refresh_every": extent.refresh}
    columns: Rows = [
        (
            tables.observed_properties,
            {
                "datastream": key,
                "position": place,
                "name": column.name,
                "type": str(column.type if column.type.kind is Kind.VECTOR else column.type.kind),
                "width": column.type.width,
                "unit_of_measurement": column.unit,
            },
        )
        for place, column in enumerate(extent.columns)
    ]
    return [(tables.datastreams, row), *columns]


def _sensor_rows(sensor: Sensor, position: int) -> Rows:
    key, (text, kind) = sensor.stream.lower(), _from_id(sensor.id)
    thing = {
        "datastream": key,
        "id": text,
        "id_type": kind,
        "position": position,
        "properties": dict(sensor.attributes),
    }
    rows: Rows = [(tables.things, thing)]
    if sensor.location is not None:
        x, y = sensor.location
        rows.append((tables.locations, {"datastream": key, "thing": text, "x": x, "y": y}))
    return rows


def _network_rows(network: Network, position: int) -> Rows:
    key, (sink, sink_type) = network.name.lower(), _from_id(network.sink)
    head = {
        "key": key,
        "position": position,
        "name": network.name,
        "sink": sink,
        "sink_type": sink_type,
        "profile": network.profile.name,
        "profile_parameters": dict(network.profile.parameters),
        "retries": network.retries,
    }
    rows: Rows = [(tables.networks, head)]
    for place, node in enumerate(network.nodes):
        text, kind = _from_id(node.id)
        x, y = node.location or (None, None)
        row = {"network": key, "position": place, "id": text, "id_type": kind, "x": x, "y": y}
        row |= {"ram": node.ram, "flash": node.flash, "energy": node.energy, "streams": list(node.streams)}
        rows.append((tables.nodes, row))
    for place, link in enumerate(network.links):
        source, source_type = _from_id(link.source)
        target, target_type = _from_id(link.target)
        row = {"network": key, "position": place, "quality": link.quality, "cost": link.cost}
        row |= {"source": source, "source_type": source_type, "target": target, "target_type": target_type}
        rows.append((tables.links, row))
    return rows


def _query_rows(query: QueryDefinition, position: int) -> Rows:
    at = query.starting if isinstance(query.starting, int) else None
    word = query.starting if isinstance(query.starting, str) else None
    row = {"key": query.name.lower(), "position": position, "name": query.name, "text": query.text}
    return [
        (
            tables.queries,
            row
            | {"starting": word, "starting_at": at, "stops": query.stops}
            | {"made_by": query.made_by, "pipeline": query.pipeline},
        )
    ]


def _view_rows(view: ViewDefinition, position: int) -> Rows:
    row = {"key": view.name.lower(), "position": position, "name": view.name, "text": view.text}
    return [(tables.views, row | {"column_names": list(view.columns)})]


def _from_id(identifier: int | str) -> tuple[str, str]:
    return str(identifier), "STRING" if isinstance(identifier, str) else "INT"


def _to_id(text: str, kind: str) -> int | str:
    return text if kind == "STRING" else int(text)


# ---- changes ------------------------------------------------------------------------------------------


def write_change(connection: sql.Connection, change: Change) -> None:
    """Delete, replace and insert, and raise the revision."""
    _remove(connection, change.removed)
    for stream in change.replaced:
        _replace_stream(connection, stream)
    batches: dict[sql.Table, list[dict[str, Any]]] = {}
    positions: dict[sql.Table, int] = {}
    for item in change.added:
        table = _head_of(item)
        if table not in positions:
            last = connection.execute(sql.select(sql.func.max(table.c.position))).scalar()
            positions[table] = -1 if last is None else last
        positions[table] += 1
        for row_table, row in rows_of(item, positions[table]):
            batches.setdefault(row_table, []).append(row)
    for row_table, rows in batches.items():
        connection.execute(row_table.insert(), rows)
    revision = tables.catalog_version.c.revision
    connection.execute(tables.catalog_version.update().values(revision=revision + 1))


def _remove(connection: sql.Connection, items: list[Item]) -> None:
    """Delete first rows. The database deletes the rows that depend on them: a stream's things, a network's
    nodes."""
    whole = [item for item in items if not isinstance(item, Sensor)]
    gone = {item.name.lower() for item in whole if isinstance(item, Stream)}
    single = [
        {"of_stream": item.stream.lower(), "of_id": str(item.id)}
        for item in items
        if isinstance(item, Sensor) and item.stream.lower() not in gone
    ]
    if single:
        here = tables.things.c
        matches = sql.and_(here.datastream == sql.bindparam("of_stream"), here.id == sql.bindparam("of_id"))
        connection.execute(tables.things.delete().where(matches), single)
    for item in whole:
        table = _head_of(item)
        connection.execute(table.delete().where(table.c.key == item.name.lower()))


def _replace_stream(connection: sql.Connection, stream: Stream) -> None:
    """Update the row, so that the stream's things stay; its columns are rewritten."""
    (_, row), *columns = rows_of(stream, 0)
    del row["position"]
    connection.execute(tables.datastreams.update().where(tables.datastreams.c.key == row["key"]), row)
    here = tables.observed_properties.c.datastream == row["key"]
    connection.execute(tables.observed_properties.delete().where(here))
    connection.execute(tables.observed_properties.insert(), [column for _, column in columns])


def _head_of(item: Item) -> sql.Table:
    """The table of a declaration's first row."""
    match item:
        case Stream() | Table():
            return tables.datastreams
        case Sensor():
            return tables.things
        case Network():
            return tables.networks
        case QueryDefinition():
            return tables.queries
        case ViewDefinition():
            return tables.views
        case PhenomenonDefinition():
            return tables.phenomena
        case FunctionDefinition():
            return tables.functions


# ---- rows to declarations --------------------------------------------------------------------------------------------


def load_contents(connection: sql.Connection) -> Contents:
    """Everything stored, in the order of declaration."""
    contents = Contents()
    columns = _grouped(connection, tables.observed_properties, "datastream", _column)
    for row in _ordered(connection, tables.datastreams):
        contents.extents[row.key] = _extent(row, tuple(columns.get(row.key, ())))
    places = {
        (row.datastream, row.thing): (row.x, row.y) for row in connection.execute(tables.locations.select())
    }
    for row in _ordered(connection, tables.things):
        identifier = _to_id(row.id, row.id_type)
        name = contents.extents[row.datastream].name
        place = places.get((row.datastream, row.id))
        contents.sensors[row.datastream, identifier] = Sensor(
            identifier, name, place, tuple(row.properties.items())
        )
    nodes = _grouped(connection, tables.nodes, "network", _node)
    links = _grouped(connection, tables.links, "network", _link)
    for row in _ordered(connection, tables.networks):
        contents.networks[row.key] = Network(
            row.name,
            _to_id(row.sink, row.sink_type),
            tuple(nodes.get(row.key, ())),
            tuple(links.get(row.key, ())),
            CostProfile(row.profile, tuple(row.profile_parameters.items())),
            row.retries,
        )
    for row in _ordered(connection, tables.queries):
        starting = row.starting if row.starting_at is None else row.starting_at
        contents.queries[row.key] = QueryDefinition(
            row.name, row.text, starting, stops=bool(row.stops), made_by=row.made_by, pipeline=row.pipeline
        )
    for row in _ordered(connection, tables.views):
        contents.views[row.key] = ViewDefinition(row.name, row.text, tuple(row.column_names))
    for row in _ordered(connection, tables.phenomena):
        contents.phenomena[row.key] = PhenomenonDefinition(row.name, row.text)
    for row in _ordered(connection, tables.functions):
        arguments = tuple(Column(name, _type(text)) for name, text in row.arguments)
        contents.functions[row.key] = FunctionDefinition(
            row.name, arguments, _type(row.returns), row.reference
        )
    return contents


def _ordered(connection: sql.Connection, table: sql.Table) -> Iterable[Any]:
    return connection.execute(table.select().order_by(table.c.position))


def _grouped(
    connection: sql.Connection, table: sql.Table, owner: str, build: Callable[[Any], Any]
) -> dict[str, list[Any]]:
    grouped: dict[str, list[Any]] = {}
    for row in _ordered(connection, table):
        grouped.setdefault(getattr(row, owner), []).append(build(row))
    return grouped


def _extent(row: Any, columns: tuple[Column, ...]) -> Extent:
    if row.kind == "stored":
        form = Form.from_json(row.form)
        return Table(row.name, columns, row.url, row.stored_table, row.refresh_every, form)
    return Stream(
        name=row.name,
        columns=columns,
        every=row.sensed_every,
        url=row.url,
        delay=row.delay,
        key=tuple(row.key_columns),
        expect=row.expect_every,
        future=row.future,
        time_unit=row.time_unit,
        id_declared=row.id_declared,
        form=Form.from_json(row.form),
        coordinates=row.coordinates,
    )


def _column(row: Any) -> Column:
    return Column(row.name, _type(row.type, row.width), row.unit_of_measurement)


def _type(text: str, width: int | None = None) -> Type:
    element, bracket, size = text.partition("[")
    type_ = Type(Kind(element), width)
    return vector_of(type_, int(size.removesuffix("]"))) if bracket else type_


def _node(row: Any) -> NetworkNode:
    place = None if row.x is None else (row.x, row.y)
    identifier = _to_id(row.id, row.id_type)
    return NetworkNode(identifier, row.ram, row.flash, row.energy, place, tuple(row.streams))


def _link(row: Any) -> Link:
    source, target = _to_id(row.source, row.source_type), _to_id(row.target, row.target_type)
    return Link(source, target, row.quality, row.cost)
