"""`nilometer bench spark`: Nilometer on Spark against stock Spark, on the same micro-batches.

data.py           seeds and sizes -> readings          micro_batches.py  readings -> files for them, a log for us
workloads.py      what is asked of both                answers.py        whether both said the same
"""
