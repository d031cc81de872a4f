"""Bill charges: draft the invoice of one, cancel one that is not billed, list those to bill."""

from __future__ import annotations

from django.db import transaction
from django.db.models import DecimalField, F, OuterRef, QuerySet, Subquery, Sum, Value
from django.db.models.functions import Coalesce

from engagements.access import require_finance
from engagements.billing.invoices import billed_on, draft_of_one_line
from engagements.billing.models import Invoice
from engagements.charges import services as charges
from engagements.charges.models import Charge
from engagements.common import validation
from engagements.common.errors import ApplicationError
from engagements.common.money import tax_on
from engagements.engagement import stages
from engagements.people.models import User

State = Charge.State
NET = DecimalField(max_digits=14, decimal_places=3)


@transaction.atomic
def draft(*, charge: Charge, by: User) -> Invoice:
    """Draft the invoice of an approved charge. Returns its existing draft."""
    require_finance(by)
    engagement = stages.locked(charge.engagement_id)
    known = charge.invoices.filter(kind=Invoice.Kind.INVOICE, state=Invoice.State.DRAFT).first()
    if known:
        return known
    row = Charge.objects.select_related("contract_version").get(pk=charge.pk)
    if row.state != State.APPROVED or row.amount == 0:
        raise ApplicationError(
            "Only an approved charge above 0 is billed.", code="invoice.charge_not_due"
        )
    invoice = billed_on(row)
    if invoice is not None:
        raise ApplicationError(
            f"This charge is billed on {invoice.reference}.", code="invoice.charge_billed"
        )
    contract = row.contract_version
    return draft_of_one_line(
        Invoice(
            engagement=engagement,
            contract_version=contract,
            charge=row,
            customer=engagement.customer,
            currency=contract.currency,
            net=row.amount,
            tax=tax_on(row.amount, contract.tax_rate_percent, contract.currency),
            drafted_by=by,
        ),
        title=row.title,
        tax_rate_percent=contract.tax_rate_percent,
    )


@transaction.atomic
def cancel(*, charge: Charge, reason: str, by: User) -> Charge:
    """Cancel an approved charge that no invoice bills any more. Idempotent.

    A termination is cancelled only by the repeat that undoes it.
    """
    row = charges.locked(charge)
    require_finance(by)
    if row.state == State.CANCELLED:
        return row
    validation.state(State(row.state), State.APPROVED, noun="The charge", to="to be cancelled")
    if row.is_termination:
        raise ApplicationError(
            "Only a repeat that meets the target undoes a termination.",
            code="charge.termination_stays",
        )
    if row.invoices.filter(state=Invoice.State.DRAFT).exists() or billed_on(row) is not None:
        raise ApplicationError(
            "Discard the draft or credit the invoice of this charge first.",
            code="charge.billed",
        )
    return charges.end(row, validation.text(reason, noun="The reason"), by)


def charges_to_bill() -> QuerySet[Charge]:
    """Approved charges above 0 without a draft and without an invoice that bills them."""
    of_charge = Invoice.objects.filter(charge=OuterRef("pk")).order_by()
    drafts = of_charge.filter(kind=Invoice.Kind.INVOICE, state=Invoice.State.DRAFT)
    issued = of_charge.filter(state=Invoice.State.ISSUED).values("charge")

    def net(kind: Invoice.Kind) -> Coalesce:
        total = issued.filter(kind=kind).annotate(total=Sum("net")).values("total")
        return Coalesce(Subquery(total, output_field=NET), Value(0), output_field=NET)

    return (
        Charge.objects.filter(state=State.APPROVED, amount__gt=0)
        .exclude(pk__in=Subquery(drafts.values("charge")))
        .annotate(billed=net(Invoice.Kind.INVOICE), credited=net(Invoice.Kind.CREDIT_NOTE))
        .filter(billed__lte=F("credited"))
        .select_related("engagement__customer", "contract_version", "approved_by")
        .order_by("decided_at", "pk")
    )
