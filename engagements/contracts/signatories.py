"""Signatories: the people who may accept a contract for the customer."""

from __future__ import annotations

from engagements.access import Person, may_sign
from engagements.contracts.models import ContractVersion, Party
from engagements.contracts.options import SigningOrder
from engagements.contracts.signing_models import Delegation
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

    A delegate takes the place of the signatory named in an open offer. An amendment of the
    signatory is accepted by the one named in the amended version, while that person may sign.
    """
    if contract.state == ContractVersion.State.OFFERED:
        newest = Delegation.objects.filter(contract_version=contract).select_related("delegate")
        if delegation := newest.last():
            return delegation.delegate
    if contract.amendment != ContractVersion.Amendment.SIGNATORY:
        return contract.signatory
    assert contract.amends is not None  # only an amendment has a kind
    before = contract.amends.signatory
    return before if before in signatories_of(contract.engagement.customer) else None


def may_accept(user: Person | None, contract: ContractVersion) -> bool:
    """Whether `user` may accept `contract` for its customer."""
    is_named = named_to_accept(contract) in (None, user)
    return is_named and may_sign(user, contract.engagement.customer)


def delegates_for(user: Person | None, contract: ContractVersion) -> list[User]:
    """The signatories to whom `user` may delegate the signature of `contract`; empty for none."""
    if named_to_accept(contract) != user or not may_accept(user, contract):
        return []
    return [each for each in signatories_of(contract.engagement.customer) if each != user]


def waits_for(contract: ContractVersion, party: Party) -> Party | None:
    """The party that has to sign `contract` before `party` may; None when it may sign now."""
    if contract.signing_order in (SigningOrder.ANY, party):
        return None
    first = Party(contract.signing_order)
    has_signed = any(each.party == first for each in contract.acceptances.all())
    return None if has_signed else first
