"""Checks the model that a call of CLASSIFY names. The parser has written its name out as a query of its table."""

from __future__ import annotations

from nilometer.catalog import Table
from nilometer.language import ast
from nilometer.plan.bind.scope import Context, nearest


def check_model(context: Context, node: ast.FunctionCall) -> None:
    """Refuse a name that is no model's."""
    if not node.arguments or not isinstance(node.arguments[0], ast.ScalarQuery):
        return
    match node.arguments[0].query:
        case ast.Select(sources=(ast.ExtentSource(name=name),)):
            extent = context.catalog.extent(name)
        case _:
            return
    models = [one.name for one in context.catalog.extents() if _is_model(one)]
    if extent is not None and _is_model(extent):
        return
    if name.lower() in context.named or context.catalog.view(name) is not None:
        return  # a query may give the text of a model, too
    what = f"no model '{name}'" if extent is None else f"'{name}' is no model"
    context.fail(
        what,
        node.arguments[0],
        detail=f"the models are {', '.join(models)}" if models else None,
        hint=nearest(name, models)
        or f"CREATE MODEL {name} FROM (SELECT label, features FROM library) USING NEAREST 3",
    )


def _is_model(extent: object) -> bool:
    return isinstance(extent, Table) and {"model", "declared"} <= {one.name for one in extent.columns}
