"""Who may bind a customer, and who of them signs a contract."""

from __future__ import annotations

from engagements.access import Person, may_sign
from engagements.contracts.models import ContractVersion
from engagements.people.models import User
from engagements.people.signatories import signatories_of


def who_signs(contract: ContractVersion) -> list[User]:
    """Who may accept `contract` for its customer: the one who is named to, else any signatory."""
    named = named_to_accept(contract)
    if named is not None:
        return [named]
    return signatories_of(contract.engagement.customer)


def named_to_accept(contract: ContractVersion) -> User | None:
    """Who alone accepts `contract` for its customer; None where any signatory does.

    It is whom the terms name. An amendment of who signs is accepted by whom the version before
    it names, as long as they may sign.
    """
    if contract.amendment != ContractVersion.Amendment.SIGNATORY:
        return contract.signatory
    assert contract.amends is not None  # what is no amendment has no kind of one
    before = contract.amends.signatory
    return before if before in signatories_of(contract.engagement.customer) else None


def may_accept(user: Person | None, contract: ContractVersion) -> bool:
    """Whether `user` accepts `contract` for its customer: the one who is named to, else any
    signatory."""
    is_named = named_to_accept(contract) in (None, user)
    return is_named and may_sign(user, contract.engagement.customer)
