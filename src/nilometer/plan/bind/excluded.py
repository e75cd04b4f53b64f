"""`* EXCLUDE (a, b)`: the columns of a star, without those that it leaves out."""

from __future__ import annotations

from nilometer.language import ast
from nilometer.plan.bind.scope import Context, Relation, nearest, quoted


def without_excluded(
    context: Context, star: ast.Star, names: list[str], relations: list[Relation]
) -> list[str]:
    """The columns but those that EXCLUDE names, by their names here or in the data. Each must be there."""
    bare = {column.name: name for relation in relations for name, column in relation.columns()}
    for unwanted in star.excluded:
        found = {column.name for relation in relations if (column := relation.find(unwanted)) is not None}
        if found.isdisjoint(names):
            shown = list(dict.fromkeys(bare[name] for name in names if name in bare))
            context.fail(
                f"'*' has no column '{unwanted}' to leave out",
                star,
                detail=f"it stands for {quoted(shown)}" if shown else None,
                hint=nearest(unwanted, shown),
            )
        names = [name for name in names if name not in found]
    if not names:
        context.fail("EXCLUDE leaves no column", star, hint="name fewer columns")
    return names
