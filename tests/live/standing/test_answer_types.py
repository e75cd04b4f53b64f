"""What a result log says of its columns is what the query declared."""

from __future__ import annotations

import json

import pytest

from nilometer.dataflow.ledger import QueryLedger
from nilometer.log.results import Commit, schema_of, types_of
from nilometer.operators.frames import dtypes
from nilometer.types import (
    BOOLEAN,
    DURATION,
    FLOAT,
    INT,
    POINT,
    STRING,
    TIME,
    Column,
    Schema,
    Type,
    list_of,
    struct_of,
)

TYPES = [
    INT,
    FLOAT,
    STRING,
    BOOLEAN,
    POINT,
    TIME,
    DURATION,
    list_of(POINT),
    list_of(list_of(TIME)),
    struct_of(Column("a", list_of(INT))),
    struct_of(Column("a", list_of(struct_of(Column("x", DURATION), Column("y", INT)))), Column("b", TIME)),
]


@pytest.mark.parametrize("type_", TYPES, ids=str)
def test_the_type_that_a_column_of_a_log_holds(type_: Type) -> None:
    schema = Schema((Column("c", type_), Column("d", INT)))
    note = json.loads(json.dumps(Commit("v", 1, {}, QueryLedger(), types=types_of(schema)).note()))
    assert schema_of(dtypes(schema), Commit.of(note).types) == schema


def test_commits_that_do_not_say_it_yet() -> None:
    note = Commit("v", 1, {}, QueryLedger()).note()
    del note["types"]
    schema = Schema((Column("tick", TIME), Column("id", INT), Column("time", STRING)))
    assert schema_of(dtypes(schema), Commit.of(note).types) == schema
