"""Who may accept a contract for the customer."""

from __future__ import annotations

from engagements.access import Person, may_sign
from engagements.contracts.models import ContractVersion
from engagements.people.models import User
from engagements.people.signatories import signatories_of


def who_signs(contract: ContractVersion) -> list[User]:
    """The people who may accept `contract`: its sole signatory, else any of the customer's."""
    named = named_to_accept(contract)
    if named is not None:
        return [named]
    return signatories_of(contract.engagement.customer)


def named_to_accept(contract: ContractVersion) -> User | None:
    """The sole signatory who may accept `contract`; None where any signatory may.

    An amendment of the signatory is accepted by the one named in the amended version, while that
    person may sign.
    """
    if contract.amendment != ContractVersion.Amendment.SIGNATORY:
        return contract.signatory
    assert contract.amends is not None  # only an amendment has a kind
    before = contract.amends.signatory
    return before if before in signatories_of(contract.engagement.customer) else None


def may_accept(user: Person | None, contract: ContractVersion) -> bool:
    """Whether `user` may accept `contract` for its customer."""
    is_named = named_to_accept(contract) in (None, user)
    return is_named and may_sign(user, contract.engagement.customer)
