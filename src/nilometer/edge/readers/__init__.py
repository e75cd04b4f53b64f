"""Files and databases -> typed rows of declared streams and tables."""

from nilometer.edge.readers.files import is_data_file, read, read_file, read_frame, sniff_id_type
from nilometer.edge.readers.reading import DeadLetter, Reading
from nilometer.edge.readers.tables import describe_table, read_table

__all__ = [
    "DeadLetter",
    "Reading",
    "describe_table",
    "is_data_file",
    "read",
    "read_file",
    "read_frame",
    "read_table",
    "sniff_id_type",
]
