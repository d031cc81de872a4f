"""Read the ledger: trial balance, one account, one engagement.

Balances come from monthly and period totals; at most one month of one account is summed by leg.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import NamedTuple

from django.db import connection
from django.db.models import F, Q, QuerySet, Sum

from engagements.engagement.models import Engagement
from engagements.ledger.models import Account, Entry, Leg, MonthTotal
from engagements.ledger.period_models import Period, PeriodTotal

NOTHING = Decimal(0)


@dataclass(frozen=True)
class BalanceRow:
    """Debit, credit and balance (debit positive) of an account in one currency."""

    account: Account
    currency: str
    debit: Decimal
    credit: Decimal
    leg_count: int

    @property
    def balance(self) -> Decimal:
        return self.debit - self.credit


def months() -> list[date]:
    """The months with entries, newest first, by a loose index scan."""
    found: list[date] = []
    totals = MonthTotal.objects.order_by("-month").values_list("month", flat=True)
    newest = totals.first()
    while newest is not None:
        found.append(newest)
        newest = totals.filter(month__lt=newest).first()
    return found


def trial_balance(*, until: date | None = None) -> list[BalanceRow]:
    """The trial balance up to the end of the month `until`, by currency and account."""
    periods, open_months = Q(state=Period.State.CLOSED), Q()
    if until is not None:
        periods, open_months = periods & Q(month__lte=until), Q(month__lte=until)
    closed = Period.objects.filter(periods).values_list("month", flat=True).first()
    parts = []
    if closed is not None:
        parts.append(_sums(_closed_totals(closed)))
        open_months &= Q(month__gt=closed)
    parts.append(_sums(MonthTotal.objects.filter(open_months)))
    accounts = {account.pk: account for account in Account.objects.all()}
    sums: dict[tuple[int, str], tuple[Decimal, Decimal, int]] = {}
    for row in (row for part in parts for row in part):
        debit, credit, count = sums.get((row.account, row.currency), (NOTHING, NOTHING, 0))
        sums[row.account, row.currency] = (debit + row.debit, credit + row.credit, count + row.legs)
    rows = [BalanceRow(accounts[key], currency, *sums[key, currency]) for key, currency in sums]
    return sorted(rows, key=lambda row: (row.currency, row.account.position))


def _closed_totals(last: date) -> QuerySet[PeriodTotal]:
    return PeriodTotal.objects.filter(period__state=Period.State.CLOSED, period__month__lte=last)


class _Sum(NamedTuple):
    account: int
    currency: str
    debit: Decimal
    credit: Decimal
    legs: int


def _sums(totals: QuerySet[MonthTotal] | QuerySet[PeriodTotal]) -> list[_Sum]:
    rows = (
        totals.order_by()
        .values_list("account_id", "currency")
        .annotate(Sum("debit"), Sum("credit"), Sum("leg_count"))
    )
    return [_Sum(*row) for row in rows]


@dataclass(frozen=True)
class AccountLine:
    """A leg with the balance after it."""

    leg: Leg
    balance: Decimal


@dataclass(frozen=True)
class AccountPage:
    """Legs of an account, newest first. `older` is the start of the next page."""

    lines: tuple[AccountLine, ...]
    older: tuple[date, int] | None


def account_page(
    account: Account, currency: str, *, before: tuple[date, int] | None = None, count: int = 50
) -> AccountPage:
    """`count` legs of an account before `before`, a date and leg key."""
    legs = Leg.objects.filter(account=account, currency=currency)
    if before is not None:
        day, key = before
        legs = legs.filter(Q(dated_on__lt=day) | Q(dated_on=day, pk__lt=key), dated_on__lte=day)
    rows = list(
        legs.select_related("entry", "engagement__customer").order_by("-dated_on", "-pk")[
            : count + 1
        ]
    )
    shown, rest = rows[:count], rows[count:]
    balance = _balance_at(account, currency, shown[0]) if shown else NOTHING
    lines = []
    for leg in shown:
        lines.append(AccountLine(leg, balance))
        balance -= leg.amount
    older = (shown[-1].dated_on, shown[-1].pk) if rest else None
    return AccountPage(tuple(lines), older)


def _balance_at(account: Account, currency: str, leg: Leg) -> Decimal:
    """The balance after `leg`: earlier months by their totals, its own month by leg."""
    month = leg.dated_on.replace(day=1)
    before = _balance(
        MonthTotal.objects.filter(account=account, currency=currency, month__lt=month)
    )
    within = Leg.objects.filter(
        Q(dated_on__lt=leg.dated_on) | Q(dated_on=leg.dated_on, pk__lte=leg.pk),
        account=account,
        currency=currency,
        dated_on__gte=month,
        dated_on__lte=leg.dated_on,
    ).aggregate(total=Sum("amount"))["total"]
    return before + (within or NOTHING)


def _balance(totals: QuerySet[MonthTotal]) -> Decimal:
    balance = totals.aggregate(total=Sum(F("debit") - F("credit")))["total"]
    return balance or NOTHING


class EngagementBalance(NamedTuple):
    """The balance of one account of one engagement, debit positive."""

    engagement: Engagement
    currency: str
    balance: Decimal


def balances_of_engagements(
    account: Account, currency: str, *, text: str = "", count: int = 50, offset: int = 0
) -> list[EngagementBalance]:
    """Engagements with a balance on `account`, the largest first.

    `text` searches reference, title and customer.
    """
    totals = MonthTotal.objects.filter(account=account, currency=currency, engagement__isnull=False)
    if text:
        totals = totals.filter(
            Q(engagement__reference__icontains=text)
            | Q(engagement__title__icontains=text)
            | Q(engagement__customer__name__icontains=text)
        )
    largest_first = "balance" if account.kind != Account.Kind.ASSET else "-balance"
    rows = list(
        totals.order_by()
        .values_list("engagement_id")
        .annotate(balance=Sum(F("debit") - F("credit")))
        .exclude(balance=0)
        .order_by(largest_first, "engagement_id")[offset : offset + count]
    )
    engagements = Engagement.objects.select_related("customer").in_bulk([key for key, _ in rows])
    return [EngagementBalance(engagements[key], currency, balance) for key, balance in rows]


def engagement_balances(engagement: Engagement) -> list[BalanceRow]:
    """The balances of an engagement by account."""
    accounts = {account.pk: account for account in Account.objects.all()}
    rows = [
        BalanceRow(accounts[row.account], row.currency, row.debit, row.credit, row.legs)
        for row in _sums(MonthTotal.objects.filter(engagement=engagement))
    ]
    return sorted(rows, key=lambda row: (row.currency, row.account.position))


def entries_of(engagement: Engagement) -> list[Entry]:
    """An engagement's entries with their legs, newest first."""
    return list(
        Entry.objects.filter(engagement=engagement)
        .select_related("document")
        .prefetch_related("legs__account")
        .order_by("-dated_on", "-pk")
    )


