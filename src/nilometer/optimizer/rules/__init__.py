"""The rules, one a file: file name = function name = golden file in tests/optimizer/rules = the name EXPLAIN shows.

A rule takes a plan and the context and gives a plan of the same schema, collection and answer; the same object where it
has nothing to do. `optimizer.RULES` says in which order they run.
"""
