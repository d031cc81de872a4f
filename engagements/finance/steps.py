"""Every service that bills, moves or books money, and who may call it, for the page of controls.

A test finds services with money that are missing here, and holds each to what it requires.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from engagements import closing
from engagements.billing import (
    bank_imports,
    charge_invoices,
    credit_note_drafts,
    csv_confirmations,
    invoices,
    payments,
    reconciliation,
    reversals,
    write_offs,
)
from engagements.charges import services as charges
from engagements.disputes import services as measurement_disputes
from engagements.disputes import verdicts
from engagements.finance import grants
from engagements.ledger import periods
from engagements.orders import services as orders
from engagements.payouts import (
    bank_matching,
    overpayment_refunds,
    overpayments,
    refund_accounts,
    refunds,
    transfer_files,
)
from engagements.settlements import disputes
from engagements.settlements import services as settlements
from engagements.terminations import services as terminations

FINANCE, CONSULTANT, SIGNATORY = "Finance", "Consultants and admins", "The customer's signatories"
ADMIN, STAFF = "Admins", "Staff"
PROPOSERS, SETTERS = f"{FINANCE}, consultants and admins", f"{FINANCE}, the customer's signatories"
APPLICATION = "The application, within a step of this list"


@dataclass(frozen=True)
class Step:
    """A service, who may call it, and the code by which it declines the same person again.

    Without a code one person takes the step: it moves no money out and undoes no claim, or the
    bank's own record decides it.
    """

    act: Callable[..., Any]
    who: str
    second: str = ""

    @property
    def name(self) -> str:
        """Its dotted name below `engagements`, as in "billing.payments.record"."""
        return f"{self.act.__module__}.{self.act.__name__}".removeprefix("engagements.")

    @property
    def summary(self) -> str:
        """What it does: the first line of its docstring."""
        return (inspect.getdoc(self.act) or "").partition("\n")[0]


STEPS = (
    Step(orders.offer, CONSULTANT),
    Step(orders.accept, SIGNATORY),
    Step(orders.decline, SIGNATORY),
    Step(orders.withdraw, CONSULTANT),
    Step(invoices.draft, FINANCE),
    Step(invoices.draft_order, FINANCE),
    Step(invoices.set_purchase_order, FINANCE),
    Step(invoices.discard, FINANCE),
    Step(invoices.issue, FINANCE),
    Step(credit_note_drafts.draft, FINANCE),
    Step(credit_note_drafts.issue, FINANCE, "credit_note.same_person"),
    Step(charges.propose_repeat, FINANCE),
    Step(charges.propose_maintenance, FINANCE),
    Step(charges.approve, FINANCE, "charge.same_person"),
    Step(charges.void, FINANCE),
    Step(terminations.propose, FINANCE),
    Step(terminations.approve, FINANCE, "charge.same_person"),
    Step(charge_invoices.draft, FINANCE),
    Step(charge_invoices.cancel, FINANCE),
    Step(payments.record, FINANCE),
    Step(payments.confirm, FINANCE, "payment.same_person"),
    Step(reversals.propose, FINANCE),
    Step(reversals.approve, FINANCE, "reversal.same_person"),
    Step(reversals.void, FINANCE),
    Step(write_offs.propose, FINANCE),
    Step(write_offs.approve, FINANCE, "write_off.same_person"),
    Step(write_offs.void, FINANCE),
    Step(bank_imports.import_file, FINANCE),
    Step(bank_imports.choose_columns, FINANCE),
    Step(bank_imports.delete, FINANCE),
    Step(csv_confirmations.confirm, FINANCE, "bank_file.same_person"),
    Step(csv_confirmations.keep, FINANCE),
    Step(reconciliation.assign, FINANCE),
    Step(reconciliation.assign_exchanged, FINANCE),
    Step(reconciliation.confirm_payment, FINANCE),
    Step(reconciliation.set_aside, FINANCE),
    Step(bank_matching.match, FINANCE, "refund.same_person"),
    Step(settlements.propose, PROPOSERS),
    Step(settlements.create_proposal, APPLICATION),
    Step(settlements.approve, FINANCE, "settlement.same_person"),
    Step(settlements.void, FINANCE),
    Step(disputes.raise_dispute, SIGNATORY),
    Step(disputes.withdraw, SIGNATORY),
    Step(disputes.resolve_open, FINANCE),
    Step(refund_accounts.add, SETTERS),
    Step(refund_accounts.confirm, SIGNATORY, "refund_account.appointed_signatory"),
    Step(refunds.start_payment, FINANCE, "refund.same_person"),
    Step(refunds.mark_paid, FINANCE, "refund.same_person"),
    Step(refunds.confirm_executed, FINANCE),
    Step(refunds.mark_failed, FINANCE, "refund.same_person"),
    Step(refunds.record_return, FINANCE),
    Step(transfer_files.make, FINANCE, "refund.same_person"),
    Step(overpayments.move, FINANCE),
    Step(overpayment_refunds.propose, FINANCE),
    Step(overpayment_refunds.send, FINANCE, "overpayment_refund.same_person"),
    Step(overpayment_refunds.mark_paid, FINANCE),
    Step(overpayment_refunds.confirm_executed, FINANCE),
    Step(overpayment_refunds.mark_failed, FINANCE, "refund.same_person"),
    Step(overpayment_refunds.record_return, FINANCE, "refund.same_person"),
    Step(overpayment_refunds.void, FINANCE),
    Step(verdicts.book, FINANCE, "dispute.booked_by_another"),
    Step(measurement_disputes.reimburse, FINANCE),
    Step(periods.propose, FINANCE),
    Step(periods.approve, FINANCE, "period.same_person"),
    Step(periods.void, FINANCE),
    Step(periods.propose_reopening, FINANCE),
    Step(periods.approve_reopening, FINANCE, "period_reopening.same_person"),
    Step(periods.void_reopening, FINANCE),
    Step(grants.propose, ADMIN),
    Step(grants.confirm, FINANCE, "finance_grant.same_person"),
    Step(closing.cancel, CONSULTANT),
    Step(closing.close, STAFF),
    Step(closing.end_for_cause, SIGNATORY),
)
