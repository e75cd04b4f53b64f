"""Prints queries, sources and windows as canonical text, on one line.

>>> from nilometer.language.parser import parse
>>> print_query(parse("Select sum(S1.size) From S1[range 10 min] where S1.dest = 1"))
'SELECT sum(S1.size) FROM S1 [RANGE 10 MINUTES] WHERE S1.dest = 1'
"""

from __future__ import annotations

from nilometer.language import ast
from nilometer.language.print_expressions import amount, identifier, number, print_expression, string


def print_query(query: ast.QueryNode) -> str:
    """The canonical text of a query."""
    match query:
        case ast.Union(left, right, distinct):
            return f"{_operand(left, 1)} {'UNION DISTINCT' if distinct else 'UNION'} {_operand(right, 2)}"
        case ast.SetOperation(operator, left, right, every):
            level = _level(query)
            word = f"{operator} ALL" if every else operator
            return f"{_operand(left, level)} {word} {_operand(right, level + 1)}"
        case ast.Ordered():
            return _ordered(query)
        case ast.Values(rows):
            return "VALUES " + ", ".join(f"({', '.join(map(print_expression, row))})" for row in rows)
        case ast.With(tables, inner):
            return f"WITH {', '.join(map(_common_table, tables))} {_operand(inner, 0, ast.With)}"
        case ast.Select():
            return _select(query)
    raise TypeError(f"no query: {query!r}")


def _level(query: ast.QueryNode) -> int:
    """How tightly the outermost operator binds; all of them associate to the left."""
    match query:
        case ast.Ordered() | ast.With():
            return 0
        case ast.Union() | ast.SetOperation("EXCEPT"):
            return 1
        case ast.SetOperation():
            return 2
        case _:
            return 3


def _operand(query: ast.QueryNode, minimum: int, enclosed: type[ast.QueryNode] | None = None) -> str:
    text = print_query(query)
    bare = _level(query) >= minimum and not (enclosed is not None and isinstance(query, enclosed))
    return text if bare else f"({text})"


def _common_table(table: ast.CommonTable) -> str:
    return f"{identifier(table.name)}{column_names(table.columns)} AS ({print_query(table.query)})"


def column_names(columns: tuple[str, ...]) -> str:
    """` (a, b)`, or nothing."""
    return f" ({', '.join(map(identifier, columns))})" if columns else ""


def _ordered(query: ast.Ordered) -> str:
    parts = [_operand(query.query, 1)]
    if query.order_by:
        parts.append("ORDER BY " + ", ".join(map(print_sort_key, query.order_by)))
    if query.limit is not None:
        parts.append(f"LIMIT {print_expression(query.limit)}")
    if query.offset is not None:
        parts.append(f"OFFSET {print_expression(query.offset)}")
    return " ".join(parts)


def print_sort_key(key: ast.SortKey) -> str:
    """The canonical text of a key of ORDER BY."""
    text = print_expression(key.expression)
    return text + (" DESC" if key.descending else "") + (" NULLS FIRST" if key.nulls_first else "")


def _select(query: ast.Select) -> str:
    parts = [query.stream] if query.stream is not None else []
    parts.append(f"SELECT {'DISTINCT ' if query.distinct else ''}" + ", ".join(map(_item, query.items)))
    if query.sources:
        parts.append("FROM " + ", ".join(map(print_source, query.sources)))
    if query.bounds:
        parts.append(" AND ".join(map(_bound, query.bounds)))
    if query.memory:
        parts.append(" AND ".join(map(_memory, query.memory)))
    if query.shed is not None:
        parts.append(f"SHED {query.shed}")
    if query.where is not None:
        parts.append(f"WHERE {print_expression(query.where)}")
    if query.guided is not None:
        reach = "" if query.guided.reach is None else f" REACH {amount(query.guided.reach)}"
        parts.append(f"GUIDED BY {identifier(query.guided.phenomenon)}{reach}")
    if query.group_by:
        parts.append("GROUP BY " + ", ".join(map(print_expression, query.group_by)))
    if query.having is not None:
        parts.append(f"HAVING {print_expression(query.having)}")
    if query.fill is not None:
        parts.append(f"FILL({query.fill})")
    if query.qualify is not None:
        parts.append(f"QUALIFY {print_expression(query.qualify)}")
    if query.sample is not None:
        parts.append(f"SAMPLE EVERY {amount(query.sample)}")
    if query.deliver is not None:
        parts.append(f"DELIVER WITHIN {amount(query.deliver)}")
    return " ".join(parts)


def _item(item: ast.SelectItem) -> str:
    text = print_expression(item.expression)
    return text if item.alias is None else f"{text} AS {identifier(item.alias)}"


