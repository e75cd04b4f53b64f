"""Stock PySpark, written as a good engineer would: what `nilometer bench spark` measures us against.

    settings.py       the settings that made stock Spark fastest here
    micro_batches.py  folders of Parquet files, one file a micro-batch -> streaming DataFrames
    run.py            a query over such folders, to its end -> seconds, and its answers as Parquet
    filter.py hop.py interval_join.py          what Spark has operators for
    asof_join.py row_window.py                 what it refuses, and the best that it allows instead
    refusals.py       what Spark says to the plain form of those

None of this is used by Nilometer itself.
"""
