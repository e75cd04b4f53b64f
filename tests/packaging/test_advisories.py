"""No locked package has a known advisory, and everything that is installed has a hash.

The list is shipped, because tests use no network: it knows what was known at its date. CONTRIBUTING.md says how to
renew it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from packaging.version import Version

ROOT = Path(__file__).parents[2]
KNOWN: dict[str, Any] = json.loads((Path(__file__).parent / "advisories.json").read_text())
LOCKS = ("requirements.lock", "build.lock")


def locked(name: str) -> Iterator[tuple[str, str, str]]:
    """The packages of a lock: name, version, and the rest of their lines."""
    text = (ROOT / name).read_text().replace("\\\n", " ")
    for line in text.splitlines():
        if line.strip() and not line.lstrip().startswith("#"):
            found = re.match(r"([\w.-]+)==([^\s;]+)(.*)", line)
            assert found, f"{name} has a line that pins nothing: {line[:80]}"
            yield re.sub(r"[-_.]+", "-", found[1]).lower(), found[2], found[3]


def advisories_of(name: str, version: str) -> list[str]:
    """The advisories that concern this version."""
    return [
        advisory["id"]
        for advisory in KNOWN["packages"][name]
        for begin, end in advisory["ranges"]
        if Version(begin) <= Version(version) and (end is None or Version(version) < Version(end))
    ]


@pytest.mark.promise("advisories")
@pytest.mark.parametrize("lock", LOCKS)
def test_every_locked_package_has_a_hash(lock: str) -> None:
    assert [name for name, _, rest in locked(lock) if "--hash=sha256:" not in rest] == []
    installs = [line for line in (ROOT / "nilo").read_text().splitlines() if f'-r "$root/{lock}"' in line]
    assert installs
    assert all("--require-hashes" in line for line in installs)


@pytest.mark.promise("advisories")
@pytest.mark.parametrize("lock", LOCKS)
def test_no_locked_package_has_a_known_advisory(lock: str) -> None:
    packages = list(locked(lock))
    unknown = sorted({name for name, _, _ in packages} - KNOWN["packages"].keys())
    assert unknown == [], "the list does not know these: renew it with .ci/advisories"
    found = {f"{name} {version}": advisories_of(name, version) for name, version, _ in packages}
    assert {package: ids for package, ids in found.items() if ids} == {}


def test_the_comparison_finds_what_it_should() -> None:
    assert advisories_of("pyarrow", "14.0.0") == ["PYSEC-2023-238"]
    assert advisories_of("pyarrow", "14.0.1") == []
