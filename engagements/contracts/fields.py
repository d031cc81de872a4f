"""The terms of a contract, each declared once.

A new term is a column of ContractVersion and one entry of FIELDS. From it follow the draft's form,
the sealed JSON, the event log, what an amendment repeats, the comparison of versions, and the
facts on pages and in the PDF.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from typing import Any

from django import forms
from django.utils import timezone

from engagements.audit.models import Audit
from engagements.benchmark.queries import benchmarks_for
from engagements.common import money, ratios
from engagements.common.amount_fields import AmountField
from engagements.common.choice_fields import BenchmarkField
from engagements.common.date_fields import DayField
from engagements.contracts import vat, wording
from engagements.contracts.models import (
    MAX_DISPUTE_DAYS,
    MAX_PAYMENT_DAYS,
    MAX_REFUND_DAYS,
    MAX_WEEKS,
    MIN_WEEKS,
    ContractVersion,
)
from engagements.contracts.option_fields import OPTION_FIELDS
from engagements.contracts.run_fields import RUN_FIELDS, number_field
from engagements.contracts.terms_field import TermsField
from engagements.contracts.wording import Terms
from engagements.people.models import User
from engagements.people.signatories import signatories_of

Inconclusive = ContractVersion.Inconclusive
TaxTreatment = ContractVersion.TaxTreatment

FIRST_WEEKS = 6
NOTICE = timedelta(days=7)
# How long an offer is open unless another day is chosen.
OFFER_PERIOD = timedelta(days=30)


def _benchmark(contract: ContractVersion) -> dict[str, Any]:
    document = contract.benchmark.document
    return {
        "name": contract.benchmark.name,
        "digest": contract.benchmark.digest,
        "operator": document["operator"],
        "program": document["program"]["name"],
        "launch": document["program"]["launch"],
        "baseline": document["baseline"]["title"],
        "hardware": document["hardware"],
        "confidence": document["confidence"],
    }


def person(user: User | None) -> dict[str, str] | None:
    """A person as sealed terms name one."""
    return {"name": user.name, "email": user.email} if user else None


def _signatory_field(audit: Audit) -> forms.Field:
    people = [user.pk for user in signatories_of(audit.engagement.customer)]
    return forms.ModelChoiceField(
        label="Signs for the customer",
        queryset=User.objects.filter(pk__in=people),
        required=False,
        empty_label="Any signatory",
    )


FIELDS: Sequence[TermsField] = (
    TermsField(
        "benchmark",
        "Benchmark",
        seal=_benchmark,
        logged="digest",
        fact=wording.benchmark,
        form=lambda audit: BenchmarkField(
            benchmarks_for(audit.engagement),
            empty_label="Choose a sealed benchmark",
            help_text="Its target is the contract's target.",
        ),
    ),
    TermsField(
        "target",
        "Target",
        seal=lambda contract: f"{contract.target:.2f}",
        fact=lambda terms: f"{ratios.agreed(Decimal(terms['target']))} end to end",
    ),
    TermsField("currency", "Currency", seal=lambda contract: contract.currency),
    TermsField(
        "fee",
        "Fee, net",
        seal=lambda contract: money.plain(contract.fee, contract.currency),
        fact=lambda terms: wording.amount(terms["fee"], terms["currency"]),
        form=lambda audit: AmountField(
            currency=audit.currency,
            label=f"Fee in {audit.currency}, net",
            help_text="The whole fixed fee, including the audit.",
        ),
        row="money",
    ),
    TermsField(
        "audit_cost",
        "Audit cost, net",
        seal=lambda contract: money.plain(contract.audit_cost, contract.currency),
        fact=lambda terms: wording.amount(terms["audit_cost"], terms["currency"]),
        form=lambda audit: AmountField(
            currency=audit.currency,
            label=f"Audit cost in {audit.currency}, net",
            help_text="Not refunded if the target is missed.",
            initial=audit.cost,
        ),
        row="money",
    ),
    TermsField(
        "tax_treatment",
        "Tax",
        seal=lambda contract: {
            "treatment": str(contract.tax_treatment),
            "note": contract.tax_note,
        },
        key="tax",
        logged="treatment",
        fact=wording.tax,
        form=lambda audit: forms.ChoiceField(
            label="Tax",
            choices=TaxTreatment,
            initial=vat.default_for(audit.engagement.customer).treatment,
        ),
        row="tax",
    ),
    TermsField(
        "tax_rate_percent",
        "Tax rate",
        seal=lambda contract: f"{contract.tax_rate_percent:.2f}",
        form=lambda audit: forms.DecimalField(
            label="Tax rate, percent",
            min_value=Decimal(0),
            max_value=Decimal("99.99"),
            max_digits=5,
            decimal_places=2,
            initial=vat.default_for(audit.engagement.customer).rate,
            help_text="Added to the fee and to the audit cost.",
        ),
        row="tax",
    ),
    TermsField(
        "tax_note",
        "Tax note",
        seal=None,
        form=lambda audit: forms.CharField(
            label="Sentence on the invoice",
            max_length=500,
            required=False,
            initial=vat.default_for(audit.engagement.customer).note,
            help_text="Required where no tax is added. Empty for the usual sentence of a reverse "
            "charge or of a service outside the scope.",
        ),
    ),
    TermsField(
        "starts_on",
        "Start",
        seal=lambda contract: contract.starts_on.isoformat(),
        form=lambda audit: DayField(label="Starts on", initial=timezone.localdate() + NOTICE),
        row="time",
    ),
    TermsField(
        "weeks",
        "Time-box",
        seal=lambda contract: contract.weeks,
        fact=lambda terms: f"{terms['weeks']} weeks from {wording.day(terms['starts_on'])}",
        form=lambda audit: forms.IntegerField(
            label="Weeks",
            min_value=MIN_WEEKS,
            max_value=MAX_WEEKS,
            initial=FIRST_WEEKS,
            help_text=f"The time-box: {MIN_WEEKS} to {MAX_WEEKS} weeks.",
        ),
        row="time",
    ),
    TermsField(
        "valid_until",
        "Open for acceptance until",
        seal=lambda contract: contract.valid_until.isoformat() if contract.valid_until else None,
        fact=lambda terms: wording.day(terms["valid_until"]),
        form=lambda audit: DayField(
            label="Valid until",
            required=False,
            initial=timezone.localdate() + OFFER_PERIOD,
            help_text="The last day for acceptance.",
        ),
        row="time",
        is_repeated=False,
    ),
    TermsField(
        "payment_days",
        "Payment term",
        seal=lambda contract: contract.payment_days,
        fact=wording.payment,
        form=lambda audit: number_field(
            "payment_days", "Days to pay", 0, MAX_PAYMENT_DAYS, "From the day of the invoice."
        ),
        row="periods",
    ),
    TermsField(
        "dispute_days",
        "Disputes",
        seal=lambda contract: contract.dispute_days,
        fact=wording.disputes,
        form=lambda audit: number_field(
            "dispute_days",
            "Days to dispute",
            0,
            MAX_DISPUTE_DAYS,
            "From the day a settlement is shown; also the wait after the time-box.",
        ),
        row="periods",
    ),
    TermsField(
        "refund_days",
        "Refund",
        seal=lambda contract: contract.refund_days,
        fact=wording.refund,
        form=lambda audit: number_field(
            "refund_days",
            "Days to refund",
            1,
            MAX_REFUND_DAYS,
            "From the day a settlement is proposed.",
        ),
        row="periods",
    ),
    TermsField(
        "signatory",
        "Sole signatory of the customer",
        seal=lambda contract: person(contract.signatory),
        logged="name",
        fact=lambda terms: terms["signatory"]["name"] if terms["signatory"] else "",
        form=_signatory_field,
    ),
    *RUN_FIELDS,
    *OPTION_FIELDS,
)


@dataclass(frozen=True)
class Fact:
    """One term in words, under its label."""

    name: str
    label: str
    text: str


def facts(terms: Terms) -> Iterator[Fact]:
    """The sealed terms in words."""
    for each in FIELDS:
        if text := each.fact(terms):
            yield Fact(each.name, each.label, text)
