"""Raw samples as a record's file carries them: canonical JSON, compressed, in base64.

Every digit of every sample is kept. What the file's digest covers is the samples themselves,
so that it does not depend on how well somebody's zlib compresses.
"""

from __future__ import annotations

import base64
import binascii
import zlib
from typing import Any

from benchmarks.records import schemas
from benchmarks.records.canonical import canonical

ENCODING = "base64(zlib(canonical JSON))"
# As much as a record in the clear may have: checking every sample's form takes its time.
_LARGEST_UNPACKED_BYTES = 8_000_000

PACKED_SCHEMA = schemas.exactly(
    encoding={"const": ENCODING},
    content={
        "type": "string",
        "contentEncoding": "base64",
        "description": "The list of replicates as canonical JSON, compressed by zlib, in base64.",
    },
)


def packed(replicates: list[Any]) -> dict[str, str]:
    """The replicates as the file holds them."""
    content = base64.b64encode(zlib.compress(canonical(replicates), 9)).decode()
    return {"encoding": ENCODING, "content": content}


def unpacked(data: dict[str, str]) -> bytes:
    """The JSON that was packed; ValueError, in one line, when it is damaged or far too large."""
    try:
        compressed = base64.b64decode(data["content"], validate=True)
        decompressor = zlib.decompressobj()
        content = decompressor.decompress(compressed, _LARGEST_UNPACKED_BYTES)
        if decompressor.unconsumed_tail:
            raise ValueError("the samples are too large")
        if not decompressor.eof or decompressor.unused_data:
            raise ValueError("the samples were cut off, or something follows them")
    except (binascii.Error, zlib.error) as error:
        raise ValueError(f"the samples are damaged: {error}") from error
    return content
