"""Names the output columns of a select list.

The name is the alias, the column's name, or for AVG(R.depth) `avg_depth`; duplicates become `alias_name`.
"""

from __future__ import annotations

from collections import Counter

from nilometer.expressions import ColumnReference, Expression
from nilometer.language import ast
from nilometer.plan import logical
from nilometer.plan.bind.places import coordinates_of, one_of
from nilometer.plan.bind.scope import Context, Scope


def output_names(
    context: Context, entries: list[tuple[ast.SelectItem, Expression]], scope: Scope
) -> tuple[logical.Projection, ...]:
    """One named projection for each bound item of the select list."""
    wanted = [_name(item, bound, number) for number, (item, bound) in enumerate(entries, start=1)]
    explicit = Counter(item.alias.lower() for item, _ in entries if item.alias is not None)
    for item, _ in entries:
        if item.alias is not None and explicit[item.alias.lower()] > 1:
            context.fail(
                f"two columns are named '{item.alias}'", item, hint="give one of them another name with AS"
            )
    count = Counter(name.lower() for name in wanted)
    taken: set[str] = {item.alias.lower() for item, _ in entries if item.alias is not None}
    units = {c.name: c.unit for relation in scope.relations for c in relation.node.schema}
    projections: list[logical.Projection] = []
    for (item, bound), name in zip(entries, wanted, strict=True):
        chosen = name
        if item.alias is None and (count[name.lower()] > 1 or name.lower() in taken):
            if isinstance(bound, ColumnReference) and "." in bound.name:
                chosen = bound.name.replace(".", "_", 1)
            suffix = 2
            stem = chosen
            while chosen.lower() in taken:
                chosen = f"{stem}_{suffix}"
                suffix += 1
        taken.add(chosen.lower())
        unit = units.get(bound.name) if isinstance(bound, ColumnReference) else context.units.get(bound)
        unit = unit or one_of(coordinates_of(context, scope.relations, bound))
        projections.append(logical.Projection(chosen, bound, unit))
    return tuple(projections)


def _name(item: ast.SelectItem, bound: Expression, number: int) -> str:
    if item.alias is not None:
        return item.alias
    match item.expression:
        case ast.Star():
            return bound.name.split(".", 1)[1] if isinstance(bound, ColumnReference) else f"column_{number}"
        case ast.Name(parts=parts) | ast.Cast(operand=ast.Name(parts=parts)):
            return parts[-1]
        case ast.NowConstant():
            return "now"
        case (
            ast.FunctionCall(name=function, arguments=arguments)
            | ast.Over(name=function, arguments=arguments)
        ):
            if arguments and isinstance(arguments[0], ast.Name):
                return f"{function.lower()}_{arguments[0].parts[-1]}"
            return function.lower()
        case _:
            return f"column_{number}"
