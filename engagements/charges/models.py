"""The charge: an amount beside the fee, by a clause of the contract."""

from __future__ import annotations

from decimal import Decimal
from typing import ClassVar

from django.db import models
from django.db.models import F, Q

from benchmarks.triggers import FSM
from engagements.charges.triggers import CHECK_CANCELLED, CHECK_CHARGE
from engagements.common.money import format_money, gross_of
from engagements.contracts.models import ContractVersion
from engagements.contracts.time_box.models import CooperationRequest
from engagements.engagement.models import Engagement
from engagements.people.models import User
from engagements.people.proposals import Decision, decision_constraints, decision_triggers

LIVE = ("proposed", "approved")


class Charge(Decision):
    """An amount beside the fee: net, in the contract's currency.

    One person proposes it, another one approves it, and an invoice of its own bills it, with the
    contract's tax. No settlement, refund or final invoice counts it.

    repeat        the recorded cost of the repeat of a disputed run (`dispute`), where the
                  consultancy paid it and the customer bears it
    maintenance   one calendar month of it (`month`), at most the contract's monthly fee
    convenience   the customer's termination for convenience
    cause         the consultancy's termination for a cause of the customer: an item that the
                  customer did not provide (`request`), or a breach that it did not remedy after
                  the notice of `breach_noticed_on`

    A termination was declared on `notice_on` and takes effect on `ends_on`. Its amount is the part
    of the fee beyond the `released` milestones for `elapsed_days` of `all_days` of the time-box;
    it may be 0, and is then not billed.
    """

    KIND = "charge"
    NOUN = "charge"

    class Kind(models.TextChoices):
        REPEAT = "repeat", "Repeat of a run"
        MAINTENANCE = "maintenance", "Maintenance"
        CONVENIENCE = "convenience", "Termination for convenience"
        CAUSE = "cause", "Termination for a cause of the customer"

    class State(models.TextChoices):
        PROPOSED = "proposed", "Proposed"
        APPROVED = "approved", "Approved"
        VOIDED = "voided", "Voided"
        CANCELLED = "cancelled", "Cancelled"

    TERMINATIONS: ClassVar = (Kind.CONVENIENCE, Kind.CAUSE)

    engagement = models.ForeignKey(Engagement, on_delete=models.PROTECT, related_name="charges")
    contract_version = models.ForeignKey(
        ContractVersion, on_delete=models.PROTECT, related_name="charges"
    )
    kind = models.CharField(max_length=12, choices=Kind)
    state = models.CharField(max_length=9, choices=State, default=State.PROPOSED)
    amount = models.DecimalField(max_digits=14, decimal_places=3)
    title = models.CharField(max_length=160, help_text="Printed on the invoice.")
    reason = models.TextField()
    # By name: disputes are above.
    dispute = models.ForeignKey(
        "engagements.MeasurementDispute",
        on_delete=models.PROTECT,
        null=True,
        blank=True,
        related_name="charges",
    )
    month = models.DateField(null=True, blank=True, help_text="The first day of the month.")
    notice_on = models.DateField(null=True, blank=True)
    ends_on = models.DateField(null=True, blank=True)
    request = models.ForeignKey(
        CooperationRequest, on_delete=models.PROTECT, null=True, blank=True, related_name="charges"
    )
    breach_noticed_on = models.DateField(null=True, blank=True)
    released = models.DecimalField(max_digits=14, decimal_places=3, null=True, blank=True)
    elapsed_days = models.PositiveSmallIntegerField(null=True, blank=True)
    all_days = models.PositiveSmallIntegerField(null=True, blank=True)
    ended_by = models.ForeignKey(
        User, on_delete=models.PROTECT, null=True, blank=True, related_name="+"
    )
    end_reason = models.TextField(blank=True, help_text="Why it was voided or cancelled.")

    class Meta:
        ordering: ClassVar = ["-proposed_at", "-pk"]
        constraints: ClassVar = [
            *decision_constraints(),
            models.UniqueConstraint(
                fields=["dispute"],
                condition=Q(state__in=LIVE),
                name="charge_once_a_repeat",
                violation_error_message="This repeat is charged already.",
            ),
            models.UniqueConstraint(
                fields=["engagement", "month"],
                condition=Q(state__in=LIVE, kind="maintenance"),
                name="charge_once_a_month",
                violation_error_message="Maintenance of this month is charged already.",
            ),
            models.UniqueConstraint(
                fields=["engagement"],
                condition=Q(state__in=LIVE, kind__in=["convenience", "cause"]),
                name="charge_one_termination",
                violation_error_message="A termination of this contract is recorded already.",
            ),
            models.CheckConstraint(
                condition=Q(kind="repeat", dispute__isnull=False)
                | Q(~Q(kind="repeat"), dispute__isnull=True),
                name="charge_of_a_repeat_names_its_dispute",
                violation_error_message="Choose the dispute of the repeat.",
            ),
            models.CheckConstraint(
                condition=Q(kind="maintenance", month__isnull=False, month__day=1)
                | Q(~Q(kind="maintenance"), month__isnull=True),
                name="charge_of_maintenance_names_its_month",
                violation_error_message="Choose the month of the maintenance.",
            ),
            models.CheckConstraint(
                condition=Q(
                    kind__in=["convenience", "cause"],
                    amount__gte=0,
                    ends_on__gte=F("notice_on"),
                    released__gte=0,
                    elapsed_days__lte=F("all_days"),
                    all_days__gt=0,
                )
                | Q(
                    ~Q(kind__in=["convenience", "cause"]),
                    amount__gt=0,
                    notice_on__isnull=True,
                    ends_on__isnull=True,
                    released__isnull=True,
                    elapsed_days__isnull=True,
                    all_days__isnull=True,
                ),
                name="charge_of_a_termination_shows_its_calculation",
                violation_error_message="Enter an amount above 0.",
            ),
            models.CheckConstraint(
                condition=Q(kind="cause", request__isnull=False, breach_noticed_on__isnull=True)
                | Q(
                    kind="cause",
                    request__isnull=True,
                    breach_noticed_on__lt=F("notice_on"),
                )
                | Q(~Q(kind="cause"), request__isnull=True, breach_noticed_on__isnull=True),
                name="charge_of_a_termination_names_its_cause",
                violation_error_message="Choose the missing item, or enter the day of the notice.",
            ),
            models.CheckConstraint(
                condition=~Q(title="")
                & ~Q(reason="")
                & (Q(state__in=LIVE, end_reason="") | (~Q(state__in=LIVE) & ~Q(end_reason=""))),
                name="charge_says_why",
                violation_error_message="A charge needs a reason, and so does its end.",
            ),
        ]
        triggers: ClassVar = [
            *decision_triggers("charge", "charge", changing=("ended_by", "end_reason")),
            FSM("state", {"proposed": {"approved", "voided"}, "approved": {"cancelled"}}),
            CHECK_CHARGE,
            CHECK_CANCELLED,
        ]

    def __str__(self) -> str:
        return f"{self.title}: {format_money(self.amount, self.currency)}"

    @property
    def is_termination(self) -> bool:
        return self.kind in self.TERMINATIONS

    @property
    def currency(self) -> str:
        return self.contract_version.currency

    @property
    def gross(self) -> Decimal:
        """The amount with the contract's tax."""
        contract = self.contract_version
        return gross_of(self.amount, contract.tax_rate_percent, contract.currency)

    @property
    def total(self) -> Decimal:
        """What a termination makes the customer owe in all, net: with the released milestones."""
        return (self.released or Decimal(0)) + self.amount
