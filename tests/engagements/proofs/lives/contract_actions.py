"""Random requests about the contract: draft, offer, accept, withdraw, amend."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from engagements.common import money
from engagements.contracts import amendments, offers
from engagements.contracts import services as contracts
from engagements.contracts.drafting import PauseDraft
from engagements.contracts.models import Party
from tests.engagements.proofs.lives.actions import Actions, request
from tests.engagements.world import days


class ContractActions(Actions):
    """Both parties, and what they sign."""

    @request("audited")
    def draft(self) -> None:
        terms_ = self.world.terms(**self.figures, starts_on=self.clock.now.date())
        terms_["valid_until"] = self.clock.now.date() + days(14)
        self.ask("draft", lambda: contracts.draft(engagement=self.engagement, **terms_))

    @request("audited active")
    def offer(self) -> None:
        contract, by = self.contract(), self.world.consultant
        self.ask("offer", lambda: offers.offer(contract=contract, by=by), twice=True)

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
            "decline": lambda: offers.decline(
                contract=contract, reason="No.", by=self.world.signatory
            ),
            "withdraw": lambda: offers.withdraw(
                contract=contract, reason="No.", by=self.world.consultant
            ),
            "expire": lambda: offers.expire(contract=contract),
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
