"""A whole life at random: everything that anybody may ask of one engagement, in any order.

Each example begins with an audited engagement and draws its terms; each rule is one request
that the application grants or refuses. What `holding.hold` asserts is true after every step,
and whatever is granted twice changes nothing the second time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from random import Random
from typing import Any, ClassVar, TypeVar

from django.db import connection, transaction
from hypothesis import note
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from engagements import money
from engagements.errors import Refused
from engagements.models import (
    Engagement,
    EngagementRun,
    Entry,
    Event,
    Invoice,
    Milestone,
    Party,
    Payment,
    Period,
    Settlement,
    Stage,
)
from engagements.queries import event_log
from engagements.queries.balances import balance_of
from engagements.services import (
    amendments,
    contracts,
    disputes,
    invoices,
    lifecycle,
    milestones,
    payments,
    runs,
    settlements,
)
from engagements.services.contracts import MilestoneDraft
from engagements.services.drafting import PauseDraft
from tests.engagements.proofs.clock import Clock, turned
from tests.engagements.proofs.holding import Kept, hold
from tests.engagements.world import World, days, measured

AUDIT_COST = Decimal("6000")
WHICH = range(6)
# Every third request of a kind is made twice.
ASKED_TWICE = 3
CONDITIONS = ("signed", "audit_delivered", "target_met", "handover")
# The stages at which something may be asked; elsewhere it would be refused at once.
EVERY = " ".join(Stage.values)
SIGNED = "active met missed closed"
# How far an engagement has come before anything is drawn.
STARTS = ("drafted", "in force", "paid", "met", "missed", "approved", "settled")
OFTEN = ("in force", "paid", "in force", *STARTS)


@st.composite
def terms(draw: st.DrawFn) -> dict[str, Any]:
    """Terms with the amounts that go wrong: one unit, thirds, nothing, no tax."""
    currency = draw(st.sampled_from(["EUR", "USD", "JPY", "KWD"]))
    unit = money.minor_unit(currency)
    count = draw(st.integers(1, 4))
    fee = draw(st.sampled_from([Decimal(48000), Decimal(10000), 1000 * unit + unit, count * unit]))
    audit_cost = min(fee, AUDIT_COST, draw(st.sampled_from([0, unit, fee / 3, fee, AUDIT_COST])))
    parts = money.allocate(fee, [1] * count, currency)
    waits_for = draw(st.lists(st.sampled_from(CONDITIONS), min_size=count, max_size=count))
    # Most have something to pay before the verdict: without, nothing can go back.
    waits_for[0] = draw(st.sampled_from(["signed", "audit_delivered", "signed", waits_for[0]]))
    return {
        "currency": currency,
        "fee": fee,
        "audit_cost": money.quantize(Decimal(audit_cost), currency),
        "tax_rate_percent": draw(st.sampled_from([Decimal(19), Decimal(0), Decimal("7.25")])),
        "weeks": draw(st.integers(3, 10)),
        "dispute_days": draw(st.sampled_from([0, 14])),
        "inconclusive": draw(st.sampled_from(["missed", "repeat"])),
        "milestones": [
            MilestoneDraft(f"Part {number}", part, condition)
            for number, (part, condition) in enumerate(zip(parts, waits_for, strict=True), 1)
            if part > 0
        ],
    }


@dataclass(frozen=True)
class Request:
    """Something that may be asked at some stages, and what may be said with it."""

    method: str
    stages: list[str]
    arguments: dict[str, Sequence[Any]]


REQUESTS: list[Request] = []
Method = TypeVar("Method", bound=Callable[..., None])


def request(stages: str, **arguments: Sequence[Any]) -> Callable[[Method], Method]:
    """Let lives ask this at these stages.

    By even chance from a seed, and not a rule each: Hypothesis leaves a part of all rules out of
    every example and repeats what it drew, and what takes seven requests in a row would hardly
    ever be reached. An example is still made shorter when it fails, and told request by request.
    """

    def listed(method: Method) -> Method:
        REQUESTS.append(Request(method.__name__, stages.split(), arguments))
        return method

    return listed


class Life(RuleBasedStateMachine):
    """One engagement, and everybody who may ask something of it."""

    world: ClassVar[World]
    # An audited engagement by currency, written before the first example.
    audited: ClassVar[dict[str, Engagement]]
    # How often each request was granted.
    granted: ClassVar[Counter[str]]

    def __init__(self) -> None:
        super().__init__()
        self.clock = Clock()
        self.kept = Kept()
        self.number = 0
        self.stage = "audited"
        self.is_held = False
        # Rolled back when the example ends: the next one begins where this one did.
        self.example = transaction.atomic()
        self.example.__enter__()
        self.time = turned(self.clock)
        self.time.__enter__()

    def teardown(self) -> None:
        try:
            if not connection.needs_rollback:
                report = event_log.verify()
                assert report.breaks == []
        finally:
            self.time.__exit__(None, None, None)
            transaction.set_rollback(True)
            self.example.__exit__(None, None, None)

    # Asking, and what is there to ask about.

    def ask(self, name: str, request: Callable[[], Any], *, twice: bool = False) -> Any:
        """Make a request as a transaction of its own; None where it was refused."""
        try:
            with transaction.atomic():
                answer = request()
                # What a commit would check.
                connection.check_constraints()
        except Refused:
            return None
        if answer is None:
            return None
        self.granted[name] += 1
        self.is_held = False
        if twice and self.granted[name] % ASKED_TWICE == 0:
            before = self.written()
            request()
            assert self.written() == before, f"{name}, asked twice, wrote more"
        self.stage = Engagement.objects.values_list("stage", flat=True).get(pk=self.engagement.pk)
        return answer

    def written(self) -> tuple[int, ...]:
        models = (Event, Entry, Invoice, Payment, Settlement)
        return tuple(model.objects.count() for model in models)

    def one(self, rows: Any, which: int) -> Any:
        """One of the engagement's rows, or None."""
        found = list(rows.order_by("pk"))
        return found[which % len(found)] if found else None

    def contract(self) -> Any:
        return self.engagement.contracts.order_by("-number").first()

    def in_force(self) -> Any:
        return self.engagement.contracts.filter(state="accepted").first()

    def settlement(self, which: int = 0) -> Any:
        rows = Settlement.objects.filter(contract_version__engagement=self.engagement)
        live = rows.exclude(state__in=["paid", "voided"]).first()
        return live or self.one(rows, which)

    def invoice(self, which: int) -> Any:
        rows = self.engagement.invoices.filter(kind=Invoice.Kind.INVOICE, state="issued")
        return self.one(rows, which)

    def fresh(self) -> str:
        self.number += 1
        return f"REF-{self.number}"

    @rule()
    def anybody_asks(self) -> None:
        asked = self.chance.choice([one for one in REQUESTS if self.stage in one.stages])
        drawn = {name: self.chance.choice(values) for name, values in asked.arguments.items()}
        note(f"{self.stage}: {asked.method} {drawn}")
        getattr(self, asked.method)(**drawn)

    # The contract.

    @initialize(figures=terms(), start=st.sampled_from(OFTEN), seed=st.integers(0, 2**32))
    def begin(self, figures: dict[str, Any], start: str, seed: int) -> None:
        """Bring the engagement as far as `start`; the rules go on from there."""
        self.chance = Random(seed)
        self.figures = figures
        self.engagement = Engagement.objects.get(pk=self.audited[figures["currency"]].pk)
        far = STARTS.index(start)
        self.draft()
        if far >= STARTS.index("in force"):
            self.offer()
            self.accept("customer", right=True)
            self.accept("consultancy", right=True)
        if far >= STARTS.index("paid"):
            self.bill(3, 0)
            self.pay(0, "all", 0)
        if far >= STARTS.index("met"):
            self.measure("met" if start == "met" else "missed")
        if far >= STARTS.index("approved"):
            self.approve("finance", 0)
        if far >= STARTS.index("settled"):
            self.move_money("paid", 0)

    @request("audited")
    def draft(self) -> None:
        terms_ = self.world.terms(**self.figures, starts_on=self.clock.now.date())
        terms_["valid_until"] = self.clock.now.date() + days(14)
        self.ask("draft", lambda: contracts.draft(engagement=self.engagement, **terms_))

    @request("audited active")
    def offer(self) -> None:
        contract, by = self.contract(), self.world.consultant
        self.ask("offer", lambda: contracts.offer(contract=contract, by=by), twice=True)

    @request(
        "offered active missed",
        party=["customer", "consultancy"],
        right=[True, False],
    )
    def accept(self, party: str, right: bool) -> None:
        contract, side = self.contract(), Party(party)
        digest = contract.digest if right else "sha256:" + "0" * 64
        request = self.world.accept
        done = self.ask(
            "accept",
            lambda: request(contract, side, digest=digest),
            twice=right and side == "customer",
        )
        assert done is None or right, "nobody accepts another digest"

    @request("offered active", how=["decline", "withdraw", "expire"])
    def take_back(self, how: str) -> None:
        contract = self.contract()
        acts: dict[str, Callable[[], Any]] = {
            "decline": lambda: contracts.decline(
                contract=contract, reason="No.", by=self.world.signatory
            ),
            "withdraw": lambda: contracts.withdraw(
                contract=contract, reason="No.", by=self.world.consultant
            ),
            "expire": lambda: contracts.expire(contract=contract),
        }
        self.ask(how, acts[how])

    @request("active", change=["more_time", "pause", "price"], size=range(1, 4))
    def amend(self, change: str, size: int) -> None:
        amended, today = self.in_force(), self.clock.now.date()
        unit = money.minor_unit(amended.currency)
        to: dict[str, dict[str, Any]] = {
            "more_time": {"weeks": amended.weeks + size},
            "pause": {"pause": PauseDraft(today, today + days(size), "customer", "Waiting.")},
            "price": {"fee": amended.fee + (size - 2) * 100 * unit},
        }
        self.ask(
            f"amend {change}",
            lambda: amendments.draft(
                engagement=self.engagement,
                change=change,
                reason="Agreed.",
                by=self.world.consultant,
                **to[change],
            ),
        )

    # Runs and their verdicts.

    @request(
        "active",
        verdict=["met", "missed", "missed", "inconclusive", "invalid", "failed"],
    )
    def measure(self, verdict: str) -> None:
        asked = self.ask("request run", lambda: self.world.request(self.in_force()))
        if asked:
            measured(asked, verdict)
            self.conclude()

    @request("active")
    def request_run(self) -> None:
        self.ask("request run", lambda: self.world.request(self.in_force()))

    @request("active", verdict=["met", "missed", "inconclusive"])
    def finish_run(self, verdict: str) -> None:
        asked = self.engagement.runs.filter(run__finished_at=None).first()
        if asked:
            measured(asked, verdict)
            self.conclude()

    def conclude(self) -> None:
        asked = EngagementRun.objects.filter(engagement=self.engagement).order_by("-pk").first()
        if asked and asked.run.is_concluded:
            self.ask("conclude run", lambda: runs.conclude(run=asked), twice=True)

    @request("met missed")
    def accept_handover(self) -> None:
        by = self.world.signatory
        self.ask(
            "accept handover",
            lambda: milestones.accept_handover(engagement=self.engagement, by=by),
        )

    # Invoices, payments, credit notes.

    @request(SIGNED, count=range(1, 4), which=WHICH)
    def bill(self, count: int, which: int) -> None:
        rows = list(
            Milestone.objects.filter(contract_version__engagement=self.engagement)
            .exclude(state__in=["pending", "void"])
            .select_related("contract_version")
            .order_by("pk")
        )
        chosen = (rows[which % len(rows) :] + rows)[:count] if rows else []
        by = self.world.finance
        draft = self.ask(
            "draft invoice", lambda: invoices.draft(milestones=chosen, by=by), twice=True
        )
        if draft:
            self.ask("issue invoice", lambda: invoices.issue(invoice=draft, by=by), twice=True)

    @request(SIGNED, which=WHICH)
    def discard_draft(self, which: int) -> None:
        row = self.one(self.engagement.invoices.filter(state="draft"), which)
        if row:
            by = self.world.finance
            self.ask("discard invoice", lambda: invoices.discard(invoice=row, by=by) or row)

    @request(
        SIGNED,
        which=WHICH,
        share=["all", "third", "unit", "one too much", "twice"],
        late=range(41),
    )
    def pay(self, which: int, share: str, late: int) -> None:
        row = self.invoice(which)
        if row is None:
            return
        unit = money.minor_unit(row.currency)
        open_amount = max(balance_of(row).open_amount, unit)
        amount = {
            "all": open_amount,
            "third": max(money.quantize(open_amount / 3, row.currency), unit),
            "unit": unit,
            "one too much": open_amount + unit,
            "twice": 2 * open_amount,
        }[share]
        reference = self.fresh()
        self.ask(
            f"pay {share}",
            lambda: payments.record(
                invoice=row,
                amount=amount,
                received_on=self.clock.now.date() - days(late),
                reference=reference,
                by=self.world.finance,
                may_exceed=share in ("one too much", "twice"),
            ),
            twice=True,
        )

    @request(
        SIGNED,
        which=WHICH,
        share=["all", "half", "unit"],
        bill_again=[True, False],
    )
    def credit(self, which: int, share: str, bill_again: bool) -> None:
        row = self.invoice(which)
        if row is None:
            return
        unit = money.minor_unit(row.currency)
        net = {"all": None, "half": money.quantize(row.net / 2, row.currency), "unit": unit}[share]
        self.ask(
            f"credit {share}",
            lambda: invoices.credit(
                invoice=row,
                reason="Agreed.",
                net=net,
                by=self.world.finance,
                bill_again=bill_again and net is None,
            ),
        )

    # Settling.

    @request(
        "active missed closed",
        reason=["missed", "time_box", "further", "further"],
        by=["finance", "controller", "consultant", "admin"],
        keeps=[None, Decimal(0)],
    )
    def propose(self, reason: str, by: str, keeps: Decimal | None) -> None:
        contract = self.in_force() or self.contract()
        self.ask(
            f"propose {reason}",
            lambda: settlements.propose(
                contract=contract,
                reason=reason,
                note="More goes back.",
                audit_cost=keeps,
                by=getattr(self.world, by),
            ),
            twice=True,
        )

    @request("active")
    def sweep(self) -> None:
        self.ask(
            "sweep",
            lambda: settlements.settle_when_time_box_is_over(engagement=self.engagement),
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
        which=WHICH,
    )
    def move_money(self, how: str, which: int) -> None:
        row, by = self.settlement(which), self.world.finance
        if row is None:
            return
        reference = f"SEPA-{row.pk}"
        acts: dict[str, Callable[[], Any]] = {
            "start": lambda: settlements.start_payment(settlement=row, by=by),
            "paid": lambda: settlements.mark_paid(settlement=row, reference=reference, by=by),
            "failed": lambda: settlements.mark_failed(settlement=row, reason="Closed.", by=by),
            "void": lambda: settlements.void(settlement=row, reason="Wrong.", by=by),
        }
        self.ask(f"settlement {how}", acts[how], twice=True)

    @request("missed closed", ends=[True, False], which=WHICH)
    def dispute(self, ends: bool, which: int) -> None:
        row = self.settlement(which)
        if row is None:
            return
        opened = row.disputes.filter(resolved_at=None).first()
        if opened and ends:
            self.ask(
                "resolve dispute",
                lambda: disputes.resolve(dispute=opened, note="Agreed.", by=self.world.finance),
            )
        else:
            self.ask(
                "raise dispute",
                lambda: disputes.raise_dispute(
                    settlement=row, reason="It is too little.", by=self.world.signatory
                ),
            )

    # The rest.

    @request("met missed")
    def close(self) -> None:
        by = self.world.consultant
        self.ask("close", lambda: lifecycle.close(engagement=self.engagement, by=by), twice=True)

    @request("audited offered", really=[False, False, False, True])
    def cancel(self, really: bool) -> None:
        if really:
            by = self.world.consultant
            self.ask(
                "cancel",
                lambda: lifecycle.cancel(engagement=self.engagement, reason="No.", by=by),
            )

    @request(EVERY, count=[1, 1, 1, 2, 7, 45])
    def pass_days(self, count: int) -> None:
        self.clock.pass_days(count)

    @request(EVERY, really=[True, False, False])
    def close_month(self, really: bool) -> None:
        if not really:
            return
        month = (self.clock.now.date().replace(day=1) - days(1)).replace(day=1)
        if not Period.objects.filter(month__gte=month).exists():
            Period.objects.create(month=month, closed_by=self.world.finance)
            self.granted["close month"] += 1
            self.is_held = False

    @invariant()
    def everything_holds(self) -> None:
        # What was refused wrote nothing.
        if not self.is_held:
            hold(self.kept)
            self.is_held = True
