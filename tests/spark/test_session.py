"""The session: one of them, quiet, with what the user says."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from nilometer.errors import ConfigurationError, UnsupportedError
from nilometer.spark.running import Running
from nilometer.spark.session import default_settings, require_driver, spark_session
from spark import tiny

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@pytest.mark.parametrize(
    ("master", "partitions"), [("local", "1"), ("local[3]", "3"), ("local[64]", "4"), ("yarn", "4")]
)
def test_partitions_are_few(master: str, partitions: str) -> None:
    assert default_settings(master)["spark.sql.shuffle.partitions"] == partitions


def test_loopback_is_for_local_masters() -> None:
    assert default_settings("local[*]")["spark.driver.bindAddress"] == "127.0.0.1"
    assert "spark.driver.bindAddress" not in default_settings("spark://host:7077")


def test_java_compiles_less_for_one_question() -> None:
    options = "spark.driver.defaultJavaOptions"
    assert default_settings("local", brief=True)[options].endswith(" -XX:TieredStopAtLevel=1")
    assert "-XX:TieredStopAtLevel" not in default_settings("local")[options]


@pytest.mark.spark
def test_there_is_one(spark: SparkSession) -> None:
    found: list[SparkSession] = []
    threads = [threading.Thread(target=lambda: found.append(spark_session())) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [session.sparkContext for session in found] == [spark.sparkContext] * 3


@pytest.mark.spark
def test_what_can_change_is_changed_by_a_second_call(spark: SparkSession) -> None:
    was = spark.conf.get("spark.sql.shuffle.partitions")
    assert (
        spark_session({"spark.sql.shuffle.partitions": "3"}).conf.get("spark.sql.shuffle.partitions") == "3"
    )
    spark_session({"spark.sql.shuffle.partitions": str(was)})


@pytest.mark.spark
def test_another_master_is_refused(spark: SparkSession) -> None:
    with pytest.raises(ConfigurationError) as caught:
        spark_session({"spark.master": "spark://elsewhere:7077"})
    assert caught.value.message.startswith("Spark runs on local[*] in this process already")


def test_what_needs_the_driver_is_refused_over_connect() -> None:
    class Remote:
        """A session of Spark Connect has no JVM."""

    with pytest.raises(UnsupportedError, match="the result log needs Spark's driver in this process"):
        require_driver(Remote(), "the result log")
    with pytest.raises(UnsupportedError, match="answers come to this process"):
        Running(Remote(), None, "checkpoint", print)


@pytest.mark.spark
def test_what_needs_the_driver_is_let_through_where_it_is(spark: SparkSession) -> None:
    require_driver(spark, "the result log")


@pytest.mark.spark
def test_a_stateful_stream_through_two_stages(spark: SparkSession, tmp_path: Path) -> None:
    told: list[list[tuple[int, int]]] = []

    def tell(frame: DataFrame, number: int) -> None:
        told.append(tiny.as_numbers(frame))

    frame = tiny.sums(spark, batches=3, stages=2)
    query = frame.writeStream.option("checkpointLocation", str(tmp_path)).foreachBatch(tell).start()
    query.processAllAvailable()
    query.stop()
    # The second stage adds up the sums of the first: 1, 1 + 3, 1 + 3 + 6.
    assert told == [[(bucket, total) for bucket in range(tiny.BUCKETS)] for total in (1, 4, 10)]


QUIET = """
import pathlib, sys
sys.path.insert(0, {tests!r})
from spark import tiny
from nilometer.spark.session import spark_session
spark = spark_session({{"spark.master": "local[1]"}})
frame = tiny.sums(spark, batches=1)
query = frame.writeStream.option("checkpointLocation", "../checkpoint").foreachBatch(lambda frame, number: frame.collect()).start()
query.processAllAvailable()
query.stop()
print(spark.conf.get("spark.sql.session.timeZone"), spark.conf.get("spark.executor.heartbeatInterval"))
"""


@pytest.mark.spark
@pytest.mark.slow
def test_nothing_is_said_and_nothing_left_behind(tmp_path: Path) -> None:
    working = tmp_path / "working"
    working.mkdir()
    environment = {name: value for name, value in os.environ.items() if name != "JAVA_HOME"}
    environment["SPARK_CONF_DIR"] = str(tmp_path)
    (tmp_path / "spark-defaults.conf").write_text("# the user's own\nspark.executor.heartbeatInterval  7s\n")
    script = QUIET.format(tests=str(Path(__file__).parents[1]))
    told = subprocess.run(
        [sys.executable, "-c", script],
        cwd=working,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert told.stderr == ""
    assert told.stdout == "UTC 7s\n"
    assert list(working.iterdir()) == []


KILLED = """
import signal
from nilometer.errors import ResourceError
from nilometer.spark.session import spark_session
try:
    spark_session({"spark.master": "local[1]", "spark.driver.memory": "1k"})
except ResourceError as error:
    print(error.message)
spark = spark_session({"spark.master": "local[1]"})
process = spark.sparkContext._gateway.proc
process.send_signal(signal.SIGKILL)
process.wait()
print(spark_session({"spark.master": "local[1]"}).range(3).count())
"""

KILLED_AT_WORK = """
import pathlib, signal, sys
import nilometer
from nilometer.errors import ResourceError
from nilometer.spark import finite, running
from nilometer.spark.session import spark_session
if __name__ == "__main__":
    pathlib.Path("air.csv").write_text("time,id,x\\n2026-01-01T00:00:00Z,1,5\\n")
    pathlib.Path("schema.sql").write_text("CREATE STREAM air (x INT) PUSHED;")
    database = nilometer.connect(".")
    query, packets = database.sql("SELECT id, x FROM air"), finite.packets

    def deadly(session, *more, **others):
        frame = packets(session, *more, **others)
        session.sparkContext._gateway.proc.send_signal(signal.SIGKILL)
        return frame

    for rows in (None, 1):  # as one batch, and as a StreamingQuery
        finite.packets = running.packets = deadly
        try:
            query.run("spark", batch_rows=rows)
        except ResourceError as error:
            print(error.message)
        finite.packets = running.packets = packets
        print(query.run("spark", batch_rows=rows).rows)
"""


@pytest.mark.spark
@pytest.mark.long
def test_a_java_that_does_not_start_and_one_that_was_killed() -> None:
    told = subprocess.run([sys.executable, "-c", KILLED], capture_output=True, text=True, check=False)
    assert told.stdout.splitlines() == ["Spark's Java did not start", "3"]


@pytest.mark.spark
@pytest.mark.long
def test_a_question_whose_java_is_killed_says_so_and_the_next_one_works(tmp_path: Path) -> None:
    (tmp_path / "asking.py").write_text(KILLED_AT_WORK)
    told = subprocess.run(
        [sys.executable, "asking.py"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert told.stdout.splitlines() == ["Spark's Java process ended", "[(1, 5)]"] * 2, told.stderr[-3000:]
