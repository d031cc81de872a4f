"""What a settlement will set going, in words: credit notes, milestones, entries of the ledger."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from engagements.models import Account, Entry, Milestone
from engagements.services.calculations import Calculation
from engagements.services.credit_plans import PlannedCredit


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
    accounts = {account.code: account for account in Account.objects.all()}
    entries = [
        PlannedEntry(
            entry.kind,
            entry.about,
            tuple((accounts[code], amount) for code, amount in entry.effect.items() if amount),
        )
        for entry in calculation.entries
    ]
    return Planned(
        currency=calculation.currency,
        cancelled=calculation.credits.cancelled,
        refunded=calculation.credits.refunded,
        void=calculation.void,
        entries=entries,
    )
