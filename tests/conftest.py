"""What every test shares: Hypothesis profiles, --rewrite, and leaving out what this machine cannot run."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

import nescc_program
import postgres_server
from nilometer.sensornet.motes.toolchain import missing_tools

# Test frames are tiny: threads of Polars would only fight each other and the other test processes.
os.environ.setdefault("POLARS_MAX_THREADS", "1")

MEMORY = "/dev/shm"
ENOUGH = 2**30


def has_room(folder: str) -> bool:
    """Whether a file system takes all files of a test run, and runs programs. That of a container may be small."""
    try:
        found = os.statvfs(folder)
    except OSError:
        return False
    return found.f_bavail * found.f_frsize > ENOUGH and not found.f_flag & os.ST_NOEXEC


# The tests make many fsyncs. Each takes milliseconds on a disk, and none in memory. $TMPDIR overrides it.
if "TMPDIR" not in os.environ and has_room(MEMORY):
    os.environ["TMPDIR"] = MEMORY
    tempfile.tempdir = None

# The same examples in every run; `./nilo test --all` looks at many more, and at new ones each time.
settings.register_profile("ci", derandomize=True, deadline=None, max_examples=30)
settings.register_profile(
    "long", deadline=None, max_examples=2_000, suppress_health_check=[HealthCheck.too_slow]
)
FAST_EXAMPLES = 4
settings.register_profile("fast", derandomize=True, deadline=None, max_examples=100)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--rewrite",
        action="store_true",
        help="write what the program answers into the text tests, to be read in the diff",
    )


@pytest.hookimpl(tryfirst=True)  # xdist reads the groups in the same hook
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out, with the reason, tests whose marker names something that is missing here."""
    tools = missing_tools()
    missing = {
        "motes": None if tools is None else f"not installed: {tools}",
        "nesc": None if nescc_program.installed() else "nescc is not installed",
        "postgres": None if postgres_server.programs() else "PostgreSQL's server programs are not installed",
        "spark": None if "JAVA_HOME" in os.environ else "no JAVA_HOME; ./nilo sets it to a Java 17 or newer",
    }
    if os.environ.get("HYPOTHESIS_PROFILE") == "fast":
        cap_examples(items)
    for item in items:
        for marker, reason in missing.items():
            if item.get_closest_marker(marker):
                # One group, one process: a second JVM or server would only cost time.
                item.add_marker(pytest.mark.xdist_group(marker))
                if reason:
                    item.add_marker(pytest.mark.skip(reason=reason))


def cap_examples(items: list[pytest.Item]) -> None:
    """`./nilo test --fast`: properties that ask for more examples of their own accord get few as well."""
    for item in items:
        test = getattr(item, "obj", None)
        wanted = getattr(test, "_hypothesis_internal_use_settings", None)
        if wanted is not None and wanted.max_examples > FAST_EXAMPLES:
            function = getattr(test, "__func__", test)
            function._hypothesis_internal_use_settings = settings(wanted, max_examples=FAST_EXAMPLES)


@pytest.fixture
def rewrite(request: pytest.FixtureRequest) -> bool:
    """Whether text tests are to be rewritten instead of compared."""
    return bool(request.config.getoption("--rewrite"))


@pytest.fixture(scope="session")
def postgres_url() -> Iterator[str]:
    """The URL of an empty PostgreSQL database on a server of its own; mark the test `postgres`."""
    with postgres_server.running() as url:
        yield url
