"""Where a run is measured: on the consultancy's machines, by the customer's runners, or both."""

from __future__ import annotations

from engagements.contracts.models import ContractVersion
from engagements.people.models import Customer

Place = ContractVersion.Place


def party(customer: Customer | None) -> str:
    """The name of a party in `Run.measured_by` and `SigningKey.owner`; None is the consultancy."""
    return "" if customer is None else f"customer:{customer.pk}"


def has_runner(customer: Customer) -> bool:
    """Whether the customer has a runner that was started and has not ended."""
    started = Customer.objects.filter(runners__ended_at=None, runners__key__isnull=False)
    return started.filter(pk=customer.pk).exists()


def measured_by(place: str, customer: Customer) -> str:
    """The party that makes the run at `place` for `customer`; of both, the consultancy's."""
    return party(customer if place == Place.CUSTOMER else None)
