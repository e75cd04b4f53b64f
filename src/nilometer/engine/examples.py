"""Examples of SIMILAR_TO that are read: OF a source AT a time, or a table of shapes -> the numbers, written into the query.

    SIMILAR_TO(air, pm25, OF 7 AT '2026-03-01T06:00Z' LENGTH 3 WITHIN 1)  ->  SIMILAR_TO(air, pm25, (1.0, 4.5, 2.0) WITHIN 1)
    SIMILAR_TO(air, pm25, shapes WITHIN 1)  ->  SIMILAR_TO(air, pm25, ('spike' (0.0, 4.0, 0.0)) WITHIN 1)

So the numbers are part of the plan. Those of a standing query or a view are kept in `.nilometer/examples/NAME.json` of the
data directory, and a restart takes them from there: retention and changes of the table alter no query that is installed.
REPLACE reads a table again; what a source read up to a time does not change, and is not read again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

from nilometer.algebra.table_function import FunctionCall
from nilometer.algebra.table_functions.similar_to import SIMILAR_TO
from nilometer.errors import DataError, NilometerError
from nilometer.language import ast, parse
from nilometer.language.print_expressions import identifier, string
from nilometer.language.print_queries import print_query, print_source
from nilometer.language.walk import walk
from nilometer.live.kept_examples import OF_SOURCE, KeptExamples, keep, of_sources, read_kept
from nilometer.plan import logical
from nilometer.types import format_time, parse_time

if TYPE_CHECKING:
    from nilometer.engine.database import Database
    from nilometer.engine.query import Query

NOTHING = KeptExamples()
COLUMNS = ("name", "position", "value")
"""What a table of examples has."""

Kept = dict[str, list[Any]]


def written_out(database: Database, tree: ast.QueryNode, text: str) -> ast.QueryNode:
    """The query with the numbers of its examples. Those that an installed query keeps are not read again."""
    if not _calls(tree):
        return tree
    base = database.data.base
    found: ast.QueryNode = _written(database, tree, text, {} if base is None else of_sources(base), {})
    return found


@dataclass(frozen=True)
class Installed:
    """A declaration's query with the numbers of its examples, which it keeps."""

    tree: ast.QueryNode
    kept: KeptExamples = NOTHING

    def keep(self, database: Database, name: str) -> None:
        """Keep the numbers under the declaration's name, once it is known to make sense."""
        if database.data.base is not None:
            keep(database.data.base, name, self.kept)


def installed(database: Database, name: str, tree: ast.QueryNode, text: str) -> Installed:
    """The query of a declaration, with the numbers that it keeps if it is declared again at a restart."""
    if not _calls(tree):
        return Installed(tree)
    base, declared = database.data.base, print_query(tree)
    known = KeptExamples() if base is None else read_kept(base, name)
    # After REPLACE, a table counts as it is now.
    shared = {} if base is None or known.declared == declared else of_sources(base)
    used: Kept = {}
    found = _written(database, tree, text, known.examples if known.declared == declared else shared, used)
    return Installed(found, KeptExamples(declared, used))


def _calls(tree: ast.Node) -> list[ast.FunctionSource]:
    """The calls whose examples are to be read."""
    return [
        node
        for node in walk(tree)
        if isinstance(node, ast.FunctionSource)
        and node.name == SIMILAR_TO.name
        and isinstance(_example(node), ast.ShapeOf | ast.Name)
    ]


def _example(source: ast.FunctionSource) -> ast.Node | None:
    return next((one.values[0] for one in source.settings if one.word == "EXAMPLE"), None)


# ---- writing ---------------------------------------------------------------------------------------------------------


def _written(
    database: Database, tree: ast.QueryNode, text: str, kept: Mapping[str, list[Any]], used: Kept
) -> Any:
    tables = tuple(table for node in walk(tree) if isinstance(node, ast.With) for table in node.tables)

    def changed(value: Any) -> Any:
        if isinstance(value, tuple):
            return tuple(map(changed, value))
        if not isinstance(value, ast.Node):
            return value
        parts = {field.name: getattr(value, field.name) for field in fields(value) if field.name != "span"}
        new = {name: changed(part) for name, part in parts.items()}
        found = value if new == parts else replace(value, **new)
        if isinstance(found, ast.FunctionSource) and found.name == SIMILAR_TO.name:
            example = _example(found)
            try:
                match example:
                    case ast.ShapeOf():
                        return _with_numbers(found, _of_source(database, found, example, tables, kept, used))
                    case ast.Name():
                        return _with_numbers(found, _of_table(database, example, kept, used))
            except NilometerError as error:
                place = value if example is None else example
                raise error.at(text, place.span) from None
        return found

    return changed(tree)


def _with_numbers(source: ast.FunctionSource, numbers: Any) -> ast.FunctionSource:
    """The call with its example written out: a list of numbers, or pairs of a name and numbers."""
    value = (
        ast.Shapes(tuple(ast.Shape(name, _amounts(shape)) for name, shape in numbers))
        if isinstance(numbers[0], list)
        else _amounts(numbers)
    )
    settings = tuple(
        replace(one, values=(value,)) if one.word == "EXAMPLE" else one
        for one in source.settings
        if one.word != "LENGTH"
    )
    return replace(source, settings=settings)


def _amounts(numbers: list[float]) -> ast.Amounts:
    return ast.Amounts(tuple(ast.Amount(float(number)) for number in numbers))


# ---- reading ---------------------------------------------------------------------------------------------------------


