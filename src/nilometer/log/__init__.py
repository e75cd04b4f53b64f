"""The durable stream log: appends survive a crash, readers keep their offsets, and every flipped bit is
detected.

    record.py        one record's framing            segment.py      a file of records and its index
    checksum.py      XXH64, and the walk of records  recovery.py     where to go on after a crash
    files.py         the protocol of file access     local_files.py, arrow_files.py   its two implementations
    open_segment.py  the end of the log, rotation    writer.py       appends, producers, durability
    reader.py        entries from an offset on       readers.py      named readers' offsets
    scan.py          frames, zero-copy               schema.py       columns that are added and dropped
    retention.py     deletes old segments            verify.py       finds damage
    annex.py         producers' marks and a note     letters.py      dead letters
    notes.py         the last note, the demands      stream_log.py   one stream's log
    manifest.py      the segments that must be there gaps.py         missing entries, lost ends
    repair.py        keeps what can be read          formats.py      which formats this release knows
    directory.py     all logs of a data directory    doubles.py      rows from before their KEY was declared
    object_store.py  S3 and its like

The law: the log is the truth. An answer is a function of the log, and killing any process at any moment
changes neither.
"""

from nilometer.log.directory import LogDirectory
from nilometer.log.letters import Letter
from nilometer.log.reader import LogEntry, Offset
from nilometer.log.readers import NamedReader
from nilometer.log.segment import Damage
from nilometer.log.settings import Fsync, LogSettings
from nilometer.log.stream_log import StreamLog
from nilometer.log.writer import BusyError, LogWriter, Token

__all__ = [
    "LogDirectory",
    "StreamLog",
    "LogWriter",
    "BusyError",
    "LogSettings",
    "Fsync",
    "Token",
    "Offset",
    "LogEntry",
    "Letter",
    "NamedReader",
    "Damage",
]
