"""VAT of our services to businesses: default treatment, standard rates, required sentences.

The place of supply of a service to a business is the customer's country (Article 44 of Directive
2006/112/EC). The consultancy's country is that of its settings.
"""

from __future__ import annotations

import datetime as dt
import re
from decimal import Decimal
from typing import NamedTuple

from django.conf import settings
from django.utils import timezone

from engagements.common import vat_ids
from engagements.common.errors import ApplicationError
from engagements.contracts.models import ContractVersion
from engagements.people.models import Customer

Treatment = ContractVersion.TaxTreatment

# Standard rates in percent, each from its first day; source: European Commission, TEDB.
_SINCE = dt.date(2020, 1, 1)
STANDARD_RATES: dict[str, tuple[tuple[dt.date, str], ...]] = {
    **{
        country: ((_SINCE, rate),)
        for country, rate in {
            **{"AT": "20", "BE": "21", "BG": "20", "CY": "19", "CZ": "21", "DK": "25"},
            **{"ES": "21", "FR": "20", "GR": "24", "HR": "25", "HU": "27"},
            **{"IT": "22", "LT": "21", "LV": "21", "MT": "18", "NL": "21", "PL": "23"},
            **{"PT": "23", "SE": "25", "SI": "22", "GB": "20", "NO": "25"},
        }.items()
    },
    "CH": ((_SINCE, "7.7"), (dt.date(2024, 1, 1), "8.1")),
    "DE": ((_SINCE, "19"), (dt.date(2020, 7, 1), "16"), (dt.date(2021, 1, 1), "19")),
    "EE": ((_SINCE, "20"), (dt.date(2024, 1, 1), "22"), (dt.date(2025, 7, 1), "24")),
    "FI": ((_SINCE, "24"), (dt.date(2024, 9, 1), "25.5")),
    "IE": ((_SINCE, "23"), (dt.date(2020, 9, 1), "21"), (dt.date(2021, 3, 1), "23")),
    "LU": ((_SINCE, "17"), (dt.date(2023, 1, 1), "16"), (dt.date(2024, 1, 1), "17")),
    "RO": ((_SINCE, "19"), (dt.date(2025, 8, 1), "21")),
    "SK": ((_SINCE, "20"), (dt.date(2025, 1, 1), "23")),
}
NOT_EUROPEAN = frozenset(("CH", "GB", "NO"))
SENTENCES = {
    Treatment.REVERSE_CHARGE: "Reverse charge: the recipient owes the tax (Article 196 of "
    "Directive 2006/112/EC). Steuerschuldnerschaft des Leistungsempfängers.",
    Treatment.OUTSIDE: "Not subject to VAT here: the place of supply is the customer's country "
    "(Article 44 of Directive 2006/112/EC).",
}
NO_REASON = "Enter a tax rate above 0, or choose why no tax is charged."
# Of a consultancy in a country without a known rate, at home.
NO_VAT = "Not subject to VAT."
# An invoice must say so in the words of the directive, in any official language.
REQUIRED_WORDS: dict[str, re.Pattern[str]] = {
    Treatment.REVERSE_CHARGE: re.compile(
        r"reverse charge|steuerschuldnerschaft|autoliquidation|inversione contabile"
        r"|inversión del sujeto pasivo|btw verlegd|odwrotne obciążenie",
        re.IGNORECASE,
    )
}


class Default(NamedTuple):
    """The treatment, rate in percent and sentence of a customer's contracts."""

    treatment: str
    rate: Decimal
    note: str


def standard_rate(country: str, day: dt.date) -> Decimal:
    """The standard rate of a country on a day; zero where it is unknown."""
    rates = [rate for since, rate in STANDARD_RATES.get(country, ()) if since <= day]
    return Decimal(rates[-1] if rates else 0)


def default_for(customer: Customer, *, day: dt.date | None = None) -> Default:
    """The default of a customer by its country and VAT ID, on `day` or today.

    Within the European Union a customer without a VAT ID, or with one of ours, is taxed as at home.
    """
    home = settings.CONSULTANCY["country"]
    is_within = _is_european(home) and _is_european(customer.country)
    is_identified = (
        vat_ids.is_european(customer.vat_id) and vat_ids.country_of(customer.vat_id) != home
    )
    if customer.country != home and is_within and is_identified:
        return _untaxed(Treatment.REVERSE_CHARGE)
    if customer.country != home and not is_within:
        return _untaxed(Treatment.OUTSIDE)
    rate = standard_rate(home, day or timezone.localdate())
    return Default(Treatment.RATE, rate, "") if rate else Default(Treatment.OUTSIDE, rate, NO_VAT)


def _is_european(country: str) -> bool:
    return country in STANDARD_RATES and country not in NOT_EUROPEAN


def _untaxed(treatment: ContractVersion.TaxTreatment) -> Default:
    return Default(treatment, Decimal(0), SENTENCES[treatment])


def require_reason(treatment: str, rate: Decimal) -> None:
    """Require a rate, or another treatment, which states why no tax is charged."""
    if treatment == Treatment.RATE and rate <= 0:
        raise ApplicationError(NO_REASON, code="contract.no_tax_reason")


def require_sentence(treatment: str, note: str) -> None:
    """Require the words that the directive prescribes for invoices."""
    pattern = REQUIRED_WORDS.get(treatment)
    if pattern and note and not pattern.search(note):
        raise ApplicationError(
            "The sentence on the invoice must contain “Reverse charge”.",
            code="contract.tax_sentence",
        )
