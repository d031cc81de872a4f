"""Places at which a test may kill the process, to prove that money survives it.

A service calls `point` between every two of its writes. Whoever tests that service starts it
in a process of its own with `TWOFOLD_FAULT=NAME`, and it ends there by SIGKILL, as in a power
cut: no `finally`, no rollback sent. The settings refuse the variable in production.
"""

from __future__ import annotations

import os
import signal

from django.conf import settings

# Every name that the application calls, in the order in which an operation reaches them:
# OPERATION.WHAT_WAS_WRITTEN. A test holds this list against the calls.
POINTS: tuple[str, ...] = (
    "number_invoice.taken",
    "issue_invoice.numbered_and_frozen",
    "issue_invoice.milestone_billed",
    "issue_invoice.told",
    "issue_invoice.posted",
    "credit_invoice.drafted",
    "credit_invoice.numbered_and_frozen",
    "credit_invoice.milestones_moved",
    "credit_invoice.told",
    "credit_invoice.posted",
    "record_payment.written",
    "record_payment.told",
    "record_payment.posted",
    "move_overpayment.left",
    "move_overpayment.arrived",
    "move_overpayment.told",
    "move_overpayment.left_posted",
    "move_overpayment.posted",
    "propose_pay_back.written",
    "pay_back.left",
    "pay_back.written",
    "pay_back.told",
    "pay_back.posted",
    "end_pay_back.written",
    "end_pay_back.told",
    "end_pay_back.posted",
    "fail_pay_back.arrived",
    "fail_pay_back.written",
    "fail_pay_back.told",
    "fail_pay_back.posted",
    "assign_line.recorded",
    "propose_settlement.written",
    "propose_settlement.posted",
    "settle.credited",
    "propose_settlement.milestones_voided",
    "approve_settlement.written",
    "approve_settlement.posted",
    "make_transfer_file.written",
    "pay_settlement.transfer_written",
    "pay_settlement.sent_posted",
    "pay_settlement.started",
    "pay_settlement.transfer_ended",
    "pay_settlement.posted",
    "pay_settlement.written",
    "fail_settlement.transfer_ended",
    "fail_settlement.posted",
    "fail_settlement.written",
    "void_settlement.written",
    "void_settlement.posted",
)


def point(name: str) -> None:
    """End this process where `TWOFOLD_FAULT` names this point; otherwise nothing."""
    if name == settings.TWOFOLD_FAULT:
        os.kill(os.getpid(), signal.SIGKILL)
