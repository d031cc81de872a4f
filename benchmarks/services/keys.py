"""The public keys of referees: registered, and revoked when a private half may have leaked."""

import logging

from django.db.models.functions import Now

from benchmarks.errors import Refused
from benchmarks.harness.records import signatures
from benchmarks.models import SigningKey

logger = logging.getLogger(__name__)


def add(*, public_key: str, name: str, by: str) -> SigningKey:
    """Register a public key (PEM or base64); the same key is the same row, with its first name.

    Refused when it is no Ed25519 key, or one that was revoked: a revoked key stays so.
    """
    name = name.strip()
    if not name or len(name) > 120 or not name.isprintable():
        raise Refused(
            "Give the key a name of at most 120 printable characters, such as its machine's."
        )
    try:
        key = signatures.public_key(public_key.encode())
    except signatures.KeyUnusable as error:
        raise Refused(f"This key cannot be registered: {error}.") from error
    row, _ = SigningKey.objects.get_or_create(
        key_id=key.id,
        defaults={"name": name, "public_key": key.pem(), "added_by": by[:200] or "unknown"},
    )
    if row.revoked_at is not None:
        raise Refused(f"Key {row.key_id} was revoked and stays so: make another.")
    return row


def revoke(*, key_id: str, by: str) -> SigningKey:
    """Believe no record from now on that this key signs. Those believed before stay.

    Revoked again, nothing changes. Refused for a key that is not registered.
    """
    row = SigningKey.objects.filter(key_id=key_id).first()
    if row is None:
        raise Refused(f"There is no key {key_id}.")
    if SigningKey.objects.filter(pk=row.pk, revoked_at=None).update(revoked_at=Now()):
        logger.warning("signing key %s (%s) was revoked by %s", row.key_id, row.name, by)
    row.refresh_from_db()
    return row
