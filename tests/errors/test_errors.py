"""Wrong queries, declarations, data and calls: each error says what was found, what was expected and what to do."""

from __future__ import annotations

import re
from ast import literal_eval
from pathlib import Path

import pytest

import golden
import nilometer
from nilometer import NilometerError
from nilometer.errors import InternalError

HERE = Path(__file__).parent

SCHEMA = """
CREATE STREAM river (rain INT, depth INT) SENSED EVERY 15 MINUTES;
CREATE STREAM hill (rain INT) SENSED EVERY 15 MINUTES;
CREATE STREAM air (pm25 FLOAT UNIT 'ug/m3', station STRING, ok BOOLEAN) PUSHED DELAY 5 SECONDS;
CREATE TABLE segments (segment INT, name STRING) STORED AT 'segments.csv';
CREATE SENSOR 5 OF river AT (120.0, 44.5) WITH kind = 'gauge';
CREATE QUERY wet AS SELECT * FROM river WHERE depth > 10;
"""


def answer(block: str, directory: Path) -> str:
    """The error that a block gives.

    Paragraphs: `file NAME` writes the lines below it; `set NAME = VALUE` lines are parameters; `>>>` lines are Python with
    the database as `db`; all else is SQL, and its queries are run.
    """
    (directory / "segments.csv").write_text("segment,name\n1,bridge\n", encoding="utf-8")
    db = nilometer.connect()
    db.data.base = directory
    db.execute(SCHEMA)
    parameters = {}
    try:
        for paragraph in block.split("\n\n"):
            if paragraph.startswith("file "):
                name, _, text = paragraph.removeprefix("file ").partition("\n")
                path = directory / name
                path.parent.mkdir(exist_ok=True)
                path.write_text(text + "\n", encoding="utf-8")
            elif paragraph.startswith(">>> "):
                code = "\n".join(line[4:] for line in paragraph.splitlines())
                exec(code, {"db": db, "nilometer": nilometer, "directory": directory})
            else:
                lines = paragraph.splitlines()
                while lines and (setting := re.fullmatch(r"set (\w+) = (.*)", lines[0])):
                    parameters[setting[1]] = literal_eval(setting[2])
                    del lines[0]
                for result in db.execute("\n".join(lines), **parameters):
                    if isinstance(result, nilometer.Query):
                        result.run("reference")
    except InternalError:
        raise
    except NilometerError as error:
        return (
            str(error)
            .replace(str(directory) + "/", "")
            .replace(str(directory), "DIRECTORY")
            .replace(directory.name, "DIRECTORY")
        )
    pytest.fail(f"no error\n{block}")


def test_errors(rewrite: bool, tmp_path_factory: pytest.TempPathFactory) -> None:
    errors = golden.read(HERE / "errors.txt")
    assert len(errors.blocks) >= 60
    errors.check(lambda block: answer(block, tmp_path_factory.mktemp("errors")), rewrite=rewrite)


def test_they_can_be_acted_on() -> None:
    """Nearly every error hints at what to do; those of a query's text show the place."""
    blocks = golden.read(HERE / "errors.txt").blocks
    for block in blocks:
        first, *rest = block.expected.splitlines()
        assert first, block.input
        assert first[-1] not in ".!", first
        assert "hint:" in block.expected or "detail:" in block.expected, block.expected
        assert not re.search(r"Traceback|Exception|<.*object|None\b|\bnode\b", block.expected), block.expected
        if block.input.startswith("SELECT"):
            assert any("^" in line for line in rest), block.expected
