"""Binds one SELECT: FROM, WHERE, groups, the select list, and the kind of stream that it returns."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from nilometer import algebra
from nilometer.algebra.identity_map import IdentityMap
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
from nilometer.language.walk import replace_names, walk
from nilometer.plan import logical
from nilometer.plan.bind.aggregate_calls import is_aggregate_call, is_shift_call
from nilometer.plan.bind.completeness import completeness_of
from nilometer.plan.bind.distinct import distinct
from nilometer.plan.bind.excluded import without_excluded
from nilometer.plan.bind.expressions import OUTER, ExpressionBinder
from nilometer.plan.bind.group_windows import (
    check_windows_are_grouped,
    filled_windows,
    has_tick,
    of_window,
    windows_from_groups,
)
from nilometer.plan.bind.guided import prove_guided
from nilometer.plan.bind.joins import combine
from nilometer.plan.bind.lag import bind_lag
from nilometer.plan.bind.marks import mark
from nilometer.plan.bind.names import output_names
from nilometer.plan.bind.now_in_where import refuse_own_tick
from nilometer.plan.bind.ordering import (
    Ordering,
    check_order,
    in_time_order,
    ordinal,
    with_order,
    with_order_of_distinct,
)
from nilometer.plan.bind.over import OverCalls, needs_all_rows
from nilometer.plan.bind.previous import PreviousCalls
from nilometer.plan.bind.scope import Bound, Context, Scope, quoted, walk_outside_subqueries
from nilometer.plan.bind.semi_joins import without_semi_joins
from nilometer.plan.bind.sources import BindQuery, SourceBinder
from nilometer.plan.bind.subqueries import (
    PreparedScalar,
    attach_membership,
    attach_scalar,
    conjuncts_of,
    prepare_scalar,
    reads_outer,
    split_correlation,
)
from nilometer.plan.bind.unnest import bind_unnest
from nilometer.plan.bind.whole import can_be_whole, is_whole, reads_now, whole
from nilometer.types import FLOAT, NESTED, Kind

_COLLECTION = algebra.Collection


class SelectBinder:
    """Binds one SELECT. `node` is the plan so far; it grows upward clause by clause."""

    def __init__(
        self,
        context: Context,
        select: ast.Select,
        outer: Scope | None,
        bind_query: BindQuery,
        ordering: Ordering | None = None,
    ) -> None:
        self.context = context
        self.select = windows_from_groups(context, without_semi_joins(context, select))
        self.bind_query = bind_query
        self.scope = Scope(context, outer=outer)
        self.scope.answered = frozenset(item.alias.lower() for item in select.items if item.alias is not None)
        self.node: logical.Node
        self.where: tuple[Expression, ...] = ()
        self.correlations: list[tuple[Expression, Expression]] = []
        self.residuals: list[tuple[Expression, ast.Node]] = []
        self.keys: list[logical.Projection] = []
        self.items: dict[Aggregate, logical.AggregateItem] = {}
        self.lagged: dict[algebra.Lagged, str] = {}
        self.unnested: logical.Unnest | None = None
        self.scalars: IdentityMap[ast.ScalarQuery, PreparedScalar] = IdentityMap()
        self.attached: set[str] = set()
        self.aggregated = False
        self.ordering = ordering
        self.order: list[tuple[ast.SortKey, int | Expression]] = []
        self.over = OverCalls(self)
        self.previous = PreviousCalls(self)
        self.ticked: bool | None = None

    # ---- the whole ---------------------------------------------------------------------------------------------------

    def bind(self) -> Bound:
        """The bound query."""
        self.bind_from_and_where()
        if self.correlations or self.residuals:
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
        node = self._delivered(projections)
        if is_whole(node) and reads_now(node):
            place = next(
                (part for part in walk(self.select) if isinstance(part, ast.NowConstant)), self.select
            )
            self.context.fail(
                "a query over whole streams has no tick, so there is no 'now'",
                place,
                hint="give the streams windows, such as [RANGE 10 MINUTES]",
            )
        return replace(self._to_stream(node), fields=self._fields())

    def _fields(self) -> Mapping[str, str]:
        """The names that the columns of `*` have in the data, for the query around this one. They are those of one
        relation, because two may have the same."""
        stars = [item.expression for item in self.select.items if isinstance(item.expression, ast.Star)]
        relations = self.scope.relations
        if len(stars) == 1 and stars[0].qualifier is not None:
            relations = [each for each in (self.scope.relation(stars[0].qualifier),) if each is not None]
        return relations[0].fields if len(stars) == len(relations) == 1 else {}

    def _delivered(self, projections: tuple[logical.Projection, ...]) -> logical.Node:
        """The select list's columns: without doubles after DISTINCT, and in the order of ORDER BY."""
        if self.select.distinct:
            node = distinct(self.context, logical.Project(self.node, projections), self.select)
            if self.ordering is None:
                return node
            return with_order_of_distinct(self.context, node, projections, self.order, self.ordering)
        if self.ordering is None:
            return logical.Project(self.node, projections)
        if self.previous and self.ordering.keys:
            self.ticked = self._shows_tick(self.node)
            self.node = self.previous.by_evaluation(self.node)
        if not in_time_order(self.node, projections, self.order):
            if self.ordering.keys and can_be_whole(self.context, self.node):
                self.node = whole(self.node)
            check_order(self.context, self.node, self.ordering)
        return with_order(self.context, self.node, projections, self.order, self.ordering)

    def bind_from_and_where(self) -> None:
        """Binds FROM and WHERE; the conditions that tie a subquery to its outer query go to
        `correlations` if they are equalities, and else to `residuals`."""
        ordered = () if self.ordering is None else self.ordering.keys
        SourceBinder(self.select, self.scope, self.bind_query, ordered).bind()
        self.node = combine(self.scope, self.select)
        if self.select.where is None:
            prove_guided(self.scope, self.select, ())
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
            if self.node.collection is _COLLECTION.STREAM:
                refuse_own_tick(self.scope, bound, part)
            if not reads_outer(bound):
                plain.append(bound)
            elif (correlation := split_correlation(bound)) is not None:
                self.correlations.append(correlation)
            else:
                self.residuals.append((bound, part))
        self.where = tuple(plain)
        prove_guided(self.scope, self.select, self.where)
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
        if self.select.fill is not None:
            self.context.fail("FILL needs a GROUP BY", self.select, hint="GROUP BY id FILL(PREVIOUS)")
        clauses = (
            *(item.expression for item in self.select.items),
            *(self.ordering.keys if self.ordering else ()),
            self.select.qualify,
        )
        needs_all = any(
            needs_all_rows(node) for clause in clauses for node in walk_outside_subqueries(clause)
        )
        if needs_all and can_be_whole(self.context, self.node):
            self.node = whole(self.node)
        binder = self.binder(None, self._special_in_items)
        entries = self._bind_items(binder)
        self._bind_order(entries, lambda node, _: binder.bind(node))
        qualifying = self._qualifying(binder)
        if self.lagged:
            items = tuple(
                algebra.Lagged(name, item.function, item.expression, item.offset)
                for item, name in self.lagged.items()
            )
            self.node = logical.Lag(self.node, items)
        self.node = self.previous.over(self.over.over(self.node))
        if qualifying is not None:
            self.node = logical.Select(self.node, qualifying)
        if self.unnested is not None:
            self.node = replace(self.unnested, input=self.node)
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
        names = self.scope.starred()
        if star.qualifier is not None:
            names = [name for relation in relations for name in relation.visible]
        names = without_excluded(self.context, star, names, relations)
        return [ColumnReference(name, schema[name].type.plain) for name in names]

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
        ordered = () if self.ordering is None else self.ordering.keys
        select = self.select
        clauses = (*(item.expression for item in select.items), select.having, select.qualify, *ordered)
        return any(is_aggregate_call(node) for clause in clauses for node in walk_outside_subqueries(clause))

    def check_aggregatable(self) -> None:
        """Checks that the query aggregates over windows or a table. A stream whose data is at hand is taken
        as a table."""
        if can_be_whole(self.context, self.node):
            self.node = whole(self.node)
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
        for expression in self._group_by():
            number = ordinal(self.context, expression, len(self.select.items), "GROUP BY")
            meant = self._of_alias(expression) if number is None else self.select.items[number].expression
            self._add_key(grouping.bind(meant), expression)
        check_windows_are_grouped(self.context, self.scope.relations, self.keys, self.select)
        asked = None if self.select.having is None else replace_names(self.select.having, self._in_having)
        for node in walk_outside_subqueries(asked):
            if isinstance(node, ast.Over) or is_shift_call(node):
                self.context.fail(
                    f"{node.name.upper()}() cannot stand in HAVING",
                    node,
                    hint="write the condition into QUALIFY, behind HAVING",
                )
        if asked is not None:
            self._keys_of_having_subqueries(asked)
        binder = self.binder(None, self._special_in_groups)
        having = None if asked is None else binder.condition(asked)
        for item in self.select.items:
            if isinstance(item.expression, ast.Star):
                self.context.fail("'*' beside aggregates", item, hint="name the columns of GROUP BY")
        entries = self._bind_items(binder)
        over_groups = [(item, self._over_groups(bound, item.expression)) for item, bound in entries]
        condition = None if having is None else self._over_groups(having, self.select.having)
        self._bind_order(over_groups, lambda node, key: self._over_groups(binder.bind(node), key))
        qualifying = self._qualifying(binder)
        self.node = logical.Aggregate(self.node, tuple(self.keys), tuple(self.items.values()))
        self._attach_scalars()
        self._attach_completeness()
        if condition is not None:
            self.node = logical.Select(self.node, condition)
        if self.select.fill is not None:
            self.node = self._filled(self.select.fill)
        self.node = self.previous.over(self.over.over(self.node))
        if qualifying is not None:
            self.node = logical.Select(self.node, qualifying)
        return output_names(self.context, over_groups, self.scope)

    def _group_by(self) -> tuple[ast.Expression, ...]:
        """The keys of GROUP BY. ALL means every item of the select list without an aggregate."""
        keys = self.select.group_by
        match keys:
            case (ast.Name(parts=(name,)),) if name.upper() == "ALL":
                if self._of_alias(keys[0]) is not keys[0] or self.context.parameter(name)[0]:
                    return keys
                if any(relation.find(name) is not None for relation in self.scope.relations):
                    return keys
            case _:
                return keys
        return tuple(
            item.expression
            for item in self.select.items
            if not isinstance(item.expression, ast.Star | ast.Constant)
            and not any(
                is_aggregate_call(node) or is_shift_call(node) or isinstance(node, ast.Over)
                for node in walk_outside_subqueries(item.expression)
            )
        )

    def _qualifying(self, binder: ExpressionBinder) -> Expression | None:
        """The condition of QUALIFY on the rows with the columns of OVER. It sees the aliases of the select list, as
        HAVING does."""
        if self.select.qualify is None:
            return None
        asked = replace_names(self.select.qualify, self._in_having)
        if not any(isinstance(n, ast.Over) or is_shift_call(n) for n in walk_outside_subqueries(asked)):
            self.context.fail(
                "QUALIFY is a condition on OVER, and this one has none",
                self.select.qualify,
                hint="use HAVING for groups, and WHERE for rows",
            )
        for node in walk_outside_subqueries(asked):
            if isinstance(node, ast.FunctionCall) and node.name.lower() == "unnest":
                self.context.fail(
                    "UNNEST() cannot stand in QUALIFY", node, hint="unnest in FROM, and use WHERE"
                )
        bound = binder.condition(asked)
        self._no_outer(bound, self.select.qualify)
        return self._over_groups(bound, self.select.qualify) if self.aggregated else bound

    def _filled(self, fill: str) -> logical.Node:
        if self.node.collection is not _COLLECTION.WINDOWS:
            self.context.fail("FILL needs a window", self.select, hint="a table has no gaps")
        named = tuple(key for key in self.keys if of_window(key.expression))
        if not self.keys:
            self.context.fail(
                "FILL needs a GROUP BY",
                self.select,
                detail="without groups there is a row at every evaluation",
                hint="GROUP BY id FILL(PREVIOUS)",
            )
        windows = filled_windows(self.context, self.scope.relations, named, fill, self.select)
        if fill == "LINEAR" and self.previous:
            self.context.fail(
                "LAG, DELTA and RATE beside FILL(LINEAR), whose rows come when a group returns",
                self.select,
                hint="leave FILL out: they compare with the group's last row",
            )
        keys = tuple(key.name for key in self.keys if key not in named)
        return logical.Fill(self.node, keys, fill, windows)

    def _bind_order(
        self,
        entries: list[tuple[ast.SelectItem, Expression]],
        bind: Callable[[ast.Expression, ast.Node], Expression],
    ) -> None:
        """Binds the keys of ORDER BY: a number or an output name is a column of the select list."""
        if self.ordering is None:
            return
        names = [each.name for each in output_names(self.context, entries, self.scope)]
        for key in self.ordering.keys:
            number = ordinal(self.context, key.expression, len(entries), "ORDER BY")
            if number is None:
                number = self._named_item(key.expression, entries, names)
            if number is not None:
                self.order.append((key, number))
                continue
            bound = bind(self._with_aliases(key.expression), key)
            self._no_outer(bound, key)
            self.order.append((key, bound))

    def _named_item(
        self,
        expression: ast.Expression,
        entries: list[tuple[ast.SelectItem, Expression]],
        names: list[str],
    ) -> int | None:
        """The column of the select list that a name means: by its alias, or by its name if no column has it."""
        if not isinstance(expression, ast.Name) or len(expression.parts) != 1:
            return None
        wanted = expression.parts[0].lower()
        aliased = [place for place, (item, _) in enumerate(entries) if (item.alias or "").lower() == wanted]
        if aliased:
            return aliased[0]
        if any(relation.find(wanted) is not None for relation in self.scope.relations):
            return None
        return next((place for place, name in enumerate(names) if name.lower() == wanted), None)

    def _with_aliases(self, expression: ast.Expression) -> ast.Expression:
        """The expression, in which a name that is no column but an alias of the select list means that item."""
        return replace_names(expression, self._of_alias)

    def _of_alias(self, expression: ast.Expression) -> ast.Expression:
        """In GROUP BY c, if c is not a column but names an item of the select list, c means that item."""
        if not isinstance(expression, ast.Name) or len(expression.parts) != 1:
            return expression
        name = expression.parts[0].lower()
        if any(relation.find(name) is not None for relation in self.scope.relations):
            return expression
        items = [item.expression for item in self.select.items if (item.alias or "").lower() == name]
        return items[0] if items else expression

    def _in_having(self, name: ast.Name) -> ast.Expression:
        """In HAVING n > 3, n means a column, else a parameter, else the item of the select list with that alias."""
        return name if self.context.parameter(name.text)[0] else self._of_alias(name)

    def _add_key(self, bound: Expression, place: ast.Node) -> None:
        self._no_outer(bound, place)
        if type_of(bound).kind in NESTED:
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
                self.scalars[node] = prepared
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
                if (
                    not self.keys
                    and not is_whole(self.node)
                    and name.rsplit(".", 1)[-1].lower() == "time"
                    and type_.kind is Kind.TIME
                ):
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
                if not children:
                    return expression
                rewritten = expression.with_children(children)
                if expression in self.context.units:
                    self.context.units[rewritten] = self.context.units[expression]
                return rewritten

    # ---- subqueries, LAG, COMPLETENESS -------------------------------------------------------------------------------

    def _special_in_where(self, node: ast.Expression) -> Expression:
        if isinstance(node, ast.ScalarQuery):
            return self._scalar_now(node)
        if isinstance(node, ast.InQuery | ast.Exists):
            return mark(self, node, self.binder(None, self._special_in_where))
        if isinstance(node, ast.FunctionCall | ast.Over):
            self.context.fail(
                f"{node.name.upper()}() cannot stand in WHERE",
                node,
                hint="write the condition into QUALIFY, behind WHERE and GROUP BY"
                if isinstance(node, ast.Over) or is_shift_call(node)
                else "compute it in a subquery in FROM, and filter outside",
            )
        return self._special_refused(node)

    def _special_in_items(self, node: ast.Expression) -> Expression:
        if isinstance(node, ast.ScalarQuery):
            return self._scalar_now(node)
        if isinstance(node, ast.InQuery | ast.Exists):
            return mark(self, node, self.binder(None, self._special_in_items))
        if isinstance(node, ast.FunctionCall) and node.name.lower() == "completeness":
            if self.node.collection is not _COLLECTION.WINDOWS or is_whole(self.node):
                self._completeness_needs_window(node)
            self.node, value = completeness_of(self, self.node, None)
            return value
        if isinstance(node, ast.FunctionCall) and node.name.lower() == "unnest":
            return bind_unnest(self, node)
        if isinstance(node, ast.FunctionCall):
            return bind_lag(self, node)
        if isinstance(node, ast.Over):
            return self.over.bind(node, self.binder(None, self._special_inside_over))
        return self._special_refused(node)

    def _special_in_groups(self, node: ast.Expression) -> Expression:
        if isinstance(node, ast.FunctionCall) and node.name.lower() == "unnest":
            self.context.fail(
                "UNNEST() cannot stand beside aggregates",
                node,
                hint="aggregate in a subquery in FROM, and unnest its list outside",
            )
        if isinstance(node, ast.ScalarQuery):
            if node not in self.scalars:
                self.scalars[node] = prepare_scalar(self, node)
            prepared = self.scalars[node]
            self.attached |= set(prepared.node.schema.names)
            return prepared.value
        if isinstance(node, ast.FunctionCall) and node.name.lower() == "completeness":
            if self.node.collection is not _COLLECTION.WINDOWS or is_whole(self.node):
                self._completeness_needs_window(node)
            self._wants_completeness = True
            self.attached.add(_COMPLETENESS)
            return ColumnReference(_COMPLETENESS, FLOAT)
        if isinstance(node, ast.Over):
            bound = self.over.bind(node, self.binder(None, self._special_inside_over))
            self.attached |= columns_of(bound)
            return bound
        if isinstance(node, ast.FunctionCall) and self.node.collection is _COLLECTION.WINDOWS:
            bound = self.previous.of_groups(node)
            self.attached |= columns_of(bound)
            return bound
        if isinstance(node, ast.FunctionCall):
            self.context.fail(
                f"{node.name.upper()}() belongs to stream queries, not beside aggregates",
                node,
                hint="compute it in a subquery in FROM, give that a window, and aggregate outside",
            )
        return self._special_refused(node)

    def _special_inside_over(self, node: ast.Expression) -> Expression:
        if isinstance(node, ast.Over):
            self.context.fail("OVER inside OVER", node, hint="compute the inner one in a subquery in FROM")
        return self._special_refused(node)

    def settled(self, bound: Expression, place: ast.Node) -> Expression:
        """An expression inside OVER, over the rows that OVER sees: those of FROM, or of the groups."""
        self._no_outer(bound, place)
        return self._over_groups(bound, place) if self.aggregated else bound

    _wants_completeness = False

    def _completeness_needs_window(self, node: ast.Node) -> None:
        self.context.fail(
            "COMPLETENESS() needs a window", node, hint="give the stream a window, such as [RANGE 1 HOUR]"
        )

    def _special_refused(self, node: ast.Expression) -> Expression:
        if isinstance(node, ast.FunctionCall | ast.Over):
            self.context.fail(f"{node.name.upper()}() cannot stand here", node)
        if isinstance(node, ast.ScalarQuery):
            self.context.fail(
                "a subquery, or a call that looks into a table or model, cannot stand here",
                node,
                hint="put it into FROM, WHERE or HAVING, or compute it in a subquery in FROM and name its column here",
            )
        self.context.fail(
            "IN (SELECT ...) and EXISTS cannot stand here",
            node,
            hint="put it into WHERE, or into the select list of a query without aggregates",
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
            return Bound(node, self._shows_tick(node))
        if relation is not None:
            node = logical.ToStream(node, algebra.Relation(relation))
        return Bound(node, has_tick(node) if self.ticked is None else self.ticked)

    def _shows_tick(self, stream: logical.Node) -> bool:
        """Whether rows that have become a stream show the tick of their evaluation."""
        return bool(self.previous) and (self.previous.shows_tick or has_tick(stream))


_COMPLETENESS = "completeness"


def _strip_not(node: ast.Expression) -> tuple[ast.Expression, bool]:
    negated = False
    while isinstance(node, ast.Unary) and node.operator == "NOT":
        node, negated = node.operand, not negated
    return node, negated
