"""Prints declarations and commands as canonical text, on one line: `parse(print_statement(tree)) == tree`.

>>> from nilometer.language import ast
>>> print_statement(ast.CreateSensor(5, "river", (120.0, 44.5), (("kind", "gauge"),)))
"CREATE SENSOR 5 OF river AT (120.0, 44.5) WITH kind = 'gauge'"
"""

from __future__ import annotations

from nilometer.language import ast
from nilometer.language.print_expressions import amount, identifier, literal, number, print_expression, string
from nilometer.language.print_forms import print_format, print_origin
from nilometer.language.print_queries import column_names, print_query, print_source
from nilometer.language.print_reactions import print_alert, print_decision
from nilometer.types import format_time

__all__ = ["print_expression", "print_statement"]


def print_statement(node: ast.Statement | ast.QueryNode) -> str:
    """The canonical text of a statement or query, without a semicolon."""
    match node:
        case ast.QueryNode():
            return print_query(node)
        case ast.CreateStream():
            return _create_stream(node)
        case ast.CreateTable(name, columns, url, table, refresh, each, format):
            return _words(
                "CREATE TABLE",
                identifier(name),
                f"({', '.join(map(_column, columns))})" if columns else "",
                f"STORED AT {string(url)}",
                f"AS {identifier(table)}" if table is not None else "",
                f"REFRESH EVERY {amount(refresh)}" if refresh else "",
                f"EACH {string(each.text)}" if each is not None else "",
                print_format(format) if format is not None else "",
            )
        case ast.CreateSensor(sensor, stream, location, attributes):
            return _words(
                f"CREATE SENSOR {literal(sensor)} OF {identifier(stream)}",
                f"AT ({number(location[0])}, {number(location[1])})" if location else "",
                "WITH " + ", ".join(f"{identifier(name)} = {literal(value)}" for name, value in attributes)
                if attributes
                else "",
            )
        case ast.CopySensors(path, stream, origins):
            listed = ", ".join(
                f"{identifier(name)} FROM {_file_columns(columns)}" for name, columns in origins
            )
            return _words(
                "COPY SENSORS",
                f"OF {identifier(stream)}" if stream is not None else "",
                f"FROM {string(path)}",
                f"({listed})" if origins else "",
            )
        case ast.CopyStreams(path, every):
            return _words(
                f"COPY STREAMS FROM {string(path)}",
                f"SENSED EVERY {amount(every)}" if every is not None else "",
            )
        case ast.CreateNetwork(name, path, sink, retries, schema, resources):
            return _words(
                f"CREATE NETWORK {identifier(name)} FROM {string(path)}",
                f"SCHEMA {string(schema)}" if schema is not None else "",
                f"RESOURCES {string(resources)}" if resources is not None else "",
                f"SINK {literal(sink)}" if sink is not None else "",
                f"RETRIES {retries}" if retries is not None else "",
            )
        case ast.CreateQuery(name, query, starting, stops, pipeline):
            words = _starting(starting), _stops(stops), _pipeline(pipeline), f"AS {print_query(query)}"
            return _words("CREATE QUERY", identifier(name), *words)
        case ast.CreateView(name, columns, query):
            return f"CREATE VIEW {identifier(name)}{column_names(columns)} AS {print_query(query)}"
        case ast.CreateModel(name, query, method, count, above):
            neighbours = "" if count is None else str(count)
            none = "" if above is None else f"NONE ABOVE {above!r}"
            return _words(
                "CREATE MODEL",
                identifier(name),
                f"FROM ({print_query(query)}) USING",
                method,
                neighbours,
                none,
            )
        case ast.CreateFunction(name, arguments, returns, reference, size):
            listed = ", ".join(map(_column, arguments))
            given = returns if size is None else f"{returns}[{size}]"
            return f"CREATE FUNCTION {identifier(name)}({listed}) RETURNS {given} AS {string(reference)}"
        case ast.CreatePhenomenon(name, definition):
            return f"CREATE PHENOMENON {identifier(name)} {print_source(definition)}"
        case ast.CreateAlert():
            return print_alert(node)
        case ast.CreateDecision():
            return print_decision(node)
        case ast.Replace(ast.CreateQuery(name, query, _, stops, pipeline), state):
            words = state or "", _stops(stops), _pipeline(pipeline), f"AS {print_query(query)}"
            return _words("REPLACE QUERY", identifier(name), *words)
        case ast.Replace(created):
            return f"REPLACE {print_statement(created).removeprefix('CREATE ')}"
        case ast.Pause(name):
            return f"PAUSE QUERY {identifier(name)}"
        case ast.Resume(name):
            return f"RESUME QUERY {identifier(name)}"
        case ast.Drop(kind, name, if_exists, stream):
            return _words(
                f"DROP {kind}",
                "IF EXISTS" if if_exists else "",
                literal(name) if kind == "SENSOR" else identifier(str(name)),
                f"OF {identifier(stream)}" if stream is not None else "",
            )
        case ast.Show(kind):
            return f"SHOW {kind}"
        case ast.Explain(query, stage, verbose):
            return _words("EXPLAIN", stage or "", "VERBOSE" if verbose else "", print_query(query))
    raise TypeError(f"no statement: {node!r}")


