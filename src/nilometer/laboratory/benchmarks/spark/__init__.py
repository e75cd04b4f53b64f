"""`nilometer bench spark`: Nilometer on Spark against stock Spark, on the same micro-batches.

    data.py           seeds and sizes -> readings          micro_batches.py  readings -> files for them, a log for us
    workloads.py      what is asked of both                answers.py        whether both said the same
    ours.py           our side of it                       comparison.py     both, in either order
    batch_sizes.py    throughput by micro-batch            fleet_sizes.py    throughput by number of sensors
    floor.py          an almost empty micro-batch          state_size.py     the state over a long run
    latency.py        from append to commit                live_writer.py    who appends meanwhile
    bench.py          all of it                            report.py         what was measured
    plots.py          the same as pictures                 foreign/          Flink and Pathway, where they are installed

Stock Spark's side is `nilometer.laboratory.benchmarks.spark.peers`.
"""

from nilometer.laboratory.benchmarks.spark.bench import PARTS, Options, spark
from nilometer.laboratory.benchmarks.spark.report import Report, table

__all__ = ["Options", "PARTS", "Report", "spark", "table"]
