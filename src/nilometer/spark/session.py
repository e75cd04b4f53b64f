"""Makes the one SparkSession of this process from settings.

The master is `local[*]` by default, or any master URL. The user's settings override those chosen here. A
session that the user made before is used as it is, and only gets the settings that streaming queries need.
The reason for each setting is beside it.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import os
import re
import subprocess
import sys
import tempfile
import threading
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nilometer.errors import ConfigurationError, ResourceError, UnsupportedError
from nilometer.spark.java import java_home
from nilometer.spark.java_ended import JAVA_ENDED, asking_java, java_process
from nilometer.spark.noise import Listener
from nilometer.spark.scratch import scratch_folder
from nilometer.spark.settings import SparkSettings, cores_of
from nilometer.spark.warm import Interpreter

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MASTER = "spark.master"
PYTHON = "PYSPARK_PYTHON"
LOG_LEVEL = "spark.log.level"
LOGGING = Path(__file__).with_name("log4j2.properties")
ONE = threading.Lock()
"""Two threads that ask for a session get the same one."""
SOON = 5.0
"""How many seconds a Java that no longer answers may take to end."""

PARTITIONS = "spark.sql.shuffle.partitions"
JAVA_OPTIONS = "spark.driver.defaultJavaOptions"

STREAMING = {
    # State in RocksDB, the only provider that transformWithState accepts. A commit writes the changes, not
    # the whole state.
    "spark.sql.streaming.stateStore.providerClass": "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider",
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
    # Without timers, a batch without data has nothing to do; every batch of ours has a packet for every
    # bucket.
    "spark.sql.streaming.noDataMicroBatches.enabled": "false",
    # Times are UTC throughout.
    "spark.sql.session.timeZone": "UTC",
}
"""The settings that queries need in any session, including one that the user made."""

LOCAL_CHECKPOINTS = {
    # The default starts some 40 processes per batch to ask for permissions, 0.1 s; this one starts 8 (chmod,
    # as there is no native Hadoop). It assumes one driver per checkpoint.
    "spark.sql.streaming.checkpointFileManagerClass": "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager",
}


def spark_session(settings: Mapping[str, str] | None = None, *, brief: bool = False) -> SparkSession:
    """The session of this process: the existing one, or a new one with these settings (default: those of the
    environment). `brief`: it is for one question.
    """
    chosen = dict(SparkSettings.from_environment().session if settings is None else settings)
    # Printed at every use of Arrow. pandas 3 works with the parts of PySpark that we use: our tests show it.
    warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)
    with ONE:
        if chosen.get(MASTER, "").startswith("sc://"):
            return _connected(chosen)
        try:
            return _local(chosen, brief)
        except ResourceError as error:
            # It was killed a moment ago, or while it was asked.
            if error.message != JAVA_ENDED or not _ends_soon(java_process()):
                raise
            return _local(chosen, brief)


def _local(chosen: Mapping[str, str], brief: bool) -> SparkSession:
    """The session whose driver is this process."""
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    _forget_the_dead()
    with asking_java():
        there = SparkContext._active_spark_context is not None
        return _adopted(SparkSession.builder.getOrCreate(), chosen) if there else _made(chosen, brief)


def default_settings(master: str = "local[*]", *, brief: bool = False) -> dict[str, str]:
    """The default settings of a session."""
    cores = cores_of(master)
    # A start of Java is mostly spent in its second compiler, which pays only for code that runs for minutes: 18 instead of
    # 28 s of processor time for one question.
    compiler = " -XX:TieredStopAtLevel=1" if brief else ""
    return {
        MASTER: master,
        "spark.app.name": "nilometer",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        LOG_LEVEL: "ERROR",
        "spark.driver.memory": f"{_driver_gigabytes()}g",
        # Hadoop's local file system runs `chmod` for every file it writes, eight per micro-batch: at least
        # without a helper process each.
        JAVA_OPTIONS: f"-Dlog4j2.configurationFile={LOGGING.as_uri()}"
        f" -Djdk.lang.Process.launchMechanism=VFORK{compiler}",
        # We use no tables, but a catalog creates its directory in the working directory.
        "spark.sql.warehouse.dir": str(Path(tempfile.gettempdir(), f"nilometer-warehouse-{os.getuid()}")),
        "spark.sql.catalogImplementation": "in-memory",
        PARTITIONS: default_partitions(master),
        # A worker keeps its imports, its compiled kernels and the state it last read.
        "spark.python.worker.reuse": "true",
        # Forks workers that have already imported Polars, numba and Nilometer.
        "spark.python.daemon.module": "nilometer.spark.daemon",
        # On a busy machine, the imports of a worker take longer than the 15 s that Spark waits for it.
        "spark.python.authenticate.socketTimeout": "120s",
        # Makes a crash inside native code print where it happened.
        "spark.python.worker.faulthandler.enabled": "true",
        **(LOCAL | LOCAL_CHECKPOINTS if cores else {}),
        **STREAMING,
    }


def default_partitions(master: str) -> str:
    """Few partitions: each costs a state store and a turn of a Python worker in every batch and stage. Spark's
    own default is 200.
    """
    cores = cores_of(master)
    return str(min(cores, 4) if cores else 4)


LOCAL = {
    # Over TCP, a task waits 40 ms for its input because of small writes and delayed acknowledgements.
    "spark.python.unix.domain.socket.enabled": "true",
    # Nothing outside needs to reach a driver that is its own executor.
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
}


def _made(chosen: Mapping[str, str], brief: bool) -> SparkSession:
    """A new session with its own JVM."""
    from pyspark import SparkConf, SparkContext
    from pyspark.sql import SparkSession

    chosen = _spark_defaults() | dict(chosen)
    settings = default_settings(chosen.get(MASTER, "local[*]"), brief=brief)
    if SparkContext._gateway is None and (folder := scratch_folder()) is not None:
        settings[JAVA_OPTIONS] += f" -Djava.io.tmpdir={folder}"
    settings |= chosen
    os.environ["JAVA_HOME"] = str(java_home())
    os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    configuration = SparkConf(loadDefaults=False).setAll(list(settings.items()))
    if not cores_of(settings[MASTER]):
        os.environ.setdefault(PYTHON, sys.executable)
        context = SparkContext(conf=configuration, gateway=SparkContext._gateway or _gateway(configuration))
        return SparkSession(context)
    os.environ.setdefault("SPARK_LOCAL_IP", settings["spark.driver.bindAddress"])
    try:
        # The Python of this process, whatever the environment says: with the libraries of another Python,
        # state fails in odd ways.
        os.environ[PYTHON] = _interpreter().path if sys.platform == "linux" else sys.executable
        context = SparkContext(conf=configuration, gateway=SparkContext._gateway or _gateway(configuration))
    finally:
        os.environ[PYTHON] = sys.executable  # for the processes that the user starts
    return SparkSession(context)


@functools.cache
def _interpreter() -> Interpreter:
    """The interpreter that starts Spark's Python processes on this machine, for the life of this process."""
    interpreter = Interpreter()
    atexit.register(interpreter.close)
    return interpreter


