"""The laws of the language: text and tree say the same, places are right, and nothing but syntax errors comes out."""

from __future__ import annotations

import inspect
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from language import strategies
from language.papers import PAPER_QUERIES
from nilometer.errors import QuerySyntaxError
from nilometer.language import ast, parse, parse_expression, parse_script, print_expression, print_statement
from nilometer.language.lexer import tokenize
from nilometer.language.vocabulary import NOT_AN_ALIAS, UNIT_SPELLINGS
from nilometer.language.walk import children, walk

# Damage is made quickly, so that even the short run can afford more of it.
MORE = settings(max_examples=max(300, settings().max_examples))


@given(strategies.statements(2))
def test_print_then_parse_gives_the_tree_back(tree: ast.Statement | ast.QueryNode) -> None:
    text = print_statement(tree)
    again = parse(text)
    assert again == tree
    assert print_statement(again) == text


@given(strategies.expressions())
def test_expressions_too(tree: ast.Expression) -> None:
    text = print_expression(tree)
    again = parse_expression(text)
    assert again == tree
    assert print_expression(again) == text


@given(st.lists(strategies.statements(1), max_size=4))
def test_a_script_is_its_statements(trees: list[ast.Statement | ast.QueryNode]) -> None:
    text = ";\n".join(map(print_statement, trees))
    assert parse_script(text) == tuple(trees)


def test_the_strategies_know_every_node() -> None:
    """A new node in ast.py must come into strategies.py as well."""
    concrete = {
        name
        for name, kind in inspect.getmembers(ast, inspect.isclass)
        if issubclass(kind, ast.Node) and not kind.__subclasses__()
    }
    source = inspect.getsource(strategies)
    assert {name for name in concrete if f"ast.{name}" not in source} == set()


@given(strategies.statements(2))
def test_every_span_is_the_text_of_its_node(tree: ast.Statement | ast.QueryNode) -> None:
    text = print_statement(tree)
    for node in walk(parse(text)):
        _check_span(node, text)


@pytest.mark.parametrize("name", PAPER_QUERIES)
def test_every_span_in_the_papers(name: str) -> None:
    text = PAPER_QUERIES[name]
    for node in walk(parse(text)):
        _check_span(node, text)


def _check_span(node: ast.Node, text: str) -> None:
    assert 0 <= node.span.start < node.span.end <= len(text)
    for child in children(node):
        assert node.span.start <= child.span.start
        assert child.span.end <= node.span.end
    written = text[node.span.start : node.span.end]
    if isinstance(node, ast.QueryNode | ast.Statement):
        found = parse(written)
        # The declaration in a REPLACE has the same text.
        assert node in (found, found.created if isinstance(found, ast.Replace) else None)
    elif isinstance(node, ast.Expression) and not isinstance(node, ast.Star | ast.GroupingSets):
        assert parse_expression(written) == node


# ---- fuzzing ---------------------------------------------------------------------------------------------------------

_WORDS = sorted(NOT_AN_ALIAS | UNIT_SPELLINGS.keys())
_SOUP = [
    *_WORDS,
    *"CREATE STREAM TABLE SENSOR NETWORK QUERY COPY SENSORS DROP SHOW EXPLAIN VERBOSE SENSED PUSHED EVERY OF".split(),
    *"DELAY KEY EXPECT FUTURE STORED REFRESH SINK STARTING BEGINNING TIME POINT SIMILAR SILENT TO INT UNIT IF".split(),
    *"a b river r.depth 'text' \"odd name\" 5 2.5 1e9 .5 99999999999999999999 1e999 '' \"\" ' \" -- /* */".split(),
    *"( ) [ ] { } , . ; = == != <> < <= > >= + - * / % ^ ∈ ∉ ≤ ! && || & | ? : $ @ # \n ½ ² é".split(" "),
]


def _error(entry: Callable[[str], object], text: str) -> QuerySyntaxError | None:
    try:
        entry(text)
    except QuerySyntaxError as error:
        return error
    return None


def _only_syntax_errors(text: str) -> None:
    for entry in (parse, parse_script, parse_expression):
        error = _error(entry, text)
        if error is not None:
            assert str(error)
            assert error.span is None or 0 <= error.span.start <= error.span.end <= len(text)


