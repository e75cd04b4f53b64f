"""Python processes for Spark that start warm.

Spark starts a Python process for every source, every kind of planning and every stateful stage of every
query. Each imports PySpark and other modules for seconds before its first work. On one machine they are
forked instead, from a process that has imported everything once (zygote.py). A program that Spark takes for
Python asks for the forks (stub.py).
"""

from nilometer.spark.warm.interpreter import Interpreter

__all__ = ["Interpreter"]
