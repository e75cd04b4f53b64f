"""`nilometer bench spark`: Nilometer on Spark against stock Spark, on the same micro-batches.

    data.py           makes readings                       micro_batches.py  files for Spark, a log for us
    workloads.py      the questions for both               answers.py        compares the answers
    ours.py           our side                             comparison.py     both sides, in either order
    batch_sizes.py    throughput by micro-batch            fleet_sizes.py    throughput by number of sensors
    floor.py          an almost empty micro-batch          state_size.py     the state over a long run
    latency.py        from append to commit                live_writer.py    appends readings meanwhile
    bench.py          runs all of it                       report.py         the measurements as a table
    plots.py          the measurements as pictures         foreign/          Flink and Pathway, if installed

Stock Spark's side is `nilometer.laboratory.benchmarks.spark.peers`.
"""

from nilometer.laboratory.benchmarks.spark.bench import PARTS, Options, spark
from nilometer.laboratory.benchmarks.spark.report import Report, table

__all__ = ["Options", "PARTS", "Report", "spark", "table"]
