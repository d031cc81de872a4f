"""The settlement: the refund after a missed target; and its disputes."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, ClassVar

import pgtrigger
from django.db import models
from django.db.models import F, Q, Value
from django.db.models.functions import Greatest
from django.utils import timezone

from benchmarks.triggers import FSM, Protect, ReadOnly
from engagements.billing.models import Invoice
from engagements.billing.payment_triggers import limit_refunds
from engagements.common.money import format_money
from engagements.contracts.models import ContractVersion
from engagements.people.models import User
from engagements.people.triggers import by_finance
from engagements.settlements.triggers import (
    APPROVED_BY_ANOTHER,
    CHECK_GROUNDS,
    CHECK_OVERTURNED,
    CHECK_RETURNED,
    HOLD_DISPUTED,
    PAID_BY_ANOTHER,
)

if TYPE_CHECKING:
    from engagements.disputes.models import MeasurementDispute


class Settlement(models.Model):
    """The refund: payments received less earlier refunds and the audit cost, gross.

    Never negative: where less was paid than the audit cost, `balance_due` remains payable. The
    figures are fixed with the proposal. Proposer, approver and payer differ, and neither of the
    last two has set the refund account; a proposal by the application has no proposer. A paid
    settlement is final, unless the bank returns its refund; a further one may follow it.
    `overturned_at`: the repeat of an acceptance run undid it. The customer then owes what it
    received, within the whole fee.
    """

    class State(models.TextChoices):
        PROPOSED = "proposed", "Proposed"
        APPROVED = "approved", "Approved"
        PAYING = "paying", "Paying"
        PAID = "paid", "Paid"
        FAILED = "failed", "Payment failed"
        VOIDED = "voided", "Voided"

    class Reason(models.TextChoices):
        MISSED = "missed", "The target was missed"
        TIME_BOX = "time_box", "The time-box ended without a met target"
        CAUSE = "cause", "Ended by the customer for cause"
        AGREED = "agreed", "Ended by agreement"
        FURTHER = "further", "Further refund"

    contract_version = models.ForeignKey(
        ContractVersion, on_delete=models.PROTECT, related_name="settlements"
    )
    reason = models.CharField(max_length=10, choices=Reason)
    note = models.TextField(blank=True, help_text="The reason for a further or agreed refund.")
    state = models.CharField(max_length=10, choices=State, default=State.PROPOSED)
    currency = models.CharField(max_length=3)
    payments_received = models.DecimalField(max_digits=14, decimal_places=3)
    refunded_before = models.DecimalField(max_digits=14, decimal_places=3, default=0)
    audit_cost = models.DecimalField(max_digits=14, decimal_places=3)
    audit_tax = models.DecimalField(max_digits=14, decimal_places=3)
    refund = models.DecimalField(max_digits=14, decimal_places=3)
    balance_due = models.DecimalField(max_digits=14, decimal_places=3)
    proposed_by = models.ForeignKey(User, on_delete=models.PROTECT, null=True, related_name="+")
    proposed_at = models.DateTimeField(default=timezone.now, editable=False)
    approved_by = models.ForeignKey(User, on_delete=models.PROTECT, null=True, related_name="+")
    approved_at = models.DateTimeField(null=True, blank=True)
    paid_by = models.ForeignKey(User, on_delete=models.PROTECT, null=True, related_name="+")
    paid_at = models.DateTimeField(null=True, blank=True)
    payment_reference = models.CharField(max_length=80, blank=True)
    voided_by = models.ForeignKey(User, on_delete=models.PROTECT, null=True, related_name="+")
    void_reason = models.TextField(blank=True)
    overturned_at = models.DateTimeField(null=True, blank=True)
    credit_notes = models.ManyToManyField(
        Invoice, through="SettlementCreditNote", related_name="settlements"
    )

    class Meta:
        ordering: ClassVar = ["-proposed_at"]
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["contract_version"],
                condition=~Q(state__in=["voided", "paid"]),
                name="settlement_one_live_a_contract",
                violation_error_message="A settlement of this contract is already open.",
            ),
            models.CheckConstraint(
                condition=Q(
                    refund=Greatest(
                        F("payments_received")
                        - F("refunded_before")
                        - F("audit_cost")
                        - F("audit_tax"),
                        Value(0),
                    ),
                    balance_due=Greatest(
                        F("audit_cost")
                        + F("audit_tax")
                        + F("refunded_before")
                        - F("payments_received"),
                        Value(0),
                    ),
                ),
                name="settlement_adds_up",
                violation_error_message="The refund must equal the payments less the audit cost.",
            ),
            models.CheckConstraint(
                condition=Q(audit_cost__gte=0, audit_tax__gte=0, refunded_before__gte=0),
                name="settlement_keeps_no_negative_amount",
                violation_error_message="Amounts kept or refunded before must not be negative.",
            ),
            models.CheckConstraint(
                condition=~Q(reason__in=["further", "agreed"])
                | (~Q(note="") & Q(proposed_by__isnull=False)),
                name="settlement_further_says_why",
                violation_error_message="This settlement needs a proposer and a note.",
            ),
            models.CheckConstraint(
                condition=Q(state__in=["proposed", "voided"])
                | Q(approved_by__isnull=False, approved_at__isnull=False),
                name="settlement_is_approved_before_it_is_paid",
                violation_error_message="A settlement must be approved before it is paid.",
            ),
            models.CheckConstraint(
                condition=(~Q(state="paid") & Q(paid_at__isnull=True))
                | (
                    Q(state="paid", paid_by__isnull=False, paid_at__isnull=False)
                    & ~Q(payment_reference="")
                ),
                name="settlement_is_paid_with_a_reference",
                violation_error_message="A paid settlement needs a date, a person and a reference.",
            ),
            models.CheckConstraint(
                condition=(~Q(state="voided") & Q(void_reason="", voided_by__isnull=True))
                | (Q(state="voided", voided_by__isnull=False) & ~Q(void_reason="")),
                name="settlement_is_voided_with_a_reason",
                violation_error_message="A voided settlement needs a person and a reason.",
            ),
        ]
        triggers: ClassVar = [
            Protect(name="deletion", operation=pgtrigger.Delete),
            Protect(
                name="start",
                operation=pgtrigger.Insert,
                condition=~pgtrigger.Q(new__state="proposed")
                | pgtrigger.Q(new__approved_by__isnull=False),
            ),
            ReadOnly(
                name="proposal",
                fields=[
                    "contract_version",
                    "reason",
                    "note",
                    "currency",
                    "payments_received",
                    "refunded_before",
                    "audit_cost",
                    "audit_tax",
                    "refund",
                    "balance_due",
                    "proposed_by",
                    "proposed_at",
                ],
            ),
            ReadOnly(
                name="final",
                exclude=["state", "overturned_at"],
                condition=pgtrigger.Q(old__state="voided")
                | pgtrigger.Q(old__state="paid", new__state="paid"),
            ),
            ReadOnly(
                name="returned_refund",
                exclude=["state", "paid_at", "paid_by", "payment_reference"],
                condition=pgtrigger.Q(old__state="paid", new__state="failed"),
            ),
            FSM(
                "state",
                {
                    "proposed": {"approved", "voided"},
                    "approved": {"paying", "paid", "voided"},
                    "paying": {"paid", "failed"},
                    "failed": {"paying", "paid", "voided"},
                    "paid": {"failed"},
                },
            ),
            CHECK_RETURNED,
            CHECK_GROUNDS,
            CHECK_OVERTURNED,
            HOLD_DISPUTED,
            by_finance("settlement", "approved_by_id"),
            APPROVED_BY_ANOTHER,
            PAID_BY_ANOTHER,
            limit_refunds(
                engagement="engagements_contractversion WHERE id = NEW.contract_version_id",
                operation=pgtrigger.Insert | pgtrigger.Update,
                condition=pgtrigger.Q(new__state__in=["paying", "paid"]),
            ),
        ]

    def __str__(self) -> str:
        return f"settlement of {self.contract_version}: {format_money(self.refund, self.currency)}"

    @property
    def subject(self) -> str:
        """Its name in approvals of a sole owner."""
        return f"settlement:{self.pk}"

    @property
    def is_open(self) -> bool:
        """Whether it is neither paid nor voided."""
        return self.state not in (self.State.PAID, self.State.VOIDED)

    @property
    def is_on_hold(self) -> bool:
        """Whether a dispute is open, or that of an acceptance run. Prefetch WITH_DISPUTES for
        many."""
        if not self.is_open:
            return False
        measured = self.contract_version.engagement.measurement_disputes.all()
        return any(row.resolved_at is None for row in self.disputes.all()) or any(
            map(holds, measured)
        )

    @property
    def disputable_until(self) -> dt.date:
        """The last day to dispute it: `dispute_days` of the contract after the approval, which
        shows the customer the figures, or else after the proposal."""
        shown = timezone.localdate(self.approved_at or self.proposed_at)
        return shown + dt.timedelta(days=self.contract_version.dispute_days)

    @property
    def needs_reproposal(self) -> bool:
        """Whether it was voided without a successor, and no settlement of the contract is paid.

        Reads `contract_version.settlements.all()`: prefetch for many.
        """
        rows = self.contract_version.settlements.all()
        return self.overturned_at is None and all(
            row.state == self.State.VOIDED and row.pk <= self.pk for row in rows
        )

    @property
    def earlier_proposals(self) -> list[Settlement]:
        """The voided proposals with a refund since the last paid settlement, the oldest first.

        Reads `contract_version.settlements.all()`: prefetch for many.
        """
        rows = [row for row in self.contract_version.settlements.all() if row.pk < self.pk]
        paid = max((row.pk for row in rows if row.state == self.State.PAID), default=0)
        voided = [row for row in rows if row.pk > paid and row.has_refund]
        return sorted(voided, key=lambda row: row.pk)

    @property
    def has_refund(self) -> bool:
        """Whether there is a refund; without one a settlement is filed, not paid."""
        return self.refund > 0

    @property
    def refund_term_starts_on(self) -> dt.date:
        """The first day of the refund term: of the first proposal, which our corrections do not
        postpone, or of the end of the last dispute, that of an acceptance run included."""
        proposals = [*self.earlier_proposals, self]
        disputes = (row for proposal in proposals for row in proposal.disputes.all())
        ended = [row.resolved_at for row in disputes if row.resolved_at]
        measured = self.contract_version.engagement.measurement_disputes.all()
        ended += [row.ended_at for row in measured if row.ended_at]
        return timezone.localdate(max([proposals[0].proposed_at, *ended]))

    @property
    def refund_due_on(self) -> dt.date | None:
        """The due date of the refund: `refund_days` of the contract after
        `refund_term_starts_on`.

        None without a refund or a term, on hold, and for a voided proposal with a successor.
        """
        term = self.contract_version.refund_days
        if not term or not self.has_refund or self.is_on_hold:
            return None
        if self.state == self.State.VOIDED and not self.needs_reproposal:
            return None
        return self.refund_term_starts_on + dt.timedelta(days=term)

    @property
    def is_refund_overdue(self) -> bool:
        """Whether the refund is unpaid after its due date."""
        due_on = None if self.state == self.State.PAID else self.refund_due_on
        return due_on is not None and due_on < timezone.localdate()


def holds(dispute: MeasurementDispute) -> bool:
    """Whether the dispute of an acceptance run holds a settlement: open, or the repeat met the
    target after the refund was sent and finance has not booked that yet."""
    return dispute.state == "open" or dispute.awaits_booking
