"""Turns a place where parsing stopped into an error that a newcomer can act on.

The message says what could stand there and what was found. If the mistake is a common one, the hint names it.
Each common mistake (slip) has one function, `Place -> hint or None`. The first one that answers wins, so
`SLIPS` is ordered from sure to vague.

>>> from nilometer.language import parse
>>> parse("SELECT depth FORM river")
Traceback (most recent call last):
nilometer.errors.QuerySyntaxError: expected ',' or FROM, found 'FORM'
  line 1, column 14
    SELECT depth FORM river
                 ^^^^
  hint: did you mean FROM?
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from nilometer.algebra.table_functions import TABLE_FUNCTIONS
from nilometer.errors import QuerySyntaxError
from nilometer.language.cursor import END, FLOAT, INT, QUOTED, STRING, WORD, Cursor
from nilometer.language.lexer import Token
from nilometer.language.parse_expressions import COMPARISONS, OPERAND_LABELS, OPERATOR_LABEL
from nilometer.language.parse_windows import UNIT_LABEL, WINDOW_LABEL
from nilometer.language.vocabulary import NOT_AN_ALIAS, RESERVED, TYPE_SPELLINGS, UNIT_SPELLINGS


@dataclass(frozen=True, slots=True)
class Place:
    """The place where parsing stopped, with the tokens that were tried there and one token before."""

    text: str
    tokens: Sequence[Token]
    index: int
    labels: tuple[str, ...]
    labels_before: tuple[str, ...]

    @property
    def found(self) -> Token:
        """The token that does not fit."""
        return self.tokens[self.index]

    @property
    def before(self) -> Token:
        """The token before it; at the very beginning the END token, which is not a word either."""
        return self.tokens[self.index - 1]

    @property
    def behind(self) -> Token:
        """The token behind it."""
        return self.tokens[min(self.index + 1, len(self.tokens) - 1)]


def syntax_error(cursor: Cursor, hint: str | None) -> QuerySyntaxError:
    """The error for the cursor's place; a hint from the parser itself takes precedence."""
    labels = tuple(dict.fromkeys(cursor.expected))
    place = Place(cursor.text, cursor.tokens, cursor.index, labels, tuple(cursor.wanted_before))
    culprit = place.found
    if hint is None:
        hint = next((hint for slip in SLIPS if (hint := slip(place)) is not None), None)
    if hint is None and (keyword := _misspelt_before(place)) is not None:
        # `FORM` was read as an alias: the mistake is there, not where the parser noticed it.
        culprit = place.before
        hint = f"did you mean {keyword}?"
        labels = labels if keyword in _keywords(labels) else place.labels_before
    hint = hint or _unclosed(place) or _missing_operator(place)
    message = f"expected {_alternatives(labels)}, found {_describe(culprit)}"
    return QuerySyntaxError(message, hint=hint).at(place.text, culprit.span)


_CLAUSES = (
    "WINDOW",
    "WHERE",
    "GROUP BY",
    "HAVING",
    "QUALIFY",
    "SAMPLE EVERY",
    "DELIVER WITHIN",
    "UNION",
    "ORDER BY",
    "LIMIT",
)
_END_LABEL = "the end of the text"


def _alternatives(labels: Sequence[str]) -> str:
    """`a, b or c`; where most clauses are possible, one label stands for all of them."""
    shown = [label for label in labels if label != "';'" or _END_LABEL not in labels]
    clauses = [label for label in shown if label in _CLAUSES]
    if len(clauses) > 2:
        first = "WHERE" if "WHERE" in clauses else clauses[0]
        position = shown.index(clauses[0])
        shown = [label for label in shown if label not in _CLAUSES]
        shown[position:position] = [first, "another clause"]
    return shown[0] if len(shown) == 1 else ", ".join(shown[:-1]) + " or " + shown[-1]


