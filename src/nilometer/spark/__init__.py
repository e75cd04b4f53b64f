"""Fragments -> a running StreamingQuery. The only package that imports pyspark."""
