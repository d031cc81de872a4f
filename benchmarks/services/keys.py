"""Register, retire and revoke the public keys of referees."""

import logging

from django.db import transaction
from django.db.models.functions import Now

from benchmarks import signals
from benchmarks.errors import BenchmarkError
from benchmarks.models import SigningKey
from benchmarks.records import signatures

logger = logging.getLogger(__name__)


def add(*, public_key: str, name: str, by: str, owner: str = "") -> SigningKey:
    """Register a public key (PEM or base64); the same key is the same row, with its first name.

    `owner` is the party whose runs it may sign, empty for the consultancy. Raises BenchmarkError
    for an invalid or revoked key, or another party's.
    """
    name = name.strip()
    if not name or len(name) > 120 or not name.isprintable():
        raise BenchmarkError(
            "Enter a key name of 1 to 120 printable characters, such as the machine's.",
            code="key.name",
        )
    try:
        key = signatures.public_key(public_key.encode())
    except signatures.KeyUnusable as error:
        raise BenchmarkError(f"Invalid public key: {error}.", code="key.invalid") from error
    row, _ = SigningKey.objects.get_or_create(
        key_id=key.id,
        defaults={
            "name": name,
            "public_key": key.pem(),
            "added_by": by[:200] or "unknown",
            "owner": owner,
        },
    )
    if row.owner != owner:
        raise BenchmarkError(
            f"Key {row.key_id} is registered for another party. Create a key of your own.",
            code="key.other_owner",
        )
    if row.revoked_at is not None:
        raise BenchmarkError(
            f"Key {row.key_id} was revoked for good. Create a new key.", code="key.revoked"
        )
    if row.retired_at is not None:
        raise BenchmarkError(
            f"Key {row.key_id} was retired for good. Create a new key.", code="key.retired"
        )
    return row


def retire(*, key_id: str, by: str) -> SigningKey:
    """Accept no further record signed by this key; its records stay as good as before.

    Idempotent. Raises BenchmarkError for an unknown key.
    """
    row = _known(key_id)
    if SigningKey.objects.filter(pk=row.pk, retired_at=None).update(retired_at=Now()):
        logger.info("signing key %s (%s) was retired by %s", row.key_id, row.name, by)
    row.refresh_from_db()
    return row


def revoke(*, key_id: str, by: str) -> SigningKey:
    """Reject records signed by this key from now on; records accepted before stay, for review.

    Sends `key_revoked`. Idempotent. Raises BenchmarkError for an unknown key.
    """
    row = _known(key_id)
    with transaction.atomic():
        revoked = SigningKey.objects.filter(pk=row.pk, revoked_at=None).update(revoked_at=Now())
        row.refresh_from_db()
        if revoked:
            logger.warning("signing key %s (%s) was revoked by %s", row.key_id, row.name, by)
            signals.key_revoked.send(sender=SigningKey, key=row)
    return row


def _known(key_id: str) -> SigningKey:
    row = SigningKey.objects.filter(key_id=key_id).first()
    if row is None:
        raise BenchmarkError(f"Key {key_id} is not registered.", code="key.unknown")
    return row
