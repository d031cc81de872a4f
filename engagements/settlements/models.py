"""The settlement: what goes back to the customer when the target was not met."""

from __future__ import annotations

import datetime as dt
from typing import ClassVar

import pgtrigger
from django.db import models
from django.db.models import F, Q, Value
from django.db.models.functions import Greatest
from django.utils import timezone

from benchmarks.triggers import FSM, AppendOnly, Protect, ReadOnly
from engagements.billing.models import Invoice
from engagements.billing.payment_triggers import limit_refunds
from engagements.common.money import format_money
from engagements.contracts.models import ContractVersion
from engagements.people.models import User
from engagements.settlements.triggers import HOLD_DISPUTED, LOCK_SETTLEMENT


class Settlement(models.Model):
    """Payments received less the audit cost and what went back before, gross, in `currency`.

    Never negative: where less was paid than the audit cost, `balance_due` is what the customer
    still owes. The figures are fixed when it is proposed. Proposer and approver differ; a
    settlement that followed a verdict by itself has no proposer. One that is paid is final, and
    what was kept then can still go back by a further one.
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
        TIME_BOX = "time_box", "The time-box ran out without a met target"
        FURTHER = "further", "More goes back than was settled before"

    contract_version = models.ForeignKey(
        ContractVersion, on_delete=models.PROTECT, related_name="settlements"
    )
    reason = models.CharField(max_length=10, choices=Reason)
    note = models.TextField(blank=True, help_text="Why more goes back, in a further settlement.")
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
                violation_error_message="This contract is being settled already.",
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
                violation_error_message="The refund is what was received less the audit cost.",
            ),
            models.CheckConstraint(
                condition=Q(audit_cost__gte=0, audit_tax__gte=0, refunded_before__gte=0),
                name="settlement_keeps_no_negative_amount",
                violation_error_message="What is kept, or went back before, is not negative.",
            ),
            models.CheckConstraint(
                condition=~Q(reason="further") | (~Q(note="") & Q(proposed_by__isnull=False)),
                name="settlement_further_says_why",
                violation_error_message="Whoever proposes a further settlement says why.",
            ),
            models.CheckConstraint(
                condition=Q(approved_by__isnull=True)
                | Q(proposed_by__isnull=True)
                | ~Q(approved_by=F("proposed_by")),
                name="settlement_is_approved_by_another",
                violation_error_message="Nobody approves a settlement they proposed themselves.",
            ),
            models.CheckConstraint(
                condition=Q(state__in=["proposed", "voided"])
                | Q(approved_by__isnull=False, approved_at__isnull=False),
                name="settlement_is_approved_before_it_is_paid",
                violation_error_message="A settlement is approved before anything is paid.",
            ),
            models.CheckConstraint(
                condition=(~Q(state="paid") & Q(paid_at__isnull=True))
                | (
                    Q(state="paid", paid_by__isnull=False, paid_at__isnull=False)
                    & ~Q(payment_reference="")
                ),
                name="settlement_is_paid_with_a_reference",
                violation_error_message="A paid settlement has a date, a name and a reference.",
            ),
            models.CheckConstraint(
                condition=(~Q(state="voided") & Q(void_reason="", voided_by__isnull=True))
                | (Q(state="voided", voided_by__isnull=False) & ~Q(void_reason="")),
                name="settlement_is_voided_with_a_reason",
                violation_error_message="Who voids a settlement says why.",
            ),
        ]
        triggers: ClassVar = [
            Protect(name="deletion", operation=pgtrigger.Delete),
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
                exclude=["state"],
                condition=pgtrigger.Q(old__state__in=["paid", "voided"]),
            ),
            FSM(
                "state",
                {
                    "proposed": {"approved", "voided"},
                    "approved": {"paying", "paid", "voided"},
                    "paying": {"paid", "failed"},
                    "failed": {"paying", "paid", "voided"},
                },
            ),
            HOLD_DISPUTED,
            limit_refunds(
                engagement="engagements_contractversion WHERE id = NEW.contract_version_id",
                operation=pgtrigger.Insert | pgtrigger.Update,
                condition=pgtrigger.Q(new__state__in=["paying", "paid"]),
            ),
        ]

    def __str__(self) -> str:
        return f"settlement of {self.contract_version}: {format_money(self.refund, self.currency)}"

    @property
    def is_open(self) -> bool:
        """Whether it is neither paid nor voided."""
        return self.state not in (self.State.PAID, self.State.VOIDED)

    @property
    def is_on_hold(self) -> bool:
        """Whether the customer's dispute holds it up. Reads `disputes.all()`: prefetch for many."""
        return self.is_open and any(row.resolved_at is None for row in self.disputes.all())

    @property
    def disputable_until(self) -> dt.date:
        """The last day on which the customer may dispute it: the contract's `dispute_days`
        after it was proposed, or after its figures were approved and so shown to them."""
        shown = timezone.localdate(self.approved_at or self.proposed_at)
        return shown + dt.timedelta(days=self.contract_version.dispute_days)

    @property
    def needs_reproposal(self) -> bool:
        """Whether it was set aside and what it was to settle is to be proposed anew: nothing took
        its place, and none of its contract was paid.

        Reads `contract_version.settlements.all()`: prefetch for many.
        """
        rows = self.contract_version.settlements.all()
        return all(row.state == self.State.VOIDED and row.pk <= self.pk for row in rows)

    @property
    def set_aside_before(self) -> list[Settlement]:
        """Those in whose place it was proposed anew, the oldest first: voided since the last one
        that was paid, with a refund in them.

        Reads `contract_version.settlements.all()`: prefetch for many.
        """
        rows = [row for row in self.contract_version.settlements.all() if row.pk < self.pk]
        paid = max((row.pk for row in rows if row.state == self.State.PAID), default=0)
        aside = [row for row in rows if row.pk > paid and row.has_refund]
        return sorted(aside, key=lambda row: row.pk)

    @property
    def has_refund(self) -> bool:
        """Whether money goes back to the customer; without, a settlement is filed, not paid."""
        return self.refund > 0

    @property
    def refund_counts_from(self) -> dt.date:
        """The day from which the contract's `refund_days` count: that of the first proposal,
        which a correction of ours does not move, or of the last dispute's end."""
        proposals = [*self.set_aside_before, self]
        disputes = (row for proposal in proposals for row in proposal.disputes.all())
        ended = [row.resolved_at for row in disputes if row.resolved_at]
        return timezone.localdate(max([proposals[0].proposed_at, *ended]))

    @property
    def refund_due_on(self) -> dt.date | None:
        """The last day on which the refund is paid as agreed: `refund_days` of the contract after
        `refund_counts_from`.

        None where nothing goes back, while it is on hold, where the contract names no term, and
        where another took its place.
        """
        term = self.contract_version.refund_days
        if not term or not self.has_refund or self.is_on_hold:
            return None
        if self.state == self.State.VOIDED and not self.needs_reproposal:
            return None
        return self.refund_counts_from + dt.timedelta(days=term)

    @property
    def is_refund_overdue(self) -> bool:
        """Whether the day by which the refund was to be paid has passed, and it is not paid."""
        due_on = None if self.state == self.State.PAID else self.refund_due_on
        return due_on is not None and due_on < timezone.localdate()


