"""Post entries and legs to the ledger."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import date
from decimal import Decimal
from typing import NamedTuple

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from engagements.common import money
from engagements.common.errors import ApplicationError
from engagements.documents.models import Document
from engagements.engagement import stages
from engagements.engagement.models import Engagement
from engagements.ledger.effects import Effect
from engagements.ledger.models import Account, Entry, Leg
from engagements.ledger.period_models import Period
from engagements.ledger.positions import Positions


class LegDraft(NamedTuple):
    """A leg to post: account code and amount, debit positive, credit negative."""

    account: str
    amount: Decimal
    currency: str


@transaction.atomic
def post(
    *,
    engagement: Engagement | None,
    kind: str,
    dated_on: date,
    legs: Sequence[LegDraft],
    key: str,
    document: Document | None = None,
    is_charge: bool = False,
) -> Entry:
    """Post one entry under the engagement's lock, or without one. Idempotent by `key`.

    Merges legs of the same account and drops zero ones. Declined in a closed month. Raises
    ValueError if the legs do not balance in each currency, name an unknown account, need
    rounding, or differ from those already posted with `key`.
    """
    drafts = _merged(legs)
    if engagement is not None:
        stages.locked(engagement.pk)
    known = Entry.objects.filter(key=key).first()
    if known:
        _require_same(known, engagement, drafts)
        return known
    _require_balanced(drafts, key)
    if is_closed(dated_on):
        raise ApplicationError(
            f"{dated_on:%B %Y} is closed; nothing can be posted to it.", code="period.closed"
        )
    entry = Entry.objects.create(
        engagement=engagement,
        kind=Entry.Kind(kind),
        dated_on=dated_on,
        key=key,
        document=document,
        leg_count=len(drafts),
        is_charge=is_charge,
    )
    _write_legs(entry, drafts)
    return entry


def _write_legs(entry: Entry, drafts: Sequence[LegDraft]) -> None:
    accounts = _accounts(draft.account for draft in drafts)
    Leg.objects.bulk_create(
        Leg(
            entry=entry,
            account=accounts[draft.account],
            engagement=entry.engagement,
            dated_on=entry.dated_on,
            amount=draft.amount,
            currency=draft.currency,
        )
        for draft in drafts
    )


@transaction.atomic
def post_many(*, kind: str, effects: Iterable[tuple[str, date, str, Effect]]) -> None:
    """Post entries without an engagement, such as the lines of a bank file, in two statements.

    `effects` are (key, date, currency, effect). A date in a closed month becomes today.
    """
    last_closed, today = (
        _closed().values_list("month", flat=True).first(),
        timezone.localdate(),
    )
    rows = [
        (key, today if last_closed and day.replace(day=1) <= last_closed else day, unit, effect)
        for key, day, unit, effect in effects
    ]
    accounts = _accounts(account for *_, effect in rows for account in effect)
    entries = Entry.objects.bulk_create(
        Entry(kind=Entry.Kind(kind), dated_on=day, key=key, leg_count=len(effect))
        for key, day, _, effect in rows
    )
    Leg.objects.bulk_create(
        Leg(
            entry=entry,
            account=accounts[account],
            dated_on=day,
            amount=amount,
            currency=currency,
        )
        for entry, (_, day, currency, effect) in zip(entries, rows, strict=True)
        for account, amount in effect.items()
    )


def is_closed(day: date) -> bool:
    """Whether the month of `day`, or a later one, is closed."""
    return _closed().filter(month__gte=day.replace(day=1)).exists()


def _closed() -> QuerySet[Period]:
    return Period.objects.filter(state=Period.State.CLOSED)


def open_day(day: date) -> date:
    """`day`, or today if its month is closed."""
    return timezone.localdate() if is_closed(day) else day


def _merged(legs: Iterable[LegDraft]) -> list[LegDraft]:
    sums: dict[tuple[str, str], Decimal] = {}
    for leg in legs:
        place = (leg.account, leg.currency)
        sums[place] = sums.get(place, Decimal(0)) + leg.amount
    return [LegDraft(code, amount, unit) for (code, unit), amount in sums.items() if amount]


def _require_balanced(drafts: list[LegDraft], key: str) -> None:
    sums: dict[str, Decimal] = {}
    for leg in drafts:
        if not money.is_exact(leg.amount, leg.currency):
            raise ValueError(f"{key}: {leg.amount} is not an exact amount of {leg.currency}.")
        sums[leg.currency] = sums.get(leg.currency, Decimal(0)) + leg.amount
    if not drafts or any(sums.values()):
        raise ValueError(f"{key}: the legs do not balance: {sums}.")


def _require_same(entry: Entry, engagement: Engagement | None, drafts: list[LegDraft]) -> None:
    written = {
        LegDraft(leg.account.code, leg.amount, leg.currency)
        for leg in entry.legs.select_related("account")
    }
    expected = engagement.pk if engagement else None
    if entry.engagement_id != expected or written != set(drafts):
        raise ValueError(f"{entry.key} is already posted with other legs.")


def _accounts(codes: Iterable[str]) -> dict[str, Account]:
    wanted = set(codes)
    found = {account.code: account for account in Account.objects.filter(code__in=wanted)}
    if missing := wanted - found.keys():
        raise ValueError(f"Unknown account: {', '.join(sorted(missing))}.")
    return found


def post_effect(
    engagement: Engagement,
    position: Positions,
    effect: Effect,
    *,
    key: str,
    dated_on: date,
    about: Document | None = None,
) -> Entry | None:
    """Post an effect on an engagement's accounts, once for each `key` ("kind:noun:pk").

    Returns the existing entry for a known key, and None for an effect of zero.
    """
    known = Entry.objects.filter(key=key).first()
    if known or not any(effect.values()):
        return known
    return post(
        engagement=engagement,
        kind=key.partition(":")[0],
        dated_on=dated_on,
        legs=[LegDraft(account, amount, position.currency) for account, amount in effect.items()],
        key=key,
        document=about,
        is_charge=position.is_charge,
    )
