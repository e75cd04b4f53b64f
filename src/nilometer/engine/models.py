"""CREATE MODEL: rows of (label, vector) -> a model, kept as the one row of a stored table.

    CREATE MODEL hazmat FROM (SELECT label, features FROM library) USING NEAREST 3 NONE ABOVE 0.5

The model is a file in the directory `models` beside the data, and the name is that of a table that reads this file.
So `CLASSIFY(hazmat, v)` is a join with a table, and a model has versions as a table has: REPLACE MODEL writes the file
again, running queries meet the new model at their next refresh, and their logs record which one a reading met
(docs/live.md, "Tables that change").

scikit-learn fits. It is needed here and nowhere else: hosts evaluate the JSON with kernels of their own.
"""

from __future__ import annotations

import json
import shutil
import tempfile
import weakref
from collections.abc import Sequence
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nilometer.algebra.models import Model, read_model
from nilometer.catalog import Table
from nilometer.engine.query import Query
from nilometer.errors import DataError, ResourceError
from nilometer.expressions import Call, type_of
from nilometer.language import ast, print_statement
from nilometer.language.walk import walk
from nilometer.types import INT, SECOND, STRING, Column, Kind

if TYPE_CHECKING:
    from nilometer.engine.database import Database

COLUMNS = (
    Column("model", STRING),
    Column("method", STRING),
    Column("labels", INT),
    Column("examples", INT),
    Column("elements", INT),
    Column("declared", STRING),
)
REFRESH = 5 * SECOND
FOLDER = "models"


def is_model(extent: object) -> bool:
    """Whether a table is that of a model."""
    return isinstance(extent, Table) and extent.columns == COLUMNS


