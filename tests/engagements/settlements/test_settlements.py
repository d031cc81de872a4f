"""Payments received less the audit cost, both gross; agreed to by a second person; paid once."""

from collections.abc import Callable
from datetime import date
from decimal import Decimal
from typing import Any

import pytest
from django.db import IntegrityError, transaction
from pytest_django import DjangoCaptureOnCommitCallbacks

from engagements.contracts import drafting
from engagements.payouts import refunds
from engagements.people.models import Role, User
from engagements.settlements import calculation
from engagements.settlements import services as settlements
from engagements.settlements.models import Settlement
from tests.engagements.world import World, person, undone
from tests.errors import declined

Act = Callable[[World, Settlement, User], Settlement]
OnDay = Callable[[date], None]
Sweep = Callable[[], None]
D = Decimal

ACTS: dict[str, Act] = {
    "approve": lambda world, row, by: settlements.approve(settlement=row, by=by),
    "start_payment": lambda world, row, by: refunds.start_payment(settlement=row, by=by),
    "mark_paid": lambda world, row, by: refunds.mark_paid(settlement=row, reference="B-1", by=by),
    "mark_failed": lambda world, row, by: refunds.mark_failed(
        settlement=row, reason="Account closed.", by=by
    ),
    "void": lambda world, row, by: settlements.void(settlement=row, reason="Wrong.", by=by),
}
# What leads to each state, from a settlement that the application proposed.
PATHS = {
    "proposed": [],
    "approved": ["approve"],
    "paying": ["approve", "start_payment"],
    "failed": ["approve", "start_payment", "mark_failed"],
    "paid": ["approve", "start_payment", "mark_paid"],
    "voided": ["void"],
}
ALLOWED = {
    ("proposed", "approve"): "approved",
    ("proposed", "void"): "voided",
    ("approved", "start_payment"): "paying",
    ("approved", "mark_paid"): "paid",
    ("approved", "void"): "voided",
    ("paying", "mark_paid"): "paid",
    ("paying", "mark_failed"): "failed",
    ("failed", "start_payment"): "paying",
    ("failed", "mark_paid"): "paid",
    ("failed", "void"): "voided",
}
# Asked for again, or too late: nothing changes and nothing is wrong.
CALM = {
    ("approved", "approve"),
    ("paying", "approve"),
    ("paid", "approve"),
    ("failed", "approve"),
    ("paying", "start_payment"),
    ("paid", "start_payment"),
    ("paid", "mark_paid"),
    ("failed", "mark_failed"),
    ("voided", "void"),
}


def actor_of(world: World, act: str) -> User:
    """Who takes a step: one sends the refund, the other approves it or records its failure."""
    return world.finance if act in ("approve", "mark_failed") else world.controller


def bring(world: World, state: str) -> Settlement:
    settlement = world.settlement()
    for act in PATHS[state]:
        settlement = ACTS[act](world, settlement, actor_of(world, act))
    return settlement


def test_the_refund_is_what_was_received_less_the_audit_both_with_tax(world: World) -> None:
    settlement = world.settlement(paid=2)
    assert settlement.payments_received == D("21420.00")
    assert (settlement.audit_cost, settlement.audit_tax) == (D("6000.00"), D("1140.00"))
    assert (settlement.refund, settlement.balance_due) == (D("14280.00"), D("0.00"))


def test_payments_below_the_audit_cost_leave_a_balance_due(world: World) -> None:
    contract = world.active()
    world.pay(contract.milestones.get(position=1), amount=D("7000"))
    world.conclude(world.request(contract), "missed")
    settlement = contract.settlements.get()
    assert (settlement.refund, settlement.balance_due) == (D("0"), D("140.00"))


def test_without_payments_the_audit_cost_is_due(world: World) -> None:
    settlement = world.settlement(paid=0)
    assert (settlement.refund, settlement.balance_due) == (D("0"), D("7140.00"))


@pytest.mark.parametrize(
    ("currency", "audit_tax", "refund"),
    [("JPY", "1140", "14280"), ("KWD", "1140.000", "14280.000")],
)
def test_every_currency_settles_in_its_own_unit(
    world: World, currency: str, audit_tax: str, refund: str
) -> None:
    figures = calculation.preview(contract=world.missed(currency=currency))
    assert (str(figures.audit_tax), str(figures.refund)) == (audit_tax, refund)


