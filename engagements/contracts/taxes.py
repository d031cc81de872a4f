"""The tax on each milestone, fixed so that every way to bill a fee adds up to its total."""

from __future__ import annotations

from decimal import Decimal

from engagements.common.money import tax_shares
from engagements.contracts.models import ContractVersion
from engagements.contracts.terms import released_before


def taxes_of(contract: ContractVersion) -> dict[int, Decimal]:
    """Return the tax on each milestone of a contract and of those released before it, by key.

    Reads `milestones.all()`: prefetch for many contracts.
    """
    own = sorted(contract.milestones.all(), key=lambda row: row.position)
    rows = [*released_before(contract), *own]
    amounts = [row.amount for row in rows]
    shares = tax_shares(amounts, contract.tax_rate_percent, contract.currency)
    return {row.pk: share for row, share in zip(rows, shares, strict=True)}