@MORE
@given(st.lists(st.sampled_from(_SOUP), max_size=25), st.sampled_from([" ", "", "\n"]))
def test_token_soup_gives_syntax_errors_only(words: list[str], glue: str) -> None:
    _only_syntax_errors(glue.join(words))


@MORE
@given(st.text(max_size=40))
def test_any_text_gives_syntax_errors_only(text: str) -> None:
    _only_syntax_errors(text)


@MORE
@given(st.data())
def test_damaged_queries_give_syntax_errors_only(data: st.DataObject) -> None:
    text = data.draw(st.sampled_from(sorted(PAPER_QUERIES.values())))
    tokens = [text[token.start : token.end] for token in tokenize(text)]
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(0, len(tokens) - 1))
        match data.draw(st.sampled_from(["drop", "double", "replace", "cut"])):
            case "drop":
                tokens[place] = ""
            case "double":
                tokens.insert(place, tokens[place])
            case "replace":
                tokens[place] = data.draw(st.sampled_from(_SOUP))
            case "cut":
                del tokens[place + 1 :]
    _only_syntax_errors(" ".join(tokens))


@given(strategies.statements(1))
def test_tokens_lie_in_order_inside_the_text(tree: ast.Statement | ast.QueryNode) -> None:
    text = print_statement(tree)
    end = 0
    for token in tokenize(text):
        assert end <= token.start <= token.end <= len(text)
        end = token.end


# ---- depth -----------------------------------------------------------------------------------------------------------

_DEEP = {
    "parentheses": "(" * 2_000 + "1" + ")" * 2_000,
    "open parentheses": "(" * 2_000,
    "minus": "- " * 2_000 + "1",
    "plus": "+ " * 2_000 + "1",
    "not": "NOT " * 2_000 + "a",
    "powers": "2 ^ " * 2_000 + "2",
    "calls": "f(" * 2_000 + "1" + ")" * 2_000,
    "lists": "1 IN (" * 2_000 + "1" + ")" * 2_000,
    "cases": "CASE WHEN " * 2_000,
    "all levels": "1 OR 1 AND 1 = 1 + 1 * 1 ^ - (" * 500,
    "value queries": "(SELECT " * 2_000,
    "predicate queries": "EXISTS (SELECT 1 FROM a WHERE b IN (SELECT 1 FROM a WHERE " * 500,
}


@pytest.mark.parametrize("name", _DEEP)
def test_deep_expressions_give_a_clear_error(name: str) -> None:
    with pytest.raises(QuerySyntaxError, match="nested too deeply") as caught:
        parse_expression(_DEEP[name])
    assert caught.value.line == 1


@pytest.mark.parametrize("opening", ["(", "SIMILAR(", "SILENT(", "(SELECT a FROM ", "a ASOF JOIN ("])
def test_deep_sources_give_a_clear_error(opening: str) -> None:
    with pytest.raises(QuerySyntaxError, match="nested too deeply"):
        parse("SELECT a FROM " + opening * 2_000)


def test_deep_queries_give_a_clear_error() -> None:
    with pytest.raises(QuerySyntaxError, match="nested too deeply"):
        parse("(" * 2_000 + "SELECT a FROM b" + ")" * 2_000)


@pytest.mark.parametrize("operator", ["OR", "AND", "+", "*", "<"])
def test_long_chains_give_a_clear_error(operator: str) -> None:
    with pytest.raises(QuerySyntaxError, match="too long"):
        parse_expression(f" {operator} ".join("a" * 2_000))


def test_long_unions_give_a_clear_error() -> None:
    with pytest.raises(QuerySyntaxError, match="too long"):
        parse(" UNION ".join(["SELECT a FROM b"] * 2_000))


def test_what_is_not_too_deep_can_be_printed_and_compared() -> None:
    nested = "(" * 90 + "a" + ")" * 90
    assert parse_expression(nested) == parse_expression("a")
    chain = parse_expression(" OR ".join(["a = 1"] * 190))
    assert parse_expression(print_expression(chain)) == chain
    tower = parse_expression("-(" * 45 + "a" + ")" * 45)
    assert parse_expression(print_expression(tower)) == tower


def test_a_long_list_is_no_deep_tree() -> None:
    tree = parse_expression("id IN (" + ", ".join(map(str, range(5_000))) + ")")
    assert isinstance(tree, ast.In)
    assert len(tree.items) == 5_000
