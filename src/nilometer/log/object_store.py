"""A URL such as `s3://bucket/field` -> a filesystem of pyarrow's and a folder in it.

The credentials of S3 are those that every tool of Amazon's takes: variables such as AWS_ACCESS_KEY_ID, or the file
~/.aws/credentials. AWS_ENDPOINT_URL names another store that speaks S3. The laws: a URL holds no secret, and errors are
OSErrors that say what to do. Requests that fail for a moment are repeated, so an error is one that lasts.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from pyarrow import fs

from nilometer.errors import ConfigurationError, ResourceError

ATTEMPTS = 5
CONNECT_SECONDS = 5
REQUEST_SECONDS = 30
S3_OPTIONS = ("region", "endpoint_override", "scheme")
_REASONS = (
    (
        r"ACCESS_DENIED|SIGNATURE_DOES_NOT_MATCH|INVALID_ACCESS_KEY|INVALID_CLIENT_TOKEN|UNRECOGNIZED_CLIENT|MISSING_AUTH|"
        r"EXPIRED|INVALID_SIGNATURE|HTTP status 40[13]",
        "refuses our credentials, or they may not do this",
        "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE for a section of ~/.aws/credentials;"
        " listing, reading, writing and deleting must be allowed",
    ),
    (
        r"NO_SUCH_BUCKET|[Bb]ucket '.*' not found|specified bucket does not exist",
        "has no such bucket",
        "make the bucket first, or correct its name",
    ),
    (
        r"NETWORK_CONNECTION|curlCode|Could not connect|resolve",
        "cannot be reached",
        "look at the network, and at AWS_ENDPOINT_URL if it is not Amazon's",
    ),
    (
        r"SLOW_DOWN|THROTTLING|SERVICE_UNAVAILABLE|INTERNAL_FAILURE|REQUEST_TIMEOUT|HTTP status 5\d\d",
        f"has not done it in {ATTEMPTS} attempts",
        "try again when it has recovered; nothing was written in part",
    ),
)
"""What errors of a store look like, what they mean, and a way out."""


class StoreError(ResourceError, OSError):
    """An object store has refused or failed."""


@contextlib.contextmanager
def store_errors(place: str) -> Iterator[None]:
    """Say an error of the store in plain words. Files that are not there stay FileNotFoundErrors."""
    try:
        yield
    except (FileNotFoundError, BlockingIOError, ResourceError):
        raise
    except OSError as error:
        text = str(error)
        for pattern, means, way_out in _REASONS:
            if re.search(pattern, text):
                raise StoreError(f"the store of {place} {means}", detail=text, hint=way_out) from error
        raise StoreError(f"the store of {place} has failed", detail=text) from error


def open_store(url: str) -> tuple[Any, str]:
    """The filesystem of a URL, and the folder in it. Raises if there is no such bucket, or if we may not look into it."""
    variables = tuple(sorted((k, v) for k, v in os.environ.items() if k.startswith("AWS_")))
    # A process that was forked must not use the connections of its parent.
    return _opened(url.rstrip("/"), os.getpid(), variables)


@lru_cache(maxsize=64)
def _opened(url: str, process: int, variables: tuple[tuple[str, str], ...]) -> tuple[Any, str]:
    del process
    place = url.partition("?")[0]
    parts = urlsplit(url)
    if "@" in parts.netloc:
        raise ConfigurationError(
            f"a URL of a {parts.scheme} store must not hold credentials",
            hint="set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or name a section of ~/.aws/credentials by AWS_PROFILE",
        )
    with store_errors(place):
        try:
            filesystem, root = (
                _s3(url, dict(variables)) if parts.scheme == "s3" else fs.FileSystem.from_uri(url)
            )
        except ValueError as error:
            raise ResourceError(
                f"'{place}' cannot be opened", detail=str(error), hint="such as s3://bucket/field"
            ) from None
        if not filesystem.get_file_info(fs.FileSelector(root, allow_not_found=True)):
            _refuse_missing(filesystem, root)
    return filesystem, root


def _s3(url: str, variables: Mapping[str, str]) -> tuple[Any, str]:
    parts = urlsplit(url)
    options = dict(parse_qsl(parts.query))
    if not parts.netloc:
        raise ConfigurationError(f"'{url}' names no bucket", hint="such as s3://bucket/field")
    for name in options.keys() - set(S3_OPTIONS):
        raise ConfigurationError(
            f"a URL of S3 has no option '{name}'", hint=f"there are: {', '.join(S3_OPTIONS)}"
        )
    endpoint = variables.get("AWS_ENDPOINT_URL_S3") or variables.get("AWS_ENDPOINT_URL")
    region = variables.get("AWS_REGION") or variables.get("AWS_DEFAULT_REGION")
    if endpoint:
        options.setdefault("endpoint_override", endpoint)
    if region or endpoint:  # else pyarrow asks Amazon where the bucket is
        options.setdefault("region", region or "us-east-1")
    if "region" not in options and "endpoint_override" not in options:
        options["region"] = fs.resolve_s3_region(parts.netloc)
    filesystem = fs.S3FileSystem(
        **options,
        connect_timeout=CONNECT_SECONDS,
        request_timeout=REQUEST_SECONDS,
        retry_strategy=fs.AwsStandardS3RetryStrategy(max_attempts=ATTEMPTS),
        allow_delayed_open=True,  # a small object is one request
    )
    return filesystem, f"{parts.netloc}{parts.path}".rstrip("/")


def _refuse_missing(filesystem: Any, root: str) -> None:
    """A folder without anything in it is a new one, unless its bucket is missing, which pyarrow takes for the same."""
    if filesystem.type_name not in ("s3", "gcs"):
        return
    bucket = root.partition("/")[0]
    try:
        found = filesystem.get_file_info(bucket)
    except OSError:
        return  # we may look into the folder, but not at the bucket
    if found.type == fs.FileType.NotFound:
        raise OSError(f"Bucket '{bucket}' not found")