def _describe(token: Token) -> str:
    if token.kind is END:
        return "the end of the text"
    if token.kind is STRING:
        return f"the string '{token.text}'"
    if token.kind is QUOTED:
        return f'the name "{token.text}"'
    return f"'{token.text}'"


# ---- misspelt words --------------------------------------------------------------------------------------------------


def _keywords(labels: Sequence[str]) -> list[str]:
    """The keywords among the labels."""
    words: list[str] = []
    for label in labels:
        if label.isupper() and label[0].isalpha():
            words.append(label)
        elif label == OPERATOR_LABEL:
            words.extend(("AND", "OR", "NOT", "BETWEEN", "LIKE"))
        elif label == UNIT_LABEL:
            words.extend(UNIT_SPELLINGS)
        elif label == "a type":
            words.extend(TYPE_SPELLINGS)
    return words


def _closest(word: str, keywords: Sequence[str]) -> str | None:
    """The keyword that was probably meant; `GROUP BY` is also found by its first word."""
    whole = {name: keyword for keyword in keywords for name in (keyword.split()[0], keyword)}
    # A slip drops, adds or swaps a letter. Very short words resemble too many others.
    near = [name for name in whole if len(name) >= 3 and abs(len(name) - len(word)) <= 1]
    swapped = [name for name in near if sorted(name) == sorted(word)]
    found = swapped or get_close_matches(word, near, n=1, cutoff=0.7)
    return whole[found[0]] if found else None


def _misspelt(place: Place) -> str | None:
    if place.found.kind is not WORD or place.found.key in RESERVED:
        return None
    keyword = _closest(place.found.key, _keywords(place.labels))
    return f"did you mean {keyword}?" if keyword is not None else None


def _misspelt_before(place: Place) -> str | None:
    """The keyword that was meant by the token before, if that token was read as a name."""
    token = place.before
    if token.kind is not WORD or token.key in RESERVED or place.found.kind is END:
        return None
    return _closest(token.key, _keywords(place.labels)) or _closest(token.key, _keywords(place.labels_before))


def _unit(place: Place) -> str | None:
    if place.before.kind not in (INT, FLOAT) or place.found.kind is not WORD or place.found.key in RESERVED:
        return None
    word = place.found.key
    if word in ("WEEK", "WEEKS"):
        return "the longest unit is DAYS: write 7 DAYS for a week"
    if word in ("MONTH", "MONTHS", "YEAR", "YEARS"):
        return "months and years differ in length: write a number of DAYS"
    if word == "M":
        return "did you mean MINUTES?"
    unit = _closest(word, list(UNIT_SPELLINGS))
    return f"did you mean {unit}?" if unit is not None else None


# ---- what other languages have ---------------------------------------------------------------------------------------

_SYMBOLS = {
    "==": "equality is a single '='",
    "&&": "write AND",
    "!": "write NOT, or != for 'not equal'",
}

_JOIN = (
    "write a JOIN b ON a.id = b.id or a LEFT JOIN b USING (id), also with RIGHT, FULL or CROSS before JOIN; or "
    "a ASOF JOIN b ON a.id = b.id for the latest earlier reading"
)

_FOREIGN_CLAUSES = {
    **dict.fromkeys(("JOIN", "LEFT", "RIGHT", "INNER", "OUTER", "FULL", "CROSS", "NATURAL"), _JOIN),
    "MINUS": "write EXCEPT",
    "USING": "USING (id) stands behind the two sides of a JOIN: a JOIN b USING (id)",
    "OVER": "OVER follows a function: SUM(depth) OVER (PARTITION BY id ORDER BY time)",
}

