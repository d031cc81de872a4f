"""No one person, and no pair without the rights, moves money out, in any order of steps.

Steps that are declined change nothing, so a search over the steps that succeed covers every order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Any, Protocol

import pytest
from django.core.exceptions import ObjectDoesNotExist
from django.db import transaction
from django.utils import timezone

from engagements.billing import csv_confirmations, payments, reconciliation, write_offs
from engagements.billing.bank_models import BankImportConfirmation, BankLine
from engagements.billing.models import Invoice
from engagements.billing.payment_models import Payment
from engagements.billing.reversal_models import PaymentReversal
from engagements.billing.write_off_models import WriteOff
from engagements.charges import services as charges
from engagements.charges.models import Charge
from engagements.common.errors import ApplicationError
from engagements.contracts.milestones import services as milestones
from engagements.customers import services as customers
from engagements.finance import grants
from engagements.ledger.period_models import Period, PeriodReopening
from engagements.payouts import (
    bank_matching,
    overpayment_refunds,
    refund_accounts,
    refunds,
    transfer_files,
)
from engagements.payouts.models import Transfer
from engagements.payouts.overpayment_models import OverpaymentRefund
from engagements.people.approval_models import FinanceGrant
from engagements.people.bank_accounts import BankAccount, BankAccountConfirmation
from engagements.people.models import Membership, Role, User
from engagements.settlements import services as settlements
from engagements.settlements.models import Settlement
from tests.database_constraints import violates, write
from tests.engagements.billing.test_bank_imports import imported, statement
from tests.engagements.payouts.test_csv_confirmations import csv
from tests.engagements.world import (
    World,
    contract_of,
    person,
    today,
    undone,
)
from tests.errors import declined

IBAN = "DE02120300000000202051"
Steps = dict[str, Callable[[User], Any]]


class Scene:
    """A missed contract with an invented payment, and an invoice overpaid by an invented one."""

    def __init__(self, world: World, thief: User) -> None:
        self.world = world
        missed, over = (world.invoice(world.active().milestones.get(position=1)) for _ in range(2))
        self.first = self._invent(missed, Decimal(0), thief)
        self.second = self._invent(over, Decimal(720), thief)
        self.over = over
        self.file = csv(world, (f"{missed.gross:.2f}", missed.reference), by=thief)
        world.conclude(world.request(contract_of(missed)), "missed")
        self.settlement = Settlement.objects.get(contract_version=contract_of(missed))

    @staticmethod
    def _invent(invoice: Invoice, more: Decimal, by: User) -> Payment:
        return payments.record(
            invoice=invoice,
            amount=invoice.gross + more,
            received_on=today(),
            reference="INVENTED",
            by=by,
            may_exceed=True,
        )

    def steps(self) -> Steps:
        """What could bring the money nearer to leaving."""
        row, world = self.settlement, self.world
        return {
            "confirm refunded payment": lambda by: payments.confirm(payment=self.first, by=by),
            "confirm overpayment": lambda by: payments.confirm(payment=self.second, by=by),
            "confirm forged CSV": lambda by: csv_confirmations.confirm(
                bank_import=self.file, by=by
            ),
            "confirm by forged CSV": lambda by: reconciliation.confirm_payment(
                line=self.file.lines.get(), payment=self.first, by=by
            ),
            "set account": lambda by: refund_accounts.add(
                customer=world.customer, holder=by.name, iban=IBAN, bic="", by=by
            ),
            "confirm account": lambda by: refund_accounts.confirm(
                account=BankAccount.objects.latest("pk"), by=by
            ),
            "approve": lambda by: settlements.approve(settlement=row, by=by),
            "start": lambda by: refunds.start_payment(settlement=row, by=by),
            "make file": lambda by: transfer_files.make(
                settlements=[row], message_id=f"F-{by.pk}", by=by
            ),
            "mark as failed": lambda by: refunds.mark_failed(settlement=row, reason="x", by=by),
            "mark as paid": lambda by: refunds.mark_paid(settlement=row, reference="R", by=by),
            "propose overpayment": lambda by: overpayment_refunds.propose(
                invoice=self.over, amount=Decimal(720), by=by
            ),
            "send overpayment": lambda by: overpayment_refunds.send(
                refund=OverpaymentRefund.objects.latest("pk"), by=by
            ),
            "take the finance role": lambda by: grants.propose(user=by, by=by),
            "appoint a person of straw": lambda by: grants.propose(user=world.nobody, by=by),
            "confirm the finance role": lambda by: grants.confirm(
                grant=FinanceGrant.objects.latest("pk"), by=by
            ),
        }

    def has_left(self) -> bool:
        """Whether any money is on its way or gone."""
        return (
            Transfer.objects.exists()
            or Payment.objects.filter(kind=Payment.Kind.PAID_BACK).exists()
            or Settlement.objects.filter(state__in=["paying", "paid"], refund__gt=0).exists()
        )


def marks() -> frozenset[str]:
    """What has happened so far, so that each state is searched once."""
    return frozenset(
        [
            *(f"payment {pk}" for pk in _keys(Payment, confirmation__isnull=False)),
            *(f"file {key}" for key in _keys(BankImportConfirmation)),
            *(f"account {pk} {by}" for pk, by in BankAccount.objects.values_list("pk", "added_by")),
            *(f"settlement {s} {by}" for s, by in _rows(Settlement, "state", "approved_by")),
            *(f"refund {s} {by}" for s, by in _rows(OverpaymentRefund, "state", "proposed_by")),
            *(f"write-off {row}" for row in _rows(WriteOff, "state", "proposed_by")),
            *(f"reversal {row}" for row in _rows(PaymentReversal, "state", "proposed_by")),
            *(f"month {row}" for row in _rows(Period, "state", "proposed_by")),
            *(f"reopening {row}" for row in _rows(PeriodReopening, "state", "proposed_by")),
            *(f"line {row}" for row in _rows(BankLine, "state")),
            *(
                f"invoice {row}"
                for row in _rows(Invoice, "kind", "state", "net", "drafted_by", "issued_by")
            ),
            # By address: what was undone and is done again has another key.
            *(
                f"member {row}"
                for row in _rows(Membership, "user__email", "rights", "is_independent")
            ),
            *(f"charge {row}" for row in _rows(Charge, "kind", "state", "proposed_by")),
            *(f"grant {row}" for row in _rows(FinanceGrant, "user", "confirmed_by", "granted_by")),
        ]
    )


def _keys(model: Any, **found: Any) -> Iterator[int]:
    return iter(model.objects.filter(**found).values_list("pk", flat=True))


def _rows(model: Any, *names: str) -> Iterator[Any]:
    return iter(model.objects.values_list(*names))


class Wanted(Protocol):
    """What thieves want, and the steps that could bring them nearer to it."""

    def steps(self) -> Steps: ...

    def has_left(self) -> bool: ...


def thefts(
    scene: Wanted, people: list[User], seen: set[frozenset[str]], way: list[str]
) -> list[str]:
    """The first way, in steps, by which money leaves; [] where there is none."""
    for name, step in scene.steps().items():
        for by in people:
            with undone():
                try:
                    with transaction.atomic():
                        # Their role may have changed.
                        step(User.objects.get(pk=by.pk))
                except (ApplicationError, ObjectDoesNotExist):
                    continue
                taken = [*way, f"{by.name}: {name}"]
                if scene.has_left():
                    return taken
                state = marks()
                if state not in seen:
                    seen.add(state)
                    found = thefts(scene, people, seen, taken)
                    if found:
                        return found
    return []


@pytest.mark.parametrize(
    "names",
    [
        # A pair covers each of the two alone.
        ["finance", "consultant"],
        ["consultant", "admin"],
        *(
            pytest.param(names, marks=pytest.mark.soak)
            for names in (
                ["finance"],
                ["consultant"],
                ["admin"],
                ["finance", "admin"],
                ["admin", "second admin"],
            )
        ),
    ],
    ids=" and ".join,
)
def test_no_money_leaves_by_one_person_or_by_a_pair_outside_finance(
    world: World, names: list[str]
) -> None:
    scene = Scene(world, thief=world.finance)
    people = [_person(world, name) for name in names]
    # Somebody outside who acts as the thieves say, once they appointed them.
    people.append(world.nobody)
    assert not scene.has_left()
    assert thefts(scene, people, {marks()}, []) == []


def _person(world: World, name: str) -> User:
    return person("Alma", Role.ADMIN) if name == "second admin" else getattr(world, name)


def propose_write_off(invoice: Invoice, amount: str, by: User) -> WriteOff:
    return write_offs.propose(
        invoice=invoice, kind="bad_debt", amount=Decimal(amount), reason="x", by=by
    )


def test_two_people_of_finance_send_what_the_rules_name(world: World) -> None:
    scene = Scene(world, thief=world.finance)
    # The control: without it the searches above would prove nothing.
    steps = scene.steps()
    steps["confirm refunded payment"](world.controller)
    steps["approve"](world.finance)
    steps["start"](world.controller)
    assert scene.has_left()


class Again(Scene):
    """A refund that two people sent, and that the sender would like to send again."""

    def __init__(self, world: World, sender: User, approver: User) -> None:
        super().__init__(world, thief=approver)
        payments.confirm(payment=self.first, by=sender)
        settlements.approve(settlement=self.settlement, by=approver)
        refunds.start_payment(settlement=self.settlement, by=sender)
        # A customer's payment of the same amount, which a thief could take for a return.
        self.line = imported(world, statement((f"{self.settlement.refund:.2f}", "x"))).lines.get()

    def steps(self) -> Steps:
        every = super().steps() | {
            "match as return": lambda by: bank_matching.match(
                line=self.line, targets=[Transfer.objects.get()], by=by
            )
        }
        names = (
            *("approve", "start", "make file", "mark as failed", "mark as paid", "set account"),
            "match as return",
        )
        return {name: every[name] for name in names}

    def has_left(self) -> bool:
        return Transfer.objects.count() > 1


def test_the_sender_of_a_refund_cannot_resend_it_alone(world: World) -> None:
    scene = Again(world, sender=world.controller, approver=world.finance)
    people = [world.controller, world.consultant]
    assert thefts(scene, people, {marks()}, []) == []
    transfer = Transfer.objects.get()
    ended = {"outcome": "failed", "ended_at": timezone.now(), "failure_reason": "x"}
    with violates("transfer.failed_by_another"):
        write(transfer, failed_by=world.controller, **ended)
    refunds.mark_failed(settlement=scene.settlement, reason="x", by=world.finance)
    refunds.start_payment(settlement=scene.settlement, by=world.controller)
    assert scene.has_left()


class Redirect(Scene):
    """The same refund, which honest people of finance will send to the customer's account."""

    def steps(self) -> Steps:
        world = self.world
        own = Membership.objects.filter(customer=world.customer)
        return {
            "appoint a straw": lambda by: self._appoint("straw", by),
            "let the straw appoint another": lambda by: self._appoint("next", self._as_straw(by)),
            "make a viewer a signatory": lambda by: customers.change_rights(
                membership=own.get(user=world.viewer), rights="signatory", by=by
            ),
            "remove the signatory": lambda by: customers.remove(
                membership=own.get(user=world.signatory), by=by
            ),
            "set account": lambda by: refund_accounts.add(
                customer=world.customer, holder="Thief", iban=IBAN, bic="", by=self._as_straw(by)
            ),
            "confirm account": lambda by: refund_accounts.confirm(
                account=BankAccount.objects.latest("pk"), by=self._as_straw(by)
            ),
        }

    def _appoint(self, name: str, by: User) -> Membership:
        return customers.invite(
            customer=self.world.customer,
            email=f"{name}@example.com",
            name=name,
            rights="signatory",
            by=by,
        )

    def _as_straw(self, by: User) -> User:
        """Who acts for the thieves: a signatory whom they appointed, the last one, if any."""
        appointed = User.objects.filter(
            email__in=["straw@example.com", "next@example.com"]
        ) | User.objects.filter(pk=self.world.viewer.pk, memberships__rights="signatory")
        return appointed.order_by("-pk").first() or by

    def has_left(self) -> bool:
        return BankAccountConfirmation.objects.filter(account__iban=IBAN).exists()


