"""Streams -> the queues of queries, in bounded memory (steam.txt section 5).

The law: what a queue accepted it gives out, in order and once; what it could not keep is counted by the policy that
dropped it.
"""

from nilometer.edge.buffers.chosen import Choice, Costs, StreamUse, choose, chosen_buffers
from nilometer.edge.buffers.copied import CopiedBuffers
from nilometer.edge.buffers.partitions import Entry
from nilometer.edge.buffers.policy import Counts, Outcome, Policy
from nilometer.edge.buffers.shared import SharedBuffers
from nilometer.edge.buffers.spill_files import Inline, IpcFiles, SpillFiles
from nilometer.edge.buffers.spill_queue import SpillQueue
from nilometer.edge.buffers.stream_buffers import Memory, StreamBuffers

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
