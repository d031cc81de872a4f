"""Invoices are drafted without a number, issued once, and corrected by credit notes."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest
from django.db import IntegrityError, connection, transaction

from engagements import closing
from engagements.billing import credit_note_drafts, credit_notes, invoices, payments
from engagements.billing.balances import balance_of
from engagements.billing.models import Counter, Invoice, InvoiceLine
from engagements.contracts.drafting import MilestoneDraft
from engagements.contracts.milestones.models import Milestone
from engagements.ledger.models import Entry
from tests.database_constraints import violates
from tests.engagements.world import World, contract_of, today, undone
from tests.errors import declined

D = Decimal


def parts(world: World, *positions: int, **terms: Any) -> list[Milestone]:
    contract = world.active(**terms)
    return list(contract.milestones.filter(position__in=positions or (1, 2)).order_by("position"))


def milestones_of(invoice: Invoice) -> list[Milestone]:
    return list(Milestone.objects.filter(invoice_lines__invoice=invoice))


def drafted(world: World, *positions: int, **terms: Any) -> Invoice:
    return invoices.draft(milestones=parts(world, *positions, **terms), by=world.finance)


def issued(world: World, *positions: int, **terms: Any) -> Invoice:
    return invoices.issue(invoice=drafted(world, *positions, **terms), by=world.finance)


def test_a_draft_collects_several_milestones_and_takes_no_number(world: World) -> None:
    invoice = drafted(world, 1, 2)
    assert (invoice.net, invoice.tax, invoice.gross) == (D(18000), D("3420.00"), D("21420.00"))
    assert (invoice.reference, invoice.number) == ("", None)
    assert not Counter.objects.exists()
    assert {milestone.state for milestone in milestones_of(invoice)} == {"released"}


def test_issuing_numbers_dates_freezes_and_bills(world: World) -> None:
    invoice = issued(world, 1, 2)
    assert invoice.reference == f"INV-{today().year}-0001"
    assert invoice.due_on is not None
    assert invoice.issued_on is not None
    assert (invoice.due_on - invoice.issued_on).days == contract_of(invoice).payment_days
    assert invoice.frozen is not None
    assert invoice.frozen["buyer"]["name"] == "Longprompt AG"
    for milestone in milestones_of(invoice):
        assert (milestone.state, milestone.billing_reference) == ("billed", invoice.reference)
    entry = Entry.objects.get(key=f"invoice_issued:invoice:{invoice.pk}")
    assert sum(leg.amount for leg in entry.legs.all()) == 0


def test_issued_twice_it_is_the_same_invoice(world: World) -> None:
    draft = drafted(world)
    first, second = (invoices.issue(invoice=draft, by=world.finance) for _ in range(2))
    assert first.reference == second.reference
    assert first.engagement.events.filter(verb="invoice.issued").count() == 1
    assert Counter.objects.get().last == 1


def test_numbers_restart_each_year(world: World, on_day: Callable[[dt.date], None]) -> None:
    year = today().year
    first, second, third = (drafted(world, 1) for _ in range(3))
    on_day(dt.date(year, 12, 31))
    invoices.issue(invoice=first, by=world.finance)
    invoices.issue(invoice=second, by=world.finance)
    on_day(dt.date(year + 1, 1, 1))
    last = invoices.issue(invoice=third, by=world.finance)
    references = list(
        Invoice.objects.order_by("issued_at", "number").values_list("reference", flat=True)
    )
    assert references == [f"INV-{year}-0001", f"INV-{year}-0002", f"INV-{year + 1}-0001"]
    assert last.issued_on == dt.date(year + 1, 1, 1)


def test_a_failed_issue_uses_no_number(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    draft, other = drafted(world, 1), drafted(world, 1)
    with monkeypatch.context() as patched:
        patched.setattr(invoices.postings, "invoice_issued", lambda invoice: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            invoices.issue(invoice=draft, by=world.finance)
    assert invoices.issue(invoice=other, by=world.finance).number == 1
    assert invoices.issue(invoice=draft, by=world.finance).number == 2


def test_a_discarded_draft_leaves_no_gap(world: World) -> None:
    draft = drafted(world, 1)
    for _ in range(2):
        invoices.discard(invoice=draft, by=world.finance)
    assert issued(world, 1).number == 1
    with declined("invoice.discarded"):
        invoices.issue(invoice=draft, by=world.finance)


def test_released_milestones_of_one_engagement_are_drafted_once(world: World) -> None:
    contract = world.active()
    signed, audit, target = contract.milestones.filter(position__lte=3).order_by("position")
    with declined("invoice.milestone_not_released"):
        invoices.draft(milestones=[target], by=world.finance)
    with declined("invoice.several_engagements"):
        invoices.draft(milestones=[signed, *parts(world, 1)], by=world.finance)
    with declined("invoice.several_engagements"):
        invoices.draft(milestones=[], by=world.finance)
    draft = invoices.draft(milestones=[signed], by=world.finance)
    assert invoices.draft(milestones=[signed], by=world.finance) == draft
    with declined("invoice.milestone_drafted"):
        invoices.draft(milestones=[signed, audit], by=world.finance)
    invoices.issue(invoice=draft, by=world.finance)
    with declined("invoice.milestone_billed"):
        invoices.draft(milestones=[signed], by=world.finance)


def test_a_void_milestone_is_not_billed(world: World) -> None:
    contract = world.active()
    draft = invoices.draft(milestones=[contract.milestones.get(position=1)], by=world.finance)
    world.conclude(world.request(contract), "missed")
    with declined("invoice.milestone_not_released"):
        invoices.issue(invoice=draft, by=world.finance)
    assert not Counter.objects.exists()


def test_only_finance_drafts_issues_discards_and_credits(world: World) -> None:
    milestones = parts(world, 1)
    draft = invoices.draft(milestones=milestones, by=world.finance)
    other = issued(world, 1)
    for by in (world.consultant, world.admin, world.signatory, world.nobody):
        for act in (
            lambda by=by: invoices.draft(milestones=milestones, by=by),
            lambda by=by: invoices.issue(invoice=draft, by=by),
            lambda by=by: invoices.discard(invoice=draft, by=by),
            lambda by=by: credit_note_drafts.draft(invoice=other, reason="No.", by=by),
        ):
            with declined("access.finance_only"):
                act()


def test_a_partial_credit_starts_with_the_last_line(world: World) -> None:
    invoice = issued(world, 1, 2)
    note = credit_notes.credit(invoice=invoice, net=D("7000"), reason="Late.")
    assert note.reference == f"CN-{today().year}-0001"
    credited = [(line.title, line.net, line.tax) for line in note.lines.all()]
    assert credited == [("Signature", D(1000), D("190.00")), ("Audit", D(6000), D("1140.00"))]
    assert balance_of(invoice).open_amount == D("13090.00")
    states = [milestone.state for milestone in milestones_of(invoice)]
    assert states == ["billed", "void"]


def test_no_more_is_credited_than_was_invoiced(world: World) -> None:
    invoice = issued(world, 1)
    credit_notes.credit(invoice=invoice, net=D("11999.99"), reason="Most.")
    with declined("credit_note.too_much"):
        credit_notes.credit(invoice=invoice, net=D("0.02"), reason="More.")
    rest = credit_notes.credit(invoice=invoice, reason="The rest.")
    assert rest.net == D("0.01")
    assert balance_of(invoice).open_amount == 0
    with declined("credit_note.fully_credited"):
        credit_notes.credit(invoice=invoice, reason="Again.")
    other = issued(world, 1)
    for net in (D(0), D(-1)):
        with declined("credit_note.not_positive"):
            credit_notes.credit(invoice=other, net=net, reason="Nothing.")


def test_the_remainder_of_a_credited_line_keeps_its_tax(world: World) -> None:
    part = MilestoneDraft("All", D("100.05"), "signed")
    invoice = issued(world, 1, fee=D("100.05"), audit_cost=D(1), milestones=[part])
    credit_notes.credit(invoice=invoice, net=D("33.35"), reason="A third.")
    notes = balance_of(invoice).credited
    assert invoice.gross - notes == D("66.70") + D("12.67")


def test_a_repeated_credit_is_the_same_note(world: World) -> None:
    invoice = issued(world, 1)
    request: dict[str, Any] = {
        "invoice": invoice,
        "net": D(10),
        "reason": "A discount.",
        "by": world.finance,
    }
    first = credit_note_drafts.draft(expected_credited=D(0), **request)
    assert credit_note_drafts.draft(expected_credited=D(0), **request) == first
    with declined("credit_note.stale"):
        credit_note_drafts.draft(expected_credited=D(0), **(request | {"net": D(20)}))
    assert credit_note_drafts.draft(expected_credited=D(10), **request) != first


def test_only_an_issued_invoice_is_credited(world: World) -> None:
    invoice = issued(world, 1)
    note = credit_notes.credit(invoice=invoice, reason="Wrong.")
    for wrong in (note, drafted(world, 1)):
        with declined("credit_note.not_an_issued_invoice"):
            credit_notes.credit(invoice=wrong, reason="Wrong.")


def test_an_unpaid_invoice_is_credited_and_billed_again(world: World) -> None:
    invoice = issued(world, 1)
    credit_notes.credit(invoice=invoice, reason="Old address.", bill_again=True)
    milestone = Milestone.objects.get(invoice_lines__invoice=invoice, position=1)
    assert (milestone.state, milestone.billing_reference) == ("released", "")
    assert world.invoice(milestone).number == 2


def test_a_credited_payment_stays_received(world: World) -> None:
    invoice = issued(world, 1)
    payments.record(
        invoice=invoice, amount=D("14280"), received_on=today(), reference="P", by=world.finance
    )
    with declined("credit_note.invoice_paid"):
        credit_notes.credit(invoice=invoice, reason="No.", bill_again=True)
    credit_notes.credit(invoice=invoice, reason="Waived.")
    assert balance_of(invoice).open_amount == D("-14280.00")


def sql(statement: str, *values: Any) -> None:
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(statement, values)
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE engagements_invoice SET gross = 1, net = 1, tax = 0",
        "UPDATE engagements_invoice SET frozen = '{}'",
        "DELETE FROM engagements_invoiceline",
        "UPDATE engagements_invoiceline SET title = 'Another'",
        "UPDATE engagements_counter SET last = 7",
        "UPDATE engagements_counter SET last = last + 1",
        "DELETE FROM engagements_counter",
    ],
)
def test_issued_documents_are_immutable_in_the_database(world: World, statement: str) -> None:
    issued(world, 1)
    with pytest.raises(IntegrityError):
        sql(statement)
    with undone(), pytest.raises(IntegrityError):
        Invoice.objects.all().delete()


def test_the_database_refuses_gaps_and_double_billing(world: World) -> None:
    first, draft = issued(world, 1), drafted(world, 1)
    say = (
        "UPDATE engagements_invoice SET state = 'issued', series = 'INV', year = %s, number = %s, "
        "reference = 'X', issued_on = %s, due_on = %s, issued_at = now(), frozen = '{}' "
        "WHERE id = %s"
    )
    for number in (1, 2, 3):
        with pytest.raises(IntegrityError):
            sql(say, first.year, number, today(), today(), draft.pk)
    line = first.lines.get()
    copy = InvoiceLine(
        invoice=draft,
        position=2,
        milestone=line.milestone,
        title="Again",
        net=1,
        tax=0,
        tax_rate_percent=0,
    )
    with violates("invoiceline.engagement"):
        copy.save()


def test_a_cancelled_engagement_is_credited_in_full(world: World) -> None:
    contract = world.active()
    signed, audit = contract.milestones.filter(position__lte=2).order_by("position")
    invoice = world.invoice(signed)
    invoices.draft(milestones=[audit], by=world.finance)
    closing.cancel(engagement=contract.engagement, reason="Sold.", by=world.consultant)
    assert balance_of(invoice).open_amount == 0
    assert "Sold." in invoice.credit_notes.get().reason
    assert not Invoice.objects.filter(state="draft").exists()
    assert {row.state for row in contract.milestones.all()} == {"void"}


def test_reverse_charge_requires_a_vat_id(world: World) -> None:
    contract = world.active(
        tax_rate_percent=D(0), tax_treatment="reverse_charge", tax_note="Reverse charge."
    )
    parts = [contract.milestones.get(position=1)]
    drafted = invoices.draft(milestones=parts, by=world.finance)
    assert invoices.preview(invoice=drafted).blocking_reason
    with declined("invoice.no_vat_id"):
        invoices.issue(invoice=drafted, by=world.finance)
    world.customer.vat_id = "FR40303265045"
    world.customer.save()
    assert invoices.issue(invoice=drafted, by=world.finance).is_issued
