"""What every test shares: Hypothesis profiles, --rewrite, and leaving out what this machine cannot run."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest
from _pytest.nodeid import coerce_node_id
from hypothesis import HealthCheck, settings
from xdist.scheduler import LoadScopeScheduling

import moto_server
import nescc_program
import postgres_server
from nilometer.sensornet.motes.toolchain import missing_tools
from overlay import network_namespaces

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

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


SERVERS = ("postgres", "spark")
"""Their tests are one group, in one process: a second JVM or server would only cost time."""


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
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    missing = {
        "chromium": None if chromium else "Chromium is not installed",
        "motes": None if tools is None else f"not installed: {tools}",
        "namespaces": network_namespaces.why_not() if any(map(_in_namespaces, items)) else None,
        "moto": None
        if moto_server.program()
        else "moto's server is not installed; NILO_MOTO may name its program",
        "nesc": None if nescc_program.installed() else "nescc is not installed",
        "postgres": None if postgres_server.programs() else "PostgreSQL's server programs are not installed",
        "spark": None if "JAVA_HOME" in os.environ else "no JAVA_HOME; ./nilo sets it to a Java 17 or newer",
    }
    if os.environ.get("HYPOTHESIS_PROFILE") == "fast":
        cap_examples(items)
    for item in items:
        for marker, reason in missing.items():
            if item.get_closest_marker(marker):
                if marker in SERVERS:
                    item.add_marker(pytest.mark.xdist_group(marker))
                if reason:
                    item.add_marker(pytest.mark.skip(reason=reason))
    if getattr(config.option, "loadgroup", False):
        for item in items:
            name_group(item)
        # Long files first, so that short ones fill the end.
        slow = {item.path for item in items if item.get_closest_marker("slow")}
        items.sort(key=lambda item: item.path not in slow)


def _in_namespaces(item: pytest.Item) -> bool:
    return item.get_closest_marker("namespaces") is not None


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> LoadScopeScheduling | None:
    """A process takes whole files: two that shared one would compile its kernels and make its fixtures twice."""
    if config.getvalue("dist") != "loadgroup":
        return None
    config.option.loadscopereorder = False
    return FilesAndGroups(config, log)


class FilesAndGroups(LoadScopeScheduling):
    """Divides the tests among processes by their groups, or else by their files."""

    def _split_scope(self, nodeid: str) -> str:
        """The group (`test_x[1]@spark`), or the file."""
        name, _, group = nodeid.rpartition("@")
        return group if name and "]" not in group else nodeid.partition("::")[0]


def name_group(item: pytest.Item) -> None:
    """Append the test's group to its id, which is where xdist's scheduler looks for it.

    xdist 3.8 writes the id into an attribute that pytest 9.2 no longer reads. Without this, `--dist loadgroup` is
    silently `--dist load`: every process starts a JVM, a PostgreSQL and a broker of its own.
    """
    groups = sorted({str(mark.args[0]) for mark in item.iter_markers("xdist_group")})
    if groups:
        named = f"{item.nodeid}@{'_'.join(groups)}"
        item._id = coerce_node_id(named)
        assert item.nodeid == named


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


# ---- one Spark for all tests -----------------------------------------------------------------------------------------

QUICK = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""The JVM of a test run compiles little, and only once: it is gone before more would pay."""


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """The session of this test process, on its own machine's cores, with a Python worker that is warm."""
    from nilometer.spark.session import spark_session

    session = spark_session(
        {
            "spark.sql.shuffle.partitions": "2",
            "spark.driver.extraJavaOptions": QUICK,
        }
    )
    session.range(2).mapInArrow(unchanged, "id long").collect()
    yield session
    end(session)


def unchanged(batches: Iterator[Any]) -> Iterator[Any]:
    yield from batches


unchanged.__module__ = "__main__"  # workers cannot import a conftest: the function itself goes to them


def end(session: SparkSession) -> None:
    """Stop the session and its JVM, and leave nothing open that Python would complain of."""
    from pyspark import SparkContext

    session.stop()
    gateway = SparkContext._gateway
    assert gateway is not None
    gateway.shutdown()
    process = gateway.proc
    process.stdin.close()
    process.wait(60)
    SparkContext._gateway = SparkContext._jvm = None