_FOREIGN_STATEMENTS = {
    **dict.fromkeys(
        ("INSERT", "UPDATE", "DELETE", "MERGE"),
        "readings come from sensors and are never changed: see CREATE STREAM",
    ),
    "ALTER": "there is no ALTER: drop it and create it anew",
    **dict.fromkeys(("DESCRIBE", "DESC"), "write SHOW STREAMS, or \\d name in the shell of nilometer sql"),
    "FROM": "begin with SELECT *: SELECT * FROM river",
    "SUMMARIZE": "write SELECT COUNT(*), MIN(x), AVG(x), MAX(x) FROM s; nilometer inspect FILE looks at a file",
    "WATERMARK": "a stream says how late readings may be: CREATE STREAM s (...) PUSHED DELAY 5 SECONDS",
    "MATERIALIZED": "write CREATE QUERY name AS SELECT ...: it keeps running",
    "OR": "write CREATE OR REPLACE before QUERY, VIEW, STREAM, TABLE or PHENOMENON",
}


def _foreign_symbol(place: Place) -> str | None:
    if place.before.key == "=" and place.found.key in ("<", ">"):
        return f"write {place.found.key}="
    return _SYMBOLS.get(place.found.key)


def _foreign_clause(place: Place) -> str | None:
    if place.before.key == "TOP" and place.found.kind is INT:
        return f"there is no TOP: write LIMIT {place.found.text} at the end of the query"
    if place.found.key == "," and place.tokens[place.index - 2].key == "LIMIT":
        return f"write LIMIT rows OFFSET {place.before.text}"
    if "SYSTEM_TIME" in (place.found.key, place.behind.key):
        return "a stored table joins as it is at the tick: leave FOR SYSTEM_TIME out"
    if place.found.key == "PIVOT":
        return "write SUM(x) FILTER (WHERE name = 'a') AS a for each column"
    if place.before.key == "WINDOW" and place.found.key in ("TUMBLING", "HOPPING", "SESSION"):
        return "write FROM TUMBLE(s, 5 MINUTES), HOP(s, 1 MINUTE, 5 MINUTES) or SESSION(s, 5 MINUTES)"
    if place.before.key == "TABLESAMPLE":
        return "write SAMPLE EVERY 1 HOUR behind FROM, or choose sensors: WHERE id % 10 = 0"
    if place.before.key == "*" and place.found.key in ("EXCLUDE", "EXCEPT"):
        return "the columns stand in parentheses: * EXCLUDE (depth, rain)"
    if place.before.key == "*" and place.found.key == "REPLACE":
        return "leave the column out and add the new value: * EXCLUDE (depth), depth / 100 AS depth"
    if place.found.key == "MATCH_RECOGNIZE" or place.before.key == "MATCH_RECOGNIZE":
        return "there is no MATCH_RECOGNIZE: compare with LAG(x) OVER (PARTITION BY id ORDER BY time), or see SILENT"
    if place.before.key in ("CURRENT_TIMESTAMP", "CURRENT_DATE", "LOCALTIMESTAMP"):
        return "an answer depends on the data alone, so there is no clock; over a window, now is its tick"
    if place.found.key in ("UNION", "EXCEPT", "INTERSECT") and "LIMIT" in place.labels:
        return f"ORDER BY and LIMIT stand behind the last query; put the query before {place.found.key} in parentheses"
    if "UNION" in place.labels or "FROM" in place.labels:
        return _FOREIGN_CLAUSES.get(place.found.key)
    return None


def _zone(place: Place) -> str | None:
    if place.found.key == "AT" and OPERATOR_LABEL in place.labels:
        return "the time in a zone is written: time AT TIME ZONE 'Europe/Zurich'"
    return None


def _foreign_statement(place: Place) -> str | None:
    if "CREATE" in place.labels or place.before.key == "CREATE":
        return _FOREIGN_STATEMENTS.get(place.found.key)
    return None


def _quoted_duration(place: Place) -> str | None:
    wanted = {"a number", "a length of time"} & set(place.labels)
    if place.found.kind is STRING and wanted:
        return "a length of time stands without quotes: 10 MINUTES"
    return None


# ---- clauses and brackets --------------------------------------------------------------------------------------------


