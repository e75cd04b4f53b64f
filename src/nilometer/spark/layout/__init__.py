"""Plans -> fragments with the keys that divide their rows among buckets, and the shell that runs a fragment in a bucket.

Nothing here knows Spark: a layout is planned, explained and tested without a JVM.
"""

from nilometer.spark.layout.bucket_flow import BucketFlow, Clock, columns_of, gathered
from nilometer.spark.layout.divide import divide
from nilometer.spark.layout.fragments import Fragment, Layout
from nilometer.spark.layout.lay_out import lay_out
from nilometer.spark.layout.text import text_of

__all__ = [
    "Clock",
    "Fragment",
    "BucketFlow",
    "Layout",
    "columns_of",
    "divide",
    "gathered",
    "lay_out",
    "text_of",
]
