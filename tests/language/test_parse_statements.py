"""Declarations and commands."""

from __future__ import annotations

import pytest

from nilometer.errors import QuerySyntaxError
from nilometer.language import ast, parse
from nilometer.language.ast import (
    Amount,
    ColumnDefinition,
    CopySensors,
    CreateNetwork,
    CreateQuery,
    CreateSensor,
    CreateStream,
    CreateTable,
    Drop,
    Explain,
    Show,
)

QUERY = parse("SELECT a FROM s")
assert isinstance(QUERY, ast.QueryNode)
RAIN, DEPTH = ColumnDefinition("rain", "INT"), ColumnDefinition("depth", "INT")
QUARTER = Amount(15, "MINUTES")


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        (
            "CREATE STREAM river (rain INT, depth INT) SENSED EVERY 15 MINUTES",
            CreateStream("river", (RAIN, DEPTH), QUARTER),
        ),
        (
            "CREATE STREAM river (depth INT) SENSED EVERY 15 MINUTES FROM 'http://gauge/now'",
            CreateStream("river", (DEPTH,), QUARTER, url="http://gauge/now"),
        ),
        (
            "CREATE STREAM river (depth INT) SENSED EVERY 15 MINUTES DELAY 5 SECONDS",
            CreateStream("river", (DEPTH,), QUARTER, delay=Amount(5, "SECONDS")),
        ),
        (
            """CREATE STREAM air (pm25 FLOAT UNIT 'ug/m3') PUSHED FROM 'mqtt://localhost/air/+'
            DELAY 5 SECONDS KEY (id, time) EXPECT EVERY 1 MINUTE FUTURE 10 SECONDS""",
            CreateStream(
                "air",
                (ColumnDefinition("pm25", "FLOAT", None, "ug/m3"),),
                None,
                "mqtt://localhost/air/+",
                Amount(5, "SECONDS"),
                ("id", "time"),
                Amount(1, "MINUTES"),
                Amount(10, "SECONDS"),
            ),
        ),
        (
            "create stream air () pushed future 1 hour expect every 5 min key (id) delay 1 sec",
            CreateStream(
                "air", (), None, None, Amount(1, "SECONDS"), ("id",), Amount(5, "MINUTES"), Amount(1, "HOURS")
            ),
        ),
        (
            "CREATE TABLE incidents STORED AT 'postgresql://host/db' AS incidents",
            CreateTable("incidents", (), "postgresql://host/db", "incidents"),
        ),
        (
            "CREATE TABLE i (segment INT) STORED AT 'sqlite:///x' AS traffic.incidents REFRESH EVERY 1 HOUR",
            CreateTable(
                "i",
                (ColumnDefinition("segment", "INT"),),
                "sqlite:///x",
                "traffic.incidents",
                Amount(1, "HOURS"),
            ),
        ),
        ("CREATE TABLE i STORED AT 'i.csv' AS 'odd name'", CreateTable("i", (), "i.csv", "odd name")),
        ("CREATE SENSOR 5 OF river", CreateSensor(5, "river")),
        ("CREATE SENSOR 'a7' OF air", CreateSensor("a7", "air")),
        (
            "CREATE SENSOR 5 OF river AT (120.0, -44) WITH kind = 'gauge', height = -3, wet = TRUE, note = NULL",
            CreateSensor(
                5, "river", (120.0, -44.0), (("kind", "gauge"), ("height", -3), ("wet", True), ("note", None))
            ),
        ),
        ("CREATE SENSOR 5 OF river AT POINT(1, 2)", CreateSensor(5, "river", (1.0, 2.0))),
        ("COPY SENSORS FROM 'sensors.csv'", CopySensors("sensors.csv")),
        ("COPY SENSORS OF river FROM 'sensors.csv'", CopySensors("sensors.csv", "river")),
        ("CREATE NETWORK field FROM 'field.toml'", CreateNetwork("field", "field.toml")),
        ("CREATE NETWORK field FROM 'field.toml' SINK 0", CreateNetwork("field", "field.toml", 0)),
        ("CREATE NETWORK field FROM 'field.toml' SINK 'gw'", CreateNetwork("field", "field.toml", "gw")),
        ("CREATE NETWORK field FROM 'f.csv' SINK 0 RETRIES 3", CreateNetwork("field", "f.csv", 0, 3)),
        ("CREATE NETWORK field FROM 'f.toml' RETRIES 3", CreateNetwork("field", "f.toml", None, 3)),
        ("CREATE QUERY wet AS SELECT a FROM s", CreateQuery("wet", QUERY)),
        ("CREATE QUERY wet STARTING AT BEGINNING AS SELECT a FROM s", CreateQuery("wet", QUERY, "BEGINNING")),
        (
            "CREATE QUERY wet STARTING AT '1970-01-01T00:00:01Z' AS SELECT a FROM s",
            CreateQuery("wet", QUERY, 1_000_000),
        ),
        ("CREATE QUERY wet AT '1970-01-01' AS (SELECT a FROM s)", CreateQuery("wet", QUERY, 0)),
        ("CREATE QUERY wet AT BEGINNING AS SELECT a FROM s", CreateQuery("wet", QUERY, "BEGINNING")),
        ("DROP QUERY wet", Drop("QUERY", "wet")),
        ("drop stream if exists river;", Drop("STREAM", "river", True)),
        ("DROP TABLE if", Drop("TABLE", "if")),
        ("DROP NETWORK field", Drop("NETWORK", "field")),
        ("DROP SENSOR 5 OF river", Drop("SENSOR", 5, False, "river")),
        ("DROP SENSOR IF EXISTS 'a7'", Drop("SENSOR", "a7", True)),
        ("SHOW QUERIES", Show("QUERIES")),
        ("show streams", Show("STREAMS")),
        ("SHOW TABLES", Show("TABLES")),
        ("SHOW SENSORS", Show("SENSORS")),
        ("SHOW NETWORKS", Show("NETWORKS")),
        ("EXPLAIN SELECT a FROM s", Explain(QUERY)),
        ("EXPLAIN VERBOSE SELECT a FROM s", Explain(QUERY, None, True)),
        ("EXPLAIN logical VERBOSE SELECT a FROM s", Explain(QUERY, "logical", True)),
        ("explain verbose Optimized (SELECT a FROM s)", Explain(QUERY, "optimized", True)),
    ],
)
def test_statements(text: str, tree: ast.Statement) -> None:
    assert parse(text) == tree


