"""Above the limit, one person drafts a credit note and another issues it."""

from __future__ import annotations

from decimal import Decimal

from django.utils import timezone

from engagements.billing import credit_note_drafts, credit_notes, invoices, issuing
from engagements.billing.balances import balance_of
from engagements.billing.models import Invoice
from tests.database_constraints import violates
from tests.engagements.world import World
from tests.errors import declined

D = Decimal


def invoiced(world: World) -> Invoice:
    """An invoice of EUR 14,280.00."""
    return world.invoice(world.active().milestones.get(position=1))


def drafted(world: World, invoice: Invoice, net: str, *, bill_again: bool = False) -> Invoice:
    amount = None if bill_again else D(net)
    return credit_note_drafts.draft(
        invoice=invoice, net=amount, reason="Late.", by=world.finance, bill_again=bill_again
    )


def numbered_by_one(note: Invoice) -> None:
    """Number the draft as the service does, by the person who drafted it."""
    issuing.number(note, list(note.lines.all()), note.drafted_by)


def test_above_the_limit_another_person_issues_the_credit_note(world: World) -> None:
    invoice = invoiced(world)
    note = drafted(world, invoice, "1000")
    assert drafted(world, invoice, "1000") == note
    assert (note.state, balance_of(invoice).open_amount) == ("draft", invoice.gross)
    with declined("credit_note.same_person"):
        credit_note_drafts.issue(note=note, by=world.finance)
    with declined("invoice.is_credit_note"):
        invoices.issue(invoice=note, by=world.controller)
    with violates("invoice.issued_by_another"):
        numbered_by_one(Invoice.objects.get(pk=note.pk))
    for _ in range(2):
        issued = credit_note_drafts.issue(note=note, by=world.controller)
    assert (issued.state, issued.issued_by) == ("issued", world.controller)
    assert balance_of(invoice).open_amount == invoice.gross - D(1190)


def test_the_limit_counts_all_that_one_person_credited_of_an_invoice(world: World) -> None:
    invoice = invoiced(world)
    assert [drafted(world, invoice, net).state for net in ("30", "20")] == ["issued", "draft"]
    # The database has the highest limit that an operator may set.
    note = drafted(world, invoice, "820")
    with violates("invoice.issued_by_another"):
        numbered_by_one(note)


def test_an_issued_credit_note_discards_the_other_drafts_of_its_invoice(world: World) -> None:
    invoice = invoiced(world)
    waiting = drafted(world, invoice, "500")
    credit_notes.credit(invoice=invoice, net=D(12000), reason="The settlement.")
    with declined("invoice.discarded"):
        credit_note_drafts.issue(note=waiting, by=world.controller)
    discarded = invoice.engagement.events.get(verb="credit_note.discarded")
    assert discarded.changes["credit_note"] == waiting.pk


def test_a_draft_bills_again_only_what_is_still_unpaid(world: World) -> None:
    invoice = invoiced(world)
    note = drafted(world, invoice, "", bill_again=True)
    milestone = invoice.lines.get().milestone
    assert milestone is not None
    issued = credit_note_drafts.issue(note=note, by=world.controller)
    milestone.refresh_from_db()
    assert (issued.net, milestone.state) == (invoice.net, "released")
    other = invoiced(world)
    note = drafted(world, other, "", bill_again=True)
    world.paid_beyond(other, D(1), f"P-{timezone.localdate()}")
    with declined("credit_note.invoice_paid"):
        credit_note_drafts.issue(note=note, by=world.controller)
