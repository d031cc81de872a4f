"""Canonical JSON (RFC 8785) and its SHA-256, to seal, compare and sign documents."""

from __future__ import annotations

import base64
import hashlib
import json
from typing import Any

import rfc8785


def canonical(value: Any) -> bytes:
    """The canonical bytes of `value`; ValueError for NaN, Inf or types outside JSON."""
    try:
        return rfc8785.dumps(value)
    except rfc8785.CanonicalizationError as error:
        raise ValueError(f"not canonical JSON: {error}") from error


def digest(value: Any) -> str:
    """`sha256:<hex>` of the canonical JSON of `value`."""
    return digest_of_bytes(canonical(value))


def digest_of_bytes(content: bytes) -> str:
    """`sha256:<hex>` of raw bytes, such as a source file."""
    return "sha256:" + hashlib.sha256(content).hexdigest()


def content_digest(content: bytes) -> str:
    """The header Content-Digest (RFC 9530) of raw bytes."""
    return f"sha-256=:{base64.b64encode(hashlib.sha256(content).digest()).decode()}:"


def parse_strictly(content: bytes) -> Any:
    """Parse JSON strictly: no repeated fields, no NaN. Raises ValueError or RecursionError.

    Parsers disagree on repeated fields and on NaN.
    """
    return json.loads(content, parse_constant=_refused, object_pairs_hook=_unique)


def _refused(constant: str) -> None:
    raise ValueError(f"{constant} is not a JSON number")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        raise ValueError("a field occurs twice")
    return made
