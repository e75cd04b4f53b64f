"""Readers of files and databases: they give typed rows of declared streams and tables."""

from nilometer.ingest.readers.file_form import FileForm
from nilometer.ingest.readers.file_set import FileSet, find_files, has_wildcard
from nilometer.ingest.readers.files import (
    is_data_file,
    read,
    read_file,
    read_frame,
    read_raw,
    sniff_id_type,
    sniff_ids,
)
from nilometer.ingest.readers.reading import DeadLetter, Reading
from nilometer.ingest.readers.tables import describe_table, described_columns, read_table, unified_columns
from nilometer.ingest.readers.time_order import TimeOrder
from nilometer.ingest.readers.values import read_numbers

__all__ = [
    "DeadLetter",
    "FileForm",
    "FileSet",
    "Reading",
    "TimeOrder",
    "describe_table",
    "described_columns",
    "find_files",
    "has_wildcard",
    "is_data_file",
    "read",
    "read_file",
    "read_frame",
    "read_numbers",
    "read_raw",
    "read_table",
    "sniff_id_type",
    "sniff_ids",
    "unified_columns",
]
