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
    """Who may accept `contract` for its customer: the one whom it names, else any signatory."""
    if contract.signatory is not None:
        return [contract.signatory]
    return signatories_of(contract.engagement.customer)