def test_no_admin_and_no_consultant_redirects_a_refund(world: World) -> None:
    scene = Redirect(world, thief=world.finance)
    people = [world.admin, world.consultant]
    assert thefts(scene, people, {marks()}, []) == []
    # The control: the customer's own signatories do.
    own = world.also_signs("Sam")
    assert thefts(scene, [own], {marks()}, []) != []


def test_who_confirmed_the_account_for_the_customer_moves_no_money_to_it(world: World) -> None:
    scene = Scene(world, thief=world.controller)
    payments.confirm(payment=scene.first, by=world.finance)
    sam = world.also_signs("Sam")
    refund_accounts.add(customer=world.customer, holder="S", iban=IBAN, bic="", by=world.controller)
    refund_accounts.confirm(account=BankAccount.objects.get(), by=sam)
    # Sam joins the consultancy, and two people of finance give the role.
    sam.role = Role.FINANCE
    sam.save()
    with declined("settlement.set_account"):
        settlements.approve(settlement=scene.settlement, by=sam)
    with violates("settlement.approved_by_another"):
        write(scene.settlement, state="approved", approved_by=sam, approved_at=timezone.now())


def test_the_sender_of_an_overpayments_refund_does_not_record_its_failure(world: World) -> None:
    invoice, sender = world.overpaid(Decimal(9)), world.controller
    row = overpayment_refunds.propose(invoice=invoice, amount=Decimal(9), by=world.finance)
    overpayment_refunds.send(refund=row, by=sender)
    row.refresh_from_db()
    with declined("refund.same_person"):
        overpayment_refunds.mark_failed(refund=row, reason="x", by=sender)
    overpayment_refunds.mark_paid(refund=row, reference="R", by=sender)
    with declined("refund.same_person"):
        overpayment_refunds.record_return(refund=row, reason="x", by=sender)
    with violates("overpaymentrefund.failed_by_another"):
        row.refresh_from_db()
        write(row, state="failed", ended_by=sender, end_reason="x", reference="")
    overpayment_refunds.record_return(refund=row, reason="x", by=world.finance)


