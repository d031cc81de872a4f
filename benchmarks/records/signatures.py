"""Ed25519 signatures of records.

The referee signs the canonical bytes of the record's file without its signatures, and with null for
the candidate's source, which is covered by its digest (`redaction`). It reads the private key
before any side starts, removes it from the environment, and keeps it in a process that others of
the same user cannot read.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import os
import re
from collections.abc import Mapping, MutableMapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from benchmarks.records import schemas
from benchmarks.records.canonical import canonical, digest_of_bytes
from benchmarks.records.redaction import without_source

ALGORITHM = "ed25519"
SIGNATURES = ("signature", "countersignatures")
KEY_FILE_VARIABLE = "TWOFOLD_SIGNING_KEY_FILE"
KEY_VARIABLE = "TWOFOLD_SIGNING_KEY"
_KEY_BYTES = 32
# A PEM key has about a hundred bytes; searching a large file for one takes minutes.
_MOST_KEY_FILE_BYTES = 10_000
_ID_DIGITS = 16
_PEM = re.compile(rb"-----BEGIN ([A-Z ]+)-----.*?-----END \1-----\n?", re.DOTALL)

SCHEMA = schemas.exactly(
    algorithm={"const": ALGORITHM},
    key_id={"type": "string", "pattern": f"^[0-9a-f]{{{_ID_DIGITS}}}$"},
    value={"type": "string", "contentEncoding": "base64"},
)


ROLES = ("consultancy", "customer", "third_party")
COUNTERSIGNATURES = {
    **schemas.listed(schemas.exactly(role={"enum": list(ROLES)}, **SCHEMA["properties"])),
    "maxItems": 20,
    "uniqueItems": True,
}
"""Signatures of others over the same content as the referee's, and their role."""


class KeyUnusable(ValueError):
    """A key cannot be read or created; the message never contains the key."""


class SignatureError(ValueError):
    """A signature does not verify."""


class NotSigned(SignatureError):
    """There is no signature, or another key's."""


@dataclass(frozen=True)
class PublicKey:
    """A public key: 32 bytes, identified by the first digits of their SHA-256."""

    raw: bytes

    @property
    def id(self) -> str:
        """16 hexadecimal digits."""
        return hashlib.sha256(self.raw).hexdigest()[:_ID_DIGITS]

    def pem(self) -> str:
        """SubjectPublicKeyInfo in PEM."""
        return (
            Ed25519PublicKey.from_public_bytes(self.raw)
            .public_bytes(
                serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
            )
            .decode()
        )

    def holds(self, signature: bytes, content: bytes) -> bool:
        """Whether this key signed exactly these bytes."""
        try:
            Ed25519PublicKey.from_public_bytes(self.raw).verify(signature, content)
        except InvalidSignature:
            return False
        return True


class SigningKey:
    """A private key. Its `repr` shows the public key only."""

    def __init__(self, key: Ed25519PrivateKey) -> None:
        self._key = key
        self.public = PublicKey(key.public_key().public_bytes_raw())

    def __repr__(self) -> str:
        return f"<SigningKey {self.public.id}>"

    def signature(self, content: bytes) -> dict[str, str]:
        """The `signature` field of a record for these bytes."""
        value = base64.b64encode(self._key.sign(content)).decode()
        return {"algorithm": ALGORITHM, "key_id": self.public.id, "value": value}


def private_key(text: bytes) -> SigningKey:
    """Parse a private key: PEM, or 32 bytes in base64. Raises KeyUnusable."""
    block = _block(text)
    try:
        if block is None:
            return SigningKey(Ed25519PrivateKey.from_private_bytes(_raw(text)))
        key = serialization.load_pem_private_key(block, password=None)
    except (ValueError, TypeError) as error:
        raise KeyUnusable("the signing key is neither PEM nor 32 bytes in base64") from error
    if not isinstance(key, Ed25519PrivateKey):
        raise KeyUnusable("the signing key is not an Ed25519 key")
    return SigningKey(key)


def public_key(text: bytes) -> PublicKey:
    """Parse a public key: PEM, or 32 bytes in base64. Raises KeyUnusable."""
    if b"PRIVATE KEY" in text:
        raise KeyUnusable("this is a private key; use the public key that keygen prints")
    block = _block(text)
    try:
        if block is None:
            return PublicKey(_raw(text))
        key = serialization.load_pem_public_key(block)
    except ValueError as error:
        raise KeyUnusable("the public key is neither PEM nor 32 bytes in base64") from error
    if not isinstance(key, Ed25519PublicKey):
        raise KeyUnusable("the public key is not an Ed25519 key")
    return PublicKey(key.public_bytes_raw())


