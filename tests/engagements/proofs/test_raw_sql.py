"""As the application's own database role no raw SQL changes or deletes what has happened.

The role is the one that `manage.py database_role` makes for production. A whole life is played
first, so that every table of history has a row to attack.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import pytest
from django.db import DatabaseError, connection

from consultancy import database_role
from engagements.billing import credit_notes, invoices
from engagements.documents.models import Document
from engagements.engagement.models import Engagement
from engagements.event_log import anchors
from engagements.event_log.models import Event
from engagements.payouts import refunds
from engagements.settlements import services as settlements
from tests.engagements.world import World, closed_month, days, today, undone

ROLE = f"twofold_app_{os.getpid()}"
# What no statement changes at all, once it stands there.
HISTORY = {
    "engagements_event": "an event",
    "engagements_eventchain": "the count of events",
    "engagements_eventanchor": "an anchor",
    "engagements_entry": "an entry of the ledger",
    "engagements_leg": "a leg of the ledger",
    "engagements_monthtotal": "a total of the ledger",
    "engagements_invoice": "an issued invoice or credit note",
    "engagements_invoiceline": "a line of an issued invoice",
    "engagements_period": "a closed month",
    "engagements_payment": "a payment",
    "engagements_acceptance": "an acceptance",
    "engagements_document": "a document",
    "engagements_audit": "a delivered audit",
    "engagements_finding": "a finding of a delivered audit",
    "benchmarks_benchmark": "a sealed benchmark",
    "engagements_settlement_credit_notes": "what a settlement credited",
    "benchmarks_record": "a record",
}
# What goes on after it was sealed, and the columns in which it does.
GOES_ON = {
    "engagements_contractversion": {"state"},
    "engagements_milestone": {"state", "released_at", "billed_at", "billing_reference"},
    "engagements_counter": {"last"},
}
CHANGED = {
    "text": "coalesce({0}, '') || 'x'",
    "character varying": "left(coalesce({0}, '') || 'x', 1)",
    "boolean": "NOT {0}",
    "date": "coalesce({0}, current_date) + 1",
    "timestamp with time zone": "coalesce({0}, now()) + interval '1 second'",
    "jsonb": """'{{"forged": true}}'""",
    "bytea": "'\\x00'",
    "inet": "'203.0.113.9'",
    "double precision": "coalesce({0}, 0) + 1",
}
A_NUMBER = "coalesce({0}, 0) + 1"


def make_the_role(**options: str) -> list[str]:
    """As `manage.py database_role --apply` does; gone with the test's transaction."""
    statements = list(database_role.statements(ROLE, **options))
    with connection.cursor() as cursor:
        # What still waits for the end of the transaction was asked for by the owner.
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
        for statement in statements:
            cursor.execute(statement)
        cursor.execute("SET CONSTRAINTS ALL DEFERRED")
    return statements


# What refuses to change an event.
GUARD = Event._meta.triggers[0].get_pgid(Event)  # type: ignore[attr-defined]
DOORS = (
    "SET session_replication_role = replica",
    "CREATE TEMPORARY TABLE door (id int)",
    "CREATE TABLE door (id int)",
    "CREATE FUNCTION door() RETURNS int LANGUAGE sql AS 'SELECT 1'",
    f"CREATE OR REPLACE FUNCTION {GUARD}() RETURNS trigger LANGUAGE plpgsql "
    "AS 'BEGIN RETURN NEW; END'",
    f"DROP FUNCTION {GUARD}() CASCADE",
    f"ALTER FUNCTION {GUARD}() RENAME TO door",
    "COPY engagements_event TO PROGRAM 'cat'",
    "CREATE ROLE door SUPERUSER",
    f"ALTER ROLE {ROLE} SUPERUSER",
    "LOCK TABLE engagements_event IN ACCESS EXCLUSIVE MODE",
    "SELECT setval('engagements_event_id_seq', 1)",
)


@pytest.fixture
def life(world: World) -> Engagement:
    """An engagement that was settled: everything that can be written down about one was."""
    contract = world.missed()
    settlement = contract.settlements.get()
    settlements.approve(settlement=settlement, by=world.finance)
    invoice = contract.engagement.invoices.filter(kind="invoice")[0]
    note = credit_notes.credit(invoice=invoice, reason="Nothing was earned.")
    settlement.credit_notes.add(note)
    Document.objects.create(
        engagement=contract.engagement,
        kind="contract",
        subject=f"contract:{contract.pk}",
        title="Contract",
        filename="contract.pdf",
        content=b"%PDF",
        size_bytes=4,
        digest="sha256:" + "0" * 64,
    )
    anchors.take()
    closed_month(world, (today().replace(day=1) - days(1)).replace(day=1))
    return contract.engagement


