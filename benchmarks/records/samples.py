"""Compress raw samples in a record's file: canonical JSON, zlib, base64.

No digit is lost. The record's digest covers the samples, not their compression.
"""

from __future__ import annotations

import base64
import binascii
import zlib
from typing import Any

from benchmarks.records import schemas
from benchmarks.records.canonical import canonical

ENCODING = "base64(zlib(canonical JSON))"
# The limit of an uncompressed record: validating every sample takes time.
_LARGEST_UNPACKED_BYTES = 8_000_000

PACKED_SCHEMA = schemas.exactly(
    encoding={"const": ENCODING},
    content={
        "type": "string",
        "contentEncoding": "base64",
        "description": "The list of replicates as canonical JSON, compressed by zlib, in base64.",
    },
)


def compress(replicates: list[Any]) -> dict[str, str]:
    """The replicates, compressed."""
    content = base64.b64encode(zlib.compress(canonical(replicates), 9)).decode()
    return {"encoding": ENCODING, "content": content}


def decompress(data: dict[str, str]) -> bytes:
    """The compressed JSON; ValueError when it is damaged or too large."""
    try:
        compressed = base64.b64decode(data["content"], validate=True)
        decompressor = zlib.decompressobj()
        content = decompressor.decompress(compressed, _LARGEST_UNPACKED_BYTES)
        if decompressor.unconsumed_tail:
            raise ValueError("the samples are too large")
        if not decompressor.eof or decompressor.unused_data:
            raise ValueError("the samples are truncated or followed by other data")
    except (binascii.Error, zlib.error) as error:
        raise ValueError(f"the samples are damaged: {error}") from error
    return content