def print_source(source: ast.Source) -> str:
    """The canonical text of a source in FROM: the window stands before the alias."""
    match source:
        case ast.ExtentSource(name, window, alias):
            return _decorated(identifier(name), window, alias)
        case ast.QuerySource(query, window, alias, columns):
            return _decorated(f"({print_query(query)})", window, alias) + column_names(columns)
        case ast.UnnestSource(expression, alias, columns):
            return _decorated(f"UNNEST({print_expression(expression)})", None, alias) + column_names(columns)
        case ast.AsofSource(left, right, condition, within, inner):
            words = "ASOF INNER JOIN" if inner else "ASOF JOIN"
            text = f"{print_source(left)} {words} {_joined(right)} ON {print_expression(condition)}"
            return text if within is None else f"{text} WITHIN {amount(within)}"
        case ast.JoinSource(left, right, kind, condition, using):
            before, behind = print_source(left), _joined(right)
            if condition is None and not using:
                return f"{before} CROSS JOIN {behind}"
            words = "JOIN" if kind == "INNER" else f"{kind} JOIN"
            if condition is None:
                return f"{before} {words} {behind} USING ({', '.join(map(print_expression, using))})"
            return f"{before} {words} {behind} ON {print_expression(condition)}"
        case ast.FunctionSource(name, inner, columns, settings, window, alias, time):
            given = "" if time is None else f", DESCRIPTOR({print_expression(time)})"
            given += "".join(f", {print_expression(column)}" for column in columns)
            text = f"{name}({print_source(inner)}{given}{''.join(map(_setting, settings))})"
            return _decorated(text, window, alias)
        case ast.PhenomenonSource(extent, column, settings, condition):
            where = "" if condition is None else f" WHERE {print_expression(condition)}"
            return f"ON {identifier(extent)}.{identifier(column)}{''.join(map(_setting, settings))}{where}"
        case ast.GroupWindowSource(kind, inner, size, slide, offset, zone, alias, time):
            parts = [
                print_source(inner),
                *([] if time is None else [f"DESCRIPTOR({print_expression(time)})"]),
            ]
            parts += [*([] if slide is None else [amount(slide)]), amount(size)]
            parts += [] if offset is None else [f"OFFSET {amount(offset)}"]
            parts += [] if zone is None else [f"TIMEZONE {string(zone)}"]
            return _decorated(f"{kind}({', '.join(parts)})", None, alias)
    raise TypeError(f"no source: {source!r}")


def _joined(right: ast.Source) -> str:
    """The right side of a join. Joins associate to the left, so one on the right needs parentheses."""
    text = print_source(right)
    return f"({text})" if isinstance(right, ast.AsofSource | ast.JoinSource) else text


def _setting(setting: ast.Setting) -> str:
    values = [_value(value) for value in setting.values]
    return ", " + " ".join(values) if setting.positional else " " + " ".join([setting.word, *values])


def _value(value: ast.Node) -> str:
    match value:
        case ast.Amount():
            return amount(value)
        case ast.Amounts(items):
            return f"({', '.join(map(amount, items))})"
        case ast.Shapes(shapes):
            return f"({', '.join(f'{string(shape.name)} {_value(shape.values)}' for shape in shapes)})"
        case ast.ShapeOf(source, time):
            return f"OF {string(source) if isinstance(source, str) else source} AT {string(time)}"
        case ast.Name():
            return print_expression(value)
        case ast.Word(text):
            return text
    raise TypeError(f"no value of an option: {value!r}")


def _decorated(text: str, window: ast.Window | None, alias: str | None) -> str:
    if window is not None:
        text += f" [{print_window(window)}]"
    return text if alias is None else f"{text} {identifier(alias, alias=True)}"


def print_window(window: ast.Window) -> str:
    """The canonical text of a window, without its brackets."""
    match window:
        case ast.NowWindow(slide):
            text = "NOW"
        case ast.AtWindow(offset, slide):
            text = f"AT {_end(offset)}"
        case ast.FromToWindow(start, end, slide):
            text = f"FROM {_end(start)} TO {_end(end)}"
        case ast.RangeWindow(length, slide, per, offset, zone):
            text = f"RANGE {_range(length)}" + ("" if slide is None else f" SLIDE {amount(slide)}")
            text += f" PER {', '.join(map(print_expression, per))}" if per else ""
            text += "" if offset is None else f" OFFSET {amount(offset)}"
            return text + ("" if zone is None else f" TIMEZONE {string(zone)}")
        case ast.UnboundedWindow(slide):
            text = "UNBOUNDED"
        case ast.RescanWindow(every):
            return f"RESCAN {amount(every)}"
        case _:
            raise TypeError(f"no window: {window!r}")
    return text if slide is None else f"{text} SLIDE {amount(slide)}"


def _range(length: ast.Amount) -> str:
    # RANGE UNBOUNDED is CQL's spelling of UNBOUNDED, so a parameter of that name needs its quotes.
    if isinstance(length.count, str) and length.count.upper() == "UNBOUNDED":
        return f'"{length.count}"' + (f" {length.unit}" if length.unit else "")
    return amount(length)


def _end(offset: ast.Amount | None) -> str:
    if offset is None:
        return "NOW"
    if isinstance(offset.count, str) or not number(offset.count).startswith("-"):
        return f"NOW - {amount(offset)}"
    return f"NOW + {amount(ast.Amount(-offset.count, offset.unit))}"


def _memory(bound: ast.MemoryBound) -> str:
    stream = "" if bound.stream is None else f"({identifier(bound.stream)})"
    return f"MEMORY{stream} = {amount(bound.rows)}"


def _bound(bound: ast.WindowBound) -> str:
    names = ", ".join(identifier(name) for name in (bound.left, bound.right) if name is not None)
    return f"WINDOW({names}) = {amount(bound.width)}" if names else f"WINDOW = {amount(bound.width)}"
