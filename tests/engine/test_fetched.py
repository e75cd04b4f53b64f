"""Data in an object store: the answers of the same data on a disk. The store is a folder here, and moto's server in the last test."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyarrow import fs
from typer.testing import CliRunner

import nilometer
from moto_server import BUCKET, MotoServer
from nilometer.cli.main import application
from nilometer.engine import fetched
from nilometer.errors import DataError, ResourceError
from nilometer.log import LogDirectory, object_store

SCHEMA = "CREATE STREAM river (depth FLOAT) PUSHED;\nCREATE TABLE banks (k INT, bank STRING) STORED AT 'banks.csv';\n"
ASKED = (
    "SELECT a.id, AVG(a.depth) AS mean, MAX(b.bank) AS bank FROM river [RANGE 1 HOUR SLIDE 1 HOUR] a, banks b"
    " WHERE a.id = b.k GROUP BY a.id"
)


@pytest.fixture
def field(tmp_path: Path) -> Path:
    folder = tmp_path / "field"
    folder.mkdir()
    (folder / "schema.sql").write_text(SCHEMA)
    (folder / "banks.csv").write_text("k,bank\n1,north\n2,south\n")
    lines = [f"2026-03-01T{6 + n // 60:02}:{n % 60:02}:00Z,{n % 3},{n / 4}\n" for n in range(180)]
    (folder / "river.csv").write_text("time,id,depth\n" + "".join(lines))
    return folder


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder that stands for s3://."""
    root = tmp_path / "store"
    root.mkdir()

    real = object_store.open_store

    def opened(url: str) -> tuple[Any, str]:
        if url.startswith("file:"):
            return real(url)
        return fs.LocalFileSystem(), str(root / url.removeprefix("s3://").partition("?")[0])

    monkeypatch.setattr(object_store, "open_store", opened)
    fetched._fetch.cache_clear()
    return root


def test_a_directory_in_a_store(field: Path, store: Path) -> None:
    shutil.copytree(field, store / "lake/field")
    there = nilometer.connect("s3://lake/field")
    expected = nilometer.connect(field).sql(ASKED).run().rows
    assert there.sql(ASKED).run().rows == expected
    assert expected
    # Declarations are of this process alone.
    there.execute("CREATE VIEW deep AS SELECT * FROM river [NOW] WHERE depth > 40")
    assert there.sql("SELECT COUNT(*) AS n FROM deep").run().rows
    assert sorted(path.name for path in (store / "lake/field").iterdir()) == [
        "banks.csv",
        "river.csv",
        "schema.sql",
    ]


@pytest.mark.parametrize("named", ["river.csv", "r*.csv", "ri*", "**/river.csv"])
def test_files_in_a_store(field: Path, store: Path, named: str) -> None:
    shutil.copytree(field, store / "lake/field")
    (store / "lake/field/river.txt").write_text("no data")
    there = nilometer.connect({"river": f"s3://lake/{'' if '**' in named else 'field/'}{named}"})
    asked = "SELECT COUNT(*) AS n FROM river [RANGE 1 HOUR SLIDE 1 HOUR]"
    assert there.sql(asked).run().rows == nilometer.connect(field).sql(asked).run().rows


@pytest.mark.parametrize("below", ["", ".nilometer/log/"])
def test_logs_in_a_store(field: Path, store: Path, below: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The logs are read where they are: as the setting `logs` has put them there, or as a copy of the whole directory has."""
    at_home = nilometer.connect(field)
    root = store / "lake/logs" / below
    (field / "nilometer.toml").write_text(f'logs = "{root.as_uri()}"\n')
    stream = at_home.catalog.stream("river")
    with LogDirectory(field).log(stream) as log:
        for entry in at_home.data.entries(stream):
            log.append(entry.rows)
    (store / "lake/logs/banks.csv").write_bytes((field / "banks.csv").read_bytes())
    fetched._fetch.cache_clear()
    with pytest.raises(DataError, match="the logs at s3://lake/logs have no declarations"):
        nilometer.connect("s3://lake/logs")
    (store / "lake/logs/schema.sql").write_text(SCHEMA)
    fetched._fetch.cache_clear()
    assert nilometer.connect("s3://lake/logs").sql(ASKED).run().rows == at_home.sql(ASKED).run().rows
    # The directory itself, without its file, reads the logs that it names.
    (field / "river.csv").unlink()
    assert nilometer.connect(field).sql(ASKED).run().rows == at_home.sql(ASKED).run().rows


def test_what_is_refused(field: Path, store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(DataError, match="no data at s3://lake/nothing"):
        nilometer.connect("s3://lake/nothing")
    shutil.copytree(field, store / "lake/field")
    runner = CliRunner()
    for verb in (["serve"], ["run"], ["execute", "CREATE STREAM x (y INT) PUSHED"]):
        result = runner.invoke(application, [verb[0], "--data", "s3://lake/field", *verb[1:]])
        assert result.exit_code
        assert "can be asked, and not changed" in str(result.output) + str(result.exception)
    fetched._fetch.cache_clear()
    monkeypatch.setattr(fetched.shutil, "disk_usage", lambda _: shutil._ntuple_diskusage(10, 10, 10))
    with pytest.raises(ResourceError, match="the files of s3://lake/field do not fit on the disk"):
        nilometer.connect("s3://lake/field")


def test_a_file_that_changes_while_it_is_read(
    field: Path, store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(field, store / "lake/field")
    listed: Callable[..., list[Any]] = fetched._objects

    def growing(*given: Any) -> list[Any]:
        found = listed(*given)
        (store / "lake/field/river.csv").write_text("time,id\n")
        return found

    monkeypatch.setattr(fetched, "_objects", growing)
    with pytest.raises(DataError, match=r"river.csv' has changed while it was read"):
        nilometer.connect("s3://lake/field")


@pytest.mark.moto
@pytest.mark.slow
def test_by_the_command_line(field: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with MotoServer() as moto:
        for name, value in moto.variables.items():
            monkeypatch.setenv(name, value)
        moto.put_folder(field, "field")
        fetched._fetch.cache_clear()
        runner = CliRunner()
        asked = ["query", "--json", "-q", ASKED]
        there = runner.invoke(application, [*asked, "--data", f"s3://{BUCKET}/field"])
        here = runner.invoke(application, [*asked, "--data", str(field)])
        assert there.stdout == here.stdout
        assert here.stdout
        lost = runner.invoke(application, [*asked, "--data", "s3://pond/field"])
        assert "has no such bucket" in str(lost.exception) + lost.output
        assert "hush" not in lost.output + there.output
