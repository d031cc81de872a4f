"""Money moves by two people: services decline one, and the database refuses it."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal

import pytest
from django.conf import LazySettings
from django.core import management
from django.db import connection
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from engagements import closing
from engagements.billing import line_proposals, payments, reconciliation
from engagements.billing.payment_models import Payment, PaymentConfirmation
from engagements.finance import grants
from engagements.notifications.models import Mail
from engagements.payouts import overpayment_refunds, refund_accounts, refunds, transfer_files
from engagements.payouts.models import Transfer
from engagements.payouts.overpayment_models import OverpaymentRefund
from engagements.people import bank_accounts
from engagements.people.bank_accounts import BankAccount, BankAccountConfirmation
from engagements.people.models import Role, User
from engagements.settlements import services as settlements
from engagements.settlements.models import Settlement
from tests.database_constraints import violates, write
from tests.engagements.billing.test_reversals import line_of
from tests.engagements.proofs.test_raw_sql import ROLE, make_the_role
from tests.engagements.sessions import sign_in
from tests.engagements.world import World, contract_of, person, today
from tests.errors import declined

IBAN = "DE02120300000000202051"
OTHER_IBAN = "DE89370400440532013000"


def keyed(world: World, amount: Decimal | None = None, by: User | None = None) -> Payment:
    """A payment of a contract in force that one person of finance keyed by hand."""
    invoice = world.invoice(world.active().milestones.get(position=1))
    return payments.record(
        invoice=invoice,
        amount=amount or invoice.gross,
        received_on=today(),
        reference="P-1",
        by=by or world.finance,
        may_exceed=True,
    )


def missed(world: World, payment: Payment) -> Settlement:
    contract = contract_of(payment.invoice)
    world.conclude(world.request(contract), "missed")
    return Settlement.objects.get(contract_version=contract)


def account_of(world: World, by: User, iban: str = IBAN) -> BankAccount:
    return refund_accounts.add(
        customer=world.customer, holder="Longprompt AG", iban=iban, bic="", by=by
    )


def approved(world: World, by: User | None = None) -> Settlement:
    return settlements.approve(settlement=world.settlement(), by=by or world.finance)


def test_a_keyed_payment_is_refunded_only_after_a_second_person_confirmed_it(
    world: World,
) -> None:
    payment = keyed(world)
    settlement = missed(world, payment)
    with declined("payment.unconfirmed"):
        settlements.approve(settlement=settlement, by=world.controller)
    with declined("payment.same_person"):
        payments.confirm(payment=payment, by=world.finance)
    with violates("paymentconfirmation.second_person"):
        PaymentConfirmation.objects.create(payment=payment, confirmed_by=world.finance)
    write(settlement, state="approved", approved_by=world.controller, approved_at=timezone.now())
    with violates("settlement.refund_limit"):
        write(settlement, state="paying")
    payments.confirm(payment=payment, by=world.controller)
    write(settlement, state="paying")


def test_a_bank_line_confirms_a_keyed_payment_and_is_not_received_twice(world: World) -> None:
    payment = keyed(world)
    line = line_of(world, payment.amount, text=payment.invoice.reference)
    [proposal] = line_proposals.proposals([line])
    assert not proposal.parts
    for _ in range(2):
        reconciliation.confirm_payment(line=line, payment=payment, by=world.finance)
    assert Payment.objects.select_related("confirmation").get().is_confirmed
    with violates("payment.bank_line"):
        Payment.objects.create(
            invoice=payment.invoice,
            amount=payment.amount,
            received_on=today(),
            reference="again",
            bank_line=line,
            recorded_by=world.finance,
        )


def test_the_approver_does_not_pay(world: World) -> None:
    row = approved(world)
    for act in (
        lambda: refunds.start_payment(settlement=row, by=world.finance),
        lambda: refunds.mark_paid(settlement=row, reference="R", by=world.finance),
    ):
        with declined("refund.same_person"):
            act()
    started = refunds.start_payment(settlement=row, by=world.controller)
    with declined("refund.same_person"):
        refunds.mark_paid(settlement=started, reference="R", by=world.finance)
    with violates("settlement.paid_by_another"):
        write(
            row,
            state="paid",
            paid_by=world.finance,
            paid_at=timezone.now(),
            payment_reference="R",
        )
    other = approved(world)
    with violates("transfer.started_by_another"):
        Transfer.objects.create(
            settlement=other,
            attempt=1,
            method="by_hand",
            amount=other.refund,
            currency=other.currency,
            end_to_end_id="X",
            started_by=world.finance,
        )


def test_the_person_who_set_the_refund_account_neither_approves_nor_pays(world: World) -> None:
    third = person("Theo", Role.FINANCE)
    settlement = world.settlement()
    account = account_of(world, world.finance)
    with declined("settlement.set_account"):
        settlements.approve(settlement=settlement, by=world.finance)
    with violates("settlement.approved_by_another"):
        write(settlement, state="approved", approved_by=world.finance, approved_at=timezone.now())
    row = settlements.approve(settlement=settlement, by=world.controller)
    with declined("refund_account.same_person"):
        refunds.start_payment(settlement=row, by=world.finance)
    refund_accounts.confirm(account=account, by=world.signatory)
    with declined("refund_account.same_person"):
        transfer_files.make(settlements=[row], message_id="A-1", by=world.finance)
    # Whoever approved and changed the account afterwards has approved in vain.
    account_of(world, world.controller, OTHER_IBAN)
    with declined("refund_account.same_person"):
        refunds.start_payment(settlement=row, by=third)
    common = {
        "settlement": row,
        "attempt": 1,
        "amount": row.refund,
        "currency": row.currency,
        "end_to_end_id": "X",
        "method": "by_hand",
        "account": account,
        "started_by": third,
    }
    with violates("transfer.approver_set_account"):
        Transfer.objects.create(**common, iban=IBAN)
    with violates("transfer.account"):
        Transfer.objects.create(**common, iban=OTHER_IBAN, payee="X")


def test_an_overpayment_is_sent_by_two_people_and_only_when_it_is_confirmed(
    world: World,
) -> None:
    payment = keyed(world, Decimal(20000))
    invoice, over = payment.invoice, Decimal(100)
    with declined("payment.unconfirmed"):
        overpayment_refunds.propose(invoice=invoice, amount=over, by=world.finance)
    with violates("payment.overpayment"):
        Payment.objects.create(
            invoice=invoice,
            kind="paid_back",
            amount=-over,
            received_on=today(),
            reference="out",
            recorded_by=world.finance,
        )
    payments.confirm(payment=payment, by=world.controller)
    row = overpayment_refunds.propose(invoice=invoice, amount=over, by=world.finance)
    account_of(world, world.controller)
    with declined("refund_account.same_person"):
        overpayment_refunds.send(refund=row, by=world.controller)
    for by in (world.controller, world.finance):
        with violates("overpaymentrefund.sent_by_another"):
            OverpaymentRefund.objects.filter(pk=row.pk).update(sent_by=by)


def test_a_new_refund_account_needs_confirmation_and_a_waiting_period(
    client: Client, world: World, settings: LazySettings
) -> None:
    settings.REFUND_ACCOUNT_WAIT = timedelta(days=3)
    row, third = approved(world, world.controller), person("Theo", Role.FINANCE)
    reference = row.contract_version.engagement.reference
    account = account_of(world, third)
    url = reverse("portal-refund-account", args=[reference])
    assert transfer_files.blocking_reason(row)
    # Nor by hand, which names no account.
    with declined("refund_account.waiting"):
        refunds.mark_paid(settlement=row, reference="R", by=world.finance)
    with violates("transfer.account"):
        Transfer.objects.create(
            settlement=row,
            attempt=1,
            method="by_hand",
            amount=row.refund,
            currency=row.currency,
            end_to_end_id="X",
            started_by=world.finance,
        )
    for who, status in (("stranger", 404), ("viewer", 403)):
        sign_in(client, getattr(world, who))
        assert client.post(url, {"account": account.pk}).status_code == status
    with declined("access.signatories_only"):
        refund_accounts.confirm(account=account, by=world.finance)
    with violates("bankaccountconfirmation.signatory"):
        BankAccountConfirmation.objects.create(
            account=account, confirmed_by=world.finance, usable_from=timezone.now()
        )
    sign_in(client, world.signatory)
    assert f'value="{account.pk}"' in client.get(url).content.decode()
    assert client.post(url, {"account": account.pk}).status_code == 302
    with declined("refund_account.waiting"):
        refunds.start_payment(settlement=row, by=world.finance)
    with violates("transfer.account"):
        Transfer.objects.create(
            settlement=row,
            attempt=1,
            method="by_hand",
            amount=row.refund,
            currency=row.currency,
            iban=IBAN,
            account=account,
            end_to_end_id="X",
            started_by=world.finance,
        )
    verbs = row.contract_version.engagement.events.filter(verb__startswith="refund_account.")
    assert {event.verb for event in verbs} == {
        "refund_account.proposed",
        "refund_account.confirmed",
    }
    story = set(Mail.objects.filter(key=f"account:{account.pk}:confirmed").values_list("recipient"))
    assert {(world.signatory.email,), (world.controller.email,)} <= story


def test_an_account_changed_after_every_engagement_ended_is_logged_and_mailed(
    world: World,
) -> None:
    customer, signatory = world.company("Done AG", "Dora")
    engagement = world.scoping(customer=customer)
    closing.cancel(engagement=engagement, reason="Sold.", by=world.consultant)
    account = refund_accounts.add(
        customer=customer, holder="Done AG", iban=IBAN, bic="", by=signatory
    )
    verbs = engagement.events.filter(verb__startswith="refund_account.").order_by("position")
    assert [event.verb for event in verbs] == [
        "refund_account.proposed",
        "refund_account.confirmed",
    ]
    mails = Mail.objects.filter(key=f"account:{account.pk}:confirmed")
    assert {signatory.email, world.finance.email} <= set(mails.values_list("recipient", flat=True))


def test_the_payer_s_own_account_is_proposed_by_the_bank_line(world: World) -> None:
    invoice = world.invoice(world.active().milestones.get(position=1))
    line = line_of(world, invoice.gross, payer="Longprompt AG", payer_account=IBAN)
    reconciliation.assign(line=line, parts=[(invoice, invoice.gross)], by=world.finance)
    account = BankAccount.objects.get()
    assert (account.iban, account.added_by, account.bank_line) == (IBAN, None, line)
    assert bank_accounts.current(world.customer) is None
    assert refund_accounts.proposed(world.customer) == account


def test_an_admin_and_two_people_of_finance_give_the_finance_role(
    client: Client, world: World
) -> None:
    with declined("finance_grant.own_role"):
        grants.propose(user=world.admin, by=world.admin)
    grant = grants.propose(user=world.nobody, by=world.admin)
    for by, code in (
        (world.admin, "finance_grant.not_permitted"),
        (world.nobody, "finance_grant.not_permitted"),
        (world.consultant, "finance_grant.not_permitted"),
    ):
        with declined(code):
            grants.confirm(grant=grant, by=by)
    with violates("financegrant.confirmed_by_finance"):
        write(grant, confirmed_by=world.admin, confirmed_at=timezone.now())
    other_admin = person("Alma", Role.ADMIN)
    for by in (world.consultant, other_admin):
        with violates("financegrant.confirmed_by_finance"):
            write(grant, confirmed_by=by, confirmed_at=timezone.now())
    grant = grants.confirm(grant=grant, by=world.finance)
    assert grants.confirm(grant=grant, by=world.finance).granted_by is None
    for by, code in (
        (world.finance, "financegrant.granted_by_another"),
        (other_admin, "financegrant.confirmed_by_finance"),
    ):
        with violates(code):
            write(grant, granted_by=by, granted_at=timezone.now())
    assert User.objects.get(pk=world.nobody.pk).role == Role.NONE
    make_the_role()
    with connection.cursor() as cursor:
        cursor.execute(f'SET LOCAL SESSION AUTHORIZATION "{ROLE}"')
    with violates("user.finance_by_two"):
        write(world.consultant, role=Role.FINANCE)
    with violates("user.finance_by_two"):
        person("Nadia", Role.FINANCE)
    sign_in(client, world.controller)
    client.post(reverse("finance-people"), {"grant": grant.pk})
    assert User.objects.get(pk=world.nobody.pk).role == Role.FINANCE
    # With a new address somebody else would sign in as this person.
    with violates("user.finance_by_two"):
        write(world.nobody, email="else@example.com")


def test_the_owner_of_the_database_makes_the_first_people_of_finance(world: World) -> None:
    management.call_command("finance_people", world.nobody.email)
    assert User.objects.get(pk=world.nobody.pk).role == Role.FINANCE
    with pytest.raises(management.CommandError):
        management.call_command("finance_people", "no@example.com")
