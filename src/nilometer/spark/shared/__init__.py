"""One StreamingQuery for all standing queries of a pipeline.

    owner (live/pipelines)       changes.py ─► round_planner.py ─► graph_flow.py ─► result ─► commit log
    queries come and go          files         how far a round      the shared        hand_over.py, to the
                                               reads                graph             owner's process

    round_source.py   Spark's side of the source        pipeline_run.py   the StreamingQuery
    rounds.py         a round and its result            ways.py           where the work of a round is done

The law: a pipeline's answers are those of the same queries on the gateway, whichever others share it, and whichever
process does the work.
"""
