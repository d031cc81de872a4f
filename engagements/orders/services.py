"""Audit orders: offer, accept, decline, withdraw."""

from __future__ import annotations

from datetime import date, datetime

from django.db import transaction
from django.utils import timezone

from benchmarks.records.canonical import canonical, digest_of_bytes
from engagements import access
from engagements.audit.models import Audit
from engagements.common import validation
from engagements.common.client_ip import current_address
from engagements.common.dates import in_words
from engagements.common.errors import ApplicationError
from engagements.common.queue import enqueue
from engagements.contracts import vat
from engagements.contracts.acceptances import signature
from engagements.engagement import stages
from engagements.engagement.models import Engagement, Stage
from engagements.event_log import events
from engagements.orders import terms
from engagements.orders.models import AuditOrder
from engagements.people.models import User
from engagements.people.signatories import signatories_of

State = AuditOrder.State
LIVE = (State.OFFERED, State.ACCEPTED)
# The outcomes that lead to no contract: the order bills their audit.
WITHOUT_A_CONTRACT = (Stage.REDIRECTED, Stage.DECLINED)


def live_order(engagement: Engagement) -> AuditOrder | None:
    """The order on offer or accepted."""
    return engagement.audit_orders.filter(state__in=LIVE).first()


@transaction.atomic
def offer(*, engagement: Engagement, valid_until: date, payment_days: int, by: User) -> AuditOrder:
    """Seal an order at the audit's cost, and offer it to the customer. Idempotent.

    The tax is the default of the customer's country and VAT ID.
    """
    row = stages.locked(engagement.pk)
    access.require_consultant(by)
    stages.require_stage(row, Stage.AUDITING, to="for its audit to be ordered")
    known = live_order(row)
    if known is not None:
        if (known.valid_until, known.payment_days) == (valid_until, payment_days):
            return known
        raise ApplicationError(
            "An audit order is on offer or accepted: withdraw it first.", code="order.open"
        )
    if valid_until < timezone.localdate():
        raise ApplicationError(
            f"Choose a later day than {in_words(valid_until)}.", code="order.expired"
        )
    if not signatories_of(row.customer):
        raise ApplicationError(
            f"{row.customer} has no signatory: add one first.", code="order.no_signatory"
        )
    audit, tax = Audit.objects.get(engagement=row), vat.default_for(row.customer)
    order = AuditOrder(
        engagement=row,
        number=row.audit_orders.count() + 1,
        price=audit.cost,
        currency=audit.currency,
        tax_rate_percent=tax.rate,
        tax_treatment=tax.treatment,
        tax_note=tax.note,
        payment_days=payment_days,
        valid_until=valid_until,
        offered_by=by,
    )
    order.canonical = canonical(terms.compose(order))
    order.digest = digest_of_bytes(order.canonical)
    validation.save_validated(order)
    _record(
        order,
        by,
        f"The audit was offered for {order.price_text} net until {in_words(valid_until)}: "
        f"order {order.number}.",
    )
    enqueue("issue_document", "audit_order", f"audit_order:{order.pk}")
    return order


@transaction.atomic
def accept(
    *,
    order: AuditOrder,
    typed_name: str,
    digest: str,
    by: User,
    address: str | None = None,
    signed_in_at: datetime | None = None,
) -> AuditOrder:
    """Accept the sealed terms for the customer. Idempotent.

    `digest` is that of the terms shown to `by`, and has to be the sealed one.
    """
    row = _locked(order)
    access.require_signatory(row.engagement, by)
    if digest != row.digest:
        raise ApplicationError(
            "These are not the sealed terms. Open the order again.", code="order.other_digest"
        )
    if row.state == State.ACCEPTED:
        return row
    validation.state(State(row.state), State.OFFERED, noun="The order", to="to be accepted")
    stages.require_stage(
        row.engagement,
        *(Stage.AUDITING, *WITHOUT_A_CONTRACT),
        to="for its order to be accepted",
    )
    if not row.is_open:
        raise ApplicationError(
            f"This order expired on {in_words(row.valid_until)}. Ask for another.",
            code="order.expired",
        )
    name = signature(typed_name, by)
    row.state, row.accepted_by, row.accepted_at = State.ACCEPTED, by, timezone.now()
    row.accepted_digest, row.typed_name = digest, name
    row.address, row.signed_in_at = address or current_address(), signed_in_at
    validation.save_validated(row)
    customer = row.engagement.customer
    _record(row, by, f"{name} accepted audit order {row.number} for {customer}.", address)
    enqueue("issue_document", "audit_order", f"audit_order:{row.pk}:accepted")
    return row


@transaction.atomic
def decline(*, order: AuditOrder, reason: str, by: User) -> AuditOrder:
    """Decline an order, for the customer. Idempotent."""
    row = _locked(order)
    access.require_signatory(row.engagement, by)
    return _end(row, State.DECLINED, "declined", reason, by)


@transaction.atomic
def withdraw(*, order: AuditOrder, reason: str, by: User) -> AuditOrder:
    """Withdraw an order on offer. Another may be offered. Idempotent."""
    row = _locked(order)
    access.require_consultant(by)
    return _end(row, State.WITHDRAWN, "withdrawn", reason, by)


def _end(
    order: AuditOrder, state: AuditOrder.State, outcome_text: str, reason: str, by: User
) -> AuditOrder:
    if order.state == state:
        return order
    why = validation.text(reason, noun="The reason")
    validation.state(State(order.state), State.OFFERED, noun="The order", to=f"to be {state.value}")
    order.state = state
    validation.save_validated(order)
    _record(order, by, f"Audit order {order.number} was {outcome_text}: {why}")
    return order


def _locked(order: AuditOrder) -> AuditOrder:
    engagement = stages.locked(order.engagement_id)
    row = AuditOrder.objects.get(pk=order.pk)
    row.engagement = engagement
    return row


def _record(order: AuditOrder, by: User, summary: str, address: str | None = None) -> None:
    events.record(
        engagement=order.engagement,
        verb=f"audit_order.{order.state}",
        summary=summary,
        actor=by,
        address=address,
        changes={"audit_order": order.pk, "digest": order.digest, "state": order.state},
        for_customer=True,
    )
