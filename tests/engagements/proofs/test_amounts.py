"""Settlements compared with manual calculations, in currencies with zero, two and three decimals.

All figures are in minor units (yen, cents, fils), so they are the same in each currency.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal
from itertools import cycle, product
from typing import Any

import pytest

from engagements.billing.models import Invoice
from engagements.common import money
from engagements.contracts.drafting import MilestoneDraft
from engagements.contracts.models import ContractVersion
from engagements.payouts import refunds
from engagements.settlements import services as settlements
from engagements.settlements.models import Settlement
from tests.engagements.proofs.invariants import SealedRows, check_invariants
from tests.engagements.world import EXEMPT, World, received, today
from tests.errors import declined


@dataclass(frozen=True)
class Case:
    """Terms, the payment of each invoice, and the expected settlement, in minor units."""

    parts: tuple[int, ...]
    audit: int
    tax_percent: str
    paid: tuple[int, ...]
    refund: int
    balance_due: int
    terms: dict[str, Any] = field(default_factory=dict)


CASES = {
    # Gross 3967 and 3966; kept 3333 + 633.
    "thirds": Case((3334, 3333, 3333), 3333, "19", (3967, 3966), 3967, 0),
    # The tax on one unit is nothing, and on two it is nothing too.
    "one minor unit": Case((1, 1, 1), 1, "19", (1, 1, 1), 2, 0),
    # Half a unit of tax is rounded up: 50% of 1.
    "half a unit of tax": Case((1, 1), 1, "50", (2, 2), 2, 0),
    "no tax": Case((10000,), 2500, "0", (10000,), 7500, 0, EXEMPT),
    "reverse charge": Case(
        (10000,), 2500, "0", (10000,), 7500, 0,
        {"tax_treatment": "reverse_charge", "tax_note": "VAT reverse charge applies."},
    ),
    "no audit cost": Case((5000, 5000), 0, "7.25", (5363,), 5363, 0),
    "audit cost equal to what was paid": Case((5000, 5000), 5000, "19", (5950,), 0, 0),
    "audit cost above what was paid": Case((5000, 5000), 5000, "19", (1000,), 0, 4950),
    # No milestone bills the audit, so nobody could bill a balance.
    "nothing paid": Case((5000, 5000), 5000, "19", (), 0, 0),
    "overpaid by one unit": Case((5000, 5000), 5000, "19", (5951,), 1, 0),
    "paid twice": Case((5000, 5000), 5000, "19", (11900,), 5950, 0),
}  # fmt: skip


def settled(world: World, case: Case, currency: str) -> ContractVersion:
    """The contract after its target was missed."""
    unit = money.minor_unit(currency)
    world.customer.vat_id = "FR40303265045"
    world.customer.save()
    contract = world.active(
        currency=currency,
        fee=sum(case.parts) * unit,
        audit_cost=case.audit * unit,
        tax_rate_percent=Decimal(case.tax_percent),
        milestones=[
            MilestoneDraft(f"Part {number}", part * unit, "signed")
            for number, part in enumerate(case.parts, start=1)
        ],
        **case.terms,
    )
    for milestone, paid in zip(contract.milestones.order_by("position"), case.paid, strict=False):
        receive(world, world.invoice(milestone), paid * unit)
    world.conclude(world.request(contract), "missed")
    return ContractVersion.objects.get(pk=contract.pk)


def receive(world: World, invoice: Invoice, amount: Decimal, reference: str = "P-1") -> None:
    received(
        invoice=invoice,
        amount=amount,
        received_on=today(),
        reference=reference,
        by=world.finance,
        confirmed_by=world.controller,
        may_exceed=True,
    )


CURRENCIES = ("EUR", "JPY", "KWD")
# Each case in one currency in `make test`, and in all of them in `make soak`.
SHORT = set(zip(CASES, cycle(CURRENCIES), strict=False))


def in_soak(*values: str, short: bool) -> Any:
    return pytest.param(*values, marks=[] if short else [pytest.mark.soak])


@pytest.mark.parametrize(
    ("name", "currency"),
    [in_soak(*case, short=case in SHORT) for case in product(CASES, CURRENCIES)],
)
def test_a_settlement_equals_the_manual_calculation(world: World, name: str, currency: str) -> None:
    case, kept, unit = CASES[name], SealedRows(), money.minor_unit(currency)
    row = Settlement.objects.get(contract_version=settled(world, case, currency))
    assert (row.refund / unit, row.balance_due / unit) == (case.refund, case.balance_due)
    check_invariants(kept)
    settlements.approve(settlement=row, by=world.finance)
    check_invariants(kept)
    row = refunds.mark_paid(settlement=row, reference="SEPA-1", by=world.controller)
    check_invariants(kept)
    assert row.state == "paid"
    assert sum(transfer.amount for transfer in row.transfers.all()) == case.refund * unit


@pytest.mark.parametrize("currency", [in_soak(each, short=each == "KWD") for each in CURRENCIES])
def test_a_payment_after_the_proposal_is_refunded_too(world: World, currency: str) -> None:
    kept, unit = SealedRows(), money.minor_unit(currency)
    case = Case((5000, 5000), 5000, "19", (5950,), 0, 0)
    contract = settled(world, case, currency)
    first = Settlement.objects.get(contract_version=contract)
    invoice = contract.engagement.invoices.filter(kind="invoice").get()
    receive(world, invoice, 700 * unit, reference="P-2")
    with declined("settlement.outdated"):
        settlements.approve(settlement=first, by=world.finance)
    settlements.void(settlement=first, reason="Money arrived since.", by=world.finance)
    second = settlements.propose(contract=contract, reason="missed", by=world.controller)
    assert second.refund == 700 * unit
    settlements.approve(settlement=second, by=world.finance)
    refunds.mark_paid(settlement=second, reference="SEPA-1", by=world.controller)
    check_invariants(kept)


@pytest.mark.parametrize("currency", [in_soak(each, short=each == "JPY") for each in CURRENCIES])
def test_a_payment_after_the_refund_is_refunded_by_a_further_settlement(
    world: World, currency: str
) -> None:
    kept, unit = SealedRows(), money.minor_unit(currency)
    contract = settled(world, Case((5000,), 1000, "0", (5000,), 4000, 0, EXEMPT), currency)
    first = Settlement.objects.get(contract_version=contract)
    settlements.approve(settlement=first, by=world.finance)
    refunds.mark_paid(settlement=first, reference="SEPA-1", by=world.controller)
    invoice = contract.engagement.invoices.filter(kind="invoice").get()
    receive(world, invoice, unit, reference="P-2")
    further = settlements.propose(
        contract=contract,
        reason="further",
        note="Paid twice.",
        audit_cost=Decimal(0),
        by=world.controller,
    )
    # What was kept, and the unit that came in since.
    assert further.refund == 1001 * unit
    settlements.approve(settlement=further, by=world.finance)
    refunds.mark_paid(settlement=further, reference="SEPA-2", by=world.controller)
    check_invariants(kept)
