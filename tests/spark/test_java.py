"""Java is found where it is, and its absence is explained."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from nilometer.errors import ResourceError
from nilometer.spark.java import java_home, major_version, version_of

NOTHING = "/nowhere"


def make_home(place: Path, version: str | None, said: str = "") -> Path:
    """A home with a `java` that says its version, and a release file if a version is given."""
    program = place / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text(f"#!/bin/sh\necho '{said}' >&2\n")
    program.chmod(0o755)
    if version:
        (place / "release").write_text(f'IMPLEMENTOR="Debian"\nJAVA_VERSION="{version}"\n')
    return place


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ('JAVA_VERSION="17.0.15"', 17),
        ('JAVA_VERSION="1.8.0_392"', 8),
        ('JAVA_VERSION="25"', 25),
        ('openjdk version "21.0.2" 2024-01-16', 21),
        ("openjdk version 25-ea", 25),
        ("no such thing", 0),
    ],
)
def test_a_version_is_read_from_what_java_says(text: str, version: int) -> None:
    assert major_version(text) == version


def test_java_home_wins(tmp_path: Path) -> None:
    named = make_home(tmp_path / "named", "21.0.1")
    make_home(tmp_path / "jvm" / "other", "17.0.1")
    found = java_home({"JAVA_HOME": str(named), "PATH": NOTHING}, (f"{tmp_path}/jvm/*",))
    assert found == named


def test_a_java_home_that_is_too_old_is_passed_over(tmp_path: Path) -> None:
    old = make_home(tmp_path / "old", "1.8.0_392")
    fitting = make_home(tmp_path / "jvm" / "fitting", "17.0.1")
    assert java_home({"JAVA_HOME": str(old), "PATH": NOTHING}, (f"{tmp_path}/jvm/*",)) == fitting


def test_java_on_the_path_is_followed_to_its_home(tmp_path: Path) -> None:
    home = make_home(tmp_path / "jvm" / "here", "17.0.1")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "java").symlink_to(home / "bin" / "java")
    assert java_home({"PATH": str(tmp_path / "bin")}, ()) == home


def test_of_those_installed_the_nearest_to_17_is_taken(tmp_path: Path) -> None:
    make_home(tmp_path / "jvm" / "a-25", "25.0.3")
    make_home(tmp_path / "jvm" / "b-11", "11.0.2")
    nearest = make_home(tmp_path / "jvm" / "c-17", "17.0.15")
    (tmp_path / "jvm" / "d-not-java").mkdir()
    assert java_home({"PATH": NOTHING}, (f"{tmp_path}/jvm/*",)) == nearest


def test_a_home_without_a_release_file_is_asked(tmp_path: Path) -> None:
    assert version_of(make_home(tmp_path / "asked", None, 'openjdk version "17.0.2"')) == 17


def test_no_java_at_all_is_explained() -> None:
    with pytest.raises(ResourceError) as caught:
        java_home({"PATH": NOTHING}, ())
    assert caught.value.message == "Spark needs Java, and none was found"
    assert caught.value.hint is not None
    assert "apt install openjdk-17-jre-headless" in caught.value.hint


def test_a_java_home_without_java_is_named() -> None:
    with pytest.raises(ResourceError) as caught:
        java_home({"PATH": NOTHING, "JAVA_HOME": "/typo"}, ())
    assert caught.value.detail == "JAVA_HOME is /typo, where there is no bin/java"


def test_one_too_old_is_named(tmp_path: Path) -> None:
    old = make_home(tmp_path / "old", "11.0.2")
    with pytest.raises(ResourceError) as caught:
        java_home({"PATH": NOTHING, "JAVA_HOME": str(old)}, ())
    assert caught.value.message == "Spark needs Java 17 or newer, and what is here is older"
    assert caught.value.detail == f"found Java 11 in {old}"


@pytest.mark.spark
def test_what_is_found_here_says_the_same_of_itself() -> None:
    home = java_home()
    told = subprocess.run([home / "bin" / "java", "-version"], capture_output=True, text=True, check=True)
    assert major_version(told.stderr) == version_of(home)
    assert version_of(home) >= 17
    assert os.access(home / "bin" / "java", os.X_OK)
