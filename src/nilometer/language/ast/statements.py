"""Declarations, SHOW and EXPLAIN."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from nilometer.language.ast.node import Node

if TYPE_CHECKING:
    from nilometer.language.ast.queries import QueryNode
    from nilometer.language.ast.reactions import CreateAlert, CreateDecision
    from nilometer.language.ast.sources import PhenomenonSource
    from nilometer.language.ast.windows import Amount


@dataclass(frozen=True, slots=True)
class Statement(Node):
    """The base of declarations and commands; a QueryNode is a statement too."""


@dataclass(frozen=True, slots=True)
class Origin(Node):
    """`FROM ts_utc`, `FROM '$.a.b'`, `EACH '$.obs'`: a field's name, or a JSON path, which begins with `$`."""

    text: str


@dataclass(frozen=True, slots=True)
class ColumnDefinition(Node):
    """`pm25 FLOAT UNIT 'ug/m3'`, `depth INT(16)`, `counts INT[1024]`, `time FROM ts_utc`; the type's name upper-case,
    or None; `size` is the number of a vector's elements."""

    name: str
    type: str | None
    width: int | None = None
    unit: str | None = None
    origin: Origin | None = None
    size: int | None = None


@dataclass(frozen=True, slots=True)
class FormatOption(Node):
    """`DELIMITER ';'`, `HEADER OFF` (False), `SKIP 3`, `NULL ('NA', '-')`, `TIME FORMAT '%d/%m/%Y'`."""

    word: str
    value: str | int | bool | tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Format(Node):
    """`FORMAT CSV (options)`, `FORMAT JSON (options)`; the kind upper-case."""

    kind: str
    options: tuple[FormatOption, ...] = ()


@dataclass(frozen=True, slots=True)
class Through(Node):
    """`THROUGH unit(column [FROM field], ... [WITH (1, 2)])`: the unit before a stream's log, the columns that it takes,
    which have no types here, and its numbers."""

    unit: str
    columns: tuple[ColumnDefinition, ...]
    numbers: tuple[Amount, ...] = ()


@dataclass(frozen=True, slots=True)
class CreateStream(Statement):
    """`CREATE STREAM name (columns) {SENSED EVERY d | PUSHED} [FROM 'url'] [THROUGH unit(...)] [DELAY d] [KEY (..)]
    [EXPECT EVERY d] [FUTURE d] [EACH 'path'] [FORMAT ...] [COORDINATES WGS84 | 'unit']`."""

    name: str
    columns: tuple[ColumnDefinition, ...]
    every: Amount | None = None
    url: str | None = None
    delay: Amount | None = None
    key: tuple[str, ...] = ()
    expect: Amount | None = None
    future: Amount | None = None
    each: Origin | None = None
    format: Format | None = None
    coordinates: str | None = None
    through: Through | None = None


@dataclass(frozen=True, slots=True)
class CreateTable(Statement):
    """`CREATE TABLE name [(columns)] STORED AT 'url' [AS table] [REFRESH EVERY d] [EACH 'path'] [FORMAT ...]`."""

    name: str
    columns: tuple[ColumnDefinition, ...]
    url: str
    table: str | None = None
    refresh: Amount | None = None
    each: Origin | None = None
    format: Format | None = None


@dataclass(frozen=True, slots=True)
class CreateSensor(Statement):
    """`CREATE SENSOR 5 OF river [AT (x, y)] [WITH kind = 'gauge', height = 3]`."""

    identifier: int | str
    stream: str
    location: tuple[float, float] | None = None
    attributes: tuple[tuple[str, Any], ...] = ()


@dataclass(frozen=True, slots=True)
class CopySensors(Statement):
    """`COPY SENSORS [OF river] FROM 'sensors.csv' [(id FROM station, location FROM (lon, lat))]`.

    `origins` are (name, the file's columns for it), in the order of the statement."""

    path: str
    stream: str | None = None
    origins: tuple[tuple[str, tuple[str, ...]], ...] = ()


