"""Whether PySpark is installed. It is an extra, because a gateway does without it."""

from __future__ import annotations

from importlib.util import find_spec

from nilometer.errors import ConfigurationError


def require_spark() -> None:
    """Refuse work on Spark where PySpark is missing, before anything imports it."""
    missing = [name for name in ("pyspark", "pandas") if find_spec(name) is None]
    if missing:
        raise ConfigurationError(
            f"Spark is not installed: {' and '.join(missing)} {'is' if len(missing) == 1 else 'are'} missing",
            hint="pip install 'nilometer[spark]', or run the query on the gateway",
        )