def test_the_preview_lists_every_payment_and_adds_up(world: World) -> None:
    contract = world.active(tax_rate_percent=D("7.7"), audit_cost=D("5999.99"))
    world.pay(contract.milestones.get(position=1))
    figures = calculation.preview(contract=contract)
    assert figures.audit_tax == D("462.00")
    payment, *deductions = [line.amount for line in figures.lines]
    assert deductions == [D("-5999.99"), D("-462.00")]
    assert payment + sum(deductions) == figures.refund == D("6462.01")


def test_the_tax_of_a_payment_and_of_the_audit_are_each_rounded_once(world: World) -> None:
    terms: dict[str, Any] = {
        "fee": D("100.01"),
        "audit_cost": D("33.33"),
        "milestones": [
            drafting.MilestoneDraft("A", D("33.34"), "signed"),
            drafting.MilestoneDraft("B", D("66.67"), "target_met"),
        ],
    }
    contract = world.active(**terms)
    world.pay(contract.milestones.get(position=1))
    figures = calculation.preview(contract=contract)
    assert figures.payments_received == D("39.67")
    assert figures.audit_tax == D("6.33")
    assert figures.refund == D("0.01")


@pytest.mark.parametrize("state", PATHS)
def test_a_settlement_moves_along_its_path_and_no_other(world: World, state: str) -> None:
    settlement = bring(world, state)
    log = settlement.contract_version.engagement.events
    story = log.count()
    for name, act in ACTS.items():
        with undone():
            if (state, name) in ALLOWED:
                reached = ALLOWED[state, name]
                verb = f"settlement.{reached}"
                before = log.filter(verb=verb).count()
                assert act(world, settlement, actor_of(world, name)).state == reached
                assert log.filter(verb=verb).count() == before + 1
                continue
            if (state, name) in CALM:
                assert act(world, settlement, world.controller).state == state
            else:
                with declined("validation.state"):
                    act(world, settlement, world.controller)
            assert log.count() == story


@pytest.mark.parametrize("who", ["consultant", "admin", "signatory", "nobody"])
def test_only_finance_moves_a_settlement_and_a_superuser_is_no_exception(
    world: World, who: str
) -> None:
    settlement = world.settlement()
    for act in ACTS.values():
        with declined("access.finance_only"):
            act(world, settlement, getattr(world, who))


def test_nobody_approves_what_they_proposed(world: World) -> None:
    settlement = world.settlement()
    settlements.void(settlement=settlement, reason="Wrong.", by=world.finance)
    contract = settlement.contract_version
    proposed = settlements.propose(contract=contract, reason="missed", by=world.finance)
    with declined("settlement.same_person"):
        settlements.approve(settlement=proposed, by=world.finance)
    with pytest.raises(IntegrityError), transaction.atomic():
        Settlement.objects.filter(pk=proposed.pk).update(approved_by=world.finance)
    assert settlements.approve(settlement=proposed, by=world.controller).state == "approved"


def test_a_superuser_of_finance_does_not_approve_what_they_proposed_either(world: World) -> None:
    root = person("Root", Role.FINANCE, is_superuser=True)
    settlement = world.settlement()
    settlements.void(settlement=settlement, reason="Wrong.", by=root)
    contract = settlement.contract_version
    proposed = settlements.propose(contract=contract, reason="missed", by=root)
    with declined("settlement.same_person"):
        settlements.approve(settlement=proposed, by=root)


def test_a_second_approval_changes_nothing(world: World) -> None:
    settlement = settlements.approve(settlement=world.settlement(), by=world.finance)
    again = settlements.approve(settlement=settlement, by=world.controller)
    assert again.approved_by == world.finance


def test_a_payment_is_marked_under_one_reference(world: World) -> None:
    paid = bring(world, "paid")
    assert (paid.payment_reference, paid.paid_by) == ("B-1", world.controller)
    with declined("refund.already_paid"):
        refunds.mark_paid(settlement=paid, reference="B-2", by=world.controller)
    with declined("validation.missing"):
        refunds.mark_paid(settlement=paid, reference=" ", by=world.finance)


def test_failing_or_voiding_a_settlement_needs_a_reason(world: World) -> None:
    settlement = world.settlement()
    with declined("validation.missing"):
        settlements.void(settlement=settlement, reason=" ", by=world.finance)
    settlement = bring(world, "paying")
    with declined("validation.missing"):
        refunds.mark_failed(settlement=settlement, reason="", by=world.finance)