@dataclass(frozen=True, slots=True)
class CreateNetwork(Statement):
    """`CREATE NETWORK name FROM 'file.toml' [SINK 0] [RETRIES 3]`: nodes, links, resources, profiles (TOML, CSV or GeoJSON).
    Topologies of SNEE's (`.nss`, `.xml`) may have `SCHEMA 'schema.xml'` and `RESOURCES 'motes.xml'` beside them."""

    name: str
    path: str
    sink: int | str | None = None
    retries: int | None = None
    schema: str | None = None
    resources: str | None = None


@dataclass(frozen=True, slots=True)
class CopyStreams(Statement):
    """`COPY STREAMS FROM 'schema.xml' [SENSED EVERY d]`: declares the streams of a logical schema of SNEE's."""

    path: str
    every: Amount | None = None


@dataclass(frozen=True, slots=True)
class CreateQuery(Statement):
    """`CREATE QUERY wet [STARTING AT BEGINNING | AT 'time'] [ON ERROR STOP | SKIP] [IN PIPELINE p] AS SELECT ...`; `starting`
    is None, 'BEGINNING' or microseconds. `stops`: a row without a value stops the query. `pipeline`: the one that it runs in
    on Spark."""

    name: str
    query: QueryNode
    starting: str | int | None = None
    stops: bool = False
    pipeline: str | None = None


@dataclass(frozen=True, slots=True)
class CreateView(Statement):
    """`CREATE VIEW name [(columns)] AS query`."""

    name: str
    columns: tuple[str, ...]
    query: QueryNode


@dataclass(frozen=True, slots=True)
class CreatePhenomenon(Statement):
    """`CREATE PHENOMENON name ON stream.column settings [WHERE condition]`."""

    name: str
    definition: PhenomenonSource


@dataclass(frozen=True, slots=True)
class CreateModel(Statement):
    """`CREATE MODEL name FROM (query) USING TREE | NEAREST n | CLUSTERS [NONE ABOVE d]`; the method upper-case."""

    name: str
    query: QueryNode
    method: str
    count: int | None = None
    none_above: float | None = None


@dataclass(frozen=True, slots=True)
class CreateFunction(Statement):
    """`CREATE FUNCTION f(x FLOAT, v FLOAT[16]) RETURNS FLOAT AS 'module:function'`; `size` is that of a returned vector."""

    name: str
    arguments: tuple[ColumnDefinition, ...]
    returns: str
    reference: str
    size: int | None = None


@dataclass(frozen=True, slots=True)
class Replace(Statement):
    """`REPLACE QUERY name [KEEP STATE | BACKFILL | EMPTY STATE] [ON ERROR ...] AS SELECT ...`, `REPLACE STREAM | TABLE | VIEW | PHENOMENON ...`, or
    CREATE OR REPLACE. `state` says where the state of the new query comes from; None: the best there is."""

    created: (
        CreateQuery
        | CreateView
        | CreateStream
        | CreateTable
        | CreateAlert
        | CreateDecision
        | CreatePhenomenon
        | CreateModel
        | CreateFunction
    )
    state: str | None = None


@dataclass(frozen=True, slots=True)
class Pause(Statement):
    """`PAUSE QUERY name`: it stops where it is, until it is resumed."""

    name: str


@dataclass(frozen=True, slots=True)
class Resume(Statement):
    """`RESUME QUERY name`: it goes on where it stopped."""

    name: str


@dataclass(frozen=True, slots=True)
class Drop(Statement):
    """`DROP QUERY | STREAM | TABLE | VIEW | PHENOMENON | MODEL | FUNCTION | NETWORK | ALERT | DECISION | SENSOR [IF EXISTS] name [OF stream]`; kind upper-case."""

    kind: str
    name: str | int
    if_exists: bool = False
    stream: str | None = None


@dataclass(frozen=True, slots=True)
class Show(Statement):
    """`SHOW QUERIES | STREAMS | TABLES | VIEWS | PHENOMENA | MODELS | FUNCTIONS | SENSORS | NETWORKS | ALERTS | DECISIONS`; kind upper-case."""

    kind: str


@dataclass(frozen=True, slots=True)
class Explain(Statement):
    """`EXPLAIN [stage] [VERBOSE] query`; the stage lower-case."""

    query: QueryNode
    stage: str | None = None
    verbose: bool = False
