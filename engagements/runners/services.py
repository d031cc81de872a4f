"""Register runners, renew their tokens, and revoke them."""

from __future__ import annotations

import logging

from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils import timezone

from benchmarks.services import keys
from engagements import access
from engagements.common import validation
from engagements.common.errors import ApplicationError
from engagements.people import api_tokens, service_accounts
from engagements.people.models import Customer, User
from engagements.people.token_models import Scope
from engagements.runners.models import Runner

logger = logging.getLogger(__name__)
LONGEST_DEVICE_NAME = 200


@transaction.atomic
def register(*, name: str, by: User, customer: Customer | None = None) -> tuple[Runner, str]:
    """Register a runner of `customer`, or of the consultancy without one; return its token too.

    Admins register those of the consultancy, a customer's signatories their own. The token is
    shown once. Raises ApplicationError.
    """
    account = service_accounts.create(name=name, customer=customer, by=by)
    row = Runner(account=account, customer=customer, name=account.name, created_by=by)
    validation.save_validated(row)
    logger.info("runner %s (%s) was registered by %s", row.pk, row, by)
    return row, _new_token(row, by)


@transaction.atomic
def renew_token(*, runner: Runner, by: User) -> str:
    """Revoke the tokens of a runner, and return a new one."""
    row = _locked(runner)
    _require_active(row)
    for token in api_tokens.active().filter(owner=row.account):
        api_tokens.revoke(token=token, by=by)
    return _new_token(row, by)


@transaction.atomic
def retire(*, runner: Runner, by: User) -> Runner:
    """End a runner, its tokens and its key; its records are as good as before. Idempotent.

    Its managers may, and an admin those of every customer.
    """
    row = _ended(runner, by)
    if row.key is not None:
        keys.retire(key_id=row.key.key_id, by=str(by))
    logger.info("runner %s (%s) was retired by %s", row.pk, row, by)
    return row


@transaction.atomic
def revoke(*, runner: Runner, by: User) -> Runner:
    """End a runner whose key may have leaked: met runs that it signed are reviewed. Idempotent.

    As `retire`, also afterwards.
    """
    row = _ended(runner, by)
    if row.key is not None:
        keys.revoke(key_id=row.key.key_id, by=str(by))
    logger.warning("runner %s (%s) was revoked by %s", row.pk, row, by)
    return row


def _ended(runner: Runner, by: User) -> Runner:
    """End a runner and its tokens."""
    row = _locked(runner)
    if not managed_by(by).filter(pk=row.pk).exists():
        raise ApplicationError(
            "Only an admin, or a signatory of the customer, ends a runner.",
            code="runner.not_permitted",
        )
    if row.ended_at is None:
        row.ended_at, row.ended_by = timezone.now(), by
        row.save(update_fields=["ended_at", "ended_by"])
        row.account.is_active = False
        row.account.save(update_fields=["is_active"])
    return row


@transaction.atomic
def introduce(*, runner: Runner, device: str, device_name: str, public_key: str) -> Runner:
    """Store the device that a runner states, and at its first start its public key.

    Raises ApplicationError for another key, and BenchmarkError for an invalid one.
    """
    row = _locked(runner)
    _require_active(row)
    device_name = device_name.strip()
    if not device_name.isprintable() or not 0 < len(device_name) <= LONGEST_DEVICE_NAME:
        raise ApplicationError(
            f"State a device name of 1 to {LONGEST_DEVICE_NAME} printable characters.",
            code="runner.device_name",
        )
    key = keys.add(public_key=public_key, name=row.name, by=f"runner {row.pk}", owner=row.party)
    if row.key not in (None, key):
        raise ApplicationError(
            f"This runner signs with key {row.key.key_id}. Start it with that key, or register "
            "another runner.",
            code="runner.other_key",
        )
    if Runner.objects.filter(key=key).exclude(pk=row.pk).exists():
        raise ApplicationError(
            f"Key {key.key_id} belongs to another runner. Create one for each runner.",
            code="runner.key_in_use",
        )
    row.key, row.device, row.device_name, row.seen_at = key, device, device_name, timezone.now()
    validation.save_validated(row)
    return row


def note_sign_of_life(runner: Runner) -> None:
    """Record that a runner made a request."""
    Runner.objects.filter(pk=runner.pk).update(seen_at=timezone.now())


def visible_to(user: User) -> QuerySet[Runner]:
    """The runners that exist for `user`: all for staff, those of their company for its members."""
    rows = Runner.objects.select_related("account", "customer", "key")
    if access.is_staff_member(user):
        return rows
    return rows.filter(customer__in=access.customers_of(user))


def managed_by(user: User) -> QuerySet[Runner]:
    """The runners that `user` may retire, revoke and give new tokens."""
    if access.is_admin(user):
        return visible_to(user)
    return visible_to(user).filter(Q(customer__in=service_accounts.signs_for(user)))


def _new_token(runner: Runner, by: User) -> str:
    _, value = api_tokens.create(
        owner=runner.account,
        name=runner.name,
        scopes=[Scope.RUNNER],
        days=api_tokens.MAX_DAYS,
        by=by,
    )
    return value


def _locked(runner: Runner) -> Runner:
    return (
        Runner.objects.select_for_update(of=("self",))
        .select_related("account", "key")
        .get(pk=runner.pk)
    )


def _require_active(runner: Runner) -> None:
    if not runner.is_active:
        raise ApplicationError("This runner has ended. Register another one.", code="runner.ended")
