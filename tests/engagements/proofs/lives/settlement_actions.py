"""Random requests about settlements and disputes."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

from engagements.payouts import refunds
from engagements.settlements import disputes
from engagements.settlements import services as settlements
from tests.engagements.proofs.lives.actions import WHICH, Actions, request


class SettlementActions(Actions):
    """Those who propose, approve and move what goes back, and who disputes it."""

    @request(
        "active missed closed",
        reason=["missed", "time_box", "further", "further"],
        by=["finance", "controller", "consultant", "admin"],
        keeps=[None, Decimal(0)],
    )
    def propose(self, reason: str, by: str, keeps: Decimal | None) -> None:
        contract = self.in_force() or self.contract()
        is_further = reason == "further"
        self.ask(
            f"propose {reason}",
            lambda: settlements.propose(
                contract=contract,
                reason=reason,
                note="Goodwill." if is_further else "",
                audit_cost=keeps if is_further else None,
                by=getattr(self.world, by),
            ),
            twice=True,
        )

    @request("active")
    def sweep(self) -> None:
        self.ask(
            "sweep",
            lambda: settlements.propose_after_time_box(engagement=self.engagement),
        )

    @request(
        "missed closed",
        by=["finance", "controller", "consultant", "admin"],
        which=WHICH,
    )
    def approve(self, by: str, which: int) -> None:
        row, person = self.settlement(which), getattr(self.world, by)
        if row is None:
            return
        done = self.ask(
            "approve", lambda: settlements.approve(settlement=row, by=person), twice=True
        )
        if done:
            assert done.approved_by_id != done.proposed_by_id
            assert by in ("finance", "controller")

    @request(
        "missed closed",
        how=["start", "paid", "failed", "void", "paid"],
        who=["controller", "controller", "finance"],
        which=WHICH,
    )
    def move_money(self, how: str, which: int, who: str = "controller") -> None:
        row, by = self.settlement(which), getattr(self.world, who)
        if row is None:
            return
        under_way = row.transfers.filter(outcome="").first()
        reference = f"SEPA-{row.pk}"
        acts: dict[str, Callable[[], Any]] = {
            "start": lambda: refunds.start_payment(settlement=row, by=by),
            "paid": lambda: refunds.mark_paid(settlement=row, reference=reference, by=by),
            "failed": lambda: refunds.mark_failed(settlement=row, reason="Closed.", by=by),
            "void": lambda: settlements.void(settlement=row, reason="Wrong.", by=by),
        }
        done = self.ask(f"settlement {how}", acts[how], twice=True)
        is_failed = done is not None and how == "failed" and under_way is not None
        assert not is_failed or under_way.started_by_id != by.pk
        if done and how == "paid" and row.transfers.filter(outcome="failed").exists():
            self.granted["pay a returned refund again"] += 1
        is_paid = done is not None and done.paid_by_id is not None
        assert not is_paid or done.refund == 0 or done.paid_by_id != done.approved_by_id

    @request("missed closed", ends=[True, False], which=WHICH)
    def dispute(self, ends: bool, which: int) -> None:
        row = self.settlement(which)
        if row is None:
            return
        opened = row.disputes.filter(resolved_at=None).first()
        if opened and ends:
            self.ask(
                "resolve dispute",
                lambda: disputes.resolve_open(
                    settlement=row, note="Agreed.", by=self.world.finance
                ),
            )
        else:
            self.ask(
                "raise dispute",
                lambda: disputes.raise_dispute(
                    settlement=row, reason="It is too little.", by=self.world.signatory
                ),
            )
