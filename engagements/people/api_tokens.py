"""Tokens of the API: create, find the owner, revoke.

A token's value is shown once, when it is created. It expires, and ends earlier when it is revoked
or its owner's password, role or access changes.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Iterable
from datetime import timedelta
from typing import Final

from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils import timezone
from django.utils.crypto import constant_time_compare

from engagements.common import validation
from engagements.common.errors import ApplicationError
from engagements.people import service_accounts
from engagements.people.models import User
from engagements.people.token_models import ApiToken, Scope

# Lets secret scanners recognise a token in a repository or a log.
PREFIX: Final = "twofold_"
DEFAULT_DAYS: Final = 30
MAX_DAYS: Final = 365
MAX_ACTIVE: Final = 50
# How precisely `last_used_at` is kept: a busy token writes its row once in this time.
USE_NOTED_EVERY: Final = timedelta(minutes=1)


@transaction.atomic
def create(
    *, owner: User, name: str, scopes: Iterable[str], by: User, days: int = DEFAULT_DAYS
) -> tuple[ApiToken, str]:
    """Create a token of `owner`, valid for so many days, and return it with its value.

    `by` is the owner, or manages the service account that is. Raises ApplicationError.
    """
    require_manager(owner, by)
    if not 1 <= days <= MAX_DAYS:
        raise ApplicationError(f"Enter 1 to {MAX_DAYS} days.", code="token.days")
    chosen = sorted(set(scopes))
    if not chosen or not set(chosen) <= set(Scope.values):
        raise ApplicationError("Choose at least one of the scopes.", code="token.scopes")
    User.objects.select_for_update(no_key=True).only("pk").get(pk=owner.pk)
    if active().filter(owner=owner).count() >= MAX_ACTIVE:
        raise ApplicationError(
            f"{owner} has {MAX_ACTIVE} active tokens. Revoke one first.", code="token.too_many"
        )
    value = PREFIX + secrets.token_urlsafe(32)
    now = timezone.now()
    row = ApiToken(
        owner=owner,
        name=validation.text(name, noun="The name"),
        scopes=chosen,
        digest=_digest(value),
        hint=value[-4:],
        owner_state=_state_of(owner),
        created_by=by,
        created_at=now,
        expires_at=now + timedelta(days=days),
    )
    validation.save_validated(row)
    return row, value


def find(value: str) -> ApiToken | None:
    """Return the usable token with this value, with its owner; None where there is none."""
    if not value.startswith(PREFIX):
        return None
    row = active().filter(digest=_digest(value)).select_related("owner").first()
    if row is None or not row.owner.is_active:
        return None
    if not constant_time_compare(row.owner_state, _state_of(row.owner)):
        return None
    return row


def note_use(token: ApiToken) -> None:
    """Record that a token was used just now."""
    now = timezone.now()
    if token.last_used_at is None or token.last_used_at < now - USE_NOTED_EVERY:
        ApiToken.objects.filter(pk=token.pk).update(last_used_at=now)


@transaction.atomic
def revoke(*, token: ApiToken, by: User) -> ApiToken:
    """Revoke a token at once, for its owner or a manager of its service account. Idempotent."""
    row = ApiToken.objects.select_for_update(of=("self",)).select_related("owner").get(pk=token.pk)
    require_manager(row.owner, by)
    if row.revoked_at is None:
        row.revoked_at, row.revoked_by = timezone.now(), by
        row.save(update_fields=["revoked_at", "revoked_by"])
    return row


def active() -> QuerySet[ApiToken]:
    """Tokens that are neither revoked nor expired."""
    return ApiToken.objects.filter(revoked_at=None, expires_at__gt=timezone.now())


def managed_by(user: User) -> QuerySet[ApiToken]:
    """The tokens of `user` and of the service accounts that they manage, the newest first."""
    accounts = service_accounts.managed_by(user)
    return ApiToken.objects.filter(Q(owner=user) | Q(owner__in=accounts)).select_related("owner")


def require_manager(owner: User, by: User) -> None:
    """Require `by` to be `owner`, or to manage the service account that is."""
    if by.is_active and owner.pk == by.pk and not owner.is_service:
        return
    if not service_accounts.managed_by(by).filter(pk=owner.pk).exists():
        raise ApplicationError(
            "Only the owner, or a manager of a service account, may do this.",
            code="token.not_yours",
        )


def _digest(value: str) -> str:
    # 256 random bits need no slow hash.
    return hashlib.sha256(value.encode()).hexdigest()


def _state_of(owner: User) -> str:
    return _digest(owner.get_session_auth_hash())