def _window_without_brackets(place: Place) -> str | None:
    if WINDOW_LABEL not in place.labels:
        return None
    word = place.behind.key if place.found.key == "(" else place.found.key
    if word in ("NOW", "RANGE", "AT", "UNBOUNDED", "SLIDE"):
        return "a window stands in brackets: river [NOW], river [RANGE 10 MINUTES]"
    return None


_FILE = "a file is named by --data, and its stream after it: --data air.csv 'SELECT * FROM air'"


def _file_in_from(place: Place) -> str | None:
    return _FILE if place.found.kind is STRING and "a stream" in place.labels else None


def _function_in_from(place: Place) -> str | None:
    """A source before a parenthesis: the name of a table function that does not exist."""
    if WINDOW_LABEL not in place.labels or place.found.key != "(" or place.before.kind is not WORD:
        return None
    if place.before.key in ("READ_CSV", "READ_CSV_AUTO", "READ_PARQUET", "READ_JSON", "READ_JSON_AUTO"):
        return _FILE
    if place.before.key == "LATERAL":
        return "there is no LATERAL query: group it, and join it: JOIN (SELECT id, MAX(x) AS m ... GROUP BY id) q USING (id)"
    known = [*TABLE_FUNCTIONS, "TUMBLE", "HOP", "CUMULATE", "UNNEST"]
    close = get_close_matches(place.before.key, known, n=1, cutoff=0.66)
    if close:
        return f"did you mean {close[0]}?"
    return f"functions in FROM are {', '.join(known[:-1])} and {known[-1]}"


def _second_window(place: Place) -> str | None:
    if place.found.key == "[" and WINDOW_LABEL not in place.labels:
        return "a window stands behind a name or query in FROM, one to each"
    return None


def _window_clause(place: Place) -> str | None:
    if place.before.key == "WINDOW" and place.tokens[place.index - 2].key == ",":
        return "take out the comma before WINDOW"
    if place.before.key == "WINDOW":
        return "write WINDOW = 5 MINUTES, or WINDOW(a, b) = 5 MINUTES"
    return None


def _order_of_clauses(place: Place) -> str | None:
    clauses = ("WINDOW", "WHERE", "GROUP", "HAVING")
    if place.found.key not in clauses or {"UNION", "LIMIT"}.isdisjoint(place.labels):
        return None
    if any(token.key == place.found.key for token in place.tokens[: place.index]):
        return (
            f"{place.found.key} stands twice; join conditions with AND"
            if place.found.key == "WHERE"
            else None
        )
    return "the order is FROM, WINDOW, WHERE, GROUP BY, HAVING, QUALIFY, SAMPLE EVERY, DELIVER WITHIN, ORDER BY, LIMIT"


def _missing_from(place: Place) -> str | None:
    if place.found.kind is END and (unclosed := _unclosed(place)) is not None:
        return unclosed
    if place.before.key == "SELECT" and place.found.key == "FROM":
        return "name the columns, or write * for all of them"
    if "FROM" in place.labels and (
        place.found.kind is END or place.found.key in ("WHERE", "GROUP", "HAVING", ";", ")")
    ):
        return "say where the rows come from: SELECT depth FROM river"
    return None


def _surplus_comma(place: Place) -> str | None:
    if place.before.key == "," and (
        place.found.key in RESERVED or place.found.key in (")", ";") or place.found.kind is END
    ):
        return "take out the comma before it"
    return None


def _missing_comma(place: Place) -> str | None:
    names = (WORD, QUOTED)
    if "','" not in place.labels or place.found.kind not in names or place.found.key in NOT_AN_ALIAS:
        return None
    if place.before.kind in names and _misspelt_before(place) is None:
        return f"is a comma missing before '{place.found.text}'?"
    return None


def _missing_operator(place: Place) -> str | None:
    """Two operands side by side. It is a guess, so it comes last."""
    starts_operand = place.found.kind in (QUOTED, STRING, INT, FLOAT) or (
        place.found.kind is WORD and place.found.key not in NOT_AN_ALIAS
    )
    if OPERATOR_LABEL in place.labels and starts_operand:
        return "is an operator missing before it, such as AND?"
    return None


