"""Runs the fragments of a plan as a StreamingQuery of Spark. The only package that imports pyspark."""
