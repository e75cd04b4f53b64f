"""The program that stands for Python does what Python does, forked from a warm process or not."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from nilometer.spark.warm import Interpreter

TELL = """
import json, os, sys
loaded = "nilometer.spark.processor" in sys.modules
print(json.dumps({
    "pid": os.getpid(), "warm": loaded, "arguments": sys.argv[1:], "here": os.getcwd(),
    "variable": os.environ.get("VARIABLE"), "driver": os.environ.get("OF_THE_DRIVER"), "input": sys.stdin.read(),
    "hash": hash("nilometer"),
}))
sys.exit(7)
"""
WAIT = """
import os, sys
if os.fork() == 0:
    os.close(1)
    sys.stdin.read()
    os._exit(0)
print(os.getpid(), flush=True)
sys.stdin.read()
"""


@pytest.fixture(scope="module")
def interpreter() -> Iterator[Interpreter]:
    with Interpreter() as made:
        yield made


@pytest.fixture
def modules(tmp_path: Path) -> Path:
    tmp_path.joinpath("tell.py").write_text(TELL)
    tmp_path.joinpath("wait.py").write_text(WAIT)
    tmp_path.joinpath("fail.py").write_text("raise ValueError('of its own')")
    tmp_path.joinpath("hung_up.py").write_text(
        "try:\n    raise ConnectionResetError('by Spark')\nfinally:\n    raise OSError('closed')"
    )
    return tmp_path


def told(interpreter: Interpreter, modules: Path, *, seed: str = "0") -> dict[str, Any]:
    here = modules / "here"
    here.mkdir(exist_ok=True)
    ran = subprocess.run(
        [interpreter.path, "-m", "tell", "one", "two words"],
        input="read me",
        capture_output=True,
        text=True,
        cwd=here,
        env=environment(modules) | {"VARIABLE": "a b", "PYTHONHASHSEED": seed},
        check=False,
    )
    assert ran.returncode == 7, ran.stderr
    found: dict[str, Any] = json.loads(ran.stdout)
    assert found["arguments"] == ["one", "two words"]
    assert found["here"] == str(here)
    assert found["input"] == "read me"
    assert found["variable"] == "a b"
    assert found["driver"] is None
    return found


def environment(modules: Path) -> dict[str, str]:
    return {"PATH": os.environ["PATH"], "PYTHONPATH": str(modules), "PYTHONHASHSEED": "0"}


def test_a_module_runs_in_a_warm_process(
    interpreter: Interpreter, modules: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OF_THE_DRIVER", "not for workers")
    first, second = told(interpreter, modules), told(interpreter, modules)
    assert first["warm"]
    assert first["pid"] != second["pid"]
    assert first["hash"] == second["hash"]


def test_another_hash_seed_gets_a_python_of_its_own(interpreter: Interpreter, modules: Path) -> None:
    of_ours, of_its_own = told(interpreter, modules), told(interpreter, modules, seed="1")
    assert not of_its_own["warm"]
    assert of_its_own["hash"] != of_ours["hash"]


def test_without_the_zygote_it_is_python(modules: Path) -> None:
    with Interpreter() as gone:
        gone._process.kill()
        gone._process.wait()
        assert not told(gone, modules)["warm"]


def test_anything_but_a_module_is_run_by_python(interpreter: Interpreter) -> None:
    text = "import sys; print('nilometer' in sys.modules)"
    assert subprocess.check_output([interpreter.path, "-c", text], text=True) == "False\n"


@pytest.mark.parametrize(("module", "said"), [("fail", "ValueError: of its own"), ("hung_up", "")])
def test_an_error_is_said_unless_spark_has_hung_up(
    interpreter: Interpreter, modules: Path, module: str, said: str
) -> None:
    ran = subprocess.run(
        [interpreter.path, "-m", module],
        capture_output=True,
        text=True,
        env=environment(modules),
        check=False,
    )
    assert ran.returncode == 1
    assert said in ran.stderr
    assert bool(said) == bool(ran.stderr)
    assert told(interpreter, modules)["warm"]


def test_the_process_ends_with_whoever_started_the_stub(interpreter: Interpreter, modules: Path) -> None:
    """A Java that is killed ends nobody, and what it started may be at work and not listen."""
    reading, writing = os.pipe()
    with subprocess.Popen(
        ["/bin/sh", "-c", f"{interpreter.path} -m wait; true"],
        stdin=reading,
        stdout=subprocess.PIPE,
        text=True,
        env=environment(modules),
    ) as java:
        assert java.stdout is not None
        assert int(java.stdout.readline())
        java.kill()
        assert java.stdout.read() == ""  # while its input is still open here
    os.close(reading)
    os.close(writing)


@pytest.mark.parametrize("ended", ["the stub", "the process"])
def test_stub_and_process_end_together(interpreter: Interpreter, modules: Path, ended: str) -> None:
    with subprocess.Popen(
        [interpreter.path, "-m", "wait"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=environment(modules),
    ) as stub:
        assert stub.stdout is not None
        pid = int(stub.stdout.readline())
        os.kill(stub.pid if ended == "the stub" else pid, signal.SIGKILL)
        assert stub.stdout.read() == ""  # nobody has the other end any more
        assert stub.wait() == (-signal.SIGKILL if ended == "the stub" else 137)
