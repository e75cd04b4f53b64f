"""Live queries: the stream manager, the Fjord host and the sensors' proxies, composed.

station.py      the loop: sources -> log -> Fjord -> answers, and demand back to the sensors
live_query.py   one query while it runs
standing.py     one whose answers and state are durable
kept_answers.py what such a query has answered
control.py      what other processes ask of it: paused, begun again
roster.py       such queries in a station, kept as they are asked for
query_list.py   how they do, by what they say themselves (query_metrics.py) and by their logs
upkeep.py       pause, resume, drop, replay
on_spark.py     the queries that Spark runs (spark_query.py)
delivery.py     its answers to sinks, and to who follows them
starts.py       where in the logs a query begins
"""