@pytest.mark.parametrize("stage", ["ast", "logical", "optimized", "physical", "placed", "agenda", "spark"])
def test_stages(stage: str) -> None:
    assert parse(f"EXPLAIN {stage.upper()} SELECT a FROM s") == Explain(QUERY, stage)


@pytest.mark.parametrize(
    ("spelling", "name", "width"),
    [
        ("INT", "INT", None),
        ("integer", "INT", None),
        ("INT(16)", "INT", 16),
        ("FLOAT(32)", "FLOAT", 32),
        ("REAL", "FLOAT", None),
        ("DOUBLE", "FLOAT", None),
        ("double precision", "FLOAT", None),
        ("STRING", "STRING", None),
        ("TEXT", "STRING", None),
        ("VARCHAR(20)", "STRING", 20),
        ("BOOLEAN", "BOOLEAN", None),
        ("BOOL", "BOOLEAN", None),
        ("TIME", "TIME", None),
        ("TIMESTAMP", "TIME", None),
        ("POINT", "POINT", None),
    ],
)
def test_types(spelling: str, name: str, width: int | None) -> None:
    tree = parse(f"CREATE STREAM s (time {spelling} UNIT 'ms') PUSHED")
    assert tree == CreateStream("s", (ColumnDefinition("time", name, width, "ms"),))


@pytest.mark.parametrize(
    "text",
    [
        "CREATE",
        "CREATE STREAM",
        "CREATE STREAM s",
        "CREATE STREAM s (a INT)",
        "CREATE STREAM s (a) PUSHED",
        "CREATE STREAM s (a INT,) PUSHED",
        "CREATE STREAM s (a INT) SENSED",
        "CREATE STREAM s (a INT) SENSED EVERY 5",
        "CREATE STREAM s (a INT) SENSED EVERY 5 ROWS",
        "CREATE STREAM s (a INT) PUSHED KEY id",
        "CREATE STREAM s (a INT) PUSHED KEY ()",
        "CREATE STREAM s (a INT) PUSHED DELAY 1 s DELAY 2 s",
        "CREATE STREAM s (a INT(x)) PUSHED",
        "CREATE STREAM s (a INT UNIT mm) PUSHED",
        "CREATE TABLE t",
        "CREATE TABLE t STORED AT x",
        "CREATE TABLE t STORED AT 'x' REFRESH 5 s",
        "CREATE SENSOR a OF b",
        "CREATE SENSOR 5",
        "CREATE SENSOR 5 OF r AT (1)",
        "CREATE SENSOR 5 OF r WITH",
        "CREATE SENSOR 5.5 OF r",
        "CREATE SENSOR 9223372036854775808 OF r",
        "CREATE SENSOR 5 OF r WITH k = x",
        "COPY FROM 'x'",
        "COPY SENSORS 'x'",
        "CREATE NETWORK n",
        "CREATE NETWORK n FROM 'f' SINK x",
        "CREATE NETWORK n FROM 'f' RETRIES",
        "CREATE NETWORK n FROM 'f' RETRIES 1.5",
        "CREATE NETWORK n FROM 'f' RETRIES -1",
        "CREATE QUERY q SELECT a FROM s",
        "CREATE QUERY q STARTING AS SELECT a FROM s",
        "CREATE QUERY q AT 'noon' AS SELECT a FROM s",
        "CREATE QUERY q AS SHOW STREAMS",
        "DROP q",
        "DROP QUERY",
        "DROP SENSOR a",
        "SHOW",
        "SHOW STREAM",
        "EXPLAIN",
        "EXPLAIN ast",
        "EXPLAIN ast logical SELECT a FROM s",
        "EXPLAIN SHOW STREAMS",
        "DROP QUERY a b",
        "SHOW STREAMS x",
    ],
)
def test_what_is_no_statement(text: str) -> None:
    with pytest.raises(QuerySyntaxError):
        parse(text)
