"""The referee's key of the tests: made for this process, registered where a test needs it."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.models import SigningKey as Row
from benchmarks.records import records, signatures
from benchmarks.services import keys

# Gone with this process.
_FOLDER = TemporaryDirectory(prefix="twofold-key-")
KEY_FILE = Path(_FOLDER.name) / "key"
KEY = signatures.make_key(KEY_FILE)


def registered() -> Row:
    """The public half, registered in the test's database."""
    return keys.add(public_key=KEY.public.pem(), name="The tests' referee", by="the tests")


def signed(record: dict[str, Any]) -> bytes:
    """A record's file as the referee of the tests writes it; its key is registered."""
    registered()
    return records.serialize(record, KEY)
