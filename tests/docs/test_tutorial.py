"""docs/tutorial.md: every command prints what the page shows, and the notebook's cells give what it has stored."""

from __future__ import annotations

import ast
import gzip
import io
import json
import os
import re
import runpy
import shlex
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import mosquitto_server
from docs.test_documents import ROOT
from nilometer.cli import main as cli
from nilometer.pictures.answer_chart import Chart

PAGE = ROOT / "docs" / "tutorial.md"
EXAMPLE = ROOT / "examples" / "first-hour"
NOTEBOOK = EXAMPLE / "first-hour.ipynb"
BROKER, NEXT = "## 7. A broker", "## 8. A notebook"
BLOCK = re.compile(r"^```(sh|text|sql|python)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PATIENCE = 120.0

Run = Callable[[str], str]


@dataclass(frozen=True)
class Step:
    """A block of the page: its language, its text, and where the text stands in the page."""

    language: str
    text: str
    place: tuple[int, int]


def steps(begin: str | None = None, end: str | None = None) -> list[Step]:
    """The blocks between two headings."""
    page = PAGE.read_text(encoding="utf-8")
    first = 0 if begin is None else page.index(begin)
    last = len(page) if end is None else page.index(end)
    return [Step(m[1], m[2], m.span(2)) for m in BLOCK.finditer(page) if first <= m.start() < last]


def commands(script: str) -> Iterator[tuple[str, str]]:
    """The commands of a script, each with what a here-document gives it to read."""
    lines = script.splitlines(keepends=True)
    while lines:
        command = lines.pop(0)
        if "<<'SQL'" in command:
            end = lines.index("SQL\n")
            yield command.replace("<<'SQL'", ""), "".join(lines[:end])
            del lines[: end + 1]
            continue
        while command.count('"') % 2:
            command += lines.pop(0)
        yield command, ""


def put_into_schema(declaration: str, directory: Path) -> None:
    schema = directory / "orchard" / "schema.sql"
    schema.write_text(schema.read_text() + "\n" + declaration)


def agree(found: list[tuple[Step, str]], rewrite: bool) -> None:
    """What was printed is what the page shows."""
    if rewrite:
        page = PAGE.read_text(encoding="utf-8")
        for step, printed in reversed(found):
            page = page[: step.place[0]] + printed + page[step.place[1] :]
        PAGE.write_text(page, encoding="utf-8")
        return
    for step, printed in found:
        assert printed == step.text, "run ./nilo test tests/docs/test_tutorial.py --rewrite and read the diff"


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory in which examples/ lies as it does at the top of the repository."""
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run the commands of a script, and return what a terminal shows of them."""

    def one(command: str, stdin: str) -> str:
        words = shlex.split(command)
        if words[0] == "export":
            monkeypatch.setenv(*words[1].split("="))
            return ""
        if words[0] != "./nilo":
            done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=True)
            return done.stdout
        monkeypatch.setattr(sys, "argv", words)
        monkeypatch.setattr(sys, "stdin", io.StringIO(stdin))
        with pytest.raises(SystemExit) as ended:
            cli.main()
        out, err = capsys.readouterr()
        assert not ended.value.code, err
        return out + err

    return lambda script: "".join(one(*command) for command in commands(script))


def test_the_files_are_those_of_the_script(tmp_path: Path) -> None:
    made = runpy.run_path(str(EXAMPLE / "make.py"))["files"]()
    for name, content in made.items():
        kept = (EXAMPLE / name).read_bytes()
        assert len(kept) < 30_000
        unpacked = gzip.decompress if name.endswith(".gz") else bytes
        assert unpacked(kept) == unpacked(content), f"run make.py: {name} is another"


def test_the_files_answer_as_the_page_shows(place: Path, run: Run, rewrite: bool) -> None:
    found: list[tuple[Step, str]] = []
    printed = ""
    for step in steps(end=BROKER):
        if step.language == "sh":
            printed = run(step.text)
        elif step.language == "sql":
            put_into_schema(step.text, place)
        else:
            found.append((step, printed))
    agree(found, rewrite)
    for step in steps(BROKER, NEXT):
        if step.language == "sql":
            put_into_schema(step.text, place)
    schema = (place / "orchard" / "schema.sql").read_text()
    if rewrite:
        (EXAMPLE / "schema.sql").write_text(schema)
    assert (EXAMPLE / "schema.sql").read_text() == schema, "the example has another schema than the page"


class Live:
    """A command that runs until Ctrl-C; `said` is what a terminal shows of it."""

    def __init__(self, command: str) -> None:
        words = shlex.split(command)
        self.said: list[str] = []
        self._process = subprocess.Popen(
            [sys.executable, "-m", "nilometer.cli.main", *words[1:]],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env=os.environ | {"PYTHONUNBUFFERED": "1"},
        )
        self._watchdog = threading.Timer(PATIENCE, self._process.kill)
        self._watchdog.start()

    def until(self, *wanted: str) -> None:
        """Wait until each of these has been said."""
        assert self._process.stdout is not None
        while not all(any(text in line for line in self.said) for text in wanted):
            line = self._process.stdout.readline()
            assert line, f"it ended: {''.join(self.said)}"
            self.said.append(line)

    def end(self) -> str:
        """Press Ctrl-C; a watchdog ends what does not listen."""
        self._process.send_signal(signal.SIGINT)
        rest, _ = self._process.communicate()
        self._watchdog.cancel()
        return "".join(self.said) + rest


