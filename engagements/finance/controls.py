"""Controls over money, for an auditor: permission, enforcement, and the test that proves it.

Each control names the service's error code and the trigger or constraint of the database. A test
requires that all of them, and the proving tests, exist.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from django.apps import apps
from pgtrigger import Trigger

from engagements import access
from engagements.ledger import effects
from engagements.people.models import Role, User

TWO = "tests/engagements/payouts/test_two_people.py"
SOLE = "tests/engagements/payouts/test_sole_owner.py"
WRITE_OFFS = "tests/engagements/billing/test_write_offs.py"
CREDITS = "tests/engagements/billing/test_credit_note_drafts.py"
REVERSALS = "tests/engagements/billing/test_reversals.py"
REVENUE = "tests/engagements/ledger/test_revenue.py"
CLOSING = "tests/engagements/ledger/test_closing_months.py"
CSV = "tests/engagements/payouts/test_csv_confirmations.py"
CHARGES = "tests/engagements/charges/test_charges.py"
STEALING = "tests/engagements/proofs/test_stealing.py"
BY_SQL = "tests/engagements/proofs/test_stealing_by_sql.py"


@dataclass(frozen=True)
class Control:
    """A rule, the error code of its service, the refusal of the database, and its test."""

    rule: str
    service: str
    database: str
    proof: str

    @property
    def enforced_by(self) -> str:
        """The trigger or constraint in words, read from the models."""
        return enforcement(self.database)


@dataclass(frozen=True)
class Principle:
    """An accounting rule that the ledger follows, and its test."""

    rule: str
    proof: str


PRINCIPLES = (
    Principle(
        effects.REVENUE_RULE,
        f"{REVENUE}::test_the_whole_fee_is_revenue_on_the_day_of_the_verdict_billed_or_not",
    ),
    Principle(
        "A credit note after the target was met reduces the revenue of what it credits: of the "
        "audit, or of the fee.",
        f"{REVENUE}::test_an_audit_credited_after_met_reduces_audit_revenue",
    ),
    Principle(
        "A write-off is dated on the day it is decided: approved, or posted up to the limit.",
        f"{WRITE_OFFS}::test_a_write_off_is_dated_on_the_day_it_is_approved",
    ),
    Principle(
        "Money that the bank moved is dated on the bank's value date. If that month is closed, "
        "it is dated on the day of the posting.",
        "tests/engagements/ledger/test_value_dates.py"
        "::test_a_refund_is_paid_and_returned_on_the_value_dates_of_its_bank_lines",
    ),
)

CONTROLS = (
    Control(
        "The proposer of a charge, or of a termination, does not approve it.",
        "charge.same_person",
        "charge.approved_by_another",
        f"{CHARGES}::test_two_people_charge_and_the_database_holds_the_clause",
    ),
    Control(
        "The proposer of a settlement does not approve it.",
        "settlement.same_person",
        "settlement.approved_by_another",
        f"{TWO}::test_the_approver_does_not_pay",
    ),
    Control(
        "The approver of a refund does not transfer it.",
        "refund.same_person",
        "transfer.started_by_another",
        f"{TWO}::test_the_approver_does_not_pay",
    ),
    Control(
        "The approver of a refund does not mark it as paid.",
        "refund.same_person",
        "settlement.paid_by_another",
        f"{TWO}::test_the_approver_does_not_pay",
    ),
    Control(
        "The sender of a refund neither marks it as failed nor matches its return, and so sends "
        "it once.",
        "refund.same_person",
        "transfer.failed_by_another",
        f"{STEALING}::test_the_sender_of_a_refund_cannot_resend_it_alone",
    ),
    Control(
        "Nor does the sender of an overpayment's refund record that it failed.",
        "refund.same_person",
        "overpaymentrefund.failed_by_another",
        f"{STEALING}::test_the_sender_of_an_overpayments_refund_does_not_record_its_failure",
    ),
    Control(
        "The person who entered the refund account, or confirmed it before joining the "
        "consultancy, neither approves nor transfers a refund.",
        "refund_account.same_person",
        "transfer.approver",
        f"{TWO}::test_the_person_who_set_the_refund_account_neither_approves_nor_pays",
    ),
    Control(
        "Refunds are sent only to an account that the customer's signatory confirmed; by hand "
        "where none is on file.",
        "refund_account.waiting",
        "transfer.account",
        f"{TWO}::test_a_new_refund_account_needs_confirmation_and_a_waiting_period",
    ),
    Control(
        "A debit to another account than that of the refund does not mark it as paid.",
        "bank_line.other_payee",
        "transfermatch.line",
        "tests/engagements/payouts/test_bank_matching.py"
        "::test_a_debit_to_another_account_does_not_show_the_refund",
    ),
    Control(
        "A bank line counts once: as payments, as the confirmation of one, or as a refund.",
        "bank_line.matched",
        "transfermatch.line",
        "tests/engagements/payouts/test_bank_matching.py::test_a_bank_line_is_evidence_once",
    ),
    Control(
        "Only a signatory of the customer confirms its refund account.",
        "access.signatories_only",
        "bankaccountconfirmation.signatory",
        f"{TWO}::test_a_new_refund_account_needs_confirmation_and_a_waiting_period",
    ),
    Control(
        "A signatory whom the consultancy appointed after a contract was in force, or whose "
        "address an admin changed, confirms no account that the customer's side entered.",
        "refund_account.appointed_signatory",
        "bankaccountconfirmation.signatory",
        f"{STEALING}::test_no_admin_and_no_consultant_redirects_a_refund",
    ),
    Control(
        "A payment keyed by hand is confirmed by a bank line or a second person.",
        "payment.same_person",
        "paymentconfirmation.second_person",
        f"{TWO}::test_a_keyed_payment_is_refunded_only_after_a_second_person_confirmed_it",
    ),
    Control(
        "A CSV can be edited: none of its lines is a payment or shows a refund until another "
        "person than its importer confirmed the file.",
        "bank_file.same_person",
        "bankimportconfirmation.second_person",
        f"{CSV}::test_a_csv_counts_once_a_second_person_confirmed_it",
    ),
    Control(
        "So a forged CSV neither pays an invoice, nor confirms a payment, nor returns a refund.",
        "bank_file.unconfirmed",
        "transfermatch.confirmed_file",
        f"{CSV}::test_no_line_of_an_unconfirmed_csv_moves_money",
    ),
    Control(
        "A bank file that is imported gets no further lines.",
        "bank_file.confirmed",
        "bankline.open_file",
        f"{BY_SQL}::test_raw_sql_as_the_site_s_role_moves_no_money_for_one_person",
    ),
    Control(
        "No more is refunded than the confirmed payments.",
        "payment.unconfirmed",
        "settlement.refund_limit",
        f"{TWO}::test_a_keyed_payment_is_refunded_only_after_a_second_person_confirmed_it",
    ),
    Control(
        "The proposer of an overpayment's refund does not send it.",
        "overpayment_refund.same_person",
        "overpaymentrefund.sent_by_another",
        f"{TWO}::test_an_overpayment_is_sent_by_two_people_and_only_when_it_is_confirmed",
    ),
    Control(
        "The proposer of the booking of a repeat, after which a refund is owed again, does not "
        "confirm it.",
        "dispute.booked_by_another",
        "measurementdispute.booked_by_another",
        "tests/engagements/disputes/test_measurement_disputes.py"
        "::test_after_the_refund_two_people_of_finance_book_the_repeat",
    ),
    Control(
        "The proposer of a payment's reversal does not approve it.",
        "reversal.same_person",
        "paymentreversal.approved_by_another",
        f"{REVERSALS}::test_a_mistyped_payment_is_undone_by_two_people_and_stays_recorded",
    ),
    Control(
        "The proposer of a write-off above the limit does not approve it.",
        "write_off.same_person",
        "writeoff.approved_by_another",
        f"{WRITE_OFFS}::test_above_the_limit_a_second_person_approves",
    ),
    Control(
        "One person writes off no more of an invoice than the limit, in however many parts.",
        "write_off.same_person",
        "writeoff.limit",
        f"{WRITE_OFFS}::test_the_limit_counts_all_that_one_person_wrote_off_of_an_invoice",
    ),
    Control(
        "The drafter of a credit note above the limit, together with the invoice's others that one "
        "person issued, does not issue it. A decision's own two people cover its credit notes.",
        "credit_note.same_person",
        "invoice.issued_by_another",
        f"{CREDITS}::test_above_the_limit_another_person_issues_the_credit_note",
    ),
    Control(
        "The proposer of a month's closing, with its checklist, does not close it.",
        "period.same_person",
        "period.approved_by_another",
        f"{CLOSING}::test_a_month_is_closed_by_two_people_with_its_checklist",
    ),
    Control(
        "The proposer of the latest month's reopening does not reopen it.",
        "period_reopening.same_person",
        "periodreopening.approved_by_another",
        f"{CLOSING}::test_only_the_latest_month_is_reopened_and_by_two_people",
    ),
    Control(
        "Each step of closing or reopening a month is an event of a log that cannot be altered.",
        "period_reopening.same_person",
        "financeevent.chain",
        "tests/engagements/event_log/test_verify.py"
        "::test_months_are_events_of_a_chain_of_their_own",
    ),
    Control(
        "An admin proposes somebody for finance, and two people of finance confirm: no pair "
        "appoints a third person to move money with.",
        "finance_grant.same_person",
        "financegrant.granted_by_another",
        f"{STEALING}::test_no_money_leaves_by_one_person_or_by_a_pair_outside_finance",
    ),
    Control(
        "The site gives the finance role in no other way.",
        "finance_grant.not_permitted",
        "user.finance_by_two",
        f"{TWO}::test_an_admin_and_two_people_of_finance_give_the_finance_role",
    ),
    Control(
        "Nobody approves alone, unless the operator names a sole owner.",
        "second_person.required",
        "soleapproval.sole_owner",
        f"{SOLE}::test_nobody_approves_alone_unless_the_operator_allows_a_sole_owner",
    ),
    Control(
        "No engagement closes with an open ledger balance.",
        "closing.unbalanced",
        "engagement.balance",
        "tests/engagements/settlements/test_owed_after_credit.py"
        "::test_nothing_closes_while_a_ledger_balance_is_open",
    ),
    Control(
        "Every step with money is of an active person of finance, also in plain SQL.",
        "access.finance_only",
        "settlement.finance",
        f"{BY_SQL}::test_raw_sql_as_the_site_s_role_moves_no_money_for_one_person",
    ),
    Control(
        "No single person, and no pair outside finance, moves money in any order of steps.",
        "access.finance_only",
        "settlement.start",
        f"{STEALING}::test_no_money_leaves_by_one_person_or_by_a_pair_outside_finance",
    ),
    Control(
        "Nor does any of them complete a write-off, a reversal, a closing or a reopening.",
        "access.finance_only",
        "writeoff.start",
        "tests/engagements/proofs/test_correcting.py"
        "::test_no_correction_is_completed_by_one_person_or_by_a_pair_outside_finance",
    ),
)

CAPABILITIES: tuple[tuple[str, Callable[[User], bool]], ...] = (
    ("See every engagement", access.is_staff_member),
    ("Do a consultant's work, propose settlements", access.is_consultant),
    ("Read the pages of finance", access.sees_money),
    ("Bill, record payments, approve and transfer refunds", access.is_finance),
    ("Manage users, propose people for finance", access.is_admin),
)


def capabilities() -> list[tuple[str, list[bool]]]:
    """Each capability with whether consultant, finance and admin have it, asked of `access`."""
    people = [User(role=role) for role in (Role.CONSULTANT, Role.FINANCE, Role.ADMIN)]
    return [(label, [allows(person) for person in people]) for label, allows in CAPABILITIES]


def enforcement(name: str) -> str:
    """Describe the trigger ("model.trigger") or constraint of that name. Raises LookupError."""
    for table, found in _rules():
        if found[0] == name:
            return f"{found[1]} on {table}"
    raise LookupError(name)


def _rules() -> Iterator[tuple[str, tuple[str, str]]]:
    for model in apps.get_models():
        label, table = model._meta.model_name, model._meta.db_table
        triggers: list[Trigger] = getattr(model._meta, "triggers", [])
        for trigger in triggers:
            kind = f"trigger {trigger.name}, {trigger.when} {trigger.operation}"
            yield table, (f"{label}.{trigger.name}", kind)
        for constraint in model._meta.constraints:
            yield table, (constraint.name, f"constraint {constraint.name}")