def _block(text: bytes) -> bytes | None:
    """The first PEM block in a key file. Raises KeyUnusable for a file that is too large."""
    if len(text) > _MOST_KEY_FILE_BYTES:
        raise KeyUnusable(f"the key file is larger than {_MOST_KEY_FILE_BYTES:,} bytes")
    found = _PEM.search(text)
    return found and found.group()


def _raw(text: bytes) -> bytes:
    try:
        raw = base64.b64decode(text.strip(), validate=True)
    except binascii.Error as error:
        raise ValueError("not base64") from error
    if len(raw) != _KEY_BYTES:
        raise ValueError(f"{len(raw)} bytes")
    return raw


def make_key(path: Path) -> SigningKey:
    """Create a key and write its private half to `path`, readable by the owner only.

    Raises KeyUnusable when the file exists: keys are never overwritten.
    """
    key = Ed25519PrivateKey.generate()
    text = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except OSError as error:
        raise KeyUnusable(f"cannot create {path}: {error.strerror}") from error
    with os.fdopen(handle, "wb") as file:
        file.write(text)
    return SigningKey(key)


def read_key(path: Path) -> SigningKey:
    """Read a private key from a file. Raises KeyUnusable."""
    try:
        return private_key(path.read_bytes())
    except OSError as error:
        raise KeyUnusable(f"cannot read the signing key {path}: {error.strerror}") from error


def take_key(environment: MutableMapping[str, str]) -> SigningKey | None:
    """Remove the key from the environment and return it; None without a key.

    Processes started later inherit neither the key nor its path.
    """
    named, given = environment.pop(KEY_FILE_VARIABLE, ""), environment.pop(KEY_VARIABLE, "")
    if named and given:
        raise KeyUnusable(f"{KEY_FILE_VARIABLE} and {KEY_VARIABLE} are both set; set only one")
    if named:
        return read_key(Path(named))
    return private_key(given.encode()) if given else None


def sign(record: Mapping[str, Any], key: SigningKey | None) -> bytes:
    """The canonical bytes of a record's file, signed by the key if there is one."""
    body = {name: value for name, value in record.items() if name != "signature"}
    signature = key.signature(canonical(without_source(body))) if key else None
    return canonical({**body, "signature": signature})


def countersign(content: bytes, key: SigningKey, role: str) -> bytes:
    """A record's file with the signature of another party added, over the referee's signed content.

    Signing again with the same key changes nothing.
    """
    record = json.loads(content)
    known = record.get("countersignatures", [])
    if any(each["key_id"] == key.public.id for each in known):
        return content
    mine = {"role": role, **key.signature(_signed_bytes(record, role))}
    return canonical({**record, "countersignatures": [*known, mine]})


def _signed_bytes(record: Mapping[str, Any], role: str | None = None) -> bytes:
    """The bytes that a signature covers; `role` is a countersignature's, None for the referee."""
    unsigned = {name: each for name, each in record.items() if name not in SIGNATURES}
    if role is not None:
        unsigned["countersigned_as"] = role
    return canonical(without_source(unsigned))


def signature_of(content: bytes) -> dict[str, str] | None:
    """The signature field of a file, not verified; None for an unsigned file."""
    said: dict[str, str] | None = json.loads(content).get("signature")
    return said


def check(content: bytes, key: PublicKey) -> None:
    """Raise SignatureError unless `key` signed exactly these bytes of a record or survey.

    Raises NotSigned when there is no signature, or only other keys'. A countersignature counts.
    """
    record = json.loads(content)
    given = [(None, record.get("signature"))]
    given += [(each["role"], each) for each in record.get("countersignatures", [])]
    found = [(role, each) for role, each in given if each is not None]
    mine = [(role, each) for role, each in found if each["key_id"] == key.id]
    if not found:
        raise NotSigned("not signed")
    if not mine:
        signers = ", ".join(each["key_id"] for _, each in found)
        raise NotSigned(f"signed by key {signers}, not by {key.id}")
    candidate = record.get("candidate")
    texts = candidate if isinstance(candidate, dict) else {}
    try:
        values = [(role, base64.b64decode(each["value"], validate=True)) for role, each in mine]
    except binascii.Error as error:
        raise SignatureError("signature: not base64") from error
    # Whitespace and other encodings of the same JSON count as changes.
    whole = content == canonical(record)
    for part in ("source", "output"):
        if (text := texts.get(part)) is not None:
            whole &= digest_of_bytes(text.encode()) == texts.get(f"{part}_digest")
    whole &= all(key.holds(value, _signed_bytes(record, role)) for role, value in values)
    if not whole:
        raise SignatureError("signature: the record was changed after it was signed")
