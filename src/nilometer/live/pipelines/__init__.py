"""Standing queries on Spark: all of them in one pipeline, with one commit for each of its rounds.

    pipelines.py        which query is in which pipeline; what the station asks for
    pipeline.py         one pipeline: its run on Spark, and the commits of its rounds
    pipeline_query.py   one query of it
    pipeline_tables.py  the versions of the tables that a query joins
    run_folders.py      where runs leave what lasts no longer than they do

The state of a pipeline is in memory where Spark runs it, and is saved with that of the gateway's queries every ten seconds
(state_files.py). The law: the commit log alone says how far a query has answered. A run that ends, however it ends, is
followed by one that begins there.
"""
