"""Random requests about charges and terminations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from engagements.billing import charge_invoices
from engagements.charges import services as charges
from engagements.common import money
from engagements.terminations import services as terminations
from tests.engagements.proofs.lives.actions import SIGNED, WHICH, Actions, request


class ChargeActions(Actions):
    """What is due beside the fee, and the end of a contract before its verdict."""

    @request("met closed", share=["all", "all", "unit", "too much"])
    def charge_maintenance(self, share: str) -> None:
        contract = self.in_force()
        fee = contract.maintenance_fee if contract else None
        if fee is None:
            return
        unit = money.minor_unit(contract.currency)
        done = self.ask(
            "propose maintenance",
            lambda: charges.propose_maintenance(
                engagement=self.engagement,
                month=self.clock.now.date(),
                amount={"all": fee, "unit": unit, "too much": fee + unit}[share],
                reason="New driver.",
                by=self.world.finance,
            ),
            twice=True,
        )
        assert done is None or share != "too much"

    @request("active", really=[True, False, False])
    def terminate(self, really: bool) -> None:
        if really:
            self.ask(
                "propose termination",
                lambda: terminations.propose(
                    engagement=self.engagement,
                    kind="convenience",
                    notice_on=self.clock.now.date(),
                    reason="Enough.",
                    by=self.world.finance,
                ),
                twice=True,
            )

    @request(
        SIGNED,
        how=["approve", "approve", "bill", "bill", "void", "cancel"],
        by=["controller", "controller", "finance", "consultant"],
        which=WHICH,
    )
    def decide_charge(self, how: str, by: str, which: int) -> None:
        row, person = self.one(self.engagement.charges, which), getattr(self.world, by)
        if row is None:
            return
        approve = terminations.approve if row.is_termination else charges.approve
        acts: dict[str, Callable[[], Any]] = {
            "approve": lambda: approve(charge=row, by=person),
            "bill": lambda: charge_invoices.draft(charge=row, by=person),
            "void": lambda: charges.void(charge=row, reason="No.", by=person),
            "cancel": lambda: charge_invoices.cancel(charge=row, reason="No.", by=person),
        }
        name = f"{how} termination" if row.is_termination else f"{how} charge"
        done = self.ask(name, acts[how], twice=how != "bill")
        assert done is None or by != "consultant"
        assert done is None or how != "approve" or done.approved_by_id != done.proposed_by_id
