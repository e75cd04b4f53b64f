"""Binds one SELECT: FROM, WHERE, groups, the select list, and the kind of stream that it returns."""

from __future__ import annotations

from typing import Any

from nilometer import algebra
from nilometer.expressions import (
    Aggregate,
    ColumnReference,
    Expression,
    Now,
    columns_of,
    conjunction,
    type_of,
)
from nilometer.language import ast
from nilometer.plan import logical
from nilometer.plan.bind.aggregate_calls import is_aggregate_call
from nilometer.plan.bind.completeness import completeness_of
from nilometer.plan.bind.expressions import OUTER, ExpressionBinder
from nilometer.plan.bind.lag import bind_lag
from nilometer.plan.bind.names import output_names
from nilometer.plan.bind.scope import Bound, Context, Scope, quoted, walk_outside_subqueries
from nilometer.plan.bind.sources import BindQuery, SourceBinder, combine
from nilometer.plan.bind.subqueries import (
    PreparedScalar,
    attach_membership,
    attach_scalar,
    conjuncts_of,
    prepare_scalar,
    split_correlation,
)
from nilometer.types import FLOAT, Kind

_COLLECTION = algebra.Collection


class SelectBinder:
    """Binds one SELECT. `node` is the plan so far; it grows upward clause by clause."""

    def __init__(
        self, context: Context, select: ast.Select, outer: Scope | None, bind_query: BindQuery
    ) -> None:
        self.context = context
        self.select = select
        self.bind_query = bind_query
        self.scope = Scope(context, outer=outer)
        self.node: logical.Node
        self.where: tuple[Expression, ...] = ()
        self.correlations: list[tuple[Expression, Expression]] = []
        self.keys: list[logical.Projection] = []
        self.items: dict[Aggregate, logical.AggregateItem] = {}
        self.lagged: dict[algebra.Lagged, str] = {}
        self.scalars: dict[int, PreparedScalar] = {}
        self.attached: set[str] = set()
        self.aggregated = False

    # ---- the whole ---------------------------------------------------------------------------------------------------

    def bind(self) -> Bound:
        """The bound query."""
        self.bind_from_and_where()
        if self.correlations:
            self.context.fail(
                "a subquery in FROM cannot see the query around it",
                self.select,
                hint="put the condition into WHERE",
            )
        self.aggregated = self._is_aggregated()
        if self.aggregated:
            projections = self._aggregate_query()
        else:
            projections = self._plain_query()
        node: logical.Node = logical.Project(self.node, projections)
        return self._to_stream(node)

    def bind_from_and_where(self) -> None:
        """Binds FROM and WHERE; the conditions that tie a subquery to its outer query go to
        `correlations`."""
        SourceBinder(self.select, self.scope, self.bind_query).bind()
        self.node = combine(self.scope, self.select)
        if self.select.where is None:
            return
        binder = self.binder(
            "WHERE looks at one row at a time: put a condition on an aggregate into HAVING",
            self._special_in_where,
        )
        plain: list[Expression] = []
        for part in conjuncts_of(self.select.where):
            inner, negated = _strip_not(part)
            if isinstance(inner, ast.InQuery | ast.Exists):
                self.node = attach_membership(self, inner, negated, binder)
                continue
            bound = binder.condition(part)
            correlation = split_correlation(self.context, bound, part)
            if correlation is None:
                plain.append(bound)
            else:
                self.correlations.append(correlation)
        self.where = tuple(plain)
        predicate = conjunction(plain)
        if predicate is not None:
            self.node = logical.Select(self.node, predicate)

    def binder(self, aggregates_refused: str | None, special: Any) -> ExpressionBinder:
        """A binder of expressions in this query's scope."""
        return ExpressionBinder(self.scope, special, aggregates_refused)

    # ---- queries without aggregates ----------------------------------------------------------------------------------

    def _plain_query(self) -> tuple[logical.Projection, ...]:
        if self.select.having is not None:
            self.context.fail("HAVING without GROUP BY or aggregates", self.select.having, hint="use WHERE")
        binder = self.binder(None, self._special_in_items)
        entries = self._bind_items(binder)
        if self.lagged:
            items = tuple(
                algebra.Lagged(name, item.function, item.expression, item.offset)
                for item, name in self.lagged.items()
            )
            self.node = logical.Lag(self.node, items)
        return output_names(self.context, entries, self.scope)

    def _bind_items(self, binder: ExpressionBinder) -> list[tuple[ast.SelectItem, Expression]]:
        entries: list[tuple[ast.SelectItem, Expression]] = []
        for item in self.select.items:
            if isinstance(item.expression, ast.Star):
                entries += [(item, reference) for reference in self._star(item.expression)]
            else:
                bound = binder.bind(item.expression)
                self._no_outer(bound, item)
                entries.append((item, bound))
        return entries

    def _star(self, star: ast.Star) -> list[ColumnReference]:
        relations = self.scope.relations
        if star.qualifier is not None:
            relation = self.scope.relation(star.qualifier)
            if relation is None:
                aliases = [entry.alias for entry in relations]
                self.context.fail(
                    f"no relation '{star.qualifier}' in this query",
                    star,
                    detail=f"FROM has {quoted(aliases)}",
                    hint=f"write {aliases[0]}.*, or * for the columns of all",
                )
            relations = [relation]
        schema = self.node.schema
        return [
            ColumnReference(name, schema[name].type.plain)
            for relation in relations
            for name in relation.visible
        ]

    def _no_outer(self, bound: Expression, place: ast.Node) -> None:
        outer = [name for name in columns_of(bound) if name.startswith(OUTER)]
        if outer:
            self.context.fail(
                f"'{outer[0][len(OUTER) :]}' belongs to the outer query",
                place,
                hint="a subquery may use it only in WHERE, compared by '=' with one of its own columns",
            )

    # ---- queries with aggregates -------------------------------------------------------------------------------------

    def _is_aggregated(self) -> bool:
        if self.select.group_by:
            return True
        clauses = (*(item.expression for item in self.select.items), self.select.having)
        return any(is_aggregate_call(node) for clause in clauses for node in walk_outside_subqueries(clause))

    def check_aggregatable(self) -> None:
        """Checks that the query aggregates over windows or a table."""
        if self.node.collection is not _COLLECTION.STREAM:
            return
        clauses = (
            *(item.expression for item in self.select.items),
            self.select.having,
            *self.select.group_by,
        )
        place = next(
            (n for c in clauses for n in walk_outside_subqueries(c) if is_aggregate_call(n)), self.select
        )
        relation = next(r for r in self.scope.relations if r.node.collection is _COLLECTION.STREAM)
        what, hint = f"'{relation.alias}' has no window", None
        if self.select.bounds:
            what = "a WINDOW join is a stream without end"
        elif isinstance(relation.node, logical.AsofJoin):
            what = "an ASOF JOIN is a stream without end"
        elif isinstance(relation.node, logical.TableFunction) and relation.node.call.function.needs_window:
            what = f"{relation.node.call.name} is a stream without end"
        else:
            hint = f"write {relation.alias} [RANGE 10 MINUTES] or {relation.alias} [NOW]"
        self.context.fail(
            f"{what}, so there is nothing finite to aggregate",
            place,
            hint=hint or "aggregate it through a subquery: FROM ( SELECT ... ) [RANGE 10 MINUTES]",
        )

    def _aggregate_query(self) -> tuple[logical.Projection, ...]:
        self.check_aggregatable()
        grouping = self.binder("a group is made of plain columns", self._special_refused)
        for expression in self.select.group_by:
            meant = self._of_alias(expression)
            self._add_key(grouping.bind(meant), expression)
        if self.select.having is not None:
            self._keys_of_having_subqueries(self.select.having)
        binder = self.binder(None, self._special_in_groups)
        having = None if self.select.having is None else binder.condition(self.select.having)
        for item in self.select.items:
            if isinstance(item.expression, ast.Star):
                self.context.fail("'*' beside aggregates", item, hint="name the columns of GROUP BY")
        entries = self._bind_items(binder)
        over_groups = [(item, self._over_groups(bound, item.expression)) for item, bound in entries]
        condition = None if having is None else self._over_groups(having, self.select.having)
        self.node = logical.Aggregate(self.node, tuple(self.keys), tuple(self.items.values()))
        self._attach_scalars()
        self._attach_completeness()
        if condition is not None:
            self.node = logical.Select(self.node, condition)
        return output_names(self.context, over_groups, self.scope)

    def _of_alias(self, expression: ast.Expression) -> ast.Expression:
        """In GROUP BY c, if c is not a column but names an item of the select list, c means that item."""
        if not isinstance(expression, ast.Name) or len(expression.parts) != 1:
            return expression
        name = expression.parts[0].lower()
        if any(relation.find(name) is not None for relation in self.scope.relations):
            return expression
        items = [item.expression for item in self.select.items if (item.alias or "").lower() == name]
        return items[0] if items else expression

    def _add_key(self, bound: Expression, place: ast.Node) -> None:
        self._no_outer(bound, place)
        if type_of(bound).kind in (Kind.LIST, Kind.STRUCT):
            self.context.fail(f"a {type_of(bound)} cannot be grouped by", place)
        if any(key.expression == bound for key in self.keys):
            return
        unit = self.node.schema[bound.name].unit if isinstance(bound, ColumnReference) else None
        name = bound.name if isinstance(bound, ColumnReference) else self.context.fresh("group")
        self.keys.append(logical.Projection(name, bound, unit))

    def _keys_of_having_subqueries(self, having: ast.Expression) -> None:
        """Adds the outer query's columns that a HAVING subquery reads to the GROUP BY (Fjords' Query 2)."""
        for node in walk_outside_subqueries(having):
            if isinstance(node, ast.ScalarQuery):
                prepared = prepare_scalar(self, node)
                self.scalars[id(node)] = prepared
                for _, outer in prepared.keys:
                    self._add_key(outer, node)

    def aggregate_column(self, aggregate: Aggregate) -> ColumnReference:
        """The output column of an aggregate; equal aggregates are computed once."""
        if aggregate not in self.items:
            self.items[aggregate] = logical.AggregateItem(self.context.fresh(aggregate.function), aggregate)
        return ColumnReference(self.items[aggregate].name, aggregate.type)

    def _over_groups(self, expression: Expression, place: ast.Node | None) -> Expression:
        """Rewrites an expression of the select list or HAVING: keys and aggregates become columns."""
        for key in self.keys:
            if key.expression == expression:
                return ColumnReference(key.name, type_of(expression))
        match expression:
            case Aggregate():
                return self.aggregate_column(expression)
            case ColumnReference(name=name, type=type_):
                if name in self.attached:
                    return expression
                if not self.keys and name.rsplit(".", 1)[-1].lower() == "time" and type_.kind is Kind.TIME:
                    return Now()  # beside ungrouped aggregates x.time is the window's tick (SNEE Fig. 4b)
                self.context.fail(
                    f"'{name}' is neither grouped nor aggregated",
                    self.scope.places.get(name, place),
                    hint=f"add {name} to GROUP BY, or aggregate it, such as MAX({name})"
                    if self.select.group_by
                    else f"add GROUP BY {name}, or aggregate it, such as MAX({name})",
                )
            case _:
                children = tuple(self._over_groups(child, place) for child in expression.children())
                return expression.with_children(children) if children else expression

    # ---- subqueries, LAG, COMPLETENESS -------------------------------------------------------------------------------

    def _special_in_where(self, node: ast.Expression) -> Expression:
        if isinstance(node, ast.ScalarQuery):
            return self._scalar_now(node)
        if isinstance(node, ast.FunctionCall):
            self.context.fail(
                f"{node.name.upper()}() cannot stand in WHERE",
                node,
                hint="compute it in a subquery in FROM, and filter outside",
            )
        return self._special_refused(node)

    def _special_in_items(self, node: ast.Expression) -> Expression:
        if isinstance(node, ast.ScalarQuery):
            return self._scalar_now(node)
        if isinstance(node, ast.FunctionCall) and node.name.lower() == "completeness":
            if self.node.collection is not _COLLECTION.WINDOWS:
                self._completeness_needs_window(node)
            self.node, value = completeness_of(self, self.node, None)
            return value
        if isinstance(node, ast.FunctionCall):
            return bind_lag(self, node)
        return self._special_refused(node)

    def _special_in_groups(self, node: ast.Expression) -> Expression:
        if isinstance(node, ast.ScalarQuery):
            if id(node) not in self.scalars:
                self.scalars[id(node)] = prepare_scalar(self, node)
            prepared = self.scalars[id(node)]
            self.attached |= set(prepared.node.schema.names)
            return prepared.value
        if isinstance(node, ast.FunctionCall) and node.name.lower() == "completeness":
            if self.node.collection is not _COLLECTION.WINDOWS:
                self._completeness_needs_window(node)
            self._wants_completeness = True
            self.attached.add(_COMPLETENESS)
            return ColumnReference(_COMPLETENESS, FLOAT)
        if isinstance(node, ast.FunctionCall):
            self.context.fail(
                f"{node.name.upper()}() belongs to stream queries, not beside aggregates",
                node,
                hint="compute it in a subquery in FROM, give that a window, and aggregate outside",
            )
        return self._special_refused(node)

    _wants_completeness = False

    def _completeness_needs_window(self, node: ast.Node) -> None:
        self.context.fail(
            "COMPLETENESS() needs a window", node, hint="give the stream a window, such as [RANGE 1 HOUR]"
        )

    def _special_refused(self, node: ast.Expression) -> Expression:
        if isinstance(node, ast.FunctionCall):
            self.context.fail(f"{node.name.upper()}() cannot stand here", node)
        if isinstance(node, ast.ScalarQuery):
            self.context.fail("a subquery cannot stand here", node, hint="put it into FROM, WHERE or HAVING")
        self.context.fail(
            "IN (SELECT ...) and EXISTS must be conditions of WHERE of their own, joined by AND",
            node,
            hint="put it into WHERE, outside of OR, CASE and HAVING",
        )

    def _scalar_now(self, node: ast.ScalarQuery) -> Expression:
        prepared = prepare_scalar(self, node)
        self.node = attach_scalar(self.context, self.node, prepared, node, lambda outer: outer)
        return prepared.value

    def _attach_scalars(self) -> None:
        for prepared in self.scalars.values():
            self.node = attach_scalar(
                self.context,
                self.node,
                prepared,
                prepared.place,
                lambda outer: self._over_groups(outer, None),
            )

    def _attach_completeness(self) -> None:
        if not self._wants_completeness:
            return
        self.node, value = completeness_of(self, self.node, self.keys)
        columns = [
            logical.Projection(c.name, ColumnReference(c.name, c.type.plain), c.unit)
            for c in self.node.schema
        ]
        self.node = logical.Project(self.node, (*columns, logical.Projection(_COMPLETENESS, value)))

    # ---- the kind of stream ------------------------------------------------------------------------------------------

    def _to_stream(self, node: logical.Node) -> Bound:
        relation = self.select.stream
        if node.collection is not _COLLECTION.WINDOWS:
            if relation in ("ISTREAM", "DSTREAM"):
                self.context.fail(
                    f"{relation} needs a window",
                    self.select,
                    detail=f"it emits the rows that have {'entered' if relation == 'ISTREAM' else 'left'} the window since the last evaluation",
                    hint="give the stream a window, such as [NOW] or [RANGE 10 MINUTES]",
                )
            return Bound(node, False)
        if relation is not None:
            node = logical.ToStream(node, algebra.Relation(relation))
        return Bound(node, True)


_COMPLETENESS = "completeness"


def _strip_not(node: ast.Expression) -> tuple[ast.Expression, bool]:
    negated = False
    while isinstance(node, ast.Unary) and node.operator == "NOT":
        node, negated = node.operand, not negated
    return node, negated
