"""What to look at before a month is closed."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass

from django.urls import reverse

from engagements.billing.milestones import milestones_to_bill
from engagements.billing.models import Invoice
from engagements.billing.payment_models import BankLine
from engagements.billing.write_off_models import WriteOff
from engagements.finance.receivables import vat_checks, vat_figures
from engagements.ledger.periods import next_month
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
    drafts = Invoice.objects.filter(state=Invoice.State.DRAFT)
    losses = WriteOff.objects.filter(state=WriteOff.State.PROPOSED)
    proposed = Settlement.objects.filter(
        state=Settlement.State.PROPOSED, proposed_at__date__lte=last
    )
    differing = [row for row in vat_checks(vat_figures(month, last), month, last) if not row.agrees]
    period = f"?first={month:%Y-%m}&last={month:%Y-%m}"
    return [
        Check("Bank lines to assign, match or set aside", lines.count(), reverse("bank")),
        Check("Draft invoices to issue or discard", drafts.count(), reverse("to-bill")),
        Check("Released milestones to bill", len(milestones_to_bill()), reverse("to-bill")),
        Check("Write-offs to approve or void", losses.count(), reverse("finance")),
        Check("Settlements to approve or void", proposed.count(), reverse("settlements")),
        Check("VAT that differs from the ledger", len(differing), reverse("vat") + period),
    ]
