"""Models: our kernels say what scikit-learn says, the naive twins say what the kernels say, and files are versions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nilometer
from nilometer.algebra.models import Model
from nilometer.engine.models import fitted
from nilometer.errors import DataError, NilometerError
from nilometer.language import ast
from nilometer.operators.evaluate.classification import classified
from nilometer.plan.scalars.classification import classify

cluster = pytest.importorskip("sklearn.cluster")
neighbors = pytest.importorskip("sklearn.neighbors")
tree = pytest.importorskip("sklearn.tree")


def examples(seed: int = 1, labels: int = 4, elements: int = 6) -> tuple[list[str], list[list[float]]]:
    random = np.random.default_rng(seed)
    centres = random.normal(0, 3, (labels, elements))
    of = random.integers(0, labels, 120)
    return [f"l{label}" for label in of], (centres[of] + random.normal(0, 1.2, (120, elements))).tolist()


def model_of(method: str, count: int | None = None, above: float | None = None) -> Model:
    statement = ast.CreateModel("m", ast.Select((), ()), method, count, above)
    return fitted(statement, *examples())


@pytest.mark.parametrize(
    ("method", "count", "above"), [("TREE", None, None), ("NEAREST", 5, 6.0), ("CLUSTERS", None, 5.0)]
)
def test_kernel_equals_twin(method: str, count: int | None, above: float | None) -> None:
    model = model_of(method, count, above)
    text = model.text()
    random = np.random.default_rng(2)
    matrix = random.normal(0, 4, (60, 6))
    found = classified(text, matrix)
    for row in range(len(matrix)):
        twin = classify(text, tuple(matrix[row].tolist()))
        names = [None if number < 0 else model.labels[int(number)] for number in found[(0, 2), row]]
        assert names == [twin["label"], twin["second"]]
        assert found[(1, 3), row] == pytest.approx([twin["confidence"], twin["margin"]])


def test_as_scikit_learn_says() -> None:
    names, vectors = examples()
    matrix = np.random.default_rng(3).normal(0, 4, (200, 6))
    labels = sorted(set(names))
    rivals: dict[str, Any] = {
        "TREE": tree.DecisionTreeClassifier(random_state=0).fit(vectors, names),
        "NEAREST": neighbors.KNeighborsClassifier(1).fit(vectors, names),
    }
    for method, rival in rivals.items():
        found = classified(model_of(method, 1).text(), matrix)[0]
        assert [labels[int(number)] for number in found] == rival.predict(matrix).tolist()
    model = model_of("CLUSTERS")
    centres = np.array(model.arrays["vectors"])
    again = cluster.KMeans(len(centres), init=centres, n_init=1, max_iter=1).fit(centres)
    nearest = again.predict(matrix)
    assert classified(model.text(), matrix)[0].tolist() == [model.arrays["classes"][each] for each in nearest]


def test_a_replaced_model_is_another_version(tmp_path: Path) -> None:
    (tmp_path / "library.csv").write_text("label,f\na,0 0\nb,5 5\n")
    (tmp_path / "schema.sql").write_text(
        "CREATE TABLE library (label STRING, f FLOAT[2]) STORED AT 'library.csv';\n"
        "CREATE STREAM s (v FLOAT[2]) PUSHED;\n"
    )
    (tmp_path / "s.csv").write_text("time,id,v\n2026-01-01T00:00:01Z,1,0 1\n")
    db = nilometer.connect(tmp_path)
    db.execute("CREATE MODEL m FROM (SELECT label, f FROM library) USING NEAREST 1")
    question = "SELECT classify(m, v).label AS label FROM s"
    assert [row["label"] for row in db.sql(question)] == ["a"]
    assert db.execute("SHOW MODELS")[0][0]["method"] == "NEAREST 1"
    (tmp_path / "library.csv").write_text("label,f\nc,0 0\nb,5 5\n")
    db.execute("REPLACE MODEL m FROM (SELECT label, f FROM library) USING TREE")
    assert [row["label"] for row in nilometer.connect(tmp_path).sql(question)] == ["c"]
    kept = json.loads((tmp_path / "models" / "m.jsonl").read_text())
    assert kept["method"] == "TREE"
    db.execute("DROP MODEL m")
    assert db.execute("SHOW MODELS") == [[]]
    with pytest.raises(NilometerError, match="no model 'm'"):
        db.execute("DROP MODEL m")


def test_a_refused_change_leaves_the_model_and_a_change_is_kept(tmp_path: Path) -> None:
    (tmp_path / "library.csv").write_text("label,f\na,0 0\nb,5 5\n")
    (tmp_path / "schema.sql").write_text(
        "CREATE TABLE library (label STRING, f FLOAT[2]) STORED AT 'library.csv';\n"
        "CREATE STREAM s (v FLOAT[2]) PUSHED;\n"
        "CREATE MODEL m FROM (SELECT label, f FROM library) USING NEAREST 1;\n"
    )

    def methods() -> list[str]:
        return [row["method"] for row in nilometer.connect(tmp_path).execute("SHOW MODELS")[0]]

    db, fit = nilometer.connect(tmp_path), "FROM (SELECT label, f FROM library) USING TREE"
    for name in ("m", "s"):
        with pytest.raises(NilometerError, match="already"):
            db.execute(f"CREATE MODEL {name} {fit}")
    assert methods() == ["NEAREST 1"]
    assert not (tmp_path / "models" / "s.jsonl").exists()
    db.execute(f"REPLACE MODEL m {fit}")
    assert methods() == ["TREE"]
    db.execute("CREATE QUERY q AS SELECT id, classify(m, v).label AS label FROM s")
    with pytest.raises(NilometerError, match="is read by q"):
        db.execute("DROP MODEL m")
    assert methods() == ["TREE"]
    db.execute("DROP QUERY q")
    db.execute("DROP MODEL m")
    assert not (tmp_path / "models" / "m.jsonl").exists()
    assert methods() == []


def test_wrong_examples_and_vectors() -> None:
    db = nilometer.connect()
    db.execute("CREATE STREAM s (v FLOAT[3], k STRING) PUSHED")
    with pytest.raises(NilometerError, match="a label and a vector"):
        db.execute("CREATE MODEL m FROM (SELECT v, k FROM s) USING TREE")
    with pytest.raises(NilometerError, match="needs examples"):
        db.execute("CREATE MODEL m FROM (SELECT k, v FROM s) USING TREE")
    with pytest.raises(DataError, match="vectors of 6 elements, not of 3"):
        classified(model_of("TREE").text(), np.zeros((1, 3)))


def test_a_vector_of_another_length(tmp_path: Path) -> None:
    (tmp_path / "library.csv").write_text("label,f\na,0 0\nb,5 5\n")
    (tmp_path / "schema.sql").write_text(
        "CREATE TABLE library (label STRING, f FLOAT[2]) STORED AT 'library.csv';\n"
        "CREATE STREAM s (v FLOAT[2], w FLOAT[3]) PUSHED;\n"
    )
    (tmp_path / "s.csv").write_text("time,id,v,w\n2026-01-01T00:00:01Z,1,0 1,1 2 3\n")
    db = nilometer.connect(tmp_path)
    db.execute("CREATE MODEL m FROM (SELECT label, f FROM library) USING NEAREST 1")
    for on in ("gateway", "reference"):
        with pytest.raises(DataError, match="the model takes vectors of 2 elements, not of 3"):
            db.sql("SELECT classify(m, w).label AS label FROM s").run(on=on)
    with pytest.raises(NilometerError, match="the model 'm' takes vectors of 2 elements, not of 3"):
        db.execute("CREATE QUERY q AS SELECT classify(m, w).label AS label FROM s")
    db.execute("CREATE QUERY q AS SELECT classify(m, v).label AS label FROM s")


@pytest.mark.parametrize(
    ("call", "why"),
    [
        ("classify(nobody, v)", "no model 'nobody'"),
        ("classify(s, v)", "'s' is no model"),
        ("classify(s)", "'s' is no model"),
        ("classify('m', x)", "classify takes a model and a vector, not FLOAT as argument 2"),
    ],
)
def test_messages_speak_of_models(call: str, why: str) -> None:
    db = nilometer.connect()
    db.execute("CREATE STREAM s (v FLOAT[2], x FLOAT) PUSHED")
    with pytest.raises(NilometerError, match=why):
        db.sql(f"SELECT {call}.label AS label FROM s")


@pytest.mark.parametrize(
    ("source", "why"),
    [
        ("CLUSTERS(s, RADIUS 5)", "expected a column, found 'RADIUS'"),
        (
            "PATTERNS(s, x BREAKS (12, 35) EVERY 1 HOUR PERIOD 24) [RANGE 1 HOUR SLIDE 1 HOUR]",
            "a window of 1 HOUR never holds a whole period of 1 DAY",
        ),
    ],
)
def test_messages_of_mining_functions(source: str, why: str) -> None:
    db = nilometer.connect()
    db.execute("CREATE STREAM s (x FLOAT) PUSHED")
    with pytest.raises(NilometerError, match=why):
        db.sql(f"SELECT * FROM {source}")
