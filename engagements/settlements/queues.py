"""Queues of settlements: to approve, to pay, with the bank, on hold, overdue, done."""

from __future__ import annotations

import datetime as dt
from typing import Any

from django.db.models import (
    DateField,
    Exists,
    ExpressionWrapper,
    F,
    Max,
    Min,
    OuterRef,
    Q,
    QuerySet,
    Subquery,
    TextChoices,
)
from django.db.models.functions import Greatest, TruncDate
from django.utils import timezone

from engagements.engagement.models import Engagement
from engagements.settlements.dispute_models import Dispute
from engagements.settlements.models import Settlement
from engagements.settlements.queries import OPEN_SETTLEMENTS, WITH_DISPUTES

State = Settlement.State
# Finance is warned of a refund day this many days before.
DAYS_BEFORE = 3


class Queue(TextChoices):
    """A queue; "overdue" overlaps the others."""

    TO_APPROVE = "to-approve", "To approve"
    TO_PAY = "to-pay", "To pay"
    WITH_THE_BANK = "with-the-bank", "With the bank"
    ON_HOLD = "on-hold", "On hold"
    OVERDUE = "overdue", "Overdue"
    DONE = "done", "Done"


_STATES = {
    Queue.TO_APPROVE: (State.PROPOSED,),
    Queue.TO_PAY: (State.APPROVED, State.FAILED),
    Queue.WITH_THE_BANK: (State.PAYING,),
    Queue.ON_HOLD: OPEN_SETTLEMENTS,
    Queue.OVERDUE: (*OPEN_SETTLEMENTS, State.VOIDED),
    Queue.DONE: (State.PAID, State.VOIDED),
}


def found(*, queue: str = "", text: str = "") -> QuerySet[Settlement]:
    """Return the settlements of a queue (all for ""), the oldest first.

    `text` searches engagement, customer and transfer reference. A disputed settlement is only in
    the queues "on hold" and "with the bank". Overdue: see `Settlement.is_refund_overdue`.
    """
    open_dispute = Dispute.objects.filter(settlement=OuterRef("pk"), resolved_at__isnull=True)
    measured = Engagement.objects.filter(
        Q(measurement_disputes__state="open") | Q(measurement_disputes__awaits_booking=True),
        pk=OuterRef("contract_version__engagement"),
    )
    rows = Settlement.objects.annotate(has_open_dispute=Exists(open_dispute) | Exists(measured))
    if queue:
        rows = rows.filter(state__in=_STATES[Queue(queue)])
    if queue in (Queue.TO_APPROVE, Queue.TO_PAY, Queue.ON_HOLD, Queue.OVERDUE):
        rows = rows.filter(has_open_dispute=queue == Queue.ON_HOLD)
    if queue == Queue.OVERDUE:
        rows = rows.filter(overturned_at__isnull=True, pk__in=due_before(timezone.localdate()))
        rows = rows.exclude(Exists(_successors()), state=State.VOIDED)
    if text:
        engagement = "contract_version__engagement__"
        rows = rows.filter(
            Q(**{f"{engagement}reference__icontains": text})
            | Q(**{f"{engagement}title__icontains": text})
            | Q(**{f"{engagement}customer__name__icontains": text})
            | Q(payment_reference__icontains=text)
        )
    order = "-proposed_at" if queue in ("", Queue.DONE) else "proposed_at"
    people = ("contract_version__engagement__customer", "proposed_by", "approved_by", "paid_by")
    return rows.select_related(*people).prefetch_related(*WITH_DISPUTES).order_by(order, "pk")


def due_before(day: dt.date) -> QuerySet[Any, Any]:
    """Settlements whose refund is due before `day`, where no dispute is open."""
    rows = Settlement.objects.alias(due_on=_due_on()).filter(refund__gt=0, due_on__lt=day)
    return rows.values("pk")


def refunds_near() -> QuerySet[Settlement]:
    """Open settlements whose refund is due within `DAYS_BEFORE` days or overdue."""
    day = timezone.localdate() + dt.timedelta(days=DAYS_BEFORE + 1)
    near = {"state__in": OPEN_SETTLEMENTS, "pk__in": due_before(day)}
    held = found(queue=Queue.ON_HOLD).values("pk")
    return found().filter(**near).exclude(pk__in=held).order_by("proposed_at", "pk")


def _successors() -> QuerySet[Settlement]:
    """Settlements that make `Settlement.needs_reproposal` of a voided one false."""
    of_one_contract = Settlement.objects.filter(contract_version=OuterRef("contract_version"))
    return of_one_contract.filter(Q(pk__gt=OuterRef("pk")) | ~Q(state=State.VOIDED))


def _due_on() -> ExpressionWrapper[Any]:
    """`Settlement.refund_due_on` as SQL, for settlements without an open dispute."""
    of_one_contract = Settlement.objects.filter(contract_version=OuterRef("contract_version"))
    paid_since = of_one_contract.filter(state=State.PAID, pk__gte=OuterRef("pk"))
    proposals = of_one_contract.filter(~Exists(paid_since), refund__gt=0).order_by()
    # PostgreSQL's GREATEST ignores NULL: without a dispute the proposal counts.
    measured = Max("contract_version__engagement__measurement_disputes__ended_at")
    since = Greatest(Min("proposed_at"), Max("disputes__resolved_at"), measured)
    counts_from = proposals.values("contract_version").annotate(since=since).values("since")
    term = F("contract_version__refund_days")
    return ExpressionWrapper(TruncDate(Subquery(counts_from)) + term, output_field=DateField())


def counts() -> dict[str, int]:
    """Count the settlements of each queue."""
    return {queue.value: found(queue=queue).count() for queue in Queue if queue != Queue.DONE}
