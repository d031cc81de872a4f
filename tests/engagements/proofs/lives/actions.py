"""Random requests to one engagement; each is granted or declined."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, ClassVar, TypeVar

from django.db import connection, transaction
from hypothesis import note
from hypothesis.stateful import RuleBasedStateMachine, rule

from engagements.billing.models import Invoice
from engagements.billing.payment_models import Payment
from engagements.common.errors import ApplicationError
from engagements.engagement.models import Engagement, Stage
from engagements.event_log import verify
from engagements.event_log.models import Event
from engagements.ledger.models import Entry
from engagements.settlements.models import Settlement
from tests.engagements.proofs.clock import Clock, turned
from tests.engagements.proofs.invariants import SealedRows
from tests.engagements.world import World

# Every third request of a kind is made twice.
ASKED_TWICE = 3
WHICH = range(6)
# The stages at which something may be asked; elsewhere it would be refused at once.
EVERY = " ".join(Stage.values)
SIGNED = "active met missed terminated closed"
# An audit that leads to no contract is billed by its order.
BILLED = f"{SIGNED} redirected declined"


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


class Actions(RuleBasedStateMachine):
    """Asks something of one engagement, step by step, and knows what there is to ask about."""

    world: ClassVar[World]
    # An audited engagement by currency, written before the first example.
    audited: ClassVar[dict[str, Engagement]]
    # One whose audit was ordered, and declines custom work.
    ordered: ClassVar[Engagement]
    # How often each request was granted.
    granted: ClassVar[Counter[str]]
    # Drawn as each example begins.
    chance: Random
    figures: dict[str, Any]
    engagement: Engagement

    def __init__(self) -> None:
        super().__init__()
        self.clock = Clock()
        self.kept = SealedRows()
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
                report = verify.verify()
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
        except ApplicationError:
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
