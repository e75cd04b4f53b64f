"""Code of users in worker processes: values, rows that fail, and code that hangs, crashes, grows or breaks its word."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nilometer.errors import ConfigurationError, DataError, NilometerError, ResourceError
from nilometer.types import BOOLEAN, FLOAT, INT, STRING, TIME, Type, vector_of
from nilometer.workers import settings
from nilometer.workers.functions import PART, Argument, Values, call, check, close_all
from nilometer.workers.meanwhile import busy, go_on, meanwhile
from nilometer.workers.settings import PythonSettings, python_settings


@pytest.fixture(autouse=True)
def plant(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    limited(monkeypatch)
    yield
    close_all()


def limited(monkeypatch: pytest.MonkeyPatch, **limits: Any) -> None:
    monkeypatch.setattr(settings, "_taken", [PythonSettings(str(Path(__file__).parent), **limits)])


def of(name: str, values: Any, returns: Type = FLOAT, type_: Type = FLOAT) -> Values:
    column = np.array(values, dtype=object if type_ is STRING else None)
    return call(f"plant:{name}", [Argument(type_, column)], returns, len(values))


def test_values_of_every_type() -> None:
    assert of("twice", [1.5, 2.0]).values.tolist() == [3.0, 4.0]
    assert of("twice", [1, 2], INT, INT).values.tolist() == [2, 4]
    assert of("later", [5], TIME, TIME).values.tolist() == [1_000_005]
    assert of("wet", [0.0, 2.0], BOOLEAN).values.tolist() == [False, True]
    vectors = np.array([[1.0, 3.0], [5.0, 5.0]])
    assert of("mean", vectors, FLOAT, vector_of(FLOAT, 2)).values.tolist() == [2.0, 5.0]
    given = [Argument(vector_of(FLOAT, 2), vectors), Argument(FLOAT, np.array([2.0, 0.5]))]
    assert call("plant:scaled", given, vector_of(FLOAT, 2), 2).values.tolist() == [[2.0, 6.0], [2.5, 2.5]]
    texts = [Argument(STRING, np.array(["a", "none"], dtype=object)), Argument(INT, np.array([1, 2]))]
    found = call("plant:named", texts, STRING, 2)
    assert found.values.tolist() == ["a-1", None]
    assert found.nulls.tolist() == [False, True]
    assert of("twice", []).values.tolist() == []


def test_rows_that_fail_stand_alone() -> None:
    rows = PART + 7
    values = np.arange(rows, dtype=float)
    values[[3, PART + 2]] = [-4, -9]
    found = of("picky", values)
    assert found.failed == {
        "ValueError: -4 is below zero": [3],
        "ValueError: -9 is below zero": [PART + 2],
    }
    good = values >= 0
    assert found.nulls.tolist() == (~good).tolist()
    assert found.values[good].tolist() == np.sqrt(values[good]).tolist()
    assert of("twice", [np.inf, np.nan, 1.0]).nulls.tolist() == [True, True, False]


def test_code_that_hangs_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    limited(monkeypatch, seconds=0.05)
    with pytest.raises(ResourceError, match=r"plant:sleeps took more than 0\.3 seconds by the clock"):
        of("sleeps", [1.0])
    limited(monkeypatch)
    assert of("twice", [1.0]).values.tolist() == [2.0]


def test_other_work_goes_on_while_code_waits(tmp_path: Path) -> None:
    """The function waits for the work that is done meanwhile: without it, it would be stopped."""
    first, second = tmp_path / "first", tmp_path / "second"
    done = []
    for pipe in (first, second):
        os.mkfifo(pipe)

    def work() -> None:
        go_on()  # it does not begin within itself
        pipe = (first, second)[len(done)]
        done.append(pipe)
        pipe.write_text("written")
        if len(done) == 2:
            raise ValueError("the loop meets this in its own turn")

    check("plant:told")
    with meanwhile(work):
        assert of("told", [str(first), str(second)], STRING, STRING).values.tolist() == ["written", "written"]
    assert done == [first, second]
    assert not busy()


@pytest.mark.long
def test_code_that_works_for_ever_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    limited(monkeypatch, seconds=1)
    with pytest.raises(ResourceError, match=r"plant:works took more than 1 seconds of the processor"):
        of("works", [1.0])


def test_code_that_grows_or_crashes_ends_its_worker_only(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ResourceError, match=r"plant:grows took more than .* of memory"):
        of("grows", [1.0])
    with pytest.raises(ResourceError, match=r"plant:ends ended its worker process, with signal 9"):
        of("ends", [1.0])
    assert of("twice", [1.0]).values.tolist() == [2.0]


@pytest.mark.parametrize(
    ("name", "returns", "why"),
    [
        ("short", FLOAT, r"it gave an array of the shape \(1,\), not 2 values"),
        ("text", FLOAT, "it gave text for FLOAT"),
        ("twice", INT, "it gave float64 for INT"),
        ("twice", STRING, "it gave float for STRING"),
        ("twice", BOOLEAN, "it gave float64 for BOOLEAN"),
        ("missing", FLOAT, "the module plant has no 'missing'"),
        ("twise", FLOAT, "the module plant has no 'twise'; did you mean 'twice'?"),
        ("scaled", FLOAT, "it is declared with 1 argument, and takes v, x"),
        ("not_a_function", FLOAT, "'not_a_function' of plant is no function"),
    ],
)
def test_a_declaration_that_is_not_kept(name: str, returns: Type, why: str) -> None:
    with pytest.raises(DataError, match=f"plant:{name} does not keep its declaration: {why}"):
        of(name, [1.0, 2.0], returns)


def test_a_module_that_is_not_there() -> None:
    missing = "nowhere:f failed: ModuleNotFoundError: No module named 'nowhere'"
    with pytest.raises(DataError, match=missing) as caught:
        check("nowhere:f")
    assert "put the module into" in str(caught.value.hint)
    with pytest.raises(ConfigurationError, match="'plant' names no function"):
        check("plant")


def test_a_worker_does_not_have_our_secrets(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PLANT_PASSWORD", "secret")
    assert of("secret", [1.0]).values.tolist() == [0.0]
    assert "a function may print" not in capfd.readouterr().out


def test_settings_of_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "code").mkdir()
    file = tmp_path / "nilometer.toml"
    file.write_text('[python]\npath = "code"\nmodules = ["a.b"]\nseconds = 2\nmemory = "300MB"\n')
    monkeypatch.setenv(settings.VARIABLE, "")
    settings.take_settings(tmp_path)
    assert python_settings() == PythonSettings(str(tmp_path / "code"), ("a.b",), 2.0, 300_000_000)
    monkeypatch.setattr(settings, "_taken", [])
    assert python_settings().modules == ("a.b",)  # as a Spark worker reads them
    assert [python_settings().allows(name) for name in ("a.b", "a.b.c", "a", "a.bc")] == [
        True,
        True,
        False,
        False,
    ]
    for wrong in ("path = 5", 'path = "no"', 'modules = "a"', "seconds = 0", 'memory = "1MB"', "speed = 1"):
        file.write_text(f"[python]\n{wrong}\n")
        with pytest.raises(NilometerError):
            settings.take_settings(tmp_path)
