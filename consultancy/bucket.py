"""The bucket of records, whose errors are OSErrors like those of a folder.

Callers then handle a bucket that is away or full without knowing botocore. It gives up after
seconds: botocore's own limits add up to minutes, in a web request too.
"""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from boto3.exceptions import Boto3Error
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError
from storages.backends.s3 import S3File, S3Storage
from storages.utils import clean_name

CLIENT = Config(
    connect_timeout=3,
    read_timeout=15,
    retries={"mode": "standard", "total_max_attempts": 2},
    signature_version="s3v4",
)
MISSING = ("404", "NoSuchKey")


@contextmanager
def _as_os_errors() -> Iterator[None]:
    try:
        yield
    except (BotoCoreError, ClientError, Boto3Error) as error:
        if isinstance(error, ClientError) and error.response["Error"]["Code"] in MISSING:
            raise FileNotFoundError(errno.ENOENT, "The bucket has no such object") from error
        raise OSError(errno.EIO, f"The bucket does not accept the request: {error}") from error


class _File(S3File):
    """A file whose bytes are fetched when they are first read."""

    def _get_file(self) -> Any:
        with _as_os_errors():
            return super()._get_file()

    # The property of the base class names its own function.
    file = property(_get_file, S3File._set_file)


class Bucket(S3Storage):
    """django-storages' bucket with OSErrors and short limits."""

    def get_default_settings(self) -> dict[str, Any]:
        """The defaults, with the limits of `CLIENT`."""
        defaults: dict[str, Any] = super().get_default_settings()
        return defaults | {"client_config": CLIENT}

    def _open(self, name: str, mode: str = "rb") -> Any:
        with _as_os_errors():
            return _File(self._normalize_name(clean_name(name)), mode, self)

    def _save(self, name: str, content: Any) -> str:
        with _as_os_errors():
            saved: str = super()._save(name, content)
        return saved

    def exists(self, name: str) -> bool:
        """Whether the bucket has this object."""
        with _as_os_errors():
            found: bool = super().exists(name)
        return found

    def size(self, name: str) -> int:
        """The object's size, in bytes."""
        with _as_os_errors():
            length: int = super().size(name)
        return length

    def delete(self, name: str) -> None:
        """Delete the object."""
        with _as_os_errors():
            super().delete(name)
