"""No more goes back than came in, and only what is too much leaves an invoice: the database
itself refuses it, whatever SQL it is told, and from two connections at once too."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from typing import Any

import psycopg
import pytest
from django.db import connection, transaction

from engagements.billing.models import Invoice
from engagements.billing.payment_models import Payment
from engagements.payouts import refunds
from engagements.settlements import services as settlements
from engagements.settlements.models import Settlement
from tests.conftest import database_url
from tests.database_constraints import violates
from tests.engagements.world import World, contract_of

# A settlement like another, with a refund of any size: what its own constraints see adds up.
FORGED = """
INSERT INTO engagements_settlement
SELECT (jsonb_populate_record(NULL::engagements_settlement, to_jsonb(row) || jsonb_build_object(
    'id', nextval('engagements_settlement_id_seq'), 'state', %(state)s::text,
    'payments_received', %(refund)s::numeric, 'refund', %(refund)s::numeric,
    'refunded_before', 0, 'audit_cost', 0, 'audit_tax', 0, 'balance_due', 0
) || CASE %(state)s WHEN 'paid' THEN '{}'::jsonb ELSE
    '{"paid_at": null, "paid_by_id": null, "payment_reference": "", "approved_by_id": null,
      "approved_at": null}'::jsonb END)).*
FROM engagements_settlement row WHERE id = %(like)s
RETURNING id
"""
LEAVES = """
INSERT INTO engagements_payment
    (invoice_id, kind, amount, received_on, reference, recorded_by_id, recorded_at, moved_from_id)
VALUES (%(invoice)s, %(kind)s, %(amount)s, current_date, %(reference)s, %(by)s, now(), %(source)s)
RETURNING id
"""


def run(sql: str, **values: Any) -> Any:
    """One row of what a statement returns."""
    with connection.cursor() as cursor:
        cursor.execute(sql, values)
        return cursor.fetchone()[0] if cursor.description else None


def settled(world: World) -> Settlement:
    """A paid settlement: of 14,280.00 that came in, 7,140.00 went back."""
    row = world.settlement(paid=1)
    settlements.approve(settlement=row, by=world.finance)
    paid = refunds.mark_paid(settlement=row, reference="SEPA-1", by=world.controller)
    assert (paid.payments_received, paid.refund) == (Decimal(14280), Decimal(7140))
    return paid


def leaves(invoice: Invoice, by: int, amount: int, **changes: Any) -> Any:
    values = {"kind": "paid_back", "reference": "B-1", "source": None} | changes
    return run(LEAVES, invoice=invoice.pk, by=by, amount=amount, **values)


def test_no_sql_refunds_more_than_was_received(world: World) -> None:
    row = settled(world)
    for state in ("approved", "paying", "paid"):
        with violates("settlement.start"):
            run(FORGED, state=state, refund="0.01", like=row.pk)
    # As much as was kept may still go back, and nothing after it.
    send(row, refund="7140.00")
    with violates("settlement.refund_limit"):
        send(row, refund="0.01")


def test_an_excessive_settlement_is_refused(world: World) -> None:
    with violates("settlement.refund_limit"):
        send(settled(world), refund="7140.01")


def send(like: Settlement, *, refund: str) -> None:
    """Forge a proposal, approve it and mark it as paid."""
    with transaction.atomic():
        forged = run(FORGED, state="proposed", refund=refund, like=like.pk)
        run(
            "UPDATE engagements_settlement SET state = 'approved', approved_by_id = %(by)s,"
            " approved_at = now() WHERE id = %(pk)s",
            pk=forged,
            by=like.approved_by_id,
        )
        run(
            "UPDATE engagements_settlement SET state = 'paid', paid_by_id = %(by)s,"
            " paid_at = now(), payment_reference = 'R' WHERE id = %(pk)s",
            pk=forged,
            by=like.paid_by_id,
        )


def test_only_an_overpayment_leaves_an_invoice(world: World) -> None:
    invoice, by = world.overpaid(Decimal(20)), world.finance.pk
    with violates("payment.overpayment"):
        leaves(invoice, by, -21)
    with transaction.atomic():
        leaves(invoice, by, -20)
    with violates("payment.overpayment"):
        leaves(invoice, by, -1, reference="B-2")


def test_settled_payments_are_refunded_by_their_settlement_only(world: World) -> None:
    invoice = world.overpaid(Decimal(20))
    world.conclude(world.request(contract_of(invoice)), "missed")
    with violates("payment.settled"):
        leaves(invoice, world.finance.pk, -20)


def test_a_payment_is_moved_in_full_to_an_invoice_of_the_same_customer(world: World) -> None:
    invoice, by = world.overpaid(Decimal(20)), world.finance.pk
    other = world.invoice(world.active().milestones.get(position=1))
    dollars = world.invoice(world.active(currency="USD").milestones.get(position=1))

    def move(to: Invoice, amount: int) -> None:
        with transaction.atomic():
            source = leaves(invoice, by, -20, kind="moved")
            leaves(to, by, amount, kind="moved", source=source, reference="B-2")
            connection.check_constraints()

    for to, amount in ((other, 19), (other, 21), (dollars, 20), (invoice, 20)):
        with violates("payment.moved_whole"):
            move(to, amount)
    move(other, 20)
    # Nor does it arrive a second time.
    with violates("engagements_payment_moved_from_id_key"):
        leaves(other, by, 20, kind="moved", source=Payment.objects.get(amount=-20).pk)


def test_a_moved_payment_arrives_on_the_other_invoice(world: World) -> None:
    leaves(world.overpaid(Decimal(20)), world.finance.pk, -20, kind="moved")
    with violates("payment.moved_arrives"):
        connection.check_constraints()
    # What the test leaves behind is refused at its end, too: taken back here.
    transaction.set_rollback(True)


def at_once(sql: str, first: dict[str, Any], second: dict[str, Any]) -> list[str]:
    """Run a statement on two connections: the second waits for the first to commit.

    Answers what became of each: `done`, or the trigger that refused it.
    """
    url = database_url(connection.settings_dict)

    def attempt(other: psycopg.Connection[Any], values: dict[str, Any]) -> str:
        try:
            other.execute(sql, values)
            other.commit()
        except psycopg.IntegrityError as refusal:
            return str(refusal.diag.constraint_name)
        return "done"

    with psycopg.connect(url) as one, psycopg.connect(url) as two, ThreadPoolExecutor(1) as pool:
        one.execute(sql, first)
        waiting = pool.submit(attempt, two, second)
        _wait_until_blocked(one, two.info.backend_pid)
        one.commit()
        return ["done", waiting.result(timeout=60)]


def _wait_until_blocked(watcher: psycopg.Connection[Any], pid: int) -> None:
    def is_blocked() -> bool:
        asked = "SELECT cardinality(pg_blocking_pids(%s)) > 0, pg_sleep(0.02)"
        row = watcher.execute(asked, [pid]).fetchone()
        return row is not None and row[0]

    while not is_blocked():
        pass


@pytest.mark.django_db(transaction=True)
def test_of_two_concurrent_refunds_of_an_overpayment_one_is_refused(
    transactional_db: None,
) -> None:
    world = World()
    invoice = world.overpaid(Decimal(20))
    values = {"invoice": invoice.pk, "kind": "paid_back", "amount": -20, "source": None}
    first, second = (values | {"by": world.finance.pk, "reference": each} for each in "12")
    done, other = at_once(LEAVES, first, second)
    assert done == "done"
    assert other == "payment.overpayment"
