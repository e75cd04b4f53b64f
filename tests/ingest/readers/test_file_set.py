"""Which files a path, a directory or a pattern names, in which order, and how they are called."""

from __future__ import annotations

from pathlib import Path

import pytest

from nilometer.engine import data
from nilometer.errors import DataError
from nilometer.ingest.readers import files
from nilometer.ingest.readers.file_set import find_files, partition_of


def touch(root: Path, *names: str) -> None:
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("time,v\n")


def test_a_directory_gives_its_data_files_at_any_depth(tmp_path: Path) -> None:
    touch(tmp_path, "b.csv", "a/z.csv.zst", "a/notes.txt", ".hidden.csv", "_temporary/x.csv", ".cache/y.csv")
    found = find_files(tmp_path)
    assert [found.label(path) for path in found.paths] == ["a/z.csv.zst", "b.csv"]


def test_a_pattern_gives_what_it_matches(tmp_path: Path) -> None:
    touch(tmp_path, "x/1.csv", "x/2.csv", "x/3.txt", "y/1.csv")
    found = find_files(f"{tmp_path}/x/*")
    assert [found.label(path) for path in found.paths] == ["1.csv", "2.csv"]
    assert found.stem == "x"
    assert len(find_files(f"{tmp_path}/**/1.csv").paths) == 2
    assert len(find_files(f"{tmp_path}/*").paths) == 3


def test_a_name_with_brackets_is_a_file_if_there_is_one(tmp_path: Path) -> None:
    touch(tmp_path, "a[1].csv")
    assert find_files(tmp_path / "a[1].csv").paths == (tmp_path / "a[1].csv",)


def test_nothing_found_is_refused(tmp_path: Path) -> None:
    touch(tmp_path, "notes.txt")
    with pytest.raises(DataError, match="has no data files"):
        find_files(tmp_path)
    with pytest.raises(DataError, match="no data file matches"):
        find_files(tmp_path / "*.txt")


def test_partitions_are_read_from_the_folders() -> None:
    path = "lake/year=2024/site=Alp%20Grum/empty=__HIVE_DEFAULT_PARTITION__/a=b.parquet"
    assert partition_of(path) == {"year": "2024", "site": "Alp Grum", "empty": None}


def test_the_endings_without_polars_are_those_of_the_readers() -> None:
    assert set(data.ENDINGS) == set(files.ENDINGS)
