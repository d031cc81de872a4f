"""Contracts: numbered versions of the terms."""

from __future__ import annotations

from typing import ClassVar

import pgtrigger
from django.db import models
from django.db.models import F, Q
from django.utils import timezone

from benchmarks.models import Benchmark
from benchmarks.triggers import FSM, Protect, ReadOnly
from engagements.contracts.options import ClauseOptions
from engagements.contracts.triggers import ADD_UP_MILESTONES, CHECK_AMENDMENT
from engagements.engagement.models import Engagement
from engagements.people.models import User

MIN_WEEKS, MAX_WEEKS = 3, 10
MAX_PAYMENT_DAYS, MAX_DISPUTE_DAYS, MAX_REFUND_DAYS = 120, 90, 60
MAX_ACCEPTANCE_RUNS, MAX_NOISE_REPEATS, MAX_NOTICE_DAYS = 10, 5, 14


class ContractVersion(ClauseOptions):
    """A numbered version of the terms, sealed as canonical JSON with its SHA-256.

    A draft may change until it is offered, which seals it; then only its state changes, held by
    a trigger. `fee` and `audit_cost` are net amounts in `currency`; `tax_rate_percent` is added to
    both. `target` is the end-to-end ratio over the baseline. Terms are declared in fields.FIELDS.

    An amendment repeats the terms of the version it `amends`, with one change. Milestones released
    before stay with their version: `previously_released` is their net sum, and the milestones of
    the amendment are the rest of the fee.
    """

    class State(models.TextChoices):
        DRAFT = "draft", "Draft"
        OFFERED = "offered", "Offered"
        ACCEPTED = "accepted", "Accepted"
        DECLINED = "declined", "Declined"
        WITHDRAWN = "withdrawn", "Withdrawn"
        EXPIRED = "expired", "Expired"
        SUPERSEDED = "superseded", "Superseded"

    class Inconclusive(models.TextChoices):
        """The meaning of an inconclusive run."""

        MISSED = "missed", "counts as missed: it uses up an attempt"
        REPEAT = "repeat", "does not count: it may be repeated inside the time-box"

    class Place(models.TextChoices):
        """Whose machines measure acceptance runs, and whose key signs their records."""

        HOUSE = "house", "On the consultancy’s machines"
        CUSTOMER = "customer", "By the customer’s runner"
        BOTH = "both", "By both parties, whose verdicts must agree"

    class TaxTreatment(models.TextChoices):
        """How the fee is taxed; without tax, invoices need a sentence."""

        RATE = "rate", "At a rate"
        REVERSE_CHARGE = "reverse_charge", "Reverse charge: the customer owes the tax"
        EXEMPT = "exempt", "Exempt"
        ZERO = "zero", "Zero rate"
        OUTSIDE = "outside_scope", "Outside the scope of VAT"

    class Amendment(models.TextChoices):
        """The subject of an amendment."""

        MORE_TIME = "more_time", "More time"
        PAUSE = "pause", "A pause"
        BENCHMARK = "benchmark", "Another benchmark"
        PRICE = "price", "The price"
        SIGNATORY = "signatory", "Who signs"

    engagement = models.ForeignKey(Engagement, on_delete=models.PROTECT, related_name="contracts")
    number = models.PositiveSmallIntegerField()
    state = models.CharField(max_length=10, choices=State, default=State.DRAFT)
    benchmark = models.ForeignKey(Benchmark, on_delete=models.PROTECT, related_name="+")
    fee = models.DecimalField(max_digits=14, decimal_places=3)
    audit_cost = models.DecimalField(max_digits=14, decimal_places=3)
    currency = models.CharField(max_length=3)
    tax_rate_percent = models.DecimalField(max_digits=5, decimal_places=2, default=0)
    tax_treatment = models.CharField(max_length=14, choices=TaxTreatment, default=TaxTreatment.RATE)
    tax_note = models.TextField(blank=True, help_text="The sentence for invoices without tax.")
    payment_days = models.PositiveSmallIntegerField(default=14)
    dispute_days = models.PositiveSmallIntegerField(default=14)
    refund_days = models.PositiveSmallIntegerField(
        null=True,
        blank=True,
        default=14,
        help_text="Period for a refund; empty for none.",
    )
    weeks = models.PositiveSmallIntegerField()
    starts_on = models.DateField()
    valid_until = models.DateField(
        null=True, blank=True, help_text="The last day on which the offer may be accepted."
    )
    signatory = models.ForeignKey(
        User,
        on_delete=models.PROTECT,
        null=True,
        blank=True,
        related_name="+",
        help_text="The sole signatory of the customer; any when empty.",
    )
    target = models.DecimalField(max_digits=5, decimal_places=2, default=2)
    inconclusive = models.CharField(max_length=8, choices=Inconclusive, default=Inconclusive.MISSED)
    acceptance_runs = models.PositiveSmallIntegerField(default=3)
    run_notice_days = models.PositiveSmallIntegerField(default=0)
    noise_repeats = models.PositiveSmallIntegerField(default=2)
    place = models.CharField(max_length=8, choices=Place, default=Place.HOUSE)
    expert = models.CharField(
        max_length=200,
        blank=True,
        help_text="Who repeats a disputed measurement, unless the customer does.",
    )
    excluded_library = models.CharField(
        max_length=200, blank=True, help_text="A fitting library that is not the baseline."
    )
    exclusion_reason = models.TextField(blank=True)
    amends = models.ForeignKey(
        "self", on_delete=models.PROTECT, null=True, blank=True, related_name="amendments"
    )
    amendment = models.CharField(max_length=10, choices=Amendment, blank=True)
    amendment_reason = models.TextField(blank=True)
    previously_released = models.DecimalField(max_digits=14, decimal_places=3, default=0)
    drafted_by = models.ForeignKey(User, on_delete=models.PROTECT, related_name="+")
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    canonical = models.BinaryField(null=True, blank=True)
    digest = models.CharField(max_length=71, blank=True, db_index=True)
    sealed_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering: ClassVar = ["-number"]
        constraints: ClassVar = [
            *ClauseOptions.Meta.constraints,
            models.UniqueConstraint(fields=["engagement", "number"], name="contract_number_once"),
            models.UniqueConstraint(
                fields=["engagement"],
                condition=Q(state="accepted"),
                name="contract_one_accepted_version",
                violation_error_message="Another version of the contract is in force.",
            ),
            models.UniqueConstraint(
                fields=["engagement"],
                condition=Q(state__in=["draft", "offered"]),
                name="contract_one_open_version",
                violation_error_message="Another version is in draft or on offer.",
            ),
            models.CheckConstraint(
                condition=Q(weeks__gte=MIN_WEEKS, weeks__lte=MAX_WEEKS),
                name="contract_runs_3_to_10_weeks",
                violation_error_message="Enter 3 to 10 weeks.",
            ),
            models.CheckConstraint(
                condition=Q(fee__gt=0),
                name="contract_fee_is_positive",
                violation_error_message="Enter a fee above 0.",
            ),
            models.CheckConstraint(
                condition=Q(audit_cost__gte=0, audit_cost__lte=F("fee")),
                name="contract_audit_cost_is_within_the_fee",
                violation_error_message="Enter an audit cost from 0 to the fee.",
            ),
            models.CheckConstraint(
                condition=Q(target__gt=1),
                name="contract_target_is_a_speedup",
                violation_error_message="Enter a target above 1×.",
            ),
            models.CheckConstraint(
                condition=Q(tax_rate_percent__gte=0, tax_rate_percent__lt=100),
                name="contract_tax_rate_is_a_share",
                violation_error_message="Enter a tax rate from 0 to under 100 percent.",
            ),
            models.CheckConstraint(
                condition=Q(tax_treatment="rate", tax_rate_percent__gt=0, tax_note="")
                | (
                    Q(
                        tax_treatment__in=["reverse_charge", "exempt", "zero", "outside_scope"],
                        tax_rate_percent=0,
                    )
                    & ~Q(tax_note="")
                ),
                name="contract_tax_is_treated_one_way",
                violation_error_message="Enter a tax rate above 0, or why no tax is charged.",
            ),
            models.CheckConstraint(
                condition=Q(payment_days__lte=MAX_PAYMENT_DAYS, dispute_days__lte=MAX_DISPUTE_DAYS),
                name="contract_days_are_within_reason",
                violation_error_message=(
                    f"Invoices are payable within {MAX_PAYMENT_DAYS} days, and disputes are open "
                    f"for at most {MAX_DISPUTE_DAYS}."
                ),
            ),
            models.CheckConstraint(
                condition=Q(acceptance_runs__gte=1, acceptance_runs__lte=MAX_ACCEPTANCE_RUNS),
                name="contract_allows_1_to_10_acceptance_runs",
                violation_error_message=f"Enter 1 to {MAX_ACCEPTANCE_RUNS} acceptance runs.",
            ),
            models.CheckConstraint(
                condition=Q(
                    run_notice_days__lte=MAX_NOTICE_DAYS, noise_repeats__lte=MAX_NOISE_REPEATS
                ),
                name="contract_runs_are_within_reason",
                violation_error_message=(
                    f"Enter at most {MAX_NOTICE_DAYS} days of notice and at most "
                    f"{MAX_NOISE_REPEATS} repeats."
                ),
            ),
            models.CheckConstraint(
                condition=Q(excluded_library="", exclusion_reason="")
                | (~Q(excluded_library="") & ~Q(exclusion_reason="")),
                name="contract_exclusion_names_library_and_reason",
                violation_error_message="Enter the excluded library and the reason.",
            ),
            models.CheckConstraint(
                condition=Q(refund_days__isnull=True)
                | Q(refund_days__gte=1, refund_days__lte=MAX_REFUND_DAYS),
                name="contract_refund_is_due_within_reason",
                violation_error_message=f"A refund is paid within 1 to {MAX_REFUND_DAYS} days.",
            ),
            models.CheckConstraint(
                condition=Q(
                    amends__isnull=True, amendment="", amendment_reason="", previously_released=0
                )
                | (
                    Q(
                        amends__isnull=False,
                        previously_released__gte=0,
                        previously_released__lte=F("fee"),
                    )
                    & ~Q(amendment="")
                    & ~Q(amendment_reason="")
                ),
                name="contract_amendment_says_what_and_why",
                violation_error_message="Enter the change and the reason.",
            ),
            models.CheckConstraint(
                condition=Q(state="draft", sealed_at__isnull=True, digest="", canonical=None)
                | Q(
                    ~Q(state="draft"),
                    sealed_at__isnull=False,
                    digest__regex=r"^sha256:[0-9a-f]{64}$",
                    canonical__isnull=False,
                ),
                name="contract_is_sealed_once_it_leaves_the_draft",
                violation_error_message="Offer the contract to seal it.",
            ),
        ]
        triggers: ClassVar = [
            CHECK_AMENDMENT,
            ADD_UP_MILESTONES,
            ReadOnly(
                name="sealed",
                exclude=["state"],
                condition=pgtrigger.Q(old__sealed_at__isnull=False),
            ),
            Protect(
                name="sealed_deletion",
                operation=pgtrigger.Delete,
                condition=pgtrigger.Q(old__sealed_at__isnull=False),
            ),
            FSM(
                "state",
                {
                    "draft": {"offered"},
                    "offered": {"accepted", "declined", "withdrawn", "expired"},
                    "accepted": {"superseded"},
                },
            ),
        ]

    def __str__(self) -> str:
        return f"{self.engagement.reference} contract v{self.number}"

    @property
    def is_sealed(self) -> bool:
        return self.sealed_at is not None

    @property
    def is_amendment(self) -> bool:
        return self.amends_id is not None


class Party(models.TextChoices):
    CONSULTANCY = "consultancy", "The consultancy"
    CUSTOMER = "customer", "The customer"
