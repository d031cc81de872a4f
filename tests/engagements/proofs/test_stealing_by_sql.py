"""As the site's database role no raw SQL takes a step of two people in one person's name.

Each statement is refused by the rule that is meant for it, not by another one in passing.
"""

from __future__ import annotations

from decimal import Decimal

from django.db import IntegrityError, ProgrammingError, connection
from psycopg.errors import InsufficientPrivilege

from engagements.billing import credit_note_drafts, payments, reversals
from engagements.finance import grants
from engagements.ledger import periods
from engagements.payouts import overpayment_refunds, refund_accounts
from tests.database_constraints import code_of
from tests.engagements.billing.test_bank_imports import imported, statement
from tests.engagements.proofs.test_raw_sql import ROLE, make_the_role
from tests.engagements.proofs.test_stealing import IBAN, Scene, propose_write_off
from tests.engagements.world import World, closed_month, today, undone

OTHER_IBAN = "DE89370400440532013000"
# Number the draft of a credit note, as issued by a person.
_ISSUE_NOTE = (
    "INSERT INTO engagements_counter (series, year, last)"
    " VALUES ('CN', extract(year FROM now()), 0) ON CONFLICT DO NOTHING;"
    "UPDATE engagements_counter SET last = last + 1 WHERE series = 'CN';"
    "UPDATE engagements_invoice SET state = 'issued', series = 'CN', year = counter.year,"
    " number = counter.last, reference = 'CN-stolen', issued_on = current_date,"
    " issued_at = now(), frozen = '[]', issued_by_id = %s"
    " FROM engagements_counter counter WHERE counter.series = 'CN'"
    " AND engagements_invoice.id = {note}"
)
# The code of the refusal, and the statement.
ATTACKS = (
    (
        "paymentconfirmation.second_person",
        "INSERT INTO engagements_paymentconfirmation (payment_id, confirmed_by_id, confirmed_at)"
        " VALUES ({keyed}, {thief}, now())",
    ),
    (
        "bankimportconfirmation.second_person",
        "INSERT INTO engagements_bankimportconfirmation"
        " (bank_import_id, confirmed_by_id, confirmed_at) VALUES ({file}, {thief}, now())",
    ),
    (
        "payment.confirmed_file",
        "INSERT INTO engagements_payment (invoice_id, kind, amount, received_on, reference,"
        " bank_line_id, recorded_by_id, recorded_at) SELECT invoice_id, kind, amount, received_on,"
        " 'forged', {line}, recorded_by_id, now() FROM engagements_payment WHERE id = {keyed}",
    ),
    ("bankimport.original", "UPDATE engagements_bankimport SET format = 'camt053'"),
    (
        "bankaccountconfirmation.signatory",
        "INSERT INTO engagements_bankaccountconfirmation"
        " (account_id, confirmed_by_id, confirmed_at, usable_from)"
        " VALUES ({account}, {thief}, now(), now())",
    ),
    (
        "settlement.approved_by_another",
        "UPDATE engagements_settlement SET state = 'approved', approved_by_id = {thief},"
        " approved_at = now() WHERE id = {settlement}",
    ),
    (
        "settlement.state_move",
        "UPDATE engagements_settlement SET state = 'paid', paid_by_id = {thief}, paid_at = now(),"
        " payment_reference = 'R' WHERE id = {settlement}",
    ),
    (
        "settlement.proposal",
        "UPDATE engagements_settlement SET refund = 99999 WHERE id = {settlement}",
    ),
    ("permission", "UPDATE engagements_bankaccount SET iban = 'DE02120300000000202051'"),
    (
        "overpaymentrefund.sent_by_another",
        "UPDATE engagements_payback SET state = 'paying', sent_by_id = {thief}, sent_at = now(),"
        " method = 'by_hand', left_id = {keyed}, account_id = {confirmed}, iban = '{iban}'",
    ),
    (
        "paymentreversal.approved_by_another",
        "UPDATE engagements_paymentreversal SET state = 'posted', {approval}",
    ),
    (
        "writeoff.approved_by_another",
        "UPDATE engagements_writeoff SET state = 'posted', {approval}",
    ),
    (
        "writeoff_is_approved",
        "UPDATE engagements_writeoff SET state = 'posted', decided_at = now()",
    ),
    ("writeoff.terms", 'UPDATE engagements_writeoff SET "limit" = 99999'),
    (
        "period.approved_by_another",
        "UPDATE engagements_period SET state = 'closed', {approval} WHERE state = 'proposed'",
    ),
    (
        "periodreopening.approved_by_another",
        "UPDATE engagements_periodreopening SET state = 'posted', {approval}",
    ),
    ("period.reopened", "UPDATE engagements_period SET state = 'reopened' WHERE state = 'closed'"),
    (
        "financegrant.granted_by_another",
        "UPDATE engagements_financegrant SET granted_by_id = {thief}, granted_at = now()",
    ),
    ("user.finance_by_two", "UPDATE engagements_user SET role = 'finance' WHERE id = {consultant}"),
    (
        "user.finance_by_two",
        "UPDATE engagements_user SET email = 'thief@example.com' WHERE id = {controller}",
    ),
    (
        "permission",
        "INSERT INTO engagements_soleowner (user_id, since) VALUES ({thief}, now())",
    ),
    (
        "soleapproval.sole_owner",
        "INSERT INTO engagements_soleapproval (subject, by_id, second_factor_at, approved_at)"
        " VALUES ('settlement:{settlement}', {thief}, now(), now())",
    ),
    # Nor in the name of somebody outside finance, or who has left it.
    (
        "settlement.finance",
        "UPDATE engagements_settlement SET state = 'approved', approved_by_id = {consultant},"
        " approved_at = now() WHERE id = {settlement}",
    ),
    (
        "settlement.finance",
        "UPDATE engagements_user SET is_active = false WHERE id = {controller};"
        "UPDATE engagements_settlement SET state = 'approved', approved_by_id = {controller},"
        " approved_at = now() WHERE id = {settlement}",
    ),
    (
        "paymentconfirmation.finance",
        "INSERT INTO engagements_paymentconfirmation (payment_id, confirmed_by_id, confirmed_at)"
        " VALUES ({keyed}, {consultant}, now())",
    ),
    (
        "bankimportconfirmation.finance",
        "INSERT INTO engagements_bankimportconfirmation"
        " (bank_import_id, confirmed_by_id, confirmed_at) VALUES ({file}, {consultant}, now())",
    ),
    (
        "writeoff.finance",
        "UPDATE engagements_writeoff SET state = 'posted', decided_at = now(),"
        " approved_by_id = {consultant}",
    ),
    ("invoice.finance", _ISSUE_NOTE % "{consultant}"),
    ("invoice.issued_by_another", _ISSUE_NOTE % "{thief}"),
    ("invoice.issued_by_another", _ISSUE_NOTE % "NULL"),
    (
        "invoice.identity",
        "UPDATE engagements_invoice SET drafted_by_id = {controller} WHERE id = {note}",
    ),
    (
        "write_off_limit_is_low",
        'INSERT INTO engagements_writeoff (invoice_id, kind, amount, "limit", reason, state,'
        " proposed_by_id, proposed_at, end_reason) SELECT invoice_id, kind, amount, 99999, reason,"
        " 'proposed', proposed_by_id, now(), '' FROM engagements_writeoff",
    ),
    # Nor by a line that no bank sent.
    (
        "bankline.open_file",
        "INSERT INTO engagements_bankline (bank_import_id, position, account, entry_key,"
        " entry_reference, booked_on, valued_on, amount, currency, payer, payer_account, text,"
        " end_to_end_id, batch_id, is_reversal, return_reason, state, note)"
        " SELECT bank_import_id, 99, account, 'sha256:x', 'x', booked_on, valued_on, amount,"
        " currency, payer, payer_account, text, '', '', false, '', 'open', ''"
        " FROM engagements_bankline WHERE bank_import_id = {statement}",
    ),
    ("permission", "UPDATE engagements_financeevent SET summary = 'x'"),
    ("permission", "DELETE FROM engagements_payment"),
)


