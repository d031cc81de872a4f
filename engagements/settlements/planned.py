"""What a settlement will set going, in words: credit notes, milestones, entries of the ledger."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal

from engagements.contracts.milestones.models import Milestone
from engagements.ledger.effects import Effect
from engagements.ledger.models import Account, Entry
from engagements.settlements.calculation import Calculation
from engagements.settlements.credit_plans import PlannedCredit


@dataclass(frozen=True)
class PlannedEntry:
    """An entry to come: its legs with their accounts, debit positive."""

    kind: Entry.Kind
    about: str
    legs: tuple[tuple[Account, Decimal], ...]


@dataclass(frozen=True)
class Planned:
    """Everything that follows, in `currency`, in the order in which it would happen."""

    currency: str
    cancelled: Sequence[PlannedCredit]
    refunded: Sequence[PlannedCredit]
    void: Sequence[Milestone]
    entries: Sequence[PlannedEntry]


def planned(calculation: Calculation) -> Planned:
    """The rest of a calculation as its page shows it."""
    entries = planned_entries(
        (entry.kind, entry.about, entry.effect) for entry in calculation.entries
    )
    return Planned(
        currency=calculation.currency,
        cancelled=calculation.credits.cancelled,
        refunded=calculation.credits.refunded,
        void=calculation.void,
        entries=entries,
    )


def planned_entries(planned: Iterable[tuple[Entry.Kind, str, Effect]]) -> list[PlannedEntry]:
    """Entries to come, each from its kind, what it is about and what it posts by account."""
    accounts = {account.code: account for account in Account.objects.all()}
    return [
        PlannedEntry(
            kind,
            about,
            tuple((accounts[code], amount) for code, amount in effect.items() if amount),
        )
        for kind, about, effect in planned
    ]
