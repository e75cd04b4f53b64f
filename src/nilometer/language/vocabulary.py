"""The words of the language: the reserved ones, and the spellings of units and types.

>>> UNIT_SPELLINGS["MINS"], is_reserved("Select"), is_reserved("depth")
('MINUTES', True, False)
"""

from __future__ import annotations

# Words that can never be a bare name. The list is short on purpose: sensors have columns called `time`, `key`, `range`.
RESERVED = frozenset(
    """SELECT FROM WHERE GROUP BY HAVING UNION AS AND OR NOT IN BETWEEN IS NULL LIKE CASE WHEN THEN ELSE END TRUE FALSE
    DISTINCT EXISTS JOIN ON NOW RSTREAM ISTREAM DSTREAM""".split()
)

# Words that may be names, but not an alias without AS: they continue the query, or are mistakes that deserve
# a hint.
NOT_AN_ALIAS = RESERVED | frozenset(
    """WINDOW SAMPLE DELIVER ASOF WITHIN PAIRS FLATTEN COUNTS FOR RANGE AT UNBOUNDED SLIDE ORDER LIMIT OFFSET FETCH LEFT RIGHT
    INNER OUTER FULL CROSS NATURAL USING EXCEPT INTERSECT OVER EVERY FILL PARTITION QUALIFY
    GUIDED SEMI ANTI""".split()
)

SHED_WORDS = ("RANDOM", "SAMPLE", "PROB", "LIFE", "AGE")
STREAM_WORDS = ("RSTREAM", "ISTREAM", "DSTREAM")

_UNIT_SPELLINGS = {
    "MICROSECONDS": "MICROSECOND USEC USECS US",
    "MILLISECONDS": "MILLISECOND MILLISECS MILLISEC MSEC MSECS MS",
    "SECONDS": "SECOND SEC SECS S",
    "MINUTES": "MINUTE MIN MINS",
    "HOURS": "HOUR HR HRS H",
    "DAYS": "DAY D",
    "ROWS": "ROW TUPLE TUPLES",
}

# Every spelling of a unit, upper-case, with its canonical name.
UNIT_SPELLINGS: dict[str, str] = {
    spelling: unit for unit, others in _UNIT_SPELLINGS.items() for spelling in (unit, *others.split())
}

# Units of the calendar, which only windows take: their lengths depend on the date.
CALENDAR_SPELLINGS: dict[str, str] = {
    spelling: unit for unit in ("WEEKS", "MONTHS", "QUARTERS", "YEARS") for spelling in (unit, unit[:-1])
}

TIME_UNITS = tuple(unit for unit in _UNIT_SPELLINGS if unit != "ROWS")

DISTANCE_UNITS: dict[str, str] = {
    "M": "m",
    "KM": "km",
    "CM": "cm",
    "MM": "mm",
    "FT": "[ft_i]",
    "MI": "[mi_i]",
}
"""Units of length behind a distance, as UCUM writes them."""

_TYPE_SPELLINGS = {
    "INT": "INTEGER BIGINT SMALLINT",
    "FLOAT": "REAL DOUBLE",
    "STRING": "TEXT VARCHAR",
    "BOOLEAN": "BOOL",
    "TIME": "TIMESTAMP",
    "POINT": "",
}

# Every spelling of a column type, upper-case, with its canonical name.
TYPE_SPELLINGS: dict[str, str] = {
    spelling: name for name, others in _TYPE_SPELLINGS.items() for spelling in (name, *others.split())
}

STAGES = (
    *("ast", "logical", "optimized", "physical"),
    *("routing", "fragments", "placed", "agenda"),
    *("spark", "demand", "analyze"),
)
FORMAT_KINDS = ("CSV", "JSON")
FORMAT_WORDS = (
    "HEADER",
    "DELIMITER",
    "QUOTE",
    "DECIMAL",
    "NULL",
    "SKIP",
    "ENCODING",
    "CLOCK",
    "TIME",
    "TIMEZONE",
)
SHOW_KINDS = (
    "QUERIES",
    "STREAMS",
    "TABLES",
    "SENSORS",
    "NETWORKS",
    "VIEWS",
    "ALERTS",
    "DECISIONS",
    "PHENOMENA",
    "MODELS",
    "FUNCTIONS",
)
DROP_KINDS = (
    "QUERY",
    "STREAM",
    "TABLE",
    "NETWORK",
    "SENSOR",
    "VIEW",
    "ALERT",
    "DECISION",
    "PHENOMENON",
    "MODEL",
    "FUNCTION",
)
REPLACE_KINDS = ("QUERY", "VIEW", "STREAM", "TABLE", "ALERT", "DECISION", "PHENOMENON", "MODEL", "FUNCTION")
TEMPLATES = ("slack", "pagerduty", "alertmanager")
"""The forms of an alert's message that other services take."""
STATES = ("KEEP STATE", "BACKFILL", "EMPTY STATE")
"""Where the state of a replaced query comes from."""


def fold(word: str) -> str:
    """The form in which keywords are compared; only ASCII is folded, because 'ſ' is not an S."""
    return word.upper() if word.isascii() else word


def is_reserved(word: str) -> bool:
    """Whether the word needs double quotes to be a name."""
    return fold(word) in RESERVED


def must_be_unit(word: str) -> bool:
    """Whether the word is a unit even where a parameter's name could stand; a single letter may be either:
    RANGE d."""
    return len(word) > 1 and fold(word) in UNIT_SPELLINGS
