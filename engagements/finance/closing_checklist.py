"""The checklist of a month, and closing the month with it."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from decimal import Decimal

from django.db import transaction
from django.urls import reverse

from engagements.billing import charge_invoices, csv_confirmations
from engagements.billing.bank_models import BankLine
from engagements.billing.milestones import milestones_to_bill
from engagements.billing.models import Invoice
from engagements.billing.write_off_models import WriteOff
from engagements.charges.models import Charge
from engagements.common import links
from engagements.finance.receivables import vat_checks, vat_figures
from engagements.ledger import chart, periods
from engagements.ledger.period_models import Period, PeriodReopening
from engagements.ledger.periods import next_month
from engagements.ledger.queries import trial_balance
from engagements.people.models import User
from engagements.settlements import finance_mails
from engagements.settlements.models import Settlement


@dataclass(frozen=True)
class Check:
    """One item of the checklist: done where `count` is zero."""

    label: str
    count: int
    url: str

    @property
    def is_done(self) -> bool:
        return self.count == 0


def checks(month: dt.date) -> list[Check]:
    """The checklist of a month, given by its first day."""
    last = next_month(month) - dt.timedelta(days=1)
    lines = BankLine.objects.filter(state=BankLine.State.OPEN, valued_on__lte=last)
    files = csv_confirmations.waiting().filter(imported_at__date__lte=last)
    drafted = Invoice.objects.filter(state=Invoice.State.DRAFT, drafted_at__date__lte=last)
    drafts, notes = (drafted.filter(kind=kind) for kind in Invoice.Kind)
    released = milestones_to_bill().filter(released_at__date__lte=last)
    losses = WriteOff.objects.filter(state=WriteOff.State.PROPOSED, proposed_at__date__lte=last)
    proposed = Settlement.objects.filter(
        state=Settlement.State.PROPOSED, proposed_at__date__lte=last
    )
    charges = Charge.objects.filter(state=Charge.State.PROPOSED, proposed_at__date__lte=last)
    to_bill = charge_invoices.charges_to_bill().filter(decided_at__date__lte=last)
    differing = [row for row in vat_checks(vat_figures(month, last), month, last) if not row.agrees]
    suspense = in_suspense(month)
    period = f"?first={month:%Y-%m}&last={month:%Y-%m}"
    return [
        Check("Bank lines to assign, match or set aside", lines.count(), reverse("bank")),
        Check("CSV files to confirm", files.count(), reverse("bank")),
        Check("Suspense balances to explain", len(suspense), _suspense_page(suspense)),
        Check("Draft invoices to issue or discard", drafts.count(), reverse("to-bill")),
        Check("Released milestones to bill", released.count(), reverse("to-bill")),
        Check("Charges to approve or void", charges.count(), reverse("charges")),
        Check("Charges to bill", to_bill.count(), reverse("charges")),
        Check("Write-offs to approve or void", losses.count(), reverse("finance")),
        Check("Credit notes to issue or discard", notes.count(), reverse("finance")),
        Check("Settlements to approve or void", proposed.count(), reverse("settlements")),
        Check("VAT that differs from the ledger", len(differing), reverse("vat") + period),
    ]


def in_suspense(month: dt.date) -> dict[str, Decimal]:
    """The suspense account at the end of a month, by currency, where it is not zero.

    Lines that nobody assigned, and payments or refunds that no bank line shows.
    """
    return {
        row.currency: row.balance
        for row in trial_balance(until=month)
        if row.account.code == chart.SUSPENSE and row.balance
    }


def _suspense_page(balances: dict[str, Decimal]) -> str:
    """The page of the suspense account in the first of these currencies."""
    for currency in balances:
        return reverse("ledger-account", args=[chart.SUSPENSE, currency])
    return reverse("ledger")


@transaction.atomic
def propose(*, month: dt.date, note: str, by: User) -> Period:
    """Propose to close a month with its checklist of now, and mail finance."""
    row = periods.propose(month=month, checklist=_figures(month), note=note, by=by)
    _mail(row.subject, f"Month to close: {row.month:%B %Y}", f"{by} proposed to close it.", by)
    return row


def approve(*, period: Period, by: User) -> Period:
    """Close a proposed month, if its checklist has no further open items."""
    return periods.approve(period=period, checklist=_figures(period.month), by=by)


@transaction.atomic
def propose_reopening(*, period: Period, reason: str, by: User) -> PeriodReopening:
    """Propose to reopen the latest closed month, and mail finance."""
    row = periods.propose_reopening(period=period, reason=reason, by=by)
    subject = f"Month to reopen: {period.month:%B %Y}"
    _mail(row.subject, subject, f"{by} proposed to reopen it: {row.reason}", by)
    return row


@transaction.atomic
def approve_reopening(*, reopening: PeriodReopening, by: User) -> PeriodReopening:
    """Reopen a month, and mail finance."""
    row = periods.approve_reopening(reopening=reopening, by=by)
    subject = f"Month reopened: {row.period.month:%B %Y}"
    _mail(f"{row.subject}:posted", subject, f"{by} reopened it: {row.reason}", by)
    return row


def waiting() -> list[Period | PeriodReopening]:
    """The closings and reopenings that wait for a second person."""
    reopenings = PeriodReopening.objects.filter(state=PeriodReopening.State.PROPOSED)
    return [
        *Period.objects.filter(state=Period.State.PROPOSED).select_related("proposed_by"),
        *reopenings.select_related("period", "proposed_by"),
    ]


def _figures(month: dt.date) -> list[tuple[str, int]]:
    return [(check.label, check.count) for check in checks(month.replace(day=1))]


def _mail(key: str, subject: str, text: str, by: User) -> None:
    body = f"{text}\n\n{links.to_page('ledger-close')}\n"
    finance_mails.write_all(key=f"finance:{key}", subject=subject, body=body, but=by)