def _create_stream(node: ast.CreateStream) -> str:
    if node.every is not None:
        arrival = f"SENSED EVERY {amount(node.every)}"
    else:
        arrival = "PUSHED"
    return _words(
        f"CREATE STREAM {identifier(node.name)} ({', '.join(map(_column, node.columns))})",
        arrival,
        f"FROM {string(node.url)}" if node.url is not None else "",
        print_through(node.through) if node.through is not None else "",
        f"DELAY {amount(node.delay)}" if node.delay else "",
        f"KEY ({', '.join(map(identifier, node.key))})" if node.key else "",
        f"EXPECT EVERY {amount(node.expect)}" if node.expect else "",
        f"FUTURE {amount(node.future)}" if node.future else "",
        f"EACH {string(node.each.text)}" if node.each is not None else "",
        print_format(node.format) if node.format is not None else "",
        _coordinates(node.coordinates),
    )


def print_through(node: ast.Through) -> str:
    """THROUGH, as it is written."""
    unit = string(node.unit) if ":" in node.unit else identifier(node.unit)
    numbers = f" WITH ({', '.join(map(amount, node.numbers))})" if node.numbers else ""
    return f"THROUGH {unit}({', '.join(map(_column, node.columns))}{numbers})"


def _coordinates(coordinates: str | None) -> str:
    if coordinates is None:
        return ""
    return f"COORDINATES {coordinates if coordinates == 'WGS84' else string(coordinates)}"


def _column(column: ast.ColumnDefinition) -> str:
    width = f"({column.width})" if column.width is not None else ""
    width += f"[{column.size}]" if column.size is not None else ""
    unit = f"UNIT {string(column.unit)}" if column.unit is not None else ""
    origin = print_origin(column.origin) if column.origin is not None else ""
    return _words(identifier(column.name), (column.type or "") + width, unit, origin)


def _stops(stops: bool) -> str:
    return "ON ERROR STOP" if stops else ""


def _pipeline(name: str | None) -> str:
    return "" if name is None else f"IN PIPELINE {identifier(name)}"


def _starting(starting: str | int | None) -> str:
    if starting is None:
        return ""
    if isinstance(starting, str):
        return f"STARTING AT {starting}"
    return f"STARTING AT {string(format_time(starting))}"


def _file_columns(columns: tuple[str, ...]) -> str:
    names = ", ".join(map(identifier, columns))
    return f"({names})" if len(columns) > 1 else names


def _words(*parts: str) -> str:
    return " ".join(part for part in parts if part)