@pytest.fixture
def as_the_application(life: Engagement) -> Callable[[str], None]:
    """Run a statement as the role of the site, and take back what it did."""
    make_the_role()

    def run(statement: str) -> None:
        # Both end with the savepoint, whether the statement was let through or not.
        with undone(), connection.cursor() as cursor:
            cursor.execute(f'SET LOCAL SESSION AUTHORIZATION "{ROLE}"')
            cursor.execute(statement)
            cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")

    return run


def columns_of(table: str) -> dict[str, str]:
    """The columns of a table with their types."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT column_name, data_type FROM information_schema.columns "
            "WHERE table_schema = 'public' AND table_name = %s",
            [table],
        )
        return dict(cursor.fetchall())


def let_through(run: Callable[[str], None], statements: dict[str, str]) -> set[str]:
    """The names of the statements that were not refused."""
    done = set()
    for name, statement in statements.items():
        try:
            run(statement)
        except DatabaseError:
            continue
        done.add(name)
    return done


def updates(table: str) -> dict[str, str]:
    """A change of every column, by the column."""
    return {
        column: f'UPDATE {table} SET "{column}" = '
        + CHANGED.get(kind, A_NUMBER).format(f'"{column}"')
        for column, kind in columns_of(table).items()
    }


def test_no_column_of_history_is_changed_and_no_row_deleted(
    as_the_application: Callable[[str], None],
) -> None:
    done: dict[str, Any] = {}
    for table in HISTORY:
        with connection.cursor() as cursor:
            cursor.execute(f"SELECT count(*) FROM {table}")
            assert cursor.fetchone()[0] > 0, f"there is {HISTORY[table]} to attack"
        statements = {
            **updates(table),
            "delete": f"DELETE FROM {table}",
            "truncate": f"TRUNCATE {table} CASCADE",
            "merge": f"MERGE INTO {table} AS old USING (SELECT 1) AS new ON true "
            "WHEN MATCHED THEN DELETE",
            "trigger off": f"ALTER TABLE {table} DISABLE TRIGGER ALL",
            "rule": f"CREATE RULE hide AS ON INSERT TO {table} DO INSTEAD NOTHING",
            "column": f"ALTER TABLE {table} ADD COLUMN forged int",
            "drop": f"DROP TABLE {table} CASCADE",
        }
        done |= {table: let_through(as_the_application, statements)}
    assert done == {table: set() for table in HISTORY}


def test_sealed_rows_change_state_only(
    as_the_application: Callable[[str], None],
) -> None:
    for table, progress in GOES_ON.items():
        statements = {
            **updates(table),
            "delete": f"DELETE FROM {table}",
            "truncate": f"TRUNCATE {table} CASCADE",
        }
        assert let_through(as_the_application, statements) <= progress, table


def test_the_application_has_no_power_over_what_guards_history(
    as_the_application: Callable[[str], None],
) -> None:
    for statement in DOORS:
        with pytest.raises(DatabaseError, match=r"permission denied|must be|not owner"):
            as_the_application(statement)


def test_the_application_lives_a_whole_life_with_the_rights_it_has(world: World) -> None:
    make_the_role()
    with connection.cursor() as cursor:
        cursor.execute(f'SET LOCAL SESSION AUTHORIZATION "{ROLE}"')
    contract = world.missed()
    settlement = contract.settlements.get()
    settlements.approve(settlement=settlement, by=world.finance)
    refunds.mark_paid(settlement=settlement, reference="SEPA-1", by=world.controller)
    discarded = invoices.draft(
        milestones=[world.active().milestones.get(position=1)], by=world.finance
    )
    invoices.discard(invoice=discarded, by=world.finance)
    anchors.take()
    with connection.cursor() as cursor:
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
        cursor.execute("SELECT current_user")
        assert cursor.fetchone()[0] == ROLE
        cursor.execute("RESET SESSION AUTHORIZATION")


def test_every_table_of_history_is_known_by_its_triggers(db: None) -> None:
    rights = database_role.rights_by_table()
    only_added = {table for table, allowed in rights.items() if allowed == database_role.APPEND}
    assert {
        "engagements_event",
        "engagements_eventanchor",
        "engagements_entry",
        "engagements_leg",
        "engagements_payment",
        "engagements_acceptance",
        "engagements_document",
        "benchmarks_record",
        "benchmarks_benchmark",
        "benchmarks_solution",
    } <= only_added
    assert rights["engagements_eventchain"] == database_role.READ
    assert rights["engagements_periodtotal"] == database_role.READ
    assert rights["django_migrations"] == database_role.READ
    assert rights["django_session"] == database_role.CHANGE


def test_the_statements_may_be_run_again(db: None) -> None:
    first = make_the_role(password="a'b")
    again = make_the_role(password="a'b")
    assert again == [line for line in first if not line.startswith("CREATE ROLE")]
