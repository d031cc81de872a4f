"""The terms of a contract in words, from their sealed JSON."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from decimal import Decimal
from typing import Any

from engagements.common import money
from engagements.common.dates import in_words
from engagements.contracts.models import ContractVersion
from engagements.documents import formatting

Terms = Mapping[str, Any]
Inconclusive = ContractVersion.Inconclusive
TaxTreatment = ContractVersion.TaxTreatment

MEANING = {
    Inconclusive.MISSED: (
        "An acceptance run that shows the target neither met nor missed counts as missed: it uses "
        "up an attempt."
    ),
    Inconclusive.REPEAT: (
        "An acceptance run that shows the target neither met nor missed does not count as an "
        "attempt and may be repeated inside the time-box; when the time-box ends without a met "
        "target, the target counts as missed."
    ),
}


def benchmark(terms: Terms) -> str:
    """The sealed benchmark, one line for each of its parts."""
    sealed = terms["benchmark"]
    return "\n".join(
        (
            f"{sealed['name']}, {sealed['digest']}",
            f"Operator: {spaced(sealed['operator'])}",
            f"End-to-end step: {spaced(sealed['program'])}, launched {launch(sealed['launch'])}",
            f"Baseline: {sealed['baseline']}",
            f"Hardware: {hardware(sealed['hardware'])}",
            f"Confidence: {formatting.share(sealed['confidence'])}",
        )
    )


def spaced(name: str) -> str:
    """A name of the benchmark in words."""
    return name.replace("_", " ")


def launch(sealed: str) -> str:
    """How the end-to-end step is launched, in words."""
    return "as a CUDA graph" if sealed == "graph" else "call by call"


def hardware(sealed: Terms) -> str:
    """The device that a benchmark names, or the kind of device it requires."""
    kind = "CUDA GPU" if sealed["device"] == "cuda" else "CPU"
    return f"{sealed['name']} ({kind})" if sealed["name"] else f"any {kind}"


def tax(terms: Terms) -> str:
    """The tax rate, or why no tax is added."""
    if terms["tax"]["treatment"] == TaxTreatment.RATE:
        return f"{Decimal(terms['tax_rate_percent']).normalize():f}%"
    return f"{TaxTreatment(terms['tax']['treatment']).label}. {terms['tax']['note']}"


def amount(sealed: str, currency: str) -> str:
    """A sealed amount in words."""
    return money.format_money(Decimal(sealed), currency)


def day(text: str | None) -> str:
    """A sealed day in words; empty for none."""
    return in_words(date.fromisoformat(text)) if text else ""


def days(count: int) -> str:
    """A number of days in words."""
    return f"{count} day" if count == 1 else f"{count} days"


def exclusion(terms: Terms) -> str:
    """The library excluded as the baseline with its reason; empty for none."""
    excluded = terms.get("baseline_exclusion")
    return f"{excluded['library']}: {excluded['reason']}" if excluded else ""


def disputes(terms: Terms) -> str:
    """The dispute window; empty for none."""
    if not (count := terms["dispute_days"]):
        return ""
    return (
        "A signatory of the customer may dispute a settlement within "
        f"{days(count)} of being shown its figures. While a dispute is open, the settlement is "
        "neither approved nor paid."
    )


def refund(terms: Terms) -> str:
    """The period for a refund; empty for none."""
    if not (count := terms["refund_days"]):
        return ""
    return (
        f"A refund is paid within {days(count)} of the settlement being proposed. An open "
        "dispute stops this period, which starts anew when the dispute ends."
    )


def acceptance_runs(terms: Terms) -> str:
    """How many acceptance runs there are, and what ends them."""
    count = terms["acceptance_runs"]
    runs = "1 acceptance run" if count == 1 else f"up to {count} acceptance runs"
    return (
        f"The consultancy may request {runs} inside the time-box. The first that meets the target "
        "ends the work. The target counts as missed when all attempts are used up, when the "
        "consultancy declares its last attempt final, or when the time-box ends without a met "
        "target. A disqualified candidate uses up an attempt, and after a second disqualification "
        "the customer may end the contract for cause, settled as a missed target. An invalid run "
        "uses up no attempt."
    )


def notice(terms: Terms) -> str:
    """The notice of an acceptance run; empty for none."""
    if not (count := terms["run_notice_days"]):
        return ""
    return f"The consultancy gives notice of an acceptance run {days(count)} before it."


def noise_repeats(terms: Terms) -> str:
    """How many runs may be repeated for noise; empty for none, and where no inconclusive run
    uses up an attempt."""
    count = terms["noise_repeats"]
    if not count or terms["inconclusive"]["rule"] == Inconclusive.REPEAT:
        return ""
    runs = "One run" if count == 1 else f"Up to {count} runs"
    return (
        f"{runs} that the referee calls inconclusive although the interval excludes the target, "
        "because the machine was too noisy, may be repeated without using up an attempt."
    )


def place(terms: Terms) -> str:
    """Where acceptance runs are measured, and who signs their records."""
    if terms["place"] == ContractVersion.Place.HOUSE:
        return "On the consultancy’s machines; the consultancy’s key signs the record."
    if terms["place"] == ContractVersion.Place.CUSTOMER:
        return "By the customer’s runner; the customer’s key signs the record."
    return (
        "Twice, on the consultancy’s machines and by the customer’s runner; each party’s key signs "
        "its record. A verdict needs both: the same one, with intervals that overlap."
    )


def payment(terms: Terms) -> str:
    """The payment term of invoices; empty for none."""
    count = terms["payment_days"]
    return f"Invoices are payable within {days(count)} of their date." if count else ""


def months(count: int) -> str:
    """A number of months in words."""
    return f"{count} month" if count == 1 else f"{count} months"
