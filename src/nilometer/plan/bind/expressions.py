"""Binds expressions: syntax -> typed expressions. Operands get one common type here, so that no host coerces.

Aggregates come out as `expressions.Aggregate` nodes. LAG / DELTA / RATE, COMPLETENESS and scalar subqueries
come out as references. The owner of the `ExpressionBinder` makes them in its hooks (see `queries.py`),
because only the owner knows where they may stand.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from nilometer.algebra import Collection
from nilometer.algebra.analytic import AnalyticFunction
from nilometer.catalog import functions
from nilometer.errors import BindError
from nilometer.expressions import (
    Call,
    Case,
    ColumnReference,
    Expression,
    InList,
    Literal,
    Now,
    type_of,
)
from nilometer.language import ast
from nilometer.plan.bind.aggregates import bind_aggregate
from nilometer.plan.bind.casts import as_text, bind_cast
from nilometer.plan.bind.foreign_names import FOREIGN_CONSTANTS, FOREIGN_FUNCTIONS
from nilometer.plan.bind.inside import inside_of
from nilometer.plan.bind.model_calls import check_model
from nilometer.plan.bind.parameters import length_of, parameter_literal, seconds_to_duration
from nilometer.plan.bind.places import bind_nearest
from nilometer.plan.bind.python_calls import bind_python
from nilometer.plan.bind.scalar_calls import FORMS, check_constants
from nilometer.plan.bind.scope import Scope, nearest, quoted
from nilometer.plan.bind.spellings import later_by_months, spelled
from nilometer.plan.bind.units import check_units
from nilometer.types import (
    BOOLEAN,
    DURATION,
    FLOAT,
    INT,
    INT_MAXIMUM,
    INT_MINIMUM,
    NULL,
    POINT,
    STRING,
    TIME,
    Kind,
    Type,
    parse_time,
    vector_of,
)

Hook = Callable[[ast.Expression], Expression]

OUTER = "^"
"""Marks a column of the outer query inside a subquery, whose own aliases may be the same (Fjords' Query 2)."""

ORDERED = (Kind.INT, Kind.FLOAT, Kind.STRING, Kind.BOOLEAN, Kind.TIME, Kind.DURATION)


def as_float(expression: Expression) -> Expression:
    """Casts INT to FLOAT; a literal is converted at once."""
    if type_of(expression).kind is Kind.FLOAT:
        return expression
    if isinstance(expression, Literal):
        return Literal(None if expression.value is None else float(expression.value), FLOAT)
    return Call("float", (expression,), FLOAT)


def float_vector(expression: Expression) -> Expression:
    """A vector of INTs as one of FLOATs; a number as a FLOAT."""
    type_ = type_of(expression)
    if type_.element is None or type_.size is None:
        return as_float(expression)
    if type_.element.kind is Kind.FLOAT:
        return expression
    wanted = vector_of(FLOAT, type_.size)
    return Literal(None, wanted) if isinstance(expression, Literal) else Call("float", (expression,), wanted)


class ExpressionBinder:
    """Binds expressions in one scope.

    `special` binds the function calls and subqueries that only the surrounding query can place: it returns
    the bound expression, or raises. `aggregates` says whether aggregate calls may stand here, and if not, why
    not.
    """

    def __init__(self, scope: Scope, special: Hook, aggregates_refused: str | None = None) -> None:
        self.scope = scope
        self.context = scope.context
        self.special = special
        self.aggregates_refused = aggregates_refused
        self._inside_aggregate = False

    # ---- entry points ------------------------------------------------------------------------------------------------

    def bind(self, node: ast.Expression) -> Expression:
        """Binds any expression."""
        match node:
            case ast.Constant(value=value):
                return self._constant(node, value)
            case ast.TimeConstant(microseconds=value):
                return Literal(value, TIME)
            case ast.PointConstant(x=x, y=y):
                return Literal((float(x), float(y)), POINT)
            case ast.DurationConstant(count=count, unit=unit):
                return self._duration(node, count, unit)
            case ast.NowConstant():
                return self._now(node)
            case ast.Name():
                return self._name(node)
            case ast.Star():
                self.context.fail(
                    "'*' cannot stand here", node, hint="COUNT(*) counts rows; SELECT * gives all columns"
                )
            case ast.Unary(operator="-", operand=operand):
                return self._negative(node, self.bind(operand))
            case ast.Unary(operand=operand):
                return Call("not", (self.condition(operand),), BOOLEAN)
            case ast.Binary(operator="AND" | "OR" as word, left=left, right=right):
                return self._logical(word.lower(), self.condition(left), self.condition(right))
            case ast.Binary(operator="+" | "-", right=ast.DurationConstant(unit="MONTHS")):
                return self.bind(later_by_months(node))
            case ast.Binary(operator="+", left=ast.DurationConstant(unit="MONTHS") as months, right=moment):
                return self.bind(later_by_months(replace(node, left=moment, right=months)))
            case ast.Binary(
                operator="+" | "-" as operator,
                left=ast.Cast(type="DATE"),
                right=ast.Constant(value=int(days)),
            ) if not isinstance(days, bool):  # a number beside a DATE is one of days
                right = ast.DurationConstant(days, "DAYS", span=node.right.span)
                return self._binary(node, operator, self.bind(node.left), self.bind(right))
            case ast.Binary(operator=operator, left=left, right=right):
                return self._binary(node, operator, self.bind(left), self.bind(right))
            case ast.IsNull(operand=operand, negated=negated):
                return self._negate(Call("is_null", (self.bind(operand),), BOOLEAN), negated)
            case ast.Between(operand=operand, low=low, high=high, negated=negated):
                middle = self.bind(operand)
                both = self._logical(
                    "and",
                    self._binary(node, ">=", middle, self.bind(low)),
                    self._binary(node, "<=", middle, self.bind(high)),
                )
                return self._negate(both, negated)
            case ast.Like(operand=operand, pattern=pattern, negated=negated):
                return self._negate(
                    self._like(node, self.bind(operand), self.bind(pattern), node.any_case), negated
                )
            case ast.In(operand=operand, items=items, negated=negated):
                return self._negate(self._in(node, self.bind(operand), items), negated)
            case ast.Case():
                return self._case(node)
            case ast.Cast():
                return bind_cast(self, node, self.bind(node.operand))
            case ast.FunctionCall():
                return self._function(node)
            case ast.Nearest(negated=negated):
                return self._negate(bind_nearest(self, node), negated)
            case ast.InQuery() | ast.Exists() | ast.ScalarQuery() | ast.Over():
                return self.special(node)
            case _:
                raise BindError(f"{type(node).__name__} is not an expression").at(
                    self.context.text, node.span
                )

    def equal(self, place: ast.Expression, left: Expression, right: Expression) -> Expression:
        """`left = right`, of types that can be compared."""
        return self._binary(place, "=", left, right)

    def condition(self, node: ast.Expression) -> Expression:
        """Binds an expression that must be a condition."""
        bound = self.bind(node)
        if type_of(bound).kind not in (Kind.BOOLEAN, Kind.NULL):
            self.context.fail(
                f"a condition was expected here, not a value of type {type_of(bound)}",
                node,
                hint=f"compare it with something, such as {self._source_of(node)} "
                + ("> 0" if type_of(bound).numeric else "= ..."),
            )
        return bound

    def as_text(self, value: Expression) -> Expression:
        """The value as STRING."""
        return as_text(self, value)

    def as_float(self, value: Expression) -> Expression:
        """The number as FLOAT."""
        return as_float(value)

    def known_unit(self, expression: Expression) -> str | None:
        """The unit of a column or a conversion."""
        if isinstance(expression, ColumnReference):
            for relation in self.scope.relations:
                if expression.name in relation.node.schema:
                    return relation.node.schema[expression.name].unit
        return self.context.units.get(expression)

    def text_of(self, node: ast.Expression) -> str:
        """The text of an expression, to be quoted in a hint."""
        return self._source_of(node)

    def _source_of(self, node: ast.Expression) -> str:
        """The text of an expression if it is short enough to quote."""
        text = (self.context.text or "")[node.span.start : node.span.end]
        return text if 0 < len(text) <= 30 and "\n" not in text else "..."

    # ---- leaves ------------------------------------------------------------------------------------------------------

    def _constant(self, node: ast.Constant, value: object) -> Literal:
        match value:
            case None:
                return Literal(None, NULL)
            case bool():
                return Literal(value, BOOLEAN)
            case int():
                if not INT_MINIMUM <= value <= INT_MAXIMUM:
                    self.context.fail(
                        f"{value} does not fit a 64-bit INT", node, hint=f"write it as a FLOAT: {value}.0"
                    )
                return Literal(value, INT)
            case float():
                return Literal(value, FLOAT)
            case _:
                return Literal(value, STRING)

    def _duration(self, node: ast.DurationConstant, count: int | float, unit: str) -> Literal:
        if unit == "MONTHS":
            self.context.fail(
                "months and years differ in length",
                node,
                hint="add them to a time: time + INTERVAL '1 month', or write a number of DAYS",
            )
        try:
            length = length_of(count, unit)
        except ValueError as error:
            self.context.fail(str(error), node)
        if length.rows:
            self.context.fail(
                "a number of rows cannot stand in an expression", node, hint="rows belong in a [window]"
            )
        return Literal(length.value, DURATION)

    def _name(self, node: ast.Name) -> Expression:
        bare = node.parts[0].lower() if len(node.parts) == 1 else None
        if bare == "time" and self.scope.time_is_tick:
            return Now()
        field = self._field(node) if len(node.parts) > 1 else None
        if field is not None:
            return field
        reference = self.scope.resolve(node)
        if reference is not None:
            return reference
        if bare == "tick":
            return self._now(node)
        if self.scope.outer is not None:
            reference = self.scope.outer.resolve(node)
            if reference is not None:
                return ColumnReference(OUTER + reference.name, reference.type)
        if len(node.parts) == 1:
            known, value = self.context.parameter(node.parts[0])
            if known:
                try:
                    return parameter_literal(value)
                except ValueError as error:
                    self.context.fail(str(error), node)
        names = self.scope.known_names()
        if len(node.parts) > 1:
            aliases = [relation.alias for relation in self.scope.relations]
            self.context.fail(
                f"no relation '{node.parts[0]}' in this query",
                node,
                detail=f"FROM has {quoted(aliases)}",
                hint=nearest(node.parts[0], aliases) or self._hint_at_owner(node.parts[-1]),
            )
        text = self.context.text or ""
        if text[node.span.start : node.span.start + 1] == '"':
            self.context.fail(
                f"no column '{node.text}'", node, hint=f"text stands in single quotes: '{node.text}'"
            )
        columns = [bare for relation in self.scope.relations for bare, _ in relation.columns()]
        self.context.fail(
            f"no column or parameter '{node.text}'",
            node,
            detail=f"the columns here are {quoted(list(dict.fromkeys(columns)))}" if columns else None,
            hint=FOREIGN_CONSTANTS.get(node.text.lower())
            or self._hint_at_answer(node)
            or nearest(node.text, names)
            or f"if it is a parameter, give it a value: --set {node.text}=...",
        )

    def _hint_at_answer(self, node: ast.Name) -> str | None:
        """What to write for a name that belongs to the answer, or to a window."""
        name = node.text
        if name.lower() in self.scope.answered:
            return (
                f"'{name}' is a column of the answer: repeat its expression here, put a condition on an aggregate"
                f" into HAVING, or ask around it: SELECT * FROM (SELECT ... AS {name} ...) WHERE {name} > 1"
            )
        if name.lower() in ("window_start", "window_end"):
            return f"TUMBLE, HOP and SESSION in FROM have {name}: FROM TUMBLE(s, 10 MINUTES)"
        return None

    def _field(self, node: ast.Name) -> Expression | None:
        """`peak.energy`, `q.peak.energy`: a field of a column that has several; None if there is no such column."""
        relation = self.scope.relation(node.parts[0])
        if (relation is None) != (len(node.parts) == 2):
            return None
        owners = self.scope.relations if relation is None else (relation,)
        found = [column for owner in owners if (column := owner.find(node.parts[-2])) is not None]
        if len(found) != 1 or found[0].type.kind is not Kind.STRUCT:
            return None
        of = ColumnReference(found[0].name, found[0].type)
        self.scope.places.setdefault(of.name, node)
        name = node.parts[-1].lower()
        fields = {column.name: column.type for column in type_of(of).fields}
        if name not in fields:
            self.context.fail(
                f"'{of}' has no field '{node.parts[-1]}'",
                node,
                detail=f"its fields are {quoted(list(fields))}",
            )
        return Call("field", (of, Literal(name, STRING)), fields[name])

    def _now(self, node: ast.Expression) -> Now:
        relations = self.scope.relations
        if all(relation.node.collection is Collection.TABLE for relation in relations):
            what = "a query over stored tables alone" if relations else "a query without FROM"
            self.context.fail(
                f"{what} has no tick, so there is no 'now'",
                node,
                hint="read the table beside a windowed stream: FROM s [NOW], t",
            )
        return Now()

    def _hint_at_owner(self, column: str) -> str | None:
        """A hint that says where a column of that name can be found."""
        owners = [relation.alias for relation in self.scope.relations if relation.find(column) is not None]
        return f"write {' or '.join(f'{alias}.{column}' for alias in owners)}" if owners else None

    # ---- operators ---------------------------------------------------------------------------------------------------

    def _negate(self, expression: Expression, negated: bool) -> Expression:
        return Call("not", (expression,), BOOLEAN) if negated else expression

    def _logical(self, word: str, left: Expression, right: Expression) -> Expression:
        parts: list[Expression] = []
        for side in (left, right):
            parts += side.arguments if isinstance(side, Call) and side.function == word else [side]
        return Call(word, tuple(parts), BOOLEAN)

    def _negative(self, node: ast.Expression, operand: Expression) -> Expression:
        kind = type_of(operand).kind
        if kind not in (Kind.INT, Kind.FLOAT, Kind.DURATION, Kind.VECTOR, Kind.NULL):
            self.context.fail(f"'-' needs a number, not a value of type {type_of(operand)}", node)
        if isinstance(operand, Literal):
            return Literal(None if operand.value is None else -operand.value, operand.type)
        return Call("negative", (operand,), type_of(operand))

    def _binary(self, node: ast.Expression, operator: str, left: Expression, right: Expression) -> Expression:
        if operator == "||":
            return self._concatenation(node, left, right)
        if operator not in ("*", "/", "^"):
            check_units(self, node, operator, left, right)
        if operator in ("=", "!=", "<", "<=", ">", ">="):
            return self.compare(node, operator, left, right)
        if operator in ("IS DISTINCT FROM", "IS NOT DISTINCT FROM"):
            left, right = self._comparable(node, "=", left, right)
            distinct = Call("is_distinct", (left, right), BOOLEAN)
            return self._negate(distinct, operator == "IS NOT DISTINCT FROM")
        return self._arithmetic(node, operator, left, right)

    def compare(self, node: ast.Expression, operator: str, left: Expression, right: Expression) -> Expression:
        """The comparison of two values, brought to one type."""
        return Call(operator, self._comparable(node, operator, left, right), BOOLEAN)

    def _concatenation(self, node: ast.Expression, left: Expression, right: Expression) -> Expression:
        """Text beside any other value; the parts of a chain are one call."""
        kinds = (type_of(left).kind, type_of(right).kind)
        if Kind.STRING not in kinds and kinds != (Kind.NULL, Kind.NULL):
            self.context.fail(
                f"'||' joins texts, and neither {type_of(left)} nor {type_of(right)} is one",
                node,
                hint="write OR between conditions"
                if Kind.BOOLEAN in kinds
                else "CAST(x AS STRING) makes text of a value",
            )
        parts: list[Expression] = []
        for side in (left, right):
            joined = isinstance(side, Call) and side.function == "concat" and side is left
            parts += side.arguments if joined else [as_text(self, side)]  # type: ignore[attr-defined]
        return Call("concat", tuple(parts), STRING)

    def _comparable(
        self, node: ast.Expression, operator: str, left: Expression, right: Expression
    ) -> tuple[Expression, Expression]:
        left, right = self._adapt(left, right), self._adapt(right, left)
        one, other = type_of(left), type_of(right)
        if Kind.NULL in (one.kind, other.kind):
            known = other if one.kind is Kind.NULL else one
            return self._typed_null(left, known), self._typed_null(right, known)
        if one.numeric and other.numeric:
            return (left, right) if one.kind is other.kind else (as_float(left), as_float(right))
        if (
            one.kind is Kind.VECTOR
            and other.kind is Kind.VECTOR
            and one.size == other.size
            and operator in "=!="
        ):
            return (left, right) if one == other else (float_vector(left), float_vector(right))
        if one.kind is not other.kind or (
            one.kind not in ORDERED and not (one.kind is Kind.POINT and operator in "=!=")
        ):
            self.context.fail(
                f"cannot compare {one} with {other}",
                node,
                detail=f"the left side is {left}, the right side {right}",
                hint=self._clash_hint(one, other),
            )
        return left, right

    def _adapt(self, side: Expression, other: Expression) -> Expression:
        """Reads text beside a TIME as ISO-8601, and a number beside a DURATION as a number of seconds."""
        kind = type_of(other).kind
        if isinstance(side, Literal) and isinstance(side.value, str) and kind is Kind.TIME:
            try:
                return Literal(parse_time(side.value), TIME)
            except ValueError:
                return side
        if (
            isinstance(side, Literal)
            and side.type.numeric
            and side.value is not None
            and kind is Kind.DURATION
        ):
            return seconds_to_duration(side.value)
        return side

    def _typed_null(self, side: Expression, known: Type) -> Expression:
        return Literal(None, known) if isinstance(side, Literal) and side.value is None else side

    def _clash_hint(self, one: Type, other: Type) -> str | None:
        kinds = {one.kind, other.kind}
        if kinds == {Kind.VECTOR}:
            return "vectors of one length are compared by = and !=; norm(v) is a number"
        if Kind.TIME in kinds and kinds & {Kind.INT, Kind.FLOAT}:
            return "write a moment as TIME '2026-01-31T12:00:00Z', or compare with now - 15 MINUTES"
        if Kind.TIME in kinds and Kind.STRING in kinds:
            return "write the moment as ISO-8601: '2026-01-31T12:00:00Z'"
        if Kind.STRING in kinds and kinds & {Kind.INT, Kind.FLOAT}:
            return "text stands in single quotes, numbers in none"
        return None

    def _arithmetic(
        self, node: ast.Expression, operator: str, left: Expression, right: Expression
    ) -> Expression:
        one, other = type_of(left).kind, type_of(right).kind
        if one is Kind.NULL and other is Kind.NULL:
            return Literal(None, INT)
        if one is Kind.NULL:
            left, one = self._typed_null(left, type_of(right)), other
        if other is Kind.NULL:
            right, other = self._typed_null(right, type_of(left)), one
        if Kind.VECTOR in (one, other):
            return self._of_vectors(node, operator, left, right)
        if {one, other} <= {Kind.INT, Kind.FLOAT}:
            if operator == "^":
                return Call("^", (as_float(left), as_float(right)), FLOAT)
            if one is not other:
                left, right = as_float(left), as_float(right)
            return Call(operator, (left, right), type_of(left))
        left, right = self._seconds(left, other, operator), self._seconds(right, one, operator)
        one, other = type_of(left).kind, type_of(right).kind
        match operator, one, other:
            case "-", Kind.TIME, Kind.TIME:
                return Call("-", (left, right), DURATION)
            case "+" | "-", Kind.TIME, Kind.DURATION:
                return Call(operator, (left, right), TIME)
            case "+", Kind.DURATION, Kind.TIME:
                return Call("+", (right, left), TIME)
            case "+" | "-" | "%", Kind.DURATION, Kind.DURATION:
                return Call(operator, (left, right), DURATION)
            case "/", Kind.DURATION, Kind.DURATION:
                return Call("/", (Call("float", (left,), FLOAT), Call("float", (right,), FLOAT)), FLOAT)
            case "*" | "/", Kind.DURATION, Kind.INT:
                return Call(operator, (left, right), DURATION)
            case "*", Kind.INT, Kind.DURATION:
                return Call("*", (right, left), DURATION)
            case _:
                self.context.fail(
                    f"'{operator}' is not defined for {type_of(left)} and {type_of(right)}",
                    node,
                    hint="a length of time stands without quotes: time + 10 MINUTES"
                    if {type_of(left).kind, type_of(right).kind} == {Kind.TIME, Kind.STRING}
                    else f"'{operator}' is for numbers; join text with a || b"
                    if Kind.STRING in (one, other)
                    else self._clash_hint(type_of(left), type_of(right)),
                )

    def _of_vectors(
        self, node: ast.Expression, operator: str, left: Expression, right: Expression
    ) -> Expression:
        """`+`, `-` and `*` of two vectors of one length, or of a vector and a number, element by element."""
        sides = [left, right]
        elements = [type_of(side).element or type_of(side) for side in sides]
        sizes = {size for side in sides if (size := type_of(side).size) is not None}
        numeric = all(element.numeric for element in elements)
        if operator not in ("+", "-", "*") or not numeric or len(sizes) > 1:
            self.context.fail(
                f"'{operator}' is not defined for {type_of(left)} and {type_of(right)}",
                node,
                hint="vectors of one length are added, subtracted and multiplied, and so are a vector and a number"
                if operator != "/"
                else "multiply by 1.0 / x",
            )
        if elements[0].kind is not elements[1].kind:
            sides = [float_vector(side) for side in sides]
        vector = next(side for side in sides if type_of(side).kind is Kind.VECTOR)
        return Call(operator, tuple(sides), type_of(vector).plain)

    def _seconds(self, side: Expression, other: Kind, operator: str) -> Expression:
        """`now - timeWindow` (Fjords' Query 2): a constant number beside a TIME is a number of seconds."""
        constant = isinstance(side, Literal) and side.type.numeric and side.value is not None
        if constant and operator in "+-" and other in (Kind.TIME, Kind.DURATION):
            return seconds_to_duration(side.value)  # type: ignore[attr-defined]
        return side

    def _like(
        self, node: ast.Expression, operand: Expression, pattern: Expression, any_case: bool = False
    ) -> Expression:
        if type_of(operand).kind not in (Kind.STRING, Kind.NULL):
            self.context.fail(
                f"LIKE needs text, not a value of type {type_of(operand)}",
                node,
                hint="compare numbers and times by =, <, > or BETWEEN",
            )
        if not isinstance(pattern, Literal) or pattern.type.kind not in (Kind.STRING, Kind.NULL):
            self.context.fail("the pattern of LIKE must be constant text", node, hint="such as 'gauge-%'")
        if pattern.value is None:
            return Literal(None, BOOLEAN)
        operand = self._typed_null(operand, STRING)
        if any_case:
            operand, pattern = Call("lower", (operand,), STRING), Literal(pattern.value.lower(), STRING)
        return Call("like", (operand, pattern), BOOLEAN)

    def _in(self, node: ast.In, operand: Expression, items: tuple[ast.Expression, ...]) -> Expression:
        bound: list[Expression] = []
        for item in items:
            value = self.bind(item)
            if isinstance(value, Literal) and value.type.kind is Kind.LIST:
                bound += value.value
            else:
                bound.append(value)
        pairs = [self._comparable(node, "=", operand, item) for item in bound]
        if not pairs:
            return InList(operand, ())
        if not all(isinstance(item, Literal) for _, item in pairs):
            either: Expression = Call("=", pairs[0], BOOLEAN)
            for pair in pairs[1:]:
                either = self._logical("or", either, Call("=", pair, BOOLEAN))
            return either
        if type_of(operand).kind is Kind.INT and any(type_of(item).kind is Kind.FLOAT for _, item in pairs):
            operand = as_float(operand)
            pairs = [(operand, as_float(item)) for _, item in pairs]
        if type_of(operand).kind is Kind.NULL:
            return Literal(None, BOOLEAN)
        return InList(pairs[0][0], tuple(item for _, item in pairs if isinstance(item, Literal)))

    def _case(self, node: ast.Case) -> Expression:
        conditions: list[Expression] = []
        for when, _ in node.whens:
            if node.operand is None:
                conditions.append(self.condition(when))
            else:
                conditions.append(self._binary(when, "=", self.bind(node.operand), self.bind(when)))
        values = [self.bind(then) for _, then in node.whens]
        otherwise = Literal(None, NULL) if node.otherwise is None else self.bind(node.otherwise)
        places = [then for _, then in node.whens] + [node.otherwise or node]
        *values, otherwise = self.unify([*values, otherwise], places)
        return Case(tuple(conditions), tuple(values), otherwise, type_of(otherwise))

    def unify(self, values: list[Expression], places: list[ast.Expression]) -> list[Expression]:
        """Brings the values to one type; an error points at the first value that does not fit."""
        known = [type_of(value) for value in values if type_of(value).kind is not Kind.NULL]
        if not known:
            return [Literal(None, INT) for _ in values]
        if all(type_.numeric for type_ in known) and any(type_.kind is Kind.FLOAT for type_ in known):
            return [as_float(value) for value in values]
        for value, place in zip(values, places, strict=True):
            kind = type_of(value).kind
            if kind not in (known[0].kind, Kind.NULL) or (kind is Kind.VECTOR and type_of(value) != known[0]):
                self.context.fail(
                    f"{type_of(value)} does not fit beside {known[0]}",
                    place,
                    detail="all alternatives must have the same type",
                    hint=f"give a {known[0].plain} here too, or NULL",
                )
        return [self._typed_null(value, known[0].plain) for value in values]

    # ---- functions ---------------------------------------------------------------------------------------------------

    def _function(self, node: ast.FunctionCall) -> Expression:
        signature = functions.resolve(node.name)
        if signature is None and node.name.upper() in set(AnalyticFunction):
            self.context.fail(
                f"{node.name.upper()}() needs OVER",
                node,
                hint=f"such as {node.name.upper()}(...) OVER (PARTITION BY id ORDER BY time)",
            )
        declared = self.context.catalog.function(node.name) if signature is None else None
        if declared is not None:
            return bind_python(self, node, declared)
        meant = spelled(node) if signature is None else None
        if meant is not None:
            return self.bind(meant)
        if signature is None:
            own = [one.name for one in self.context.catalog.functions()]
            self.context.fail(
                f"no function '{node.name}'",
                node,
                hint=FOREIGN_FUNCTIONS.get(node.name.lower())
                or nearest(node.name, (*functions.names(), *own))
                or "see docs/language.md",
            )
        if signature.name == "inside":
            return inside_of(self.scope, node)
        if signature.kind in ("special", "rows"):
            if node.order or node.condition is not None:
                self.context.fail(
                    f"{signature.spelled}() takes neither ORDER BY nor FILTER",
                    node,
                    hint="choose the rows in WHERE" if signature.name != "completeness" else None,
                )
            return self.special(node)
        if signature.kind == "aggregate":
            return self._aggregate(node, signature)
        if node.distinct:
            self.context.fail(f"DISTINCT makes no sense in {signature.name}()", node)
        if node.order or node.condition is not None:
            clause = "ORDER BY" if node.order else "FILTER"
            self.context.fail(f"{clause} belongs to aggregates, and {signature.name}() is none", node)
        if signature.name == "classify":
            check_model(self.context, node)
        arguments = [self.bind(argument) for argument in node.arguments]
        if signature.name == "concat":
            arguments = [self.as_text(argument) for argument in arguments]
        if signature.name in ("least", "greatest", "coalesce", "nullif") and arguments:
            arguments = self.unify(arguments, list(node.arguments))
        if signature.wants_float:
            arguments = [
                as_float(argument) if type_of(argument).kind in (Kind.INT, Kind.NULL) else argument
                for argument in arguments
            ]
        try:
            constants = tuple(a.value if isinstance(a, Literal) else None for a in arguments)
            result = signature.result(tuple(type_of(argument) for argument in arguments), constants)
        except ValueError as error:
            self.context.fail(str(error), node, hint=f"for example {signature.example}")
        if signature.name == "power":
            return Call("^", tuple(arguments), FLOAT)
        if signature.name == "mod":
            return self._arithmetic(node, "%", arguments[0], arguments[1])
        check_constants(self, node, signature, arguments)
        if signature.name in FORMS:
            return FORMS[signature.name](self, node, arguments)
        return Call(signature.name, tuple(arguments), result)

    def _aggregate(self, node: ast.FunctionCall, signature: functions.FunctionSignature) -> Expression:
        if self.aggregates_refused is not None:
            self.context.fail(
                f"{signature.name.upper()}() cannot stand here", node, hint=self.aggregates_refused
            )
        if self._inside_aggregate:
            self.context.fail(
                "an aggregate inside an aggregate", node, hint="compute the inner one in a subquery in FROM"
            )
        self._inside_aggregate = True
        try:
            return bind_aggregate(self, node, signature)
        finally:
            self._inside_aggregate = False
