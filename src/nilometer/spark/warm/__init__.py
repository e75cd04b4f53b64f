"""Python processes for Spark that start warm.

Spark starts a Python process for every source, every kind of planning and every stateful stage of every query; each imports PySpark and
what it needs for seconds before it does its first work. On one machine they are forked instead, of a process that has imported all that once
(zygote.py), asked for by a program that Spark takes for Python (stub.py).
"""

from nilometer.spark.warm.interpreter import Interpreter

__all__ = ["Interpreter"]
