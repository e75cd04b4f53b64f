"""Divides plans into fragments, finds the keys that divide their rows among buckets, and runs a fragment in a
bucket.

Nothing here knows Spark: a layout is planned, explained and tested without a JVM.
"""

from nilometer.spark.layout.bucket_flow import BucketFlow, Clock, columns_of, each_once, gathered
from nilometer.spark.layout.divide import divide
from nilometer.spark.layout.fragments import Fragment, Layout
from nilometer.spark.layout.lay_out import lay_out
from nilometer.spark.layout.text import text_of
from nilometer.spark.layout.tick_order import by_tick

__all__ = [
    "Clock",
    "Fragment",
    "BucketFlow",
    "Layout",
    "by_tick",
    "columns_of",
    "divide",
    "each_once",
    "gathered",
    "lay_out",
    "text_of",
]
