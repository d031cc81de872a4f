"""Settlements by what they wait for: to approve, to pay, with the bank, on hold, done.

Beside these stands what is overdue, whatever it waits for.
"""

from __future__ import annotations

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

from engagements.settlements.models import Dispute, Settlement
from engagements.settlements.queries import OPEN_SETTLEMENTS, WITH_DISPUTES

State = Settlement.State


class Queue(TextChoices):
    """What a settlement waits for."""

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
    """Settlements in a queue (any of them for an empty one), the longest waiting first.

    `text` finds by engagement, customer or reference of the transfer. What is disputed waits
    on hold and in no other queue but the bank's. Overdue is what `is_refund_overdue` says.
    """
    disputed = Dispute.objects.filter(settlement=OuterRef("pk"), resolved_at__isnull=True)
    rows = Settlement.objects.annotate(is_disputed=Exists(disputed))
    if queue:
        rows = rows.filter(state__in=_STATES[Queue(queue)])
    if queue in (Queue.TO_APPROVE, Queue.TO_PAY, Queue.ON_HOLD, Queue.OVERDUE):
        rows = rows.filter(is_disputed=queue == Queue.ON_HOLD)
    if queue == Queue.OVERDUE:
        today = timezone.localdate()
        rows = rows.alias(due_on=_due_on()).filter(refund__gt=0, due_on__lt=today)
        rows = rows.exclude(Exists(_in_its_place()), state=State.VOIDED)
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


def _in_its_place() -> QuerySet[Settlement]:
    """What keeps `Settlement.needs_reproposal` from being true of one that was voided."""
    of_one_contract = Settlement.objects.filter(contract_version=OuterRef("contract_version"))
    return of_one_contract.filter(Q(pk__gt=OuterRef("pk")) | ~Q(state=State.VOIDED))


def _due_on() -> ExpressionWrapper[Any]:
    """`Settlement.refund_due_on` in the database, of what is not disputed now."""
    of_one_contract = Settlement.objects.filter(contract_version=OuterRef("contract_version"))
    paid_since = of_one_contract.filter(state=State.PAID, pk__gte=OuterRef("pk"))
    proposals = of_one_contract.filter(~Exists(paid_since), refund__gt=0).order_by()
    # PostgreSQL's greatest passes over NULL: what nobody disputed counts from its proposal.
    since = Greatest(Min("proposed_at"), Max("disputes__resolved_at"))
    counts_from = proposals.values("contract_version").annotate(since=since).values("since")
    term = F("contract_version__refund_days")
    return ExpressionWrapper(TruncDate(Subquery(counts_from)) + term, output_field=DateField())


def counts() -> dict[str, int]:
    """How many settlements stand in each queue."""
    return {queue.value: found(queue=queue).count() for queue in Queue if queue != Queue.DONE}
