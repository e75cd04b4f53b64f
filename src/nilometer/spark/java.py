"""Finds the home of a Java that Spark can run with.

Spark 4.3 needs Java 17 or newer (tried here: 17 and 25). The version of a home is read from its `release`
file, since starting a JVM takes a second; only a home without that file is asked. JAVA_HOME comes first, then
the home of `java` on the PATH, then the system's installations: among these, the version nearest to 17, on
which Spark is tested most.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

from nilometer.errors import ResourceError

OLDEST = 17
PACKAGE = "openjdk-17-jre-headless"
PLACES = (
    "/usr/lib/jvm/*",
    "/usr/java/*",
    "/opt/java/*",
    "/opt/jdk*",
    "/Library/Java/JavaVirtualMachines/*/Contents/Home",
    "/opt/homebrew/opt/openjdk*/libexec/openjdk.jdk/Contents/Home",
    "~/.sdkman/candidates/java/*",
    "~/.jdks/*",
)
PATIENCE = 30
"""Seconds that a Java gets to print its version."""


def java_home(environment: Mapping[str, str] = os.environ, places: tuple[str, ...] = PLACES) -> Path:
    """The home of a suitable Java; if there is none, a ResourceError that lists what was found."""
    found: dict[Path, int] = {}
    for home in _named_homes(environment):
        found[home] = version_of(home)
        if found[home] >= OLDEST:
            return home
    installed = {home: version_of(home) for home in _installed_homes(places)}
    fitting = sorted((version, str(home)) for home, version in installed.items() if version >= OLDEST)
    if fitting:
        return Path(fitting[0][1])
    raise missing({home: version for home, version in (found | installed).items() if version}, environment)


def missing(found: Mapping[Path, int], environment: Mapping[str, str]) -> ResourceError:
    """The error for a machine without a suitable Java."""
    hint = f"apt install {PACKAGE} (Debian, Ubuntu), or point JAVA_HOME at a Java {OLDEST} or newer"
    if not found:
        named = environment.get("JAVA_HOME")
        detail = f"JAVA_HOME is {named}, where there is no bin/java" if named else None
        return ResourceError("Spark needs Java, and none was found", detail=detail, hint=hint)
    listed = ", ".join(f"Java {version} in {home}" for home, version in found.items())
    message = f"Spark needs Java {OLDEST} or newer, and what is here is older"
    return ResourceError(message, detail=f"found {listed}", hint=hint)


def version_of(home: Path) -> int:
    """The major version of the Java in a home: 8 for 1.8; 0 if there is none."""
    program = home / "bin" / "java"
    if not os.access(program, os.X_OK):
        return 0
    try:
        said = (home / "release").read_text(errors="replace")
    except OSError:
        said = _ask(program)
    return major_version(said)


def major_version(text: str) -> int:
    """The version in a release file, or in the output of `java -version`.

    >>> (
    ...     major_version('JAVA_VERSION="17.0.15"'),
    ...     major_version('openjdk version "1.8.0_392"'),
    ...     major_version(""),
    ... )
    (17, 8, 0)
    """
    match = re.search(r'(?:JAVA_VERSION=|version )"?(?:1\.)?(\d+)', text)
    return int(match[1]) if match else 0


def _named_homes(environment: Mapping[str, str]) -> Iterator[Path]:
    """The homes that the user chose."""
    if environment.get("JAVA_HOME"):
        yield Path(environment["JAVA_HOME"])
    on_path = shutil.which("java", path=environment.get("PATH", os.defpath))
    if on_path:
        yield Path(on_path).resolve().parent.parent


def _installed_homes(places: tuple[str, ...]) -> Iterator[Path]:
    """The homes installed on the system, each once."""
    seen = set()
    for place in places:
        pattern = Path(place).expanduser()
        for home in sorted(Path(pattern.anchor).glob(str(pattern.relative_to(pattern.anchor)))):
            real = home.resolve()
            if real not in seen:
                seen.add(real)
                yield real


def _ask(program: Path) -> str:
    """The output of `java -version`."""
    try:
        told = subprocess.run(
            [program, "-version"], capture_output=True, text=True, timeout=PATIENCE, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return told.stderr + told.stdout
