"""Standing queries on Spark whose checkpoint is lost or damaged, or whose answers found no room on the disk: none lost, none doubled."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import nilometer
from log.logs import FailAt, no_space
from nilometer.errors import NilometerError, ResourceError
from nilometer.live.spark_query import FOLDER, INSTALLATION, TRIES, SparkQuery
from nilometer.live.starts import BEGINNING
from nilometer.log.failpoints import Failpoint
from nilometer.spark.processor import STATE_FORMAT
from nilometer.spark.settings import SparkSettings
from spark.test_kill import QUERIES, append, check, empty_field

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark")]

SETTINGS = SparkSettings(buckets=2, max_rows=300)
HALF, ALL = 400, 800


@pytest.fixture
def field(tmp_path: Path) -> Path:
    return empty_field(tmp_path)


def standing(field: Path, name: str, failpoint: Failpoint | None = None) -> SparkQuery:
    query = nilometer.connect(field).query(name)
    return SparkQuery(
        field, name, query, start=BEGINNING, clock=lambda: 0, settings=SETTINGS, failpoint=failpoint
    )


def answer(field: Path, name: str) -> None:
    with closing(standing(field, name)) as query:
        query.start()
        query.catch_up()


def checkpoint_of(field: Path, name: str) -> Path:
    return field / ".nilometer" / "queries" / name / FOLDER


@pytest.mark.parametrize("name", QUERIES)
def test_a_lost_checkpoint_is_made_again(field: Path, name: str) -> None:
    append(field, 0, HALF)
    answer(field, name)
    check(field, name)
    shutil.rmtree(checkpoint_of(field, name))
    append(field, HALF, ALL)
    answer(field, name)
    check(field, name)


def test_a_checkpoint_of_an_earlier_form_is_made_again_at_once(field: Path) -> None:
    append(field, 0, HALF)
    answer(field, "windows")
    installation = checkpoint_of(field, "windows") / INSTALLATION
    installed = json.loads(installation.read_text())
    installation.write_text(json.dumps(installed | {"format": STATE_FORMAT - 1}))
    (offsets,) = checkpoint_of(field, "windows").glob("*/offsets")
    for file in files_of(offsets):
        file.write_bytes(b"of another form")
    append(field, HALF, ALL)
    answer(field, "windows")
    check(field, "windows")
    assert json.loads(installation.read_text()) == installed


@pytest.mark.parametrize("damaged", ["offsets", "commits"])
def test_a_damaged_checkpoint_is_given_up_and_made_again(field: Path, damaged: str) -> None:
    append(field, 0, HALF)
    answer(field, "windows")
    (folder,) = checkpoint_of(field, "windows").glob(f"*/{damaged}")
    for file in files_of(folder):
        file.write_bytes(b"not json")
    append(field, HALF, ALL)
    with closing(standing(field, "windows")) as query:
        failures = 0
        query.start()
        while True:
            try:
                query.catch_up()
                break
            except NilometerError:
                failures += 1
                assert failures <= TRIES
                query.restart()
    assert failures == TRIES
    check(field, "windows")


def files_of(folder: Path) -> Iterator[Path]:
    for file in folder.iterdir():
        if file.name.isdigit():
            yield file
        else:
            file.unlink()  # a checksum beside it would give it away before it is read


@pytest.mark.parametrize("place", ["before_write", "during_write"])
def test_a_full_disk_is_waited_for(field: Path, place: str) -> None:
    append(field, 0, ALL)
    disk = FailAt(no_space, 3, place)
    with closing(standing(field, "windows", disk)) as query:
        query.start()
        with pytest.raises(ResourceError, match="the disk is full"):
            query.catch_up()
        query.restart()
        query.catch_up()
        assert query.metrics.ledger.read == ALL
    assert len(disk.passed) > disk.at
    check(field, "windows")


def test_a_disk_that_stays_full(field: Path, spark: SparkSession) -> None:
    append(field, 0, ALL)
    full = [False]

    def disk(_: str) -> None:
        if full[0]:
            raise no_space()

    with closing(standing(field, "windows", disk)) as query:
        full[0] = True
        query.start()
        with pytest.raises(ResourceError, match="the disk is full"):
            query.catch_up()
        query.restart()
        assert not query.active  # its answers come first, and there is still no room
        assert not spark.streams.active
        full[0] = False
        query.restart()
        query.catch_up()
    check(field, "windows")