def create_model(database: Database, statement: ast.CreateModel, text: str) -> ast.CreateTable:
    """Fit the model, unless its file was made by the same declaration, and return the declaration of its table."""
    path = _folder(database) / f"{statement.name.lower()}.jsonl"
    declared = print_statement(statement)
    if not path.exists() or json.loads(path.read_text(encoding="utf-8"))["declared"] != declared:
        write_model(database, statement, text)
    definitions = tuple(ast.ColumnDefinition(column.name, str(column.type)) for column in COLUMNS)
    place = path if database.data.base is None else path.relative_to(database.data.base)
    refresh = ast.Amount(REFRESH // SECOND, "SECONDS")
    return ast.CreateTable(statement.name, definitions, place.as_posix(), None, refresh, span=statement.span)


def write_model(database: Database, statement: ast.CreateModel, text: str) -> None:
    """Fit the model and write its file."""
    examples = Query(database, text, statement.query, {}).run()
    kinds = [column.type.kind for column in examples.schema]
    if kinds != [Kind.STRING, Kind.VECTOR]:
        found = ", ".join(str(column.type) for column in examples.schema)
        raise DataError(
            "a model is fitted to a label and a vector",
            detail=f"the query gives {found}",
            hint=f"CREATE MODEL {statement.name} FROM (SELECT label, features FROM library) USING TREE; "
            "vector(a, b) makes a vector of numbers",
        )
    rows = [(label, vector) for label, vector in examples.rows if label is not None and vector is not None]
    model = fitted(statement, [label for label, _ in rows], [list(vector) for _, vector in rows])
    row = {
        "model": model.text(),
        "method": method_text(statement),
        "labels": len(model.labels),
        "examples": len(rows),
        "elements": model.size,
        "declared": print_statement(statement),
    }
    path = _folder(database) / f"{statement.name.lower()}.jsonl"
    path.parent.mkdir(exist_ok=True)
    new = path.with_suffix(".new")
    new.write_text(json.dumps(row) + "\n", encoding="utf-8")
    new.replace(path)  # a query that refreshes the table reads the old model or the new one


def drop_model(database: Database, name: str) -> None:
    """Delete the model's file; its table is dropped as any other."""
    (_folder(database) / f"{name.lower()}.jsonl").unlink(missing_ok=True)


def check_lengths(database: Database, query: ast.QueryNode, plan: object) -> None:
    """Refuse a query that gives a model vectors of another length than those of its examples."""
    models = {
        source.name.lower()
        for call in walk(query)
        if isinstance(call, ast.FunctionCall) and call.name.lower() == "classify"
        for source in walk(call.arguments[0])
        if isinstance(source, ast.ExtentSource) and is_model(database.catalog.extent(source.name))
    }
    if len(models) != 1:
        return  # which call is of which model is not in the plan; a row that does not fit is set aside
    (name,) = models
    elements = _kept(_folder(database) / f"{name}.jsonl").get("elements")
    for size in sorted(_classified(plan)):
        if elements is not None and size != elements:
            raise DataError(
                f"the model '{name}' takes vectors of {elements} elements, not of {size}",
                hint="classify vectors like those of its examples, or fit it again: REPLACE MODEL",
            )


def _classified(part: object) -> set[int]:
    """The lengths of the vectors that a plan classifies."""
    found: set[int] = set()
    if isinstance(part, Call) and part.function == "classify":
        size = type_of(part.arguments[1]).size
        found |= set() if size is None else {size}
    if isinstance(part, tuple | list):
        parts: list[object] = list(part)
    else:
        parts = [getattr(part, one.name) for one in fields(part)] if is_dataclass(part) else []
    return found.union(*map(_classified, parts))


def _folder(database: Database) -> Path:
    if database.data.base is not None:
        return database.data.base / FOLDER
    if database.models is None:
        database.models = Path(tempfile.mkdtemp(prefix="nilometer-models-"))
        weakref.finalize(database, shutil.rmtree, database.models, True)
    return database.models


def method_text(statement: ast.CreateModel) -> str:
    """`NEAREST 3`."""
    return statement.method + ("" if statement.count is None else f" {statement.count}")


def fitted(statement: ast.CreateModel, names: Sequence[str], vectors: Sequence[Sequence[float]]) -> Model:
    """The model of these examples."""
    if not names:
        raise DataError("a model needs examples, and the query gives none")
    labels = tuple(sorted(set(names)))
    classes = [labels.index(name) for name in names]
    match statement.method:
        case "TREE":
            return _tree(labels, classes, vectors)
        case "NEAREST":
            arrays = {"vectors": [list(map(float, vector)) for vector in vectors], "classes": classes}
            return Model(
                "nearest", len(vectors[0]), labels, arrays, statement.count or 1, statement.none_above
            )
    return _clusters(labels, classes, vectors, statement.none_above)


def _tree(labels: tuple[str, ...], classes: list[int], vectors: Sequence[Sequence[float]]) -> Model:
    found = _sklearn("tree").DecisionTreeClassifier(random_state=0).fit(vectors, classes).tree_
    counts = found.value[:, 0, :]
    arrays = {
        "feature": found.feature.tolist(),
        "threshold": found.threshold.tolist(),
        "left": found.children_left.tolist(),
        "right": found.children_right.tolist(),
        "shares": (counts / counts.sum(axis=1, keepdims=True)).tolist(),
    }
    return Model("tree", len(vectors[0]), labels, arrays)


def _clusters(
    labels: tuple[str, ...], classes: list[int], vectors: Sequence[Sequence[float]], above: float | None
) -> Model:
    """k-means with one cluster per label, begun at the labels' means; each has the most frequent label in it."""
    import numpy as np

    matrix, of = np.asarray(vectors, dtype=np.float64), np.asarray(classes)
    means = np.array([matrix[of == label].mean(axis=0) for label in range(len(labels))])
    found = _sklearn("cluster").KMeans(len(labels), init=means, n_init=1, random_state=0).fit(matrix)
    kept: list[tuple[list[float], int, float]] = []
    for number, centre in enumerate(found.cluster_centers_):
        inside = of[found.labels_ == number]
        if len(inside):
            counts = np.bincount(inside, minlength=len(labels))
            kept.append((centre.tolist(), int(counts.argmax()), float(counts.max() / counts.sum())))
    centres, classes_, purity = zip(*kept, strict=True)
    arrays = {"vectors": list(centres), "classes": list(classes_), "purity": list(purity)}
    return Model("clusters", matrix.shape[1], labels, arrays, 1, above)


def _sklearn(module: str) -> Any:
    from importlib import import_module

    try:
        return import_module(f"sklearn.{module}")
    except ImportError:
        raise ResourceError(
            "scikit-learn fits models, and is not installed", hint="pip install 'nilometer[mining]'"
        ) from None


def model_rows(database: Database) -> list[dict[str, Any]]:
    """The models, for SHOW MODELS."""
    rows = []
    for extent in database.catalog.extents():
        if is_model(extent):
            known = _kept(_folder(database) / f"{extent.name.lower()}.jsonl")
            told = {name: known.get(name) for name in ("method", "labels", "examples", "elements")}
            rows.append({"name": extent.name, **told})
    return rows


def model_details(database: Database) -> list[dict[str, Any]]:
    """The models, with the kind of each, its classes, and the declaration that it was fitted by."""
    found = []
    for row in model_rows(database):
        known = _kept(_folder(database) / f"{row['name'].lower()}.jsonl")
        model = read_model(known["model"]) if known else None
        told = {
            "kind": None if model is None else model.kind,
            "classes": [] if model is None else list(model.labels),
        }
        found.append({**row, **told, "declared": known.get("declared")})
    return found


def _kept(path: Path) -> dict[str, Any]:
    try:
        found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    return found
