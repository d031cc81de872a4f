"""A whole life at random: everything that anybody may ask of one engagement, in any order.

Each example begins with an audited engagement and draws its terms; each rule is one request
that the application grants or refuses. What `holding.hold` asserts is true after every step,
and whatever is granted twice changes nothing the second time.
"""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from random import Random
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import initialize, invariant

from engagements import closing
from engagements.common import money
from engagements.contracts.drafting import MilestoneDraft
from engagements.engagement.models import Engagement
from engagements.ledger import periods
from engagements.ledger.period_models import Period
from tests.engagements.proofs.invariants import check_invariants
from tests.engagements.proofs.lives.actions import EVERY, request
from tests.engagements.proofs.lives.bank_actions import BankActions
from tests.engagements.proofs.lives.charge_actions import ChargeActions
from tests.engagements.proofs.lives.contract_actions import ContractActions
from tests.engagements.proofs.lives.invoice_actions import InvoiceActions
from tests.engagements.proofs.lives.run_actions import RunActions
from tests.engagements.world import closed_month, days

AUDIT_COST = Decimal("6000")
CONDITIONS = ("signed", "audit_delivered", "target_met", "handover")
RATES = (Decimal(19), Decimal("7.25"))
NO_TAX = {"tax_treatment": "zero", "tax_rate_percent": Decimal(0), "tax_note": "Zero rate."}
# How far an engagement has come before anything is drawn.
STARTS = ("drafted", "in force", "paid", "met", "missed", "approved", "settled")
# How far those go that begin with a charge.
WITH_CHARGE = {"noticed": "in force", "terminated": "paid", "handed over": "met"}
OFTEN = ("in force", "paid", "in force", *STARTS, *WITH_CHARGE, "ordered")


@st.composite
def terms(draw: st.DrawFn) -> dict[str, Any]:
    """Terms with the amounts that go wrong: one unit, thirds, nothing, no tax."""
    currency = draw(st.sampled_from(["EUR", "USD", "JPY", "KWD"]))
    unit = money.minor_unit(currency)
    count = draw(st.integers(1, 4))
    fee = draw(st.sampled_from([Decimal(48000), Decimal(10000), 1000 * unit + unit, count * unit]))
    audit_cost = min(
        fee, AUDIT_COST, draw(st.sampled_from([Decimal(0), unit, fee / 3, fee, AUDIT_COST]))
    )
    parts = money.allocate(fee, [1] * count, currency)
    waits_for = draw(st.lists(st.sampled_from(CONDITIONS), min_size=count, max_size=count))
    # Most have something to pay before the verdict: without, nothing can go back.
    waits_for[0] = draw(st.sampled_from(["signed", "audit_delivered", "signed", waits_for[0]]))
    return {
        "currency": currency,
        "fee": fee,
        "audit_cost": money.quantize(audit_cost, currency),
        **draw(st.sampled_from([{"tax_rate_percent": rate} for rate in RATES] + [NO_TAX])),
        "weeks": draw(st.integers(3, 10)),
        "dispute_days": draw(st.sampled_from([0, 14])),
        "inconclusive": draw(st.sampled_from(["missed", "repeat"])),
        "convenience": draw(st.sampled_from([True, True, False])),
        "maintenance_fee": draw(st.sampled_from([None, 3 * unit, 1000 * unit])),
        "milestones": [
            MilestoneDraft(f"Part {number}", part, condition)
            for number, (part, condition) in enumerate(zip(parts, waits_for, strict=True), 1)
            if part > 0
        ],
    }


def with_charge(figures: dict[str, Any]) -> dict[str, Any]:
    """The terms with what a charge needs: maintenance, a handover, an end by convenience."""
    last = replace(figures["milestones"][-1], condition="handover")
    return {
        **figures,
        "convenience": True,
        "maintenance_fee": 1000 * money.minor_unit(figures["currency"]),
        "milestones": [*figures["milestones"][:-1], last],
    }


class Life(ContractActions, RunActions, InvoiceActions, ChargeActions, BankActions):
    """One engagement, and everybody who may ask something of it."""

    @initialize(figures=terms(), start=st.sampled_from(OFTEN), seed=st.integers(0, 2**32))
    def begin(self, figures: dict[str, Any], start: str, seed: int) -> None:
        """Bring the engagement as far as `start`; the rules go on from there."""
        self.chance = Random(seed)
        self.figures = figures
        if start == "ordered":
            self.engagement = Engagement.objects.get(pk=self.ordered.pk)
            self.stage = self.engagement.stage
            return
        self.engagement = Engagement.objects.get(pk=self.audited[figures["currency"]].pk)
        if start in WITH_CHARGE:
            self.figures = with_charge(figures)
        far = STARTS.index(WITH_CHARGE.get(start, start))
        self.draft()
        if far >= STARTS.index("in force"):
            self.offer()
            self.accept("customer", right=True)
            self.accept("consultancy", right=True)
        if far >= STARTS.index("paid"):
            self.bill(3, 0)
            self.pay(0, "all", 0)
        if far >= STARTS.index("met"):
            self.measure("met" if start in ("met", "handed over") else "missed")
        if far >= STARTS.index("approved"):
            self.approve("finance", 0)
        if far >= STARTS.index("settled"):
            self.move_money("paid", 0)
        if start in ("noticed", "terminated"):
            self.terminate(True)
            self.pass_days(7)
        if start == "terminated":
            self.decide_charge("approve", "controller", 0)
        if start == "handed over":
            self.accept_handover()
            self.charge_maintenance("all")
            self.decide_charge("approve", "controller", 0)

    @request("met missed terminated redirected declined")
    def close(self) -> None:
        by = self.world.consultant
        self.ask("close", lambda: closing.close(engagement=self.engagement, by=by), twice=True)

    @request("audited offered", really=[False, False, False, True])
    def cancel(self, really: bool) -> None:
        if really:
            by = self.world.consultant
            self.ask(
                "cancel",
                lambda: closing.cancel(engagement=self.engagement, reason="No.", by=by),
            )

    @request(EVERY, count=[1, 1, 1, 2, 7, 45])
    def pass_days(self, count: int) -> None:
        self.clock.pass_days(count)

    @request(EVERY, really=[True, False, False])
    def close_month(self, really: bool) -> None:
        if not really:
            return
        month = (self.clock.now.date().replace(day=1) - days(1)).replace(day=1)
        if not Period.objects.filter(state="closed", month__gte=month).exists():
            closed_month(self.world, month)
            self.granted["close month"] += 1
            self.is_held = False

    @request(EVERY, really=[True, False])
    def reopen_month(self, really: bool) -> None:
        latest = Period.objects.filter(state="closed").first()
        if not really or latest is None:
            return
        row = self.ask(
            "propose reopening",
            lambda: periods.propose_reopening(
                period=latest, reason="A late line.", by=self.world.finance
            ),
        )
        if row:
            self.ask(
                "reopen month",
                lambda: periods.approve_reopening(reopening=row, by=self.world.controller),
            )

    @invariant()
    def everything_holds(self) -> None:
        # What was refused wrote nothing.
        if not self.is_held:
            check_invariants(self.kept)
            self.is_held = True