def test_what_was_proposed_is_never_changed(world: World) -> None:
    settlement = world.settlement()
    with pytest.raises(IntegrityError), transaction.atomic():
        Settlement.objects.filter(pk=settlement.pk).update(refund=1, balance_due=0)
    with pytest.raises(IntegrityError), transaction.atomic():
        settlement.delete()


def test_a_contract_is_settled_once(world: World) -> None:
    contract = world.settlement().contract_version
    with declined("settlement.already_proposed"):
        settlements.propose(contract=contract, reason="missed", by=world.finance)


def test_a_repeated_proposal_is_the_same_settlement_and_other_figures_are_declined(
    world: World,
) -> None:
    settlement = world.settlement()
    contract = settlement.contract_version
    assert settlements.propose(contract=contract, reason="missed", by=None) == settlement
    for changed in ({"audit_cost": D(5000)}, {"note": "Goodwill."}, {"reason": "time_box"}):
        with declined("settlement.already_proposed"):
            settlements.propose(contract=contract, by=None, **({"reason": "missed"} | changed))
    settlements.void(settlement=settlement, reason="Wrong.", by=world.finance)
    with declined("settlement.terms_not_allowed"):
        settlements.propose(
            contract=contract, reason="missed", audit_cost=D(5000), by=world.consultant
        )
    proposed = [
        settlements.propose(contract=contract, reason="missed", by=world.consultant)
        for _ in range(2)
    ]
    assert proposed[0] == proposed[1]
    assert Settlement.objects.count() == 2


def test_a_repeated_further_settlement_with_other_figures_is_declined(world: World) -> None:
    paid = bring(world, "paid")
    terms: dict[str, Any] = {
        "contract": paid.contract_version,
        "reason": "further",
        "note": "Goodwill.",
        "audit_cost": D(3000),
        "by": world.finance,
    }
    further = settlements.propose(**terms)
    assert settlements.propose(**terms) == further
    for changed in (
        {"audit_cost": D(0)},
        {"audit_cost": None},
        {"note": "Another reason."},
        {"by": world.controller},
    ):
        with declined("settlement.already_proposed"):
            settlements.propose(**(terms | changed))
    assert Settlement.objects.exclude(pk=paid.pk).get().refund == D("3570.00")


def test_consultants_and_finance_propose(world: World) -> None:
    settlement = world.settlement()
    settlements.void(settlement=settlement, reason="Wrong.", by=world.finance)
    contract = settlement.contract_version
    for by in (world.signatory, world.nobody):
        with declined("settlement.not_permitted"):
            settlements.propose(contract=contract, reason="missed", by=by)
    for by in (world.finance, world.consultant, world.admin):
        with undone():
            proposed = settlements.propose(contract=contract, reason="missed", by=by)
            assert proposed.proposed_by == by


@pytest.mark.parametrize(
    ("stage", "reason", "code"),
    [
        ("offered", "missed", "settlement.contract_not_in_force"),
        ("active", "missed", "engagement.wrong_stage"),
        ("active", "time_box", "settlement.time_box_running"),
        ("active", "whim", "settlement.unknown_reason"),
        ("active", "further", "settlement.none_paid"),
        ("met", "missed", "engagement.wrong_stage"),
        ("met", "time_box", "engagement.wrong_stage"),
    ],
)
def test_nothing_is_settled_without_grounds(
    world: World, stage: str, reason: str, code: str
) -> None:
    contract = getattr(world, stage)()
    note = "More." if reason == "further" else ""
    with declined(code):
        settlements.propose(contract=contract, reason=reason, note=note, by=world.finance)
    assert not Settlement.objects.exists()


def test_the_statement_is_issued_when_it_is_paid(
    world: World,
    documents_wanted: list[tuple[str, str]],
    django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks,
) -> None:
    settlement = world.settlement()
    with django_capture_on_commit_callbacks(execute=True):
        ACTS["approve"](world, settlement, world.finance)
        for act in ("start_payment", "mark_paid", "mark_paid"):
            ACTS[act](world, settlement, world.controller)
    statements = [wanted for wanted in documents_wanted if wanted[0] == "settlement_statement"]
    assert statements == [("settlement_statement", f"settlement:{settlement.pk}")]


def test_customers_read_no_figure_that_nobody_has_approved(world: World) -> None:
    settlement = world.settlement()
    log = settlement.contract_version.engagement.events.filter(for_customer=True)
    assert not log.filter(verb__startswith="settlement.").exists()
    settlements.approve(settlement=settlement, by=world.finance)
    assert "14,280.00" in log.get(verb="settlement.approved").summary
