"""Prints queries, sources and windows as canonical text, on one line.

>>> from nilometer.language.parser import parse
>>> print_query(parse("Select sum(S1.size) From S1[range 10 min] where S1.dest = 1"))
'SELECT sum(S1.size) FROM S1 [RANGE 10 MINUTES] WHERE S1.dest = 1'
"""

from __future__ import annotations

from nilometer.language import ast
from nilometer.language.print_expressions import amount, identifier, number, print_expression


def print_query(query: ast.QueryNode) -> str:
    """The canonical text of a query."""
    match query:
        case ast.Union(left, right):
            # UNION associates to the left, so only a union on the right needs parentheses.
            behind = print_query(right)
            return f"{print_query(left)} UNION {f'({behind})' if isinstance(right, ast.Union) else behind}"
        case ast.Select():
            return _select(query)
    raise TypeError(f"no query: {query!r}")


def _select(query: ast.Select) -> str:
    parts = [query.stream] if query.stream is not None else []
    parts.append("SELECT " + ", ".join(map(_item, query.items)))
    parts.append("FROM " + ", ".join(map(print_source, query.sources)))
    if query.bounds:
        parts.append(" AND ".join(map(_bound, query.bounds)))
    if query.memory:
        parts.append(" AND ".join(map(_memory, query.memory)))
    if query.shed is not None:
        parts.append(f"SHED {query.shed}")
    if query.where is not None:
        parts.append(f"WHERE {print_expression(query.where)}")
    if query.group_by:
        parts.append("GROUP BY " + ", ".join(map(print_expression, query.group_by)))
    if query.having is not None:
        parts.append(f"HAVING {print_expression(query.having)}")
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
        case ast.QuerySource(query, window, alias):
            return _decorated(f"({print_query(query)})", window, alias)
        case ast.AsofSource(left, right, condition, within):
            behind = print_source(right)
            if isinstance(right, ast.AsofSource):
                behind = f"({behind})"
            text = f"{print_source(left)} ASOF JOIN {behind} ON {print_expression(condition)}"
            return text if within is None else f"{text} WITHIN {amount(within)}"
        case ast.FunctionSource(name, inner, columns, settings, window, alias):
            given = "".join(f", {print_expression(column)}" for column in columns)
            text = f"{name}({print_source(inner)}{given}{''.join(map(_setting, settings))})"
            return _decorated(text, window, alias)
    raise TypeError(f"no source: {source!r}")


def _setting(setting: ast.Setting) -> str:
    values = [_value(value) for value in setting.values]
    return ", " + " ".join(values) if setting.positional else " " + " ".join([setting.word, *values])


def _value(value: ast.Amount | ast.Amounts | ast.Name | ast.Word) -> str:
    match value:
        case ast.Amount():
            return amount(value)
        case ast.Amounts(items):
            return f"({', '.join(map(amount, items))})"
        case ast.Name():
            return print_expression(value)
        case ast.Word(text):
            return text


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
        case ast.RangeWindow(length, slide):
            text = f"RANGE {_range(length)}"
        case ast.UnboundedWindow(slide):
            text = "UNBOUNDED"
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
    if bound.left is None or bound.right is None:
        return f"WINDOW = {amount(bound.width)}"
    return f"WINDOW({identifier(bound.left)}, {identifier(bound.right)}) = {amount(bound.width)}"