def _of_source(
    database: Database,
    source: ast.FunctionSource,
    example: ast.ShapeOf,
    tables: tuple[ast.CommonTable, ...],
    kept: Mapping[str, list[Any]],
    used: Kept,
) -> list[float]:
    length = next((one.values[0] for one in source.settings if one.word == "LENGTH"), None)
    if not isinstance(length, ast.Amount) or not isinstance(length.count, int):
        raise DataError(
            "how long is the example OF a source?", hint="write LENGTH 20: as many slots, up to the time"
        )
    try:
        moment = parse_time(example.time)
    except ValueError:
        raise DataError(
            f"'{example.time}' is not a time", hint="write it as ISO-8601: '2026-03-01T06:00Z'"
        ) from None
    if length.count < 2:
        raise DataError("an example has at least 2 slots", hint="write LENGTH 20")
    call = _call(_query(database, _whole(source, length.count), tables))
    every, fill = call["EVERY"], call["FILL"]
    assert isinstance(every, int)
    missing = fill if isinstance(fill, int) else 0
    column = source.columns[0].parts[-1]
    extent = print_source(source.source)
    key = f"{OF_SOURCE}{example.identifier!r} AT {moment} IN {extent} {column}, {length.count} SLOTS OF {every}, FILL {missing}"
    if key not in kept:
        last = (moment - 1) // every
        first = last - length.count + 1
        begin, end = format_time((first - missing) * every), format_time((last + 1) * every)
        identity = string(example.identifier) if isinstance(example.identifier, str) else example.identifier
        asked = (
            f"SELECT time, {identifier(column)} AS example_value FROM {extent} "
            f"WHERE id = {identity} AND time > '{begin}' AND time <= '{end}'"
        )
        rows = _asked(database, parse(asked), tables)
        used[key] = _slots([(row[0], row[1]) for row in rows], every, first, last, missing, example)
    else:
        used[key] = kept[key]
    found: list[float] = used[key]
    return found


def _slots(
    rows: list[tuple[int, Any]], every: int, first: int, last: int, fill: int, example: ast.ShapeOf
) -> list[float]:
    """The last number of each slot, with gaps filled as the call says."""
    slots: dict[int, float] = {}
    for time, value in sorted(rows, key=lambda row: row[0]):
        if value is not None and float(value) - float(value) == 0.0:
            slots[(time - 1) // every] = float(value)
    found = []
    for slot in range(first, last + 1):
        known = next((slots[back] for back in range(slot, slot - fill - 1, -1) if back in slots), None)
        if known is None:
            begin, end = format_time(slot * every), format_time((slot + 1) * every)
            raise DataError(
                f"source {example.identifier!r} has no reading after {begin} up to {end}, so there is no such example",
                hint="name another time or a shorter LENGTH, or FILL gaps",
            )
        found.append(known)
    return found


def _of_table(database: Database, name: ast.Name, kept: Mapping[str, list[Any]], used: Kept) -> list[Any]:
    key = f"TABLE {name.text.lower()}"
    if key not in kept:
        named = ", ".join(COLUMNS)
        try:
            rows = _asked(database, parse(f"SELECT {named} FROM {identifier(name.text)}"), ())
        except NilometerError as error:
            raise DataError(
                f"'{name.text}' gives no examples",
                detail=error.message,
                hint=f"examples are a list of numbers, OF 7 AT '2026-03-01T06:00Z', or a table with {named}",
            ) from None
        used[key] = _shapes(name.text, rows)
    else:
        used[key] = kept[key]
    found: list[Any] = used[key]
    return found


def _shapes(table: str, rows: list[tuple[Any, ...]]) -> list[list[Any]]:
    shapes: dict[str, dict[float, float]] = {}
    for name, position, value in rows:
        if name is None or position is None or value is None:
            raise DataError(
                f"a row of '{table}' lacks its name, position or value", hint="an example has no gaps"
            )
        numbers = shapes.setdefault(str(name), {})
        if position in numbers:
            raise DataError(f"'{table}' has two values of '{name}' at position {position}")
        numbers[position] = float(value)
    if not shapes:
        raise DataError(f"'{table}' is empty", hint="it needs rows of name, position and value")
    return [[name, [numbers[at] for at in sorted(numbers)]] for name, numbers in sorted(shapes.items())]


def _whole(source: ast.FunctionSource, length: int) -> ast.FunctionSource:
    """The same call with zeros for an example, to be bound before anything is read."""
    return _with_numbers(source, [0.0] * length)


def _query(database: Database, source: ast.Source, tables: tuple[ast.CommonTable, ...]) -> Query:
    from nilometer.engine.query import Query

    tree: ast.QueryNode = ast.Select((ast.SelectItem(ast.Star()),), (source,))
    if tables:
        tree = ast.With(tables, tree)
    return Query(database, print_query(tree), tree, {})


def _call(query: Query) -> FunctionCall:
    nodes = (node for node in logical.walk_plan(query.logical) if isinstance(node, logical.TableFunction))
    return next(node.call for node in nodes if node.call.name == SIMILAR_TO.name)


def _asked(database: Database, tree: Any, tables: tuple[ast.CommonTable, ...]) -> list[tuple[Any, ...]]:
    from nilometer.engine.query import Query

    data = database.data
    if not data.attached and data.base is not None:  # schema.sql asks, and its files are attached after it
        data.attach_directory(data.base, database.catalog)
    whole = ast.With(tables, tree) if tables else tree
    return [tuple(row) for row in Query(database, print_query(whole), whole, {}).run().rows]
