"""A Spark standalone cluster on loopback: one master, two workers, gone afterwards.

    with Cluster() as cluster:
        subprocess.run([sys.executable, "job.py"], env=cluster.environment)   # its spark_session() is on the cluster
        cluster.kill_worker(0)

The driver must be a process of its own: the test's process has a session already. A killed worker takes its executors with it, as
a machine would.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import tempfile
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Self

import pyspark

from nilometer.spark.java import java_home

PATIENCE = 120.0
HOST = "127.0.0.1"
QUICK = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""For JVMs that live for seconds: compile little, and only once."""
MASTER = "org.apache.spark.deploy.master.Master"
WORKER = "org.apache.spark.deploy.worker.Worker"


class Daemon:
    """A process of the cluster, the head of its own group; started when it says what is awaited."""

    def __init__(
        self, arguments: list[str], awaited: str, environment: dict[str, str], directory: Path
    ) -> None:
        home = Path(pyspark.__file__).parent
        self.said: list[str] = []
        self.match: re.Match[str] | None = None
        self._awaited = re.compile(awaited)
        self._heard = threading.Event()
        self.process = subprocess.Popen(
            [home / "bin" / "spark-class", *arguments],
            env=environment,
            cwd=directory,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()

    def _listen(self) -> None:
        assert self.process.stderr is not None
        with self.process.stderr as lines:
            for line in lines:
                self.said.append(line)
                if self.match is None and (match := self._awaited.search(line)):
                    self.match = match
                    self._heard.set()
        self._heard.set()  # it ended, and says no more

    def wait(self) -> re.Match[str]:
        """Until it is ready: what it said."""
        self._heard.wait(PATIENCE)
        assert self.match is not None, f"it did not start: {''.join(self.said[-20:])}"
        return self.match

    def kill(self) -> None:
        """kill -9 of it and of all it started."""
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait(PATIENCE)
        self._listener.join(PATIENCE)


class Cluster:
    """Started on entering, gone on leaving."""

    def __init__(
        self,
        workers: int = 2,
        cores: int = 1,
        memory: str = "1g",
        variables: Mapping[str, str] | None = None,
    ) -> None:
        """`variables` are those of the driver and of the workers, and so of the executors."""
        self._variables = dict(variables or {})
        self.directory = Path(tempfile.mkdtemp(prefix="nilometer-cluster-"))
        self.master_url = ""
        self._sizes = (workers, cores, memory)
        self._master: Daemon | None = None
        self._workers: list[Daemon] = []

    def __enter__(self) -> Self:
        try:
            self._start()
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(self, *exception: object) -> None:
        self._end()

    def kill_worker(self, number: int) -> None:
        """kill -9 of a worker and its executors."""
        self._workers[number].kill()

    def start_worker(self) -> None:
        """One worker more."""
        _, cores, memory = self._sizes
        place = self.directory / f"worker{len(self._workers)}"
        place.mkdir()
        size = ["--cores", str(cores), "--memory", memory]
        where = ["--host", HOST, "--webui-port", "0", "--work-dir", str(place)]
        arguments = [WORKER, *where, *size, self.master_url]
        self._workers.append(Daemon(arguments, "Successfully registered with master", self._daemons(), place))

    @property
    def settings(self) -> dict[str, str]:
        """What the driver's session must be told."""
        return {
            "spark.master": self.master_url,
            "spark.driver.host": HOST,
            "spark.driver.bindAddress": HOST,
            "spark.executor.cores": "1",
            "spark.executor.memory": "512m",
            "spark.executor.extraJavaOptions": QUICK,
            "spark.driver.extraJavaOptions": QUICK,
            "spark.sql.shuffle.partitions": "2",
            # The checkpoint is on this machine, as all are.
            "spark.sql.streaming.checkpointFileManagerClass": "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager",
            "spark.locality.wait": "0",
        }

    @property
    def environment(self) -> dict[str, str]:
        """The environment of a driver whose `spark_session()` shall be on the cluster."""
        told = {f"NILOMETER_SPARK__{name.replace('.', '__')}": value for name, value in self.settings.items()}
        return dict(os.environ) | self._variables | told | {"SPARK_LOCAL_DIRS": str(self.directory)}

    def _daemons(self) -> dict[str, str]:
        return (
            dict(os.environ)
            | self._variables
            | {
                "JAVA_HOME": str(java_home()),
                "SPARK_DAEMON_MEMORY": "256m",
                "SPARK_DAEMON_JAVA_OPTS": QUICK,
                "SPARK_LOCAL_IP": HOST,
                "SPARK_LOCAL_DIRS": str(self.directory),
            }
        )

    def _start(self) -> None:
        arguments = [MASTER, "--host", HOST, "--port", "0", "--webui-port", "0"]
        self._master = Daemon(
            arguments, r"Starting Spark master at (spark://\S+)", self._daemons(), self.directory
        )
        self.master_url = self._master.wait()[1]
        for _ in range(self._sizes[0]):
            self.start_worker()
        for worker in self._workers:
            worker.wait()

    def _end(self) -> None:
        for daemon in [*self._workers, *([self._master] if self._master else [])]:
            daemon.kill()
        shutil.rmtree(self.directory, ignore_errors=True)
