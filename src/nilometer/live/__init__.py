"""Live queries: the stream manager, the shared dataflow and the sensors' proxies, composed.

station.py      the loop: sources -> log -> dataflow -> answers, and demand back to the sensors
live_query.py   one query while it runs
standing.py     the durable side of a query: its answers and its state
versions.py     the identity of a query, made of its meaning
damage.py       verifies and repairs answers, tables and checkpoints
kept_answers.py reads the answers of a standing query
control.py      requests of other processes to a standing query: pause it, begin again
roster.py       the standing queries of a station; carries those requests out
query_list.py   the state of all standing queries, from their own metrics (query_metrics.py) and from the logs
upkeep.py       pause, resume, drop, replay
on_spark.py     the queries that Spark runs (spark_query.py)
delivery.py     delivers a standing query's answers to sinks, and to whoever follows them
starts.py       where in the logs a query begins
"""
