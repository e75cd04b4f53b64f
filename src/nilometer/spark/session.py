"""Settings -> the one SparkSession of this process.

`local[*]` by default, any master URL by configuration. Whatever the user sets wins over what is chosen here; a session that the user
made before is taken as it is, and only told what streaming queries need. Why each setting is here stands beside it.
"""

from __future__ import annotations

import atexit
import functools
import os
import re
import sys
import tempfile
import threading
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nilometer.errors import ConfigurationError, ResourceError, UnsupportedError
from nilometer.spark.java import java_home
from nilometer.spark.noise import Listener
from nilometer.spark.settings import SparkSettings, cores_of
from nilometer.spark.warm import Interpreter

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MASTER = "spark.master"
PYTHON = "PYSPARK_PYTHON"
LOG_LEVEL = "spark.log.level"
LOGGING = Path(__file__).with_name("log4j2.properties")
ONE = threading.Lock()
"""Two threads that ask for a session get the same."""

STREAMING = {
    # State in RocksDB: the only provider that transformWithState takes. A commit writes what changed, not the whole.
    "spark.sql.streaming.stateStore.providerClass": "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider",
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
    # Without a timer no batch without data has anything to do; every batch of ours has a packet for every bucket.
    "spark.sql.streaming.noDataMicroBatches.enabled": "false",
    # Times are UTC throughout.
    "spark.sql.session.timeZone": "UTC",
}
"""What queries need of any session, also of one that the user made."""

LOCAL_CHECKPOINTS = {
    # The default starts some 40 processes a batch to ask for permissions, 0.1 s; this one 8 (chmod, as there is no native Hadoop).
    # It assumes one driver a checkpoint.
    "spark.sql.streaming.checkpointFileManagerClass": "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager",
}


def spark_session(settings: Mapping[str, str] | None = None) -> SparkSession:
    """The session of this process: made with these settings (by default those of the environment), or the one that is there."""
    chosen = dict(SparkSettings.from_environment().session if settings is None else settings)
    # Said at every use of Arrow. pandas 3 works with what we use of PySpark: our tests say so.
    warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)
    with ONE:
        if chosen.get(MASTER, "").startswith("sc://"):
            return _connected(chosen)
        from pyspark import SparkContext
        from pyspark.sql import SparkSession

        _forget_the_dead()
        there = SparkContext._active_spark_context is not None
        return _adopted(SparkSession.builder.getOrCreate(), chosen) if there else _made(chosen)


def default_settings(master: str = "local[*]") -> dict[str, str]:
    """What a session has unless told otherwise."""
    cores = cores_of(master)
    return {
        MASTER: master,
        "spark.app.name": "nilometer",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        LOG_LEVEL: "ERROR",
        "spark.driver.memory": f"{_driver_gigabytes()}g",
        # Hadoop's local file system runs `chmod` for every file it writes, eight of them a micro-batch: at least without a helper process each.
        "spark.driver.defaultJavaOptions": f"-Dlog4j2.configurationFile={LOGGING.as_uri()}"
        " -Djdk.lang.Process.launchMechanism=VFORK",
        # Tables are none of ours, but a catalog makes its directory where it stands.
        "spark.sql.warehouse.dir": str(Path(tempfile.gettempdir(), f"nilometer-warehouse-{os.getuid()}")),
        "spark.sql.catalogImplementation": "in-memory",
        # A partition costs a state store and a turn of a Python worker in every batch and stage.
        "spark.sql.shuffle.partitions": str(min(cores, 4) if cores else 4),
        # A worker keeps its imports, its compiled kernels and the state it read last.
        "spark.python.worker.reuse": "true",
        # Forks workers that have Polars, numba and Nilometer imported.
        "spark.python.daemon.module": "nilometer.spark.daemon",
        # On a busy machine a worker imports for longer than the 15 s that Spark waits for it.
        "spark.python.authenticate.socketTimeout": "120s",
        # A crash inside native code says where.
        "spark.python.worker.faulthandler.enabled": "true",
        **(LOCAL | LOCAL_CHECKPOINTS if cores else {}),
        **STREAMING,
    }


