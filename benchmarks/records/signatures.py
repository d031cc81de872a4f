"""Ed25519 signatures of records: made by the referee, checked by anybody. No torch here.

The referee signs the canonical bytes of the record's file without its `signature`, and with null
for the candidate's source, for which its digest stands (`withholding`). The private key is read
before any side starts, taken out of the environment, and lives in a process that others of the
same user cannot read; a side is never handed it.
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
KEY_FILE_VARIABLE = "TWOFOLD_SIGNING_KEY_FILE"
KEY_VARIABLE = "TWOFOLD_SIGNING_KEY"
_KEY_BYTES = 32
# A key in PEM has about a hundred; looking for one in a large file takes minutes.
_MOST_KEY_FILE_BYTES = 10_000
_ID_DIGITS = 16
_PEM = re.compile(rb"-----BEGIN ([A-Z ]+)-----.*?-----END \1-----\n?", re.DOTALL)

SCHEMA = schemas.exactly(
    algorithm={"const": ALGORITHM},
    key_id={"type": "string", "pattern": f"^[0-9a-f]{{{_ID_DIGITS}}}$"},
    value={"type": "string", "contentEncoding": "base64"},
)


class KeyUnusable(ValueError):
    """A key cannot be read or made; the text says why in one line, without the key."""


class SignatureError(ValueError):
    """A signature does not hold; the text says why in one line."""


class NotSigned(SignatureError):
    """Nobody signed, or somebody else than asked for."""


@dataclass(frozen=True)
class PublicKey:
    """What checks signatures: 32 bytes, known by the first digits of their SHA-256."""

    raw: bytes

    @property
    def id(self) -> str:
        """16 hexadecimal digits."""
        return hashlib.sha256(self.raw).hexdigest()[:_ID_DIGITS]

    def pem(self) -> str:
        """SubjectPublicKeyInfo in PEM, as OpenSSL and everything else reads it."""
        return (
            Ed25519PublicKey.from_public_bytes(self.raw)
            .public_bytes(
                serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
            )
            .decode()
        )

    def holds(self, signature: bytes, content: bytes) -> bool:
        """Whether the owner of the key signed exactly these bytes."""
        try:
            Ed25519PublicKey.from_public_bytes(self.raw).verify(signature, content)
        except InvalidSignature:
            return False
        return True


class SigningKey:
    """What signs. Its `repr` shows the public half alone."""

    def __init__(self, key: Ed25519PrivateKey) -> None:
        self._key = key
        self.public = PublicKey(key.public_key().public_bytes_raw())

    def __repr__(self) -> str:
        return f"<SigningKey {self.public.id}>"

    def signature(self, content: bytes) -> dict[str, str]:
        """The record's `signature` of these bytes."""
        value = base64.b64encode(self._key.sign(content)).decode()
        return {"algorithm": ALGORITHM, "key_id": self.public.id, "value": value}


def private_key(text: bytes) -> SigningKey:
    """A private key in PEM, or its 32 bytes in base64. KeyUnusable for anything else."""
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
    """A public key in PEM, or its 32 bytes in base64. KeyUnusable for anything else."""
    if b"PRIVATE KEY" in text:
        raise KeyUnusable("this is a private key: give the public half, which keygen prints")
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
    """The first block of PEM in a key's file. KeyUnusable where it is larger than any."""
    if len(text) > _MOST_KEY_FILE_BYTES:
        raise KeyUnusable(f"a key's file is no larger than {_MOST_KEY_FILE_BYTES:,} bytes")
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
    """Make a key and write its private half to `path`, which only its owner may read.

    KeyUnusable when something is there already: a key is never overwritten.
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
        raise KeyUnusable(f"cannot make {path}: {error.strerror}") from error
    with os.fdopen(handle, "wb") as file:
        file.write(text)
    return SigningKey(key)


def read_key(path: Path) -> SigningKey:
    """The private key in a file; KeyUnusable when it cannot be read."""
    try:
        return private_key(path.read_bytes())
    except OSError as error:
        raise KeyUnusable(f"cannot read the signing key {path}: {error.strerror}") from error


def take_from(environment: MutableMapping[str, str]) -> SigningKey | None:
    """The key that the environment names, and the environment without it. None: no key.

    Taken out, so that nothing that is started later inherits it or where it lies.
    """
    named, given = environment.pop(KEY_FILE_VARIABLE, ""), environment.pop(KEY_VARIABLE, "")
    if named and given:
        raise KeyUnusable(f"{KEY_FILE_VARIABLE} and {KEY_VARIABLE} are both set: set one")
    if named:
        return read_key(Path(named))
    return private_key(given.encode()) if given else None


def signed(record: Mapping[str, Any], key: SigningKey | None) -> bytes:
    """The canonical bytes of a record's file with the key's signature, or with none."""
    body = {name: value for name, value in record.items() if name != "signature"}
    signature = key.signature(canonical(without_source(body))) if key else None
    return canonical({**body, "signature": signature})


def signature_of(content: bytes) -> dict[str, str] | None:
    """What the file says of its signature, not checked yet. None: not signed."""
    said: dict[str, str] | None = json.loads(content).get("signature")
    return said


def check(content: bytes, key: PublicKey) -> None:
    """Raise SignatureError unless `key` signed exactly these bytes of a record's or survey's file.

    NotSigned when there is no signature, or that of another key.
    """
    record = json.loads(content)
    signature = record.pop("signature", None)
    if signature is None:
        raise NotSigned("not signed")
    if signature["key_id"] != key.id:
        raise NotSigned(f"signed by key {signature['key_id']}, and not by {key.id}")
    body = canonical(without_source(record))
    candidate = record.get("candidate")
    source = candidate["source"] if isinstance(candidate, dict) else None
    try:
        value = base64.b64decode(signature["value"], validate=True)
    except binascii.Error as error:
        raise SignatureError("signature: not base64") from error
    # Whitespace and other spellings of the same JSON are changes too.
    whole = content == canonical({**record, "signature": signature})
    if source is not None:
        whole &= digest_of_bytes(source.encode()) == record["candidate"]["source_digest"]
    if not whole or not key.holds(value, body):
        raise SignatureError("signature: the record was changed after it was signed")