def totals_by_currency(rows: Iterable[BalanceRow]) -> list[tuple[str, Decimal, Decimal]]:
    """Total debit and credit by currency; equal in a consistent ledger."""
    sums: dict[str, tuple[Decimal, Decimal]] = {}
    for row in rows:
        debit, credit = sums.get(row.currency, (NOTHING, NOTHING))
        sums[row.currency] = (debit + row.debit, credit + row.credit)
    return [(currency, *sides) for currency, sides in sorted(sums.items())]


def legs_between(first: date, last: date, *, currency: str = "") -> QuerySet[Leg]:
    """Legs dated from `first` to `last` inclusive, grouped by entry."""
    legs = Leg.objects.filter(entry__dated_on__gte=first, entry__dated_on__lte=last)
    if currency:
        legs = legs.filter(currency=currency)
    return legs.select_related("entry__document", "account", "engagement__customer").order_by(
        "entry__dated_on", "entry_id", "pk"
    )


def wrong_totals() -> Sequence[tuple[int, int, str, date]]:
    """Totals that differ from the sum of their legs: (engagement or 0, account, currency, month).

    Reads every leg; a consistent ledger has none.
    """
    with connection.cursor() as cursor:
        cursor.execute(WRONG_TOTALS)
        return cursor.fetchall()


WRONG_TOTALS = """
WITH summed AS (
    SELECT coalesce(engagement_id, 0) AS engagement, account_id, currency,
           date_trunc('month', dated_on)::date AS month,
           sum(greatest(amount, 0)) AS debit, sum(greatest(-amount, 0)) AS credit,
           count(*) AS leg_count
    FROM engagements_leg GROUP BY 1, 2, 3, 4
), kept AS (
    SELECT coalesce(engagement_id, 0) AS engagement, * FROM engagements_monthtotal
)
SELECT engagement, account_id, currency, month
FROM summed FULL JOIN kept USING (engagement, account_id, currency, month)
WHERE (summed.debit, summed.credit, summed.leg_count)
      IS DISTINCT FROM (kept.debit, kept.credit, kept.leg_count)
"""