LOCAL = {
    # Over TCP a task waits 40 ms for its input: small writes, and acknowledgements that are held back.
    "spark.python.unix.domain.socket.enabled": "true",
    # Nobody outside has anything to say to a driver that is its own executor.
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
}


def _made(chosen: Mapping[str, str]) -> SparkSession:
    """A new session, with a JVM of its own."""
    from pyspark import SparkConf, SparkContext
    from pyspark.sql import SparkSession

    chosen = _spark_defaults() | dict(chosen)
    settings = default_settings(chosen.get(MASTER, "local[*]")) | chosen
    os.environ["JAVA_HOME"] = str(java_home())
    os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    configuration = SparkConf(loadDefaults=False).setAll(list(settings.items()))
    if not cores_of(settings[MASTER]):
        os.environ.setdefault(PYTHON, sys.executable)
        context = SparkContext(conf=configuration, gateway=SparkContext._gateway or _gateway(configuration))
        return SparkSession(context)
    os.environ.setdefault("SPARK_LOCAL_IP", settings["spark.driver.bindAddress"])
    try:
        # The Python of this process, whatever the environment says: state fails in odd ways with another's libraries.
        os.environ[PYTHON] = _interpreter().path if sys.platform == "linux" else sys.executable
        context = SparkContext(conf=configuration, gateway=SparkContext._gateway or _gateway(configuration))
    finally:
        os.environ[PYTHON] = sys.executable  # for the processes that the user starts
    return SparkSession(context)


@functools.cache
def _interpreter() -> Interpreter:
    """The interpreter that Spark's processes of this machine are started with, for as long as this process lives."""
    interpreter = Interpreter()
    atexit.register(interpreter.close)
    return interpreter


def _gateway(configuration: Any) -> Any:
    """A JVM, started; what it has to say is heard by a Listener."""
    from pyspark.errors import PySparkRuntimeError
    from pyspark.java_gateway import launch_gateway

    reading, writing = os.pipe()
    listener = Listener(os.fdopen(reading, encoding="utf-8", errors="replace"))
    try:
        # Its stdout as well: ours is for rows, and a JVM that cannot start says so there.
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
    """A session that was there before, with what queries need where its maker said nothing of it."""
    master = session.conf.get(MASTER)
    if chosen.get(MASTER, master) != master:
        raise ConfigurationError(
            f"Spark runs on {master} in this process already, and cannot be on {chosen[MASTER]} as well",
            hint="stop its session first (session.stop()), or leave the master as it is",
        )
    said = session._jsparkSession.sessionState().conf()
    for key, value in STREAMING.items():
        if not said.contains(key):
            session.conf.set(key, value)
    for key, value in chosen.items():
        if session.conf.isModifiable(key):
            session.conf.set(key, value)
    return session


def _connected(chosen: Mapping[str, str]) -> SparkSession:
    """A session of a Spark Connect server."""
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
    """Refuse what has to run in Spark's driver, which with Spark Connect is another process on another machine."""
    if not hasattr(session, "_jsparkSession"):
        raise UnsupportedError(
            f"{what} needs Spark's driver in this process, and over Spark Connect it is elsewhere",
            hint="choose a master such as local[*] or spark://host:7077; db.sql(...).dataframe() works over Spark Connect",
        )


def _forget_the_dead() -> None:
    """A JVM that was killed leaves a context that can do nothing, not even stop."""
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    process = getattr(SparkContext._gateway, "proc", None)
    if process is not None and process.poll() is not None:
        SparkContext._gateway = SparkContext._jvm = SparkContext._active_spark_context = None
        SparkSession._instantiatedSession = None


def _spark_defaults() -> dict[str, str]:
    """The user's spark-defaults.conf: Spark would let what we choose win over it."""
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
    """A quarter of the memory, within reason: RocksDB and Python, where the work is done, are outside the JVM's heap."""
    whole = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return max(1, min(4, whole // 4 // 2**30))
