"""The values that clauses are filled with: sealed data in words."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from decimal import Decimal
from typing import Any

from babel import Locale

from engagements.common import money
from engagements.contracts import wording
from engagements.contracts.models import ContractVersion
from engagements.contracts.wording import Terms
from engagements.documents import formatting

# The values that a clause may use; each contract has all of them.
NAMES = frozenset(
    (
        "account_margin",
        "acceptance_runs",
        "affiliates",
        "amended_change",
        "amended_digest",
        "amended_reason",
        "amended_version",
        "audit_cost",
        "baseline",
        "began_on",
        "benchmark_digest",
        "confidence",
        "consultancy",
        "consultancy_full",
        "convenience",
        "court",
        "currency",
        "customer",
        "customer_full",
        "dispute_days",
        "ends_on",
        "excluded_library",
        "expert",
        "exclusion_reason",
        "fee",
        "inconclusive",
        "interrupted_band",
        "judging",
        "late_interest",
        "law",
        "liability_cap",
        "liability_cap_percent",
        "maintenance_fee",
        "max_replicates",
        "measurement_dispute_days",
        "new_signatory",
        "noise_band",
        "noise_repeats",
        "non_solicitation_months",
        "pauses",
        "payment_days",
        "personal_data",
        "place",
        "plus_tax",
        "promise",
        "publicity",
        "reference",
        "refund_days",
        "replicates",
        "rights",
        "rounds",
        "run_notice",
        "scope",
        "signing_order",
        "signs_for_consultancy",
        "signs_for_customer",
        "sole_signatory",
        "special_terms",
        "starts_on",
        "subcontractors",
        "sublicensing",
        "target",
        "tax",
        "tax_note",
        "tax_rate",
        "title",
        "valid_until",
        "version",
        "warranty_months",
        "weeks",
    )
)
# Days in which a measurement may be disputed where the contract has no window for settlements.
MEASUREMENT_DISPUTE_DAYS = 14
# Terms that the variants of clauses are chosen by, as they are sealed.
_CHOICES = ("rights", "publicity", "subcontractors", "signing_order")
_FLAGS = ("affiliates", "sublicensing", "convenience", "personal_data")


def values_of(terms: Terms, benchmark: Mapping[str, Any], *, ends_on: date) -> dict[str, str]:
    """Every value of a contract as text, empty where the contract has none.

    `ends_on` is the last day of the time-box if it starts as agreed.
    """
    return {
        **{name: str(terms[name]) for name in _CHOICES},
        **{name: "yes" if terms[name] else "" for name in _FLAGS},
        **_parties(terms),
        **_money(terms),
        **_time(terms, ends_on),
        **_amendment(terms),
        **_runs(terms),
        **_benchmark(terms, benchmark),
        "reference": terms["engagement"]["reference"],
        "title": terms["engagement"]["title"],
        "scope": terms["scope"],
        "promise": terms["promise"],
        "version": str(terms["version"]),
        "law": terms["law"] or "…",
        "court": terms["court"] or "…",
        "warranty_months": wording.months(terms["warranty_months"]),
        "non_solicitation_months": _months(terms["non_solicitation_months"]),
        "special_terms": terms["special_terms"],
    }


def _parties(terms: Terms) -> dict[str, str]:
    ours, theirs = terms["parties"]["consultancy"], terms["parties"]["customer"]
    people = terms["signatories"]
    named = terms["signatory"]
    is_changed = _changes_who_signs(terms)
    return {
        "consultancy": ours["name"],
        "customer": theirs["name"],
        "consultancy_full": _party(ours),
        "customer_full": _party(theirs),
        "signs_for_consultancy": _people(people["consultancy"]),
        "signs_for_customer": _people(people["customer"]),
        "sole_signatory": "yes" if named and not is_changed else "",
        "new_signatory": (named["name"] if named else "any signatory") if is_changed else "",
    }


def _party(party: Mapping[str, str]) -> str:
    country = Locale("en").territories.get(party["country"], party["country"])
    parts = [party["name"], *party["address"].splitlines(), country]
    vat_id = f" (VAT ID {party['vat_id']})" if party["vat_id"] else ""
    return ", ".join(part.strip() for part in parts if part and part.strip()) + vat_id


def _people(people: list[dict[str, str]]) -> str:
    return " or ".join(each["name"] for each in people) or "its signatory"


def _money(terms: Terms) -> dict[str, str]:
    currency, rate = terms["currency"], Decimal(terms["tax_rate_percent"])
    fee = Decimal(terms["fee"])
    cap = money.quantize(fee * terms["liability_cap_percent"] / 100, currency)
    monthly = terms["maintenance_fee"]
    return {
        "currency": currency,
        "fee": wording.amount(terms["fee"], currency),
        "audit_cost": wording.amount(terms["audit_cost"], currency),
        "plus_tax": " plus tax" if rate else "",
        "tax": terms["tax"]["treatment"],
        "tax_rate": formatting.percent(rate),
        "tax_note": terms["tax"]["note"],
        "payment_days": _days(terms["payment_days"]),
        "dispute_days": _days(terms["dispute_days"]),
        "refund_days": _days(terms["refund_days"]),
        "late_interest": formatting.plain_number(Decimal(terms["late_interest_points"])),
        "liability_cap": money.format_money(cap, currency),
        "liability_cap_percent": f"{terms['liability_cap_percent']}%",
        "maintenance_fee": wording.amount(monthly, currency) if monthly else "",
    }


def _time(terms: Terms, ends_on: date) -> dict[str, str]:
    return {
        "weeks": str(terms["weeks"]),
        "starts_on": wording.day(terms["starts_on"]),
        "began_on": wording.day(terms["began_on"]),
        "ends_on": wording.day(ends_on.isoformat()),
        "valid_until": wording.day(terms["valid_until"]),
        "pauses": "yes" if terms["pauses"] else "",
    }


def _amendment(terms: Terms) -> dict[str, str]:
    amends = terms["amends"] or {"version": "", "digest": "", "changes": "", "reason": ""}
    change = amends["changes"]
    label = ContractVersion.Amendment(change).label.lower() if change else ""
    return {
        "amended_version": str(amends["version"]),
        "amended_digest": amends["digest"],
        "amended_change": label,
        "amended_reason": amends["reason"],
    }


def _changes_who_signs(terms: Terms) -> bool:
    amends = terms["amends"]
    return amends is not None and amends["changes"] == ContractVersion.Amendment.SIGNATORY


def measurement_dispute_days(dispute_days: int) -> int:
    """The days to dispute a measurement, and then to upload its repeat."""
    return dispute_days or MEASUREMENT_DISPUTE_DAYS


def _runs(terms: Terms) -> dict[str, str]:
    excluded = terms.get("baseline_exclusion") or {}
    runs, repeats = terms["acceptance_runs"], terms["noise_repeats"]
    return {
        "acceptance_runs": "1 acceptance run" if runs == 1 else f"up to {runs} acceptance runs",
        "run_notice": _days(terms["run_notice_days"]),
        "noise_repeats": ("1 run" if repeats == 1 else f"up to {repeats} runs") if repeats else "",
        "inconclusive": terms["inconclusive"]["rule"],
        "place": terms["place"],
        "measurement_dispute_days": wording.days(measurement_dispute_days(terms["dispute_days"])),
        "expert": terms["expert"],
        "excluded_library": excluded.get("library", ""),
        "exclusion_reason": excluded.get("reason", ""),
    }


def _benchmark(terms: Terms, benchmark: Mapping[str, Any]) -> dict[str, str]:
    protocol = benchmark["protocol"]
    return {
        "target": f"{formatting.plain_number(Decimal(terms['target']))}×",
        "baseline": terms["benchmark"]["baseline"],
        "benchmark_digest": terms["benchmark"]["digest"],
        "confidence": formatting.share(terms["benchmark"]["confidence"]),
        "replicates": str(protocol["replicates"]),
        "max_replicates": str(protocol["max_replicates"]),
        "rounds": str(protocol["rounds"]),
        # The version of the rules in benchmarks.verdict.statistics.rules.
        "judging": str(protocol.get("rules", 1)),
        "account_margin": _band(protocol, "account_margin"),
        "noise_band": _band(protocol, "noise_band"),
        "interrupted_band": _band(protocol, "interrupted_band"),
    }


def _band(protocol: Mapping[str, Any], name: str) -> str:
    """A tolerance band of the protocol; empty where the benchmark has none."""
    band = protocol.get(name)
    return formatting.share(band) if band else ""


def _days(count: int | None) -> str:
    return wording.days(count) if count else ""


def _months(count: int) -> str:
    return wording.months(count) if count else ""