@pytest.fixture
def mosquitto() -> Iterator[mosquitto_server.Broker]:
    with mosquitto_server.running() as broker:
        yield broker


def publish(script: str, port: int) -> None:
    """What mosquitto_pub does: one message a line."""
    from paho.mqtt.client import Client
    from paho.mqtt.enums import CallbackAPIVersion

    client = Client(CallbackAPIVersion.VERSION2)
    client.connect("127.0.0.1", port)
    client.loop_start()
    for words in map(shlex.split, script.splitlines()):
        assert words[0] == "mosquitto_pub"
        topic, message = (words[words.index(option) + 1] for option in ("-t", "-m"))
        client.publish(topic, message, qos=1, retain="-r" in words).wait_for_publish(PATIENCE)
    client.disconnect()
    client.loop_stop()


def steady(printed: str) -> str:
    """What a live query says, without what depends on the moment (the books so far, a connection on its way), and
    without an order between rows and messages."""
    lines = printed.splitlines(keepends=True)
    if "live;" not in lines[0]:
        return printed
    return "".join(
        sorted(line for line in lines if not re.search(r"readings/s|: fields: |: connecting", line))
    )


@pytest.mark.mosquitto
@pytest.mark.xdist_group("mosquitto")
@pytest.mark.skipif(mosquitto_server.program() is None, reason="Mosquitto is not installed")
def test_the_broker_answers_as_the_page_shows(
    place: Path,
    run: Run,
    mosquitto: mosquitto_server.Broker,
    rewrite: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("NILOMETER_DATA", "orchard")
    orchard = place / "orchard"
    shutil.copytree(EXAMPLE, orchard)
    before, _ = (EXAMPLE / "schema.sql").read_text().split("\nCREATE STREAM rooms")
    (orchard / "schema.sql").write_text(before)
    found: list[tuple[Step, str]] = []
    running: list[Live] = []
    printed = ""
    try:
        for step in steps(BROKER, NEXT):
            text = step.text.replace("mqtt://localhost", mosquitto.url)
            if step.language == "sql":
                put_into_schema(text, place)
            elif text.startswith("mosquitto_pub"):
                publish(text, mosquitto.port)
            elif text.startswith('./nilo query "'):
                running.append(Live(text))
                running[0].until("rooms: open", "18.2")
            elif step.language == "sh":
                printed = run(text)
            elif running:
                running[0].until("21.9", "garbled")
                time.sleep(2)  # a person waits a moment, too; the books follow the rows
                found.append((step, running.pop().end()))
            else:
                found.append((step, printed))
    finally:
        for live in running:
            live.end()
    found = [(step, printed.replace(mosquitto.url, "mqtt://localhost")) for step, printed in found]
    if not rewrite:
        found = [
            (Step(step.language, steady(step.text), step.place), steady(printed)) for step, printed in found
        ]
    agree(found, rewrite)


def cells() -> list[dict[str, Any]]:
    """The notebook's code."""
    found = json.loads(NOTEBOOK.read_text(encoding="utf-8"))
    assert found["nbformat"] == 4
    return [cell for cell in found["cells"] if cell["cell_type"] == "code"]


def execute(source: str, namespace: dict[str, Any]) -> tuple[str, Any]:
    """What a cell prints, and the value of the expression that stands last."""
    tree = ast.parse(source)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    with redirect_stdout(io.StringIO()) as printed:
        exec(compile(tree, NOTEBOOK.name, "exec"), namespace)
        value = None
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), NOTEBOOK.name, "eval"), namespace)
    return printed.getvalue(), value


def outputs(number: int, printed: str, value: Any) -> list[dict[str, Any]]:
    """The outputs of a cell in the form of nbformat 4."""
    found: list[dict[str, Any]] = []
    if printed:
        found.append({"name": "stdout", "output_type": "stream", "text": printed.splitlines(keepends=True)})
    if value is not None:
        data = {"text/plain": repr(value).splitlines(keepends=True)}
        found.append(
            {"data": data, "execution_count": number, "metadata": {}, "output_type": "execute_result"}
        )
    return found


def test_the_cells_of_the_notebook_give_what_it_has_stored(
    monkeypatch: pytest.MonkeyPatch, rewrite: bool
) -> None:
    monkeypatch.chdir(EXAMPLE)
    notebook = json.loads(NOTEBOOK.read_text(encoding="utf-8"))
    namespace: dict[str, Any] = {}
    value = None
    number = 0
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            number += 1
            printed, value = execute("".join(cell["source"]), namespace)
            found = outputs(number, printed, value)
            if rewrite:
                cell["execution_count"], cell["outputs"] = number, found
            assert cell["outputs"] == found
    assert isinstance(value, Chart)
    assert [len(panel.get_lines()) for panel in value.figure.axes] == [2]
    assert value._repr_svg_().rstrip().endswith("</svg>")
    if rewrite:
        NOTEBOOK.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        value.save(PAGE.parent / "pictures" / "first-hour.svg")


def test_the_page_shows_cells_of_the_notebook(rewrite: bool) -> None:
    stored = {
        "".join(cell["source"]).replace('connect(".")', 'connect("orchard")') + "\n": cell["outputs"]
        for cell in cells()
    }
    found: list[tuple[Step, str]] = []
    code = ""
    for step in steps(begin=NEXT):
        if step.language == "python":
            code = step.text
            assert code in stored
        else:
            (output,) = stored[code]
            found.append((step, "".join(output["data"]["text/plain"]) + "\n"))
    agree(found, rewrite)