def _gateway(configuration: Any) -> Any:
    """Start a JVM; a Listener reads its output."""
    from pyspark.errors import PySparkRuntimeError
    from pyspark.java_gateway import launch_gateway

    reading, writing = os.pipe()
    listener = Listener(os.fdopen(reading, encoding="utf-8", errors="replace"))
    try:
        # Its stdout, too: ours is for rows, and a JVM that cannot start says so there.
        return launch_gateway(configuration, {"stderr": writing, "stdout": writing})  # type: ignore[no-untyped-call]
    except PySparkRuntimeError as error:
        os.close(writing)
        writing = -1
        listener.wait(1.0)
        raise ResourceError(
            "Spark's Java did not start",
            detail=" ".join(listener.last) or str(error),
            hint=f"Java is {os.environ['JAVA_HOME']}, its memory spark.driver.memory={configuration.get('spark.driver.memory')}",
        ) from None
    finally:
        if writing >= 0:
            os.close(writing)


def _adopted(session: SparkSession, chosen: Mapping[str, str]) -> SparkSession:
    """An existing session, with the settings that queries need where its maker set none."""
    master = session.conf.get(MASTER) or ""
    if chosen.get(MASTER, master) != master:
        raise ConfigurationError(
            f"Spark runs on {master} in this process already, and cannot be on {chosen[MASTER]} as well",
            hint="stop its session first (session.stop()), or leave the master as it is",
        )
    said = session._jsparkSession.sessionState().conf()
    for key, value in (STREAMING | {PARTITIONS: default_partitions(master)}).items():
        if not said.contains(key):
            session.conf.set(key, value)
    if cores_of(master) and PYTHON not in os.environ:
        # Else Spark starts the `python3` of the PATH, which may know neither Polars nor us.
        session.sparkContext.pythonExec = sys.executable
    for key, value in chosen.items():
        if session.conf.isModifiable(key):
            session.conf.set(key, value)
    return session


