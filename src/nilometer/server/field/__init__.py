"""The field as a map needs it: the newest reading of every sensor, now or at a moment of the past, and one sensor's
history. Columnar from the log to the reply."""

from nilometer.server.field.file_view import FileView
from nilometer.server.field.log_view import LogView
from nilometer.server.field.lookback import History, history_of, readings_at
from nilometer.server.field.newest import merged

__all__ = ["FileView", "History", "LogView", "history_of", "merged", "readings_at"]
