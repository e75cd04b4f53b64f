"""The machine -> the home of a Java that Spark can run with.

Spark 4.3 needs Java 17 or newer (tried here: 17 and 25). A home is judged by its `release` file, as starting a JVM to ask it takes
a second; a home without one is asked. What the user names in JAVA_HOME wins, then what `java` on the PATH belongs to, then
what the system has: there the version nearest to 17, on which Spark is tested most.
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
"""Seconds for a Java to say its version."""


def java_home(environment: Mapping[str, str] = os.environ, places: tuple[str, ...] = PLACES) -> Path:
    """The home of a fitting Java; a ResourceError that says what was found if there is none."""
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
    """The error that no fitting Java is there."""
    hint = f"apt install {PACKAGE} (Debian, Ubuntu), or point JAVA_HOME at a Java {OLDEST} or newer"
    if not found:
        named = environment.get("JAVA_HOME")
        detail = f"JAVA_HOME is {named}, where there is no bin/java" if named else None
        return ResourceError("Spark needs Java, and none was found", detail=detail, hint=hint)
    listed = ", ".join(f"Java {version} in {home}" for home, version in found.items())
    message = f"Spark needs Java {OLDEST} or newer, and what is here is older"
    return ResourceError(message, detail=f"found {listed}", hint=hint)


def version_of(home: Path) -> int:
    """The major version of the Java in a home: 8 for 1.8; 0 where there is none."""
    program = home / "bin" / "java"
    if not os.access(program, os.X_OK):
        return 0
    try:
        said = (home / "release").read_text(errors="replace")
    except OSError:
        said = _ask(program)
    return major_version(said)


def major_version(text: str) -> int:
    """Of a release file, or of what `java -version` says.

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
    """The homes that the system has, each once."""
    seen = set()
    for place in places:
        pattern = Path(place).expanduser()
        for home in sorted(Path(pattern.anchor).glob(str(pattern.relative_to(pattern.anchor)))):
            real = home.resolve()
            if real not in seen:
                seen.add(real)
                yield real


def _ask(program: Path) -> str:
    """What a Java says of itself."""
    try:
        told = subprocess.run(
            [program, "-version"], capture_output=True, text=True, timeout=PATIENCE, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return told.stderr + told.stdout
