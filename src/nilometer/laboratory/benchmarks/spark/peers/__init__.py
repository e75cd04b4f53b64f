"""Stock PySpark, written as a good engineer would write it. `nilometer bench spark` compares us with it.

    settings.py       the settings that made stock Spark fastest here
    micro_batches.py  folders of Parquet files, one file a micro-batch -> streaming DataFrames
    run.py            a query over such folders, to its end -> seconds, and its answers as Parquet
    filter.py hop.py interval_join.py          queries for which Spark has operators
    asof_join.py row_window.py                 queries that it refuses, in the best form that it allows
    refusals.py       Spark's errors for the plain form of those

None of this is used by Nilometer itself.
"""
