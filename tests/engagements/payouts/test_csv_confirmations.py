"""A CSV of the bank can be edited: its lines count once a second person confirmed the file."""

from __future__ import annotations

from decimal import Decimal

from django.conf import settings
from django.test import Client
from django.urls import reverse

from engagements.billing import bank_imports, csv_confirmations, payments, reconciliation
from engagements.billing.bank_files.csv_file import Layout
from engagements.billing.bank_models import BankImport, BankImportConfirmation
from engagements.billing.payment_models import Payment, PaymentConfirmation
from engagements.finance import approvals
from engagements.notifications.models import Mail
from engagements.payouts import bank_matching, refunds
from engagements.payouts.match_models import TransferMatch
from engagements.payouts.models import Transfer
from engagements.people.models import User
from engagements.settlements import services as settlements
from tests.database_constraints import violates
from tests.engagements.world import World, today
from tests.errors import declined

D = Decimal
LAYOUT = Layout(
    booked_on=0,
    amount=1,
    text=2,
    payer=3,
    payer_account=None,
    reference=None,
    currency_column=None,
    currency="EUR",
    date_format="%Y-%m-%d",
    decimal_mark=".",
    account=settings.BANK_ACCOUNT["iban"],
)


def csv(world: World, *entries: tuple[str, str], by: User | None = None) -> BankImport:
    """An imported CSV of (amount, text) entries of today."""
    rows = "".join(f"{today()};{amount};{text};Acme\n" for amount, text in entries)
    number = BankImport.objects.count()
    who = by or world.finance
    row = bank_imports.import_file(
        filename=f"{number}.csv", content=f"Day;Amount;Text;Payer {number}\n{rows}".encode(), by=who
    )
    return bank_imports.choose_columns(bank_import=row, layout=LAYOUT, by=who)


def sent(world: World) -> Transfer:
    """A refund that `finance` sent and `controller` approved."""
    row = settlements.approve(settlement=world.settlement(), by=world.controller)
    refunds.start_payment(settlement=row, by=world.finance)
    return row.transfers.get()


def test_a_csv_counts_once_a_second_person_confirmed_it(client: Client, world: World) -> None:
    invoice = world.invoice(world.active().milestones.get(position=1))
    row = csv(world, ("14280.00", invoice.reference))
    line, url = row.lines.get(), reverse("bank-import", args=[row.pk])
    bank_matching.match_import(bank_import=row, by=world.finance)
    mails = Mail.objects.filter(key=f"finance:bank_import:{row.pk}")
    assert [mail.recipient for mail in mails] == [world.controller.email]
    assert [each.url for each in approvals.waiting()] == [url]
    with declined("bank_file.same_person"):
        csv_confirmations.confirm(bank_import=row, by=world.finance)
    with violates("bankimportconfirmation.second_person"):
        BankImportConfirmation.objects.create(bank_import=row, confirmed_by=world.finance)
    confirm_url = reverse("bank-import-confirm", args=[row.pk])
    for who, is_offered in ((world.finance, False), (world.controller, True)):
        client.force_login(who)
        assert (confirm_url in client.get(url).content.decode()) == is_offered
        assert (
            reverse("bank-assign", args=[line.pk])
            not in client.get(reverse("bank-line", args=[line.pk])).content.decode()
        )
    for _ in range(2):
        client.post(confirm_url)
    assert BankImport.objects.get().confirmation.confirmed_by == world.controller
    assert approvals.waiting() == []
    reconciliation.assign(line=row.lines.get(), parts=[(invoice, D(14280))], by=world.finance)
    assert Payment.objects.get().is_confirmed
    assert client.get(url).status_code == client.get(reverse("bank")).status_code == 200


def test_no_line_of_an_unconfirmed_csv_moves_money(world: World) -> None:
    transfer = sent(world)
    invoice = world.invoice(world.active().milestones.get(position=1))
    keyed = payments.record(
        invoice=invoice, amount=D(500), received_on=today(), reference="K", by=world.finance
    )
    name = f"EREF+{transfer.end_to_end_id}"
    amount = f"{transfer.amount:.2f}"
    row = csv(world, ("500.00", "x"), (amount, name), (f"-{amount}", name), by=world.controller)
    bank_matching.match_import(bank_import=row, by=world.controller)
    paid, returned, executed = row.lines.order_by("position")
    for act in (
        lambda: reconciliation.assign(line=paid, parts=[(invoice, D(500))], by=world.controller),
        lambda: reconciliation.confirm_payment(line=paid, payment=keyed, by=world.controller),
        lambda: bank_matching.match(line=returned, targets=[transfer], by=world.controller),
        lambda: bank_matching.match(line=executed, targets=[transfer], by=world.controller),
    ):
        with declined("bank_file.unconfirmed"):
            act()
    with violates("payment.confirmed_file"):
        Payment.objects.create(
            **{"invoice": invoice, "amount": 500, "received_on": today(), "reference": "x"},
            **{"bank_line": paid, "recorded_by": world.controller},
        )
    with violates("paymentconfirmation.confirmed_file"):
        PaymentConfirmation.objects.create(
            payment=keyed, bank_line=paid, confirmed_by=world.controller
        )
    for kind, line in (("returned", returned), ("executed", executed)):
        with violates("transfermatch.confirmed_file"):
            TransferMatch.objects.create(
                line=line, kind=kind, transfer=transfer, amount=transfer.amount
            )
    # Once two people vouch for it, it is the bank's word; the sender still takes no return.
    csv_confirmations.confirm(bank_import=row, by=world.finance)
    with declined("refund.same_person"):
        bank_matching.match(
            line=row.lines.get(pk=returned.pk), targets=[transfer], by=world.finance
        )
    bank_matching.match(line=row.lines.get(pk=returned.pk), targets=[transfer], by=world.controller)
    transfer.refresh_from_db()
    assert transfer.outcome == "failed"


def test_equal_payments_of_one_day_are_flagged_and_kept(client: Client, world: World) -> None:
    first = csv(world, ("100.00", "rate"), ("100.00", "rate"))
    assert first.lines.count() == 2
    [alike] = csv_confirmations.alike_lines(first)
    assert (alike.count, alike.left_out) == (2, 0)
    # A later file of the same day: one more payment, or one of those again?
    second = csv(world, ("100.00", "rate"), ("7.00", "other"))
    assert (second.lines.count(), second.repeated_count) == (1, 1)
    [alike] = csv_confirmations.alike_lines(second)
    assert (alike.count, alike.left_out) == (1, 1)
    client.force_login(world.controller)
    url = reverse("bank-import-keep", args=[second.pk])
    assert url in client.get(reverse("bank-import", args=[second.pk])).content.decode()
    for _ in range(2):
        client.post(url, {"key": alike.line.key})
    assert second.lines.count() == 2
    assert csv_confirmations.alike_lines(second) == []
    # A file with all three repeats them, and adds none.
    third = csv(world, *[("100.00", "rate")] * 3)
    assert (third.lines.count(), third.repeated_count) == (0, 3)
    csv_confirmations.confirm(bank_import=third, by=world.controller)
    with declined("bank_file.confirmed"):
        csv_confirmations.keep(bank_import=third, key=alike.line.key, by=world.finance)
