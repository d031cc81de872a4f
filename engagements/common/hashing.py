"""Uploads that are hashed as they arrive: no byte of them reaches memory or disk for longer."""

from __future__ import annotations

import hashlib
import io
from typing import Any

from django.core.files.uploadedfile import UploadedFile
from django.core.files.uploadhandler import FileUploadHandler


class Hashed(UploadedFile):
    """A file that was here: its name, its size in bytes and its digest, and nothing of it."""

    def __init__(self, name: str | None, size: int, digest: str) -> None:
        super().__init__(file=io.BytesIO(), name=name, size=size)
        self.digest = digest


class HashingUploadHandler(FileUploadHandler):
    """Keeps the SHA-256 of each file, and forgets the rest."""

    def new_file(self, *args: Any, **kwargs: Any) -> None:
        """A file begins."""
        super().new_file(*args, **kwargs)
        self.sum = hashlib.sha256()

    def receive_data_chunk(self, raw_data: bytes, start: int) -> None:
        """Take a piece in; no handler after this one sees it."""
        self.sum.update(raw_data)

    def file_complete(self, file_size: int) -> Hashed:
        """The digest is all that stays."""
        return Hashed(self.file_name, file_size, f"sha256:{self.sum.hexdigest()}")
