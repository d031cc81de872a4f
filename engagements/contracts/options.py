"""Options of a contract that choose between variants of its clauses."""

from __future__ import annotations

from typing import ClassVar

from django.conf import settings
from django.db import models
from django.db.models import Q

MAX_WARRANTY_MONTHS, MAX_NON_SOLICITATION_MONTHS = 60, 24
MIN_LIABILITY_PERCENT, MAX_LIABILITY_PERCENT = 100, 1000


def default_law() -> str:
    """The law that TWOFOLD_LAW names, for new drafts."""
    return str(settings.JURISDICTION["law"])


def default_court() -> str:
    """The courts that TWOFOLD_COURT names, for new drafts."""
    return str(settings.JURISDICTION["court"])


class Rights(models.TextChoices):
    """How the customer may use the kernel once it is paid."""

    LICENCE = "licence", "Exclusive licence"
    ASSIGNMENT = "assignment", "Assignment of all rights"


class Subcontractors(models.TextChoices):
    """Whether the customer agrees to each subcontractor."""

    CONSENT = "consent", "With the customer’s consent"
    NOTICE = "notice", "After notice to the customer"


class Publicity(models.TextChoices):
    """Whether the parties name each other in public."""

    NONE = "none", "None"
    CONSENT = "consent", "With consent each time"
    NAME = "name", "Customer’s name, ratio, GPU and operator"


class SigningOrder(models.TextChoices):
    """Which party signs first; the values are those of the parties."""

    ANY = "any", "In any order"
    CUSTOMER = "customer", "The customer first"
    CONSULTANCY = "consultancy", "The consultancy first"


class ClauseOptions(models.Model):
    """Columns of a contract version that its clauses depend on, beside those of money and time."""

    law = models.CharField(max_length=80, default=default_law, blank=True)
    court = models.CharField(max_length=80, default=default_court, blank=True)
    rights = models.CharField(max_length=10, choices=Rights, default=Rights.LICENCE)
    affiliates = models.BooleanField(default=True)
    sublicensing = models.BooleanField(default=False)
    warranty_months = models.PositiveSmallIntegerField(default=12)
    maintenance_fee = models.DecimalField(
        max_digits=14,
        decimal_places=3,
        null=True,
        blank=True,
        help_text="Net for each month; empty for none.",
    )
    liability_cap_percent = models.PositiveSmallIntegerField(default=100)
    convenience = models.BooleanField(default=True)
    personal_data = models.BooleanField(default=False)
    subcontractors = models.CharField(
        max_length=7, choices=Subcontractors, default=Subcontractors.CONSENT
    )
    non_solicitation_months = models.PositiveSmallIntegerField(default=12)
    publicity = models.CharField(max_length=7, choices=Publicity, default=Publicity.CONSENT)
    late_interest_points = models.DecimalField(max_digits=4, decimal_places=2, default=8)
    signing_order = models.CharField(max_length=12, choices=SigningOrder, default=SigningOrder.ANY)
    special_terms = models.TextField(blank=True)

    class Meta:
        abstract = True
        constraints: ClassVar = [
            models.CheckConstraint(
                condition=Q(state="draft") | (~Q(law="") & ~Q(court="")),
                name="contract_law_and_court_are_named",
                violation_error_message="Enter the law and the court by name.",
            ),
            models.CheckConstraint(
                condition=Q(
                    warranty_months__gte=1,
                    warranty_months__lte=MAX_WARRANTY_MONTHS,
                    non_solicitation_months__lte=MAX_NON_SOLICITATION_MONTHS,
                    liability_cap_percent__gte=MIN_LIABILITY_PERCENT,
                    liability_cap_percent__lte=MAX_LIABILITY_PERCENT,
                    late_interest_points__gte=0,
                    late_interest_points__lte=15,
                ),
                name="contract_options_are_within_reason",
                violation_error_message=(
                    f"Enter a warranty of 1 to {MAX_WARRANTY_MONTHS} months, non-solicitation of "
                    f"0 to {MAX_NON_SOLICITATION_MONTHS} months, a liability cap of "
                    f"{MIN_LIABILITY_PERCENT} to {MAX_LIABILITY_PERCENT}% and interest of 0 to 15 "
                    "points."
                ),
            ),
            models.CheckConstraint(
                condition=Q(maintenance_fee__isnull=True) | Q(maintenance_fee__gt=0),
                name="contract_maintenance_fee_is_positive",
                violation_error_message="Enter a maintenance fee above 0, or leave it empty.",
            ),
        ]
