"""Who may bind a customer, and who of them signs a contract."""

from __future__ import annotations

from engagements.models import ContractVersion, Customer, Membership, Role, User


def signatories_of(customer: Customer) -> list[User]:
    """The active people who may bind `customer`, by address."""
    memberships = Membership.objects.filter(
        customer=customer,
        rights=Membership.Rights.SIGNATORY,
        user__is_active=True,
        user__role=Role.NONE,
    ).select_related("user")
    return sorted((membership.user for membership in memberships), key=lambda user: user.email)


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