def test_raw_sql_as_the_site_s_role_moves_no_money_for_one_person(world: World) -> None:
    scene, thief = Scene(world, thief=world.finance), world.finance
    payments.confirm(payment=scene.first, by=world.controller)
    confirmed = refund_accounts.add(
        customer=world.customer, holder="Longprompt", iban=OTHER_IBAN, bic="", by=world.signatory
    )
    account = refund_accounts.add(
        customer=world.customer, holder="Thief", iban=IBAN, bic="", by=thief
    )
    unpaid = world.invoice(world.active().milestones.get(position=1))
    propose_write_off(unpaid, "500", thief)
    note = credit_note_drafts.draft(invoice=unpaid, net=Decimal(900), reason="x", by=thief)
    periods.propose(month=today().replace(year=2025, day=1), checklist=[], note="", by=thief)
    reversals.propose(
        payment=scene.second, cause="mistyped", reason="x", dated_on=today(), by=thief
    )
    closed = closed_month(world, today().replace(year=2024, day=1))
    periods.propose_reopening(period=closed, reason="x", by=thief)
    overpayment_refunds.propose(invoice=world.overpaid(Decimal(9)), amount=Decimal(9), by=thief)
    grants.confirm(grant=grants.propose(user=world.nobody, by=world.admin), by=thief)
    bank_file = imported(world, statement(("700.00", "unknown")))
    make_the_role()
    names = {
        "statement": bank_file.pk,
        "thief": thief.pk,
        "note": note.pk,
        "approval": f"approved_by_id = {thief.pk}, decided_at = now()",
        "file": scene.file.pk,
        "line": scene.file.lines.get().pk,
        "keyed": scene.second.pk,
        "account": account.pk,
        "confirmed": confirmed.pk,
        "iban": OTHER_IBAN,
        "settlement": scene.settlement.pk,
        "consultant": world.consultant.pk,
        "controller": world.controller.pk,
    }
    assert [(_refusal(sql.format(**names)), sql) for _, sql in ATTACKS] == list(ATTACKS)


def _refusal(statement: str) -> str | None:
    """The code by which the database refuses a statement of the site's role; None where it runs."""
    try:
        with undone(), connection.cursor() as cursor:
            cursor.execute(f'SET LOCAL SESSION AUTHORIZATION "{ROLE}"')
            cursor.execute(statement)
            cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
    except IntegrityError as refusal:
        return code_of(refusal)
    except ProgrammingError as refusal:
        return "permission" if isinstance(refusal.__cause__, InsufficientPrivilege) else "wrong"
    return None
