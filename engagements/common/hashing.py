"""Hash uploads without storing them."""

from __future__ import annotations

import hashlib
import io
from typing import Any

from django.core.files.uploadedfile import UploadedFile
from django.core.files.uploadhandler import FileUploadHandler


class Hashed(UploadedFile):
    """An upload of which only name, size in bytes and digest are kept."""

    def __init__(self, name: str | None, size: int, digest: str) -> None:
        super().__init__(file=io.BytesIO(), name=name, size=size)
        self.digest = digest


class HashingUploadHandler(FileUploadHandler):
    """Compute the SHA-256 of each file and discard its content."""

    def new_file(self, *args: Any, **kwargs: Any) -> None:
        """Start a file."""
        super().new_file(*args, **kwargs)
        self.sum = hashlib.sha256()

    def receive_data_chunk(self, raw_data: bytes, start: int) -> None:
        """Hash a chunk; handlers after this one do not receive it."""
        self.sum.update(raw_data)

    def file_complete(self, file_size: int) -> Hashed:
        """Return the upload with its digest."""
        return Hashed(self.file_name, file_size, f"sha256:{self.sum.hexdigest()}")
