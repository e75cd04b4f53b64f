"""STEAM's buffers between streams and queries, in bounded memory (steam.txt section 5). Only the reproduction
`steam_buffer` uses them.

The product has a log behind its queries and needs no buffers on disk:
docs/decisions/20261117-the-log-is-the-buffer.md. The law: a queue gives out every batch that it accepted, in
order and once. The policy that drops a tuple counts it.
"""

from nilometer.dataflow.policy import Outcome, Policy
from nilometer.laboratory.stream_buffers.chosen import Choice, Costs, StreamUse, choose, chosen_buffers
from nilometer.laboratory.stream_buffers.copied import CopiedBuffers
from nilometer.laboratory.stream_buffers.partitions import Entry
from nilometer.laboratory.stream_buffers.shared import SharedBuffers
from nilometer.laboratory.stream_buffers.spill_counts import SpillCounts
from nilometer.laboratory.stream_buffers.spill_files import Inline, IpcFiles, SpillFiles
from nilometer.laboratory.stream_buffers.spill_queue import SpillQueue
from nilometer.laboratory.stream_buffers.stream_buffers import Memory, StreamBuffers

__all__ = [
    "SpillQueue",
    "Entry",
    "Policy",
    "Outcome",
    "SpillCounts",
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
