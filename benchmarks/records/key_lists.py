"""A signed, append-only list of public keys and their revocations (`twofold.keys/1`).

One JSON object a line. Each has the digest of the line before and is signed by the list's own key,
so a line can be added only by that key's holder, and none changed or removed before the last. A
shortened list is consistent: compare its last digest with one published elsewhere.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from benchmarks.records import schemas, signatures
from benchmarks.records.canonical import canonical, digest_of_bytes, parse_strictly
from benchmarks.records.signatures import PublicKey, SigningKey

SCHEMA_NAME = "twofold.keys/1"
MAX_BYTES = 1_000_000
_LINE = schemas.exactly(
    schema={"const": SCHEMA_NAME},
    previous=schemas.nullable(schemas.DIGEST),
    at=schemas.TEXT,
    action={"enum": ["add", "revoke"]},
    key_id=signatures.SCHEMA["properties"]["key_id"],
    public_key={"type": "string", "contentEncoding": "base64"},
    # Whose key it is, or why it was revoked.
    note={"type": "string", "minLength": 1, "maxLength": 200},
    signature=signatures.SCHEMA,
)


class KeyListError(ValueError):
    """A list cannot be read, is not its key's, or does not allow the change."""


@dataclass(frozen=True, kw_only=True)
class ListedKey:
    """A key of the list, its owner, and when and why it was revoked."""

    key: PublicKey
    owner: str
    revoked_at: str | None = None
    reason: str | None = None


def read(content: bytes, own: PublicKey) -> Mapping[str, ListedKey]:
    """The keys of a list by their id; `own` is the list's. Raises KeyListError."""
    if len(content) > MAX_BYTES:
        raise KeyListError(f"the key list is larger than {MAX_BYTES:,} bytes")
    keys: dict[str, ListedKey] = {}
    previous: str | None = None
    for number, text in enumerate(content.splitlines(), start=1):
        line = _checked(text, own, previous, f"key list line {number}")
        keys[line["key_id"]] = _applied(keys, line, f"key list line {number}")
        previous = digest_of_bytes(text)
    return keys


def appended(
    content: bytes, *, action: str, key: PublicKey, note: str, at: datetime, signer: SigningKey
) -> bytes:
    """The list with a line added: `action` add or revoke. Raises KeyListError."""
    lines = content.splitlines()
    line = {
        "schema": SCHEMA_NAME,
        "previous": digest_of_bytes(lines[-1]) if lines else None,
        "at": at.isoformat(timespec="seconds"),
        "action": action,
        "key_id": key.id,
        "public_key": base64.b64encode(key.raw).decode(),
        "note": note,
    }
    signed = canonical({**line, "signature": signer.signature(canonical(line))})
    longer = b"".join(each + b"\n" for each in (*lines, signed))
    read(longer, signer.public)
    return longer


def _checked(text: bytes, own: PublicKey, previous: str | None, where: str) -> dict[str, Any]:
    try:
        line = parse_strictly(text)
    except (ValueError, RecursionError) as error:
        raise KeyListError(f"{where} is not JSON: {error}") from error
    if broken := schemas.violation(line, _LINE):
        raise KeyListError(f"{where} {broken}")
    if line["previous"] != previous:
        raise KeyListError(f"{where} does not follow the line before it")
    signature = line.pop("signature")
    try:
        value = base64.b64decode(signature["value"], validate=True)
    except binascii.Error as error:
        raise KeyListError(f"{where}: the signature is not base64") from error
    if signature["key_id"] != own.id or not own.holds(value, canonical(line)):
        raise KeyListError(f"{where} is not signed by the list's key {own.id}")
    checked: dict[str, Any] = line
    return checked


def _applied(keys: Mapping[str, ListedKey], line: Mapping[str, Any], where: str) -> ListedKey:
    known = keys.get(line["key_id"])
    if line["action"] == "add":
        if known is not None:
            raise KeyListError(f"{where}: key {line['key_id']} is already listed")
        key = signatures.public_key(line["public_key"].encode())
        if key.id != line["key_id"]:
            raise KeyListError(f"{where}: not the key of id {line['key_id']}")
        return ListedKey(key=key, owner=line["note"])
    if known is None or known.revoked_at is not None:
        raise KeyListError(f"{where}: key {line['key_id']} is not listed, or already revoked")
    return ListedKey(key=known.key, owner=known.owner, revoked_at=line["at"], reason=line["note"])
