"""The options of a contract's clauses, as terms."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any

from django import forms

from engagements.audit.models import Audit
from engagements.common import money
from engagements.common.amount_fields import AmountField
from engagements.contracts import wording
from engagements.contracts.models import ContractVersion
from engagements.contracts.options import (
    MAX_LIABILITY_PERCENT,
    MAX_NON_SOLICITATION_MONTHS,
    MAX_WARRANTY_MONTHS,
    MIN_LIABILITY_PERCENT,
    Publicity,
    Rights,
    SigningOrder,
    Subcontractors,
)
from engagements.contracts.terms_field import TermsField

FormOf = Callable[[Audit], forms.Field]


def _initial(name: str) -> Any:
    column: Any = ContractVersion._meta.get_field(name)
    return column.get_default()


def _text(name: str, label: str, help_text: str) -> FormOf:
    return lambda audit: forms.CharField(
        label=label, max_length=80, initial=_initial(name), help_text=help_text
    )


def _number(name: str, label: str, least: int, most: int, help_text: str = "") -> FormOf:
    return lambda audit: forms.IntegerField(
        label=label,
        min_value=least,
        max_value=most,
        initial=_initial(name),
        help_text=help_text,
    )


def _choice(name: str, label: str, choices: Any) -> FormOf:
    return lambda audit: forms.ChoiceField(label=label, choices=choices, initial=_initial(name))


def _yes(name: str, label: str) -> FormOf:
    return lambda audit: forms.BooleanField(label=label, required=False, initial=_initial(name))


def _sealed(name: str) -> Callable[[ContractVersion], Any]:
    return lambda contract: getattr(contract, name)


def _flag(name: str, label: str, question: str) -> TermsField:
    return _option(
        name, label, _yes(name, question), fact=lambda terms: "Yes" if terms[name] else "No"
    )


def _option(name: str, label: str, form: FormOf, row: str = "", **more: Any) -> TermsField:
    seal = more.pop("seal", _sealed(name))
    return TermsField(name, label, seal=seal, form=form, row=row, is_option=True, **more)


OPTION_FIELDS: Sequence[TermsField] = (
    _option(
        "law",
        "Law",
        _text("law", "Law of", "A country, such as Germany."),
        row="law",
        fact=lambda terms: terms["law"],
    ),
    _option(
        "court",
        "Courts",
        _text("court", "Courts of", "A town, such as Berlin."),
        row="law",
        fact=lambda terms: terms["court"],
    ),
    _option(
        "rights",
        "Rights",
        _choice("rights", "Rights in the kernel", Rights.choices),
        row="rights",
        seal=lambda contract: str(contract.rights),
        fact=lambda terms: Rights(terms["rights"]).label,
    ),
    _option(
        "publicity",
        "Publicity",
        _choice("publicity", "Publicity", Publicity.choices),
        row="rights",
        seal=lambda contract: str(contract.publicity),
        fact=lambda terms: Publicity(terms["publicity"]).label,
    ),
    _flag("affiliates", "Use by affiliates", "Affiliates may use the kernel"),
    _flag("sublicensing", "Sublicences", "Sublicences within products"),
    _option(
        "warranty_months",
        "Warranty",
        _number("warranty_months", "Warranty, months", 1, MAX_WARRANTY_MONTHS),
        row="warranty",
        fact=lambda terms: wording.months(terms["warranty_months"]),
    ),
    _option(
        "maintenance_fee",
        "Maintenance",
        lambda audit: AmountField(
            currency=audit.currency,
            label=f"Maintenance in {audit.currency} a month, net",
            help_text="Empty for none. Finance charges each month by an invoice of its own.",
            required=False,
        ),
        row="warranty",
        seal=lambda contract: (
            money.plain(contract.maintenance_fee, contract.currency)
            if contract.maintenance_fee is not None
            else None
        ),
        fact=lambda terms: (
            f"{wording.amount(terms['maintenance_fee'], terms['currency'])} a month"
            if terms["maintenance_fee"]
            else ""
        ),
    ),
    _option(
        "liability_cap_percent",
        "Liability cap",
        _number(
            "liability_cap_percent",
            "Liability cap, percent of the fee",
            MIN_LIABILITY_PERCENT,
            MAX_LIABILITY_PERCENT,
        ),
        row="limits",
        fact=lambda terms: f"{terms['liability_cap_percent']}% of the fee",
    ),
    _option(
        "late_interest_points",
        "Late interest",
        lambda audit: forms.DecimalField(
            label="Late interest, percentage points",
            min_value=Decimal(0),
            max_value=Decimal(15),
            max_digits=4,
            decimal_places=2,
            initial=_initial("late_interest_points"),
            help_text="A year, above the ECB’s main refinancing rate.",
        ),
        row="limits",
        seal=lambda contract: f"{contract.late_interest_points:.2f}",
        fact=lambda terms: (
            f"{terms['late_interest_points']} percentage points above the ECB’s main refinancing "
            "rate"
        ),
    ),
    _flag("convenience", "Termination for convenience", "Customer may terminate for convenience"),
    _flag("personal_data", "Personal data", "Personal data is processed"),
    _option(
        "subcontractors",
        "Subcontractors",
        _choice("subcontractors", "Subcontractors", Subcontractors.choices),
        row="staff",
        seal=lambda contract: str(contract.subcontractors),
        fact=lambda terms: Subcontractors(terms["subcontractors"]).label,
    ),
    _option(
        "non_solicitation_months",
        "Non-solicitation",
        _number(
            "non_solicitation_months",
            "Non-solicitation, months",
            0,
            MAX_NON_SOLICITATION_MONTHS,
            "0 for none.",
        ),
        row="staff",
        fact=lambda terms: wording.months(terms["non_solicitation_months"]),
    ),
    _option(
        "signing_order",
        "Order of signatures",
        _choice("signing_order", "Order of signatures", SigningOrder.choices),
        seal=lambda contract: str(contract.signing_order),
        fact=lambda terms: SigningOrder(terms["signing_order"]).label,
    ),
    _option(
        "special_terms",
        "Individual terms",
        lambda audit: forms.CharField(
            label="Individual terms",
            required=False,
            max_length=5000,
            widget=forms.Textarea(attrs={"rows": 4}),
            help_text="They prevail over all other clauses.",
        ),
        fact=lambda terms: terms["special_terms"],
    ),
)