class SettlementCreditNote(models.Model):
    """A credit note that a settlement caused. Append-only."""

    settlement = models.ForeignKey(Settlement, on_delete=models.PROTECT, related_name="+")
    invoice = models.ForeignKey(Invoice, on_delete=models.PROTECT, related_name="+")

    class Meta:
        db_table = "engagements_settlement_credit_notes"
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["settlement", "invoice"], name="settlement_credit_note_once"
            ),
        ]
        triggers: ClassVar = [
            AppendOnly(),
        ]

    def __str__(self) -> str:
        return f"credit note {self.invoice_id} of settlement {self.settlement_id}"


class Dispute(models.Model):
    """The customer's objection to a settlement. While it is open, the settlement is on hold."""

    settlement = models.ForeignKey(Settlement, on_delete=models.PROTECT, related_name="disputes")
    reason = models.TextField()
    raised_by = models.ForeignKey(User, on_delete=models.PROTECT, related_name="+")
    raised_at = models.DateTimeField(default=timezone.now, editable=False)
    resolution = models.TextField(blank=True)
    resolved_by = models.ForeignKey(
        User, on_delete=models.PROTECT, null=True, blank=True, related_name="+"
    )
    resolved_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering: ClassVar = ["-raised_at", "-pk"]
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["settlement"],
                condition=Q(resolved_at__isnull=True),
                name="dispute_one_open_a_settlement",
                violation_error_message="This settlement is disputed already.",
            ),
            models.CheckConstraint(
                condition=~Q(reason="")
                & (
                    Q(resolved_at__isnull=True, resolved_by__isnull=True, resolution="")
                    | (Q(resolved_at__isnull=False, resolved_by__isnull=False) & ~Q(resolution=""))
                ),
                name="dispute_says_why_it_began_and_ended",
                violation_error_message="A dispute has a reason, and its end a note.",
            ),
        ]
        triggers: ClassVar = [
            Protect(name="deletion", operation=pgtrigger.Delete),
            ReadOnly(name="claim", exclude=["resolution", "resolved_by", "resolved_at"]),
            Protect(
                name="resolved",
                operation=pgtrigger.Update,
                condition=pgtrigger.Q(old__resolved_at__isnull=False),
            ),
            LOCK_SETTLEMENT,
        ]

    def __str__(self) -> str:
        return f"dispute of {self.settlement_id}: {self.reason[:60]}"
