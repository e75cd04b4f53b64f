"""Streams -> the queues of queries, in bounded memory (steam.txt section 5).

The law: what a queue accepted it gives out, in order and once; what it could not keep is counted by the policy that
dropped it.
"""

from nilometer.dataflow.policy import Counts, Outcome, Policy
from nilometer.ingest.buffers.chosen import Choice, Costs, StreamUse, choose, chosen_buffers
from nilometer.ingest.buffers.copied import CopiedBuffers
from nilometer.ingest.buffers.partitions import Entry
from nilometer.ingest.buffers.shared import SharedBuffers
from nilometer.ingest.buffers.spill_files import Inline, IpcFiles, SpillFiles
from nilometer.ingest.buffers.spill_queue import SpillQueue
from nilometer.ingest.buffers.stream_buffers import Memory, StreamBuffers

__all__ = [
    "SpillQueue",
    "Entry",
    "Policy",
    "Outcome",
    "Counts",
    "SpillFiles",
    "IpcFiles",
    "Inline",
    "StreamBuffers",
    "CopiedBuffers",
    "SharedBuffers",
    "Memory",
    "StreamUse",
    "Costs",
    "Choice",
    "choose",
    "chosen_buffers",
]
