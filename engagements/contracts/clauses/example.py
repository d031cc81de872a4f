"""The promise in numbers: the refund after a missed target."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

from engagements.common import money
from engagements.contracts.milestones.conditions import CONDITIONS
from engagements.contracts.milestones.models import ReleaseCondition
from engagements.documents import formatting


def worked_example(terms: Mapping[str, Any]) -> dict[str, Any]:
    """Two cases: only the milestones before the verdict are paid, and the whole fee is.

    The arithmetic is that of a settlement: payments as received, with their tax, less the
    audit cost and the tax on it.
    """
    before = terms["released_before"]
    early = [
        each
        for each in terms["milestones"]
        if CONDITIONS[ReleaseCondition(each["condition"])].precedes_verdict
    ]
    cases = [_case(terms, [*before, *early]), _case(terms, [*before, *terms["milestones"]])]
    is_taxed = Decimal(terms["tax_rate_percent"]) > 0
    rows = [
        (
            "Payments received, with tax" if is_taxed else "Payments received",
            [case["received"] for case in cases],
        ),
        ("Cost of the audit", [case["audit"] for case in cases]),
        *(
            [(f"Tax on the audit, {_rate(terms)}", [case["tax"] for case in cases])]
            if is_taxed
            else []
        ),
    ]
    return {
        "rows": rows,
        "refunds": [case["refund"] for case in cases],
        "balances": [case["balance"] for case in cases],
        "has_balance": any(case["owes"] for case in cases),
        "early": ", ".join(str(milestone["position"]) for milestone in early),
        "early_count": len(early),
        "released_before": bool(before),
    }


def _case(terms: Mapping[str, Any], paid: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    currency, rate = terms["currency"], Decimal(terms["tax_rate_percent"])
    received = sum(
        (money.gross_of(Decimal(each["amount"]), rate, currency) for each in paid), Decimal(0)
    )
    cost = Decimal(terms["audit_cost"])
    tax = money.tax_on(cost, rate, currency)
    rest = received - cost - tax
    return {
        "received": formatting.figure(received, currency),
        "audit": formatting.figure(-cost, currency),
        "tax": formatting.figure(-tax, currency),
        "refund": formatting.figure(max(rest, Decimal(0)), currency),
        "balance": formatting.figure(max(-rest, Decimal(0)), currency),
        "owes": rest < 0,
    }


def _rate(terms: Mapping[str, Any]) -> str:
    return formatting.percent(Decimal(terms["tax_rate_percent"]))
