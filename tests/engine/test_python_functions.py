"""CREATE FUNCTION: declared, called by every host alike, changed and dropped; who may declare one, and where it fails."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import nilometer
from nilometer.engine import Database
from nilometer.errors import BindError, CatalogError, DataError
from nilometer.language import parse
from nilometer.live.dead_letters import dead_letters
from nilometer.live.query_list import RunState
from nilometer.plan.explain import explain_text
from nilometer.plan.explain.parse import parse_physical_plan
from nilometer.server.confinement import Confinement
from nilometer.server.problems import ForbiddenError
from poison import feed, rows_of, run

CODE = (Path(__file__).parents[1] / "workers" / "plant.py").read_text()
FUNCTIONS = """
CREATE FUNCTION root(x FLOAT) RETURNS FLOAT AS 'plant:picky';
CREATE FUNCTION slow(x FLOAT) RETURNS FLOAT AS 'plant:sleeps';
"""


def plant(folder: Path, schema: str = "", seconds: float = 5) -> Database:
    (folder / "code").mkdir(exist_ok=True)
    (folder / "code" / "plant.py").write_text(CODE)
    (folder / "nilometer.toml").write_text(f'[python]\npath = "code"\nseconds = {seconds}\n')
    (folder / "schema.sql").write_text(
        f"CREATE STREAM s (n INT) PUSHED FROM 'directory://{folder}/in' DELAY 1 SECOND;\n{FUNCTIONS}{schema}"
    )
    return nilometer.connect(folder)


def test_a_row_that_fails_is_set_aside(tmp_path: Path) -> None:
    feed(tmp_path, "a", [(1, 1, 4), (2, 2, -9), (3, 2, 16)])
    database = plant(
        tmp_path,
        "CREATE QUERY roots STARTING AT BEGINNING AS SELECT id, root(n) AS r FROM s;"
        "CREATE QUERY guarded STARTING AT BEGINNING AS SELECT id, CASE WHEN n > 0 THEN root(n) END AS r FROM s;"
        "CREATE QUERY large STARTING AT BEGINNING AS SELECT id FROM s WHERE root(n) > 3;",
    )
    said = run(database, tmp_path)
    assert said["roots"] == "the function plant:picky failed: ValueError: -9 is below zero"
    assert rows_of(database, "roots") == [(1, 2.0), (2, 4.0)]
    assert rows_of(database, "guarded") == [(1, 2.0), (2, None), (2, 4.0)]
    assert rows_of(database, "large") == [(2,)]
    (letter,) = dead_letters(tmp_path, "roots")
    assert (letter["id"], letter["row"]["s.n"]) == (2, -9)
    states = {one.name: (one.state, one.dead) for one in database.queries()}
    assert states == {
        "roots": (RunState.STOPPED, 1),
        "guarded": (RunState.STOPPED, 0),
        "large": (RunState.STOPPED, 1),
    }


def test_code_that_hangs_stops_its_query_alone(tmp_path: Path) -> None:
    feed(tmp_path, "a", [(1, 1, 4), (3, 2, 16)])
    database = plant(
        tmp_path,
        "CREATE QUERY hangs STARTING AT BEGINNING AS SELECT id, slow(n) AS r FROM s;"
        "CREATE QUERY good STARTING AT BEGINNING AS SELECT id, n + 1 AS m FROM s;",
        seconds=0.05,
    )
    run(database, tmp_path)
    assert rows_of(database, "good") == [(1, 5), (2, 17)]
    (hangs,) = (one for one in database.queries() if one.name == "hangs")
    assert hangs.state is RunState.FAILED
    assert "plant:sleeps took more than" in str(hangs.trouble)


QUESTIONS = {
    "SELECT id, root(n) AS r FROM s": [(1, 2.0), (2, 4.0)],
    "SELECT id FROM s WHERE root(n) > 3": [(2,)],
    "SELECT SUM(root(n)) AS r FROM s [RANGE 9 SECONDS SLIDE 9 SECONDS]": [(9_000_000, 6.0)],
    "SELECT id, CASE WHEN n > 0 THEN root(n) END AS r FROM s": [(1, 2.0), (2, None), (2, 4.0)],
}


def rooted(tmp_path: Path) -> Database:
    database = plant(tmp_path)
    database.execute("CREATE STREAM p (n INT) PUSHED")
    database.append("p", [{"time": k, "id": i, "n": n} for k, i, n in ((1, 1, 4), (2, 2, -9), (3, 2, 16))])
    return database


@pytest.mark.parametrize("text", QUESTIONS)
def test_a_question_sets_rows_aside_and_says_so(tmp_path: Path, text: str) -> None:
    query = rooted(tmp_path).sql(text.replace("FROM s", "FROM p"))
    answers = {on: query.run(on=on) for on in ("gateway", "reference")}
    answers["rows"] = query.run("gateway", batch_rows=1)
    for answer in answers.values():
        assert sorted(answer.rows, key=repr) == sorted(QUESTIONS[text], key=repr)
    failed = "1 row is set aside: the function plant:picky failed: ValueError: -9 is below zero (the first: id 2, p.n -9)"
    assert answers["rows"].notes == answers["gateway"].notes == (() if "CASE" in text else (failed,))


def test_other_errors_of_a_question_name_the_function(tmp_path: Path) -> None:
    database = rooted(tmp_path)
    for on in ("gateway", "reference"):
        with pytest.raises(DataError) as caught:
            database.sql("SELECT CAST('x' || CAST(root(n) AS STRING) AS INT) AS r FROM p WHERE n > 0").run(on)
        assert caught.value.detail == "in CAST(concat('x', CAST(plant:picky(float(p.n)) AS STRING)) AS INT)"


def test_declarations(tmp_path: Path) -> None:
    database = plant(tmp_path, "CREATE VIEW roots AS SELECT id, root(n) AS r FROM s;")
    assert database.execute("SHOW FUNCTIONS")[0][0] == {
        "name": "root",
        "arguments": "x FLOAT",
        "returns": "FLOAT",
        "code": "plant:picky",
    }
    with pytest.raises(CatalogError, match="'root' is called by roots"):
        database.execute("DROP FUNCTION root")
    database.execute("REPLACE FUNCTION root(x FLOAT) RETURNS FLOAT AS 'plant:twice'")
    database.execute("CREATE FUNCTION more(x FLOAT, n INT) RETURNS FLOAT AS 'plant:twice'")
    again = nilometer.connect(tmp_path)
    shown = {row["name"]: row["code"] for row in again.execute("SHOW FUNCTIONS")[0]}
    assert shown == {"root": "plant:twice", "slow": "plant:sleeps", "more": "plant:twice"}
    assert "python('plant:twice', 'FLOAT'" in explain_text(again.sql("SELECT * FROM roots").physical)
    again.execute("DROP FUNCTION more")
    assert nilometer.connect(tmp_path).catalog.function("more") is None


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("CREATE FUNCTION abs(x FLOAT) RETURNS FLOAT AS 'm:f'", "there is a function 'abs' already"),
        ("CREATE FUNCTION f(x FLOAT) RETURNS FLOAT AS 'm'", "'m' names no function of a module"),
        ("CREATE FUNCTION f(x FLOAT) RETURNS FLOAT AS 'm:f(1)'", "names no function of a module"),
        ("CREATE FUNCTION f(x POINT) RETURNS FLOAT AS 'm:f'", "takes and gives no POINT"),
        ("CREATE FUNCTION f(x FLOAT UNIT 'm') RETURNS FLOAT AS 'm:f'", "has a type and nothing else"),
        ("CREATE FUNCTION f() RETURNS FLOAT AS 'm:f'", "the function 'f' needs an argument"),
        ("CREATE FUNCTION f(x INT, X INT) RETURNS INT AS 'm:f'", "two arguments have one name"),
        ("CREATE FUNCTION f(x INT) RETURNS INT AS 'nowhere:f'", "No module named 'nowhere'"),
        ("CREATE FUNCTION whole(x INT) RETURNS INT AS 'numpy:rint'", "there is a function 'whole' already"),
    ],
)
def test_refused_declarations(text: str, why: str) -> None:
    database = nilometer.connect()
    database.execute("CREATE FUNCTION whole(x FLOAT) RETURNS FLOAT AS 'numpy:rint'")
    with pytest.raises((CatalogError, DataError), match=why.replace("(", r"\(")):
        database.execute(text)


@pytest.mark.parametrize(
    ("call", "why"),
    [
        ("whole(x, x)", "whole takes 1 arguments, not 2"),
        ("whole(name)", "whole takes FLOAT here, not STRING"),
        ("whole(DISTINCT x)", "is no aggregate"),
        ("wole(x)", "no function 'wole'"),
        ("python('os:system', 'INT', name)", "no function 'python'"),
    ],
)
def test_refused_calls(call: str, why: str) -> None:
    database = nilometer.connect()
    database.execute("CREATE STREAM s (x FLOAT, name STRING) PUSHED")
    database.execute("CREATE FUNCTION whole(x FLOAT) RETURNS FLOAT AS 'numpy:rint'")
    with pytest.raises(BindError, match=why):
        database.sql(f"SELECT {call} AS y FROM s")


def test_plan_text_parses_back() -> None:
    database = nilometer.connect()
    database.execute("CREATE STREAM s (x FLOAT, v FLOAT[3]) PUSHED")
    database.execute("CREATE FUNCTION f(v FLOAT[3], x FLOAT) RETURNS FLOAT[2] AS 'numpy:rint'")
    plan = database.sql("SELECT f(v, x) AS y FROM s").physical
    assert parse_physical_plan(explain_text(plan), database.catalog) == plan


def test_http_names_listed_modules_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from nilometer.workers import settings
    from nilometer.workers.settings import PythonSettings

    confinement = Confinement(tmp_path)
    statement: Any = parse("CREATE FUNCTION f(x FLOAT) RETURNS FLOAT AS 'plant.pumps:flow'")
    monkeypatch.setattr(settings, "_taken", [PythonSettings()])
    for refused in (statement, parse("REPLACE FUNCTION f(x STRING) RETURNS INT AS 'os:system'")):
        with pytest.raises(ForbiddenError, match="may not run code of the module"):
            confinement.check(refused)  # type: ignore[arg-type]
    monkeypatch.setattr(settings, "_taken", [PythonSettings(modules=("plant",))])
    confinement.check(statement)


def test_a_catalog_in_a_database_keeps_functions(tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path}/catalog.db"
    first = nilometer.connect(catalog=store)
    first.execute("CREATE FUNCTION f(v FLOAT[3], x INT) RETURNS FLOAT[2] AS 'numpy:rint'")
    assert nilometer.connect(catalog=store).catalog.functions() == first.catalog.functions()
