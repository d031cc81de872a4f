"""The referee's signing key in tests, created for each process."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.models import SigningKey as Row
from benchmarks.records import records, signatures
from benchmarks.services import keys

# Deleted with this process.
_FOLDER = TemporaryDirectory(prefix="twofold-key-")
KEY_FILE = Path(_FOLDER.name) / "key"
KEY = signatures.make_key(KEY_FILE)


def register() -> Row:
    """Register the public key in the test's database."""
    return keys.add(public_key=KEY.public.pem(), name="The tests' referee", by="the tests")


def sign(record: dict[str, Any]) -> bytes:
    """Serialize and sign a record; register the key."""
    register()
    return records.serialize(record, KEY)