def _unfinished(place: Place) -> str | None:
    if "END" in place.labels:
        return "CASE WHEN ... THEN ... ends with END"
    if "ON" in place.labels:
        return "say which rows belong together: a ASOF JOIN b ON a.id = b.id"
    return None


def _arrival(place: Place) -> str | None:
    if "SENSED EVERY" in place.labels:
        return "say how readings arrive: SENSED EVERY 15 MINUTES, or PUSHED FROM 'mqtt://...'"
    return None


def _type(place: Place) -> str | None:
    if "a type" in place.labels:
        return "types are INT, FLOAT, STRING, BOOLEAN, TIME and POINT"
    return None


def _quotes(place: Place) -> str | None:
    if any("single quotes" in label for label in place.labels) and place.found.kind in (QUOTED, WORD):
        return f"a string stands in single quotes: '{place.found.text}'"
    return None


def _null_test(place: Place) -> str | None:
    if place.before.key == "IS":
        return "IS tests for NULL, TRUE and FALSE; compare values with '=', or IS DISTINCT FROM"
    return None


def _reserved_name(place: Place) -> str | None:
    """A keyword used as a name, if the tokens after it show that a name was meant."""
    if place.found.kind is not WORD or place.found.key not in RESERVED:
        return None
    if not any(label.startswith(("a ", "an ", "the ")) for label in place.labels):
        return None
    if place.found.key == "NOT" and OPERAND_LABELS[0] in place.labels:
        return "put NOT and what it denies in parentheses"
    follows = place.behind
    if follows.kind is END or follows.key in (",", ")", ".", ";", "FROM", "AS", *COMPARISONS):
        return f'{place.found.key} is a word of the language; as a name it stands in double quotes: "{place.found.text}"'
    return None


_CLOSING = {"(": ")", "[": "]", "{": "}"}


def _surplus_bracket(place: Place) -> str | None:
    found = place.found.key
    if found not in _CLOSING.values() or _open_bracket(place) is not None:
        return None
    opening = next(key for key, closing in _CLOSING.items() if closing == found)
    return f"there is no '{opening}' for this '{found}'"


def _unclosed(place: Place) -> str | None:
    """The innermost open bracket, if it could be closed here. It is a guess, so it comes last."""
    bracket = _open_bracket(place)
    if bracket is None or f"'{_CLOSING[bracket.key]}'" not in place.labels or _closed_later(place, bracket):
        return None
    line = place.text.count("\n", 0, bracket.start) + 1
    column = bracket.start - place.text.rfind("\n", 0, bracket.start)
    return f"the '{bracket.key}' at line {line}, column {column} is not closed"


def _open_bracket(place: Place) -> Token | None:
    stack: list[Token] = []
    for token in place.tokens[: place.index]:
        if token.key in _CLOSING:
            stack.append(token)
        elif stack and token.key == _CLOSING[stack[-1].key]:
            stack.pop()
    return stack[-1] if stack else None


def _closed_later(place: Place, bracket: Token) -> bool:
    """Whether the bracket is closed behind the place: then it is not the mistake."""
    stack = [bracket]
    for token in place.tokens[place.index :]:
        if token.key in _CLOSING:
            stack.append(token)
        elif token.key == _CLOSING[stack[-1].key]:
            stack.pop()
            if not stack:
                return True
    return False


SLIPS: tuple[Callable[[Place], str | None], ...] = (
    _foreign_symbol,
    _foreign_clause,
    _zone,
    _foreign_statement,
    _quoted_duration,
    _window_without_brackets,
    _file_in_from,
    _function_in_from,
    _second_window,
    _window_clause,
    _unit,
    _misspelt,
    _surplus_bracket,
    _missing_from,
    _surplus_comma,
    _order_of_clauses,
    _null_test,
    _quotes,
    _reserved_name,
    _arrival,
    _type,
    _unfinished,
    _missing_comma,
)