def _connected(chosen: Mapping[str, str]) -> SparkSession:
    """A session on a Spark Connect server."""
    from pyspark.errors import PySparkImportError
    from pyspark.sql import SparkSession

    try:
        session = SparkSession.builder.remote(chosen[MASTER]).getOrCreate()
    except PySparkImportError as error:
        raise ResourceError(
            "Spark Connect needs packages that are not here",
            detail=str(error),
            hint="pip install 'pyspark[connect]'",
        ) from None
    for key, value in (STREAMING | dict(chosen)).items():
        if session.conf.isModifiable(key):
            session.conf.set(key, value)
    return session


def require_driver(session: SparkSession, what: str) -> None:
    """Refuse work that must run in Spark's driver, which with Spark Connect is another process on another
    machine.
    """
    if not hasattr(session, "_jsparkSession"):
        raise UnsupportedError(
            f"{what} needs Spark's driver in this process, and over Spark Connect it is elsewhere",
            hint="choose a master such as local[*] or spark://host:7077; db.sql(...).dataframe() works over Spark Connect",
        )


def _forget_the_dead() -> None:
    """Forget the context of a JVM that was killed, and what listens here for its calls: it can do nothing, not even stop.
    So does one that has stopped by itself, as after the loss of its cluster."""
    from pyspark import SparkContext
    from pyspark.sql import SparkSession, SQLContext

    process, context = java_process(), SparkContext._active_spark_context
    dead = process is not None and process.poll() is not None
    if not dead and not _has_stopped(context):
        return
    if context is not None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # that it could not be stopped cleanly
            if dead:
                context._jsc = None  # it is not asked to stop
            context.stop()
    SparkSession._instantiatedSession = SparkSession._activeSession = SQLContext._instantiatedContext = None
    if dead:
        gateway: Any = SparkContext._gateway
        SparkContext._gateway = SparkContext._jvm = None
        with contextlib.suppress(Exception):
            gateway.shutdown_callback_server()
        with contextlib.suppress(OSError):
            process.stdin.close()


def _has_stopped(context: Any) -> bool:
    if context is None or context._jsc is None:
        return False
    with asking_java():
        return bool(context._jsc.sc().isStopped())


def _ends_soon(process: Any) -> bool:
    """Whether a process ends within a moment: its sockets are closed before it is gone."""
    if process is None:
        return False
    try:
        process.wait(SOON)
    except subprocess.TimeoutExpired:
        return False
    return True


def _spark_defaults() -> dict[str, str]:
    """The user's spark-defaults.conf, read here because Spark would let our settings override it."""
    home = os.environ.get("SPARK_CONF_DIR") or (
        os.environ.get("SPARK_HOME", "") and os.environ["SPARK_HOME"] + "/conf"
    )
    path = Path(home, "spark-defaults.conf") if home else None
    if path is None or not path.is_file():
        return {}
    lines = (line.strip() for line in path.read_text().splitlines())
    pairs = (re.split(r"[\s=]+", line, maxsplit=1) for line in lines if line and not line.startswith("#"))
    return {pair[0]: pair[1] for pair in pairs if len(pair) == 2}


def _driver_gigabytes() -> int:
    """A quarter of the memory, from 1 to 4 GB: RocksDB and Python, which do the work, are outside the JVM's
    heap.
    """
    whole = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return max(1, min(4, whole // 4 // 2**30))