class Charged:
    """A contract with maintenance that was handed over."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.maintained = world.met(maintenance_fee=Decimal(1000)).engagement
        milestones.accept_handover(engagement=self.maintained, by=world.signatory)

    def steps(self) -> Steps:
        """What could bring a charge nearer to its approval."""
        return {
            "propose": lambda by: charges.propose_maintenance(
                engagement=self.maintained,
                month=today(),
                amount=Decimal(1000),
                reason="x",
                by=by,
            ),
            "approve": lambda by: charges.approve(charge=Charge.objects.latest("pk"), by=by),
            "void": lambda by: charges.void(charge=Charge.objects.latest("pk"), reason="x", by=by),
            "take the finance role": lambda by: grants.propose(user=by, by=by),
            "confirm the finance role": lambda by: grants.confirm(
                grant=FinanceGrant.objects.latest("pk"), by=by
            ),
        }

    def has_left(self) -> bool:
        return Charge.objects.filter(state="approved").exists()


@pytest.mark.parametrize("names", [["finance"], ["consultant", "admin"]], ids=" and ".join)
def test_no_charge_is_approved_by_one_person_or_outside_finance(
    world: World, names: list[str]
) -> None:
    scene = Charged(world)
    assert thefts(scene, [_person(world, name) for name in names], {marks()}, []) == []
    scene.steps()["propose"](world.finance)
    scene.steps()["approve"](world.controller)
    assert scene.has_left()
