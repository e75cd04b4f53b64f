"""The aggregates."""

from __future__ import annotations

from typing import Final

from nilometer.catalog.functions.arguments import (
    AMOUNT,
    AMOUNT_OR_VECTOR,
    ANYTHING,
    METHOD,
    NUMBER,
    RANKED,
    RANKED_OR_VECTOR,
    TEXT,
    TRUTH,
)
from nilometer.catalog.functions.signature import Argument, FunctionKind, FunctionSignature, Rule
from nilometer.catalog.functions.type_rules import always, first, listed, mean
from nilometer.types import FLOAT, INT


def _aggregate(
    name: str, argument: Argument, rule: Rule, description: str, example: str, *aliases: str
) -> FunctionSignature:
    return FunctionSignature(name, FunctionKind.AGGREGATE, (argument,), rule, description, example, aliases)


def _aggregate_of_two(
    name: str, arguments: tuple[Argument, Argument], rule: Rule, description: str, example: str, *aliases: str
) -> FunctionSignature:
    return FunctionSignature(name, FunctionKind.AGGREGATE, arguments, rule, description, example, aliases)


def _of_pairs(name: str, description: str) -> FunctionSignature:
    return _aggregate_of_two(
        name, (NUMBER, NUMBER), always(FLOAT), description, f"{name.upper()}(depth, rain)"
    )


def _over_time(name: str, description: str) -> FunctionSignature:
    return FunctionSignature(
        name,
        FunctionKind.AGGREGATE,
        (NUMBER,),
        always(FLOAT),
        description,
        f"{name.upper()}(power)",
        optional=(METHOD,),
    )


AGGREGATES: Final[tuple[FunctionSignature, ...]] = (
    FunctionSignature(
        "count",
        FunctionKind.AGGREGATE,
        (),
        always(INT),
        "the number of rows, or of values that are not NULL",
        "COUNT(*)",
        optional=(ANYTHING,),
    ),
    _aggregate(
        "count_if",
        TRUTH,
        always(INT),
        "the number of rows for which the condition is true",
        "COUNT_IF(rain > 5)",
    ),
    _aggregate("sum", AMOUNT_OR_VECTOR, first, "the sum; NULL of nothing", "SUM(rain)"),
    _aggregate("avg", AMOUNT_OR_VECTOR, mean, "the mean; NULL of nothing", "AVG(depth)", "average", "mean"),
    _aggregate(
        "min",
        RANKED_OR_VECTOR,
        first,
        "the least value; NULL of nothing",
        "MIN(depth)",
        "minimum",
        "any_value",
    ),
    _aggregate(
        "max", RANKED_OR_VECTOR, first, "the greatest value; NULL of nothing", "MAX(depth)", "maximum"
    ),
    _aggregate(
        "stdev",
        NUMBER,
        always(FLOAT),
        "the sample standard deviation; NULL of fewer than two",
        "STDEV(depth)",
        "stddev",
        "stddev_samp",
    ),
    _aggregate(
        "variance",
        NUMBER,
        always(FLOAT),
        "the sample variance; NULL of fewer than two",
        "VARIANCE(depth)",
        "var",
        "var_samp",
    ),
    _aggregate(
        "stddev_pop", NUMBER, always(FLOAT), "the standard deviation of the whole group", "STDDEV_POP(depth)"
    ),
    _aggregate("var_pop", NUMBER, always(FLOAT), "the variance of the whole group", "VAR_POP(depth)"),
    _aggregate("median", AMOUNT, mean, "the mean of the middle two values", "MEDIAN(depth)"),
    _aggregate(
        "bool_and", TRUTH, first, "whether all conditions hold", "BOOL_AND(rain > 5)", "every", "logical_and"
    ),
    _aggregate(
        "bool_or", TRUTH, first, "whether one of the conditions holds", "BOOL_OR(rain > 5)", "logical_or"
    ),
    _aggregate("first", RANKED, first, "the first value that is not NULL, by (time, id)", "FIRST(depth)"),
    _aggregate("last", RANKED, first, "the last value that is not NULL, by (time, id)", "LAST(depth)"),
    _aggregate_of_two(
        "arg_max",
        (RANKED, RANKED),
        first,
        "the first argument where the second is greatest; of several, the first by (time, id)",
        "ARG_MAX(time, depth)",
        "max_by",
    ),
    _aggregate_of_two(
        "arg_min",
        (RANKED, RANKED),
        first,
        "the first argument where the second is least; of several, the first by (time, id)",
        "ARG_MIN(time, depth)",
        "min_by",
    ),
    _aggregate("mode", RANKED, first, "the most frequent value; of several, the least", "MODE(rain)"),
    _aggregate_of_two(
        "percentile_cont",
        (NUMBER, NUMBER),
        always(FLOAT),
        "the value below which a share of the values lies, interpolated",
        "PERCENTILE_CONT(depth, 0.9)",
        "quantile_cont",
    ),
    _aggregate_of_two(
        "percentile_disc",
        (RANKED, NUMBER),
        first,
        "the least value with at least that share of the values at or below it",
        "PERCENTILE_DISC(depth, 0.9)",
        "quantile_disc",
    ),
    _aggregate_of_two(
        "approx_percentile",
        (NUMBER, NUMBER),
        always(FLOAT),
        "PERCENTILE_DISC from a DDSketch; off by at most 1 % of the value",
        "APPROX_PERCENTILE(depth, 0.99)",
        "approx_quantile",
    ),
    _aggregate(
        "approx_count_distinct",
        RANKED,
        always(INT),
        "the number of different values from a HyperLogLog; its standard error is 0.8 %",
        "APPROX_COUNT_DISTINCT(id)",
        "approx_distinct",
    ),
    _of_pairs("corr", "Pearson's correlation of two numbers; NULL if one of them does not vary"),
    _of_pairs("covar_pop", "the covariance of the whole group"),
    _of_pairs("covar_samp", "the sample covariance; NULL of fewer than two"),
    _of_pairs("regr_slope", "the slope of the least-squares line of the first over the second"),
    _of_pairs("regr_intercept", "the value of that line at 0"),
    _of_pairs("regr_r2", "the share of the first one's variance that the line explains"),
    _over_time("twa", "the time-weighted average of each source's readings"),
    _over_time("integral", "value times seconds, of each source's readings, summed over the sources"),
    _aggregate(
        "array_agg", RANKED, listed, "the values as a list, by (time, id)", "ARRAY_AGG(depth)", "collect_list"
    ),
    _aggregate_of_two(
        "string_agg",
        (TEXT, TEXT),
        first,
        "the texts one after another, by (time, id), with a separator between them",
        "STRING_AGG(kind, ', ')",
        "listagg",
        "group_concat",
    ),
)
