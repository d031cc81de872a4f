"""The VAT treatment follows from the customer's country and VAT ID."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import pytest
from django.conf import LazySettings
from django.core.exceptions import ValidationError

from engagements.contracts import vat
from engagements.people.models import Customer
from tests.engagements.world import World
from tests.errors import declined


@pytest.mark.parametrize(
    ("country", "vat_id", "treatment", "rate"),
    [
        ("DE", "DE136695976", "rate", 19),
        ("DE", "", "rate", 19),
        ("AT", "ATU13585627", "reverse_charge", 0),
        # Without a VAT ID it is taxed as at home.
        ("AT", "", "rate", 19),
        # Nor is a supply to a German VAT ID taxed abroad.
        ("AT", "DE136695976", "rate", 19),
        ("CH", "", "outside_scope", 0),
        ("US", "", "outside_scope", 0),
    ],
)
def test_the_default_follows_country_and_vat_id(
    country: str, vat_id: str, treatment: str, rate: int
) -> None:
    customer = Customer(name="X", address="Y", country=country, vat_id=vat_id)
    default = vat.default_for(customer, day=dt.date(2026, 3, 1))
    assert (default.treatment, default.rate) == (treatment, rate)
    assert bool(default.note) == (treatment != "rate")


@pytest.mark.parametrize(
    ("home", "country", "vat_id", "treatment", "rate"),
    [
        # Outside the union there is no reverse charge of its directive.
        ("CH", "DE", "DE136695976", "outside_scope", 0),
        ("CH", "CH", "", "rate", "8.1"),
        # The VAT IDs of Greece start with EL.
        ("GR", "DE", "EL094259216", "rate", 24),
    ],
)
def test_the_default_follows_our_own_country(
    settings: LazySettings, home: str, country: str, vat_id: str, treatment: str, rate: float
) -> None:
    settings.CONSULTANCY = settings.CONSULTANCY | {"country": home}
    customer = Customer(name="X", address="Y", country=country, vat_id=vat_id)
    default = vat.default_for(customer, day=dt.date(2026, 3, 1))
    assert (default.treatment, default.rate) == (treatment, Decimal(str(rate)))


def test_a_standard_rate_is_that_of_its_day() -> None:
    days = (dt.date(2020, 6, 30), dt.date(2020, 7, 1), dt.date(2021, 1, 1))
    assert [vat.standard_rate("DE", day) for day in days] == [19, 16, 19]
    assert vat.standard_rate("FI", dt.date(2026, 1, 1)) == Decimal("25.5")


@pytest.mark.parametrize(
    ("vat_id", "is_valid"),
    [
        ("DE136695976", True),
        ("DE136695977", False),
        ("ATU13585627", True),
        ("136695976", False),
        ("CHE107787577IVA", True),
        ("GB980780684", True),
        ("GB980780685", False),
    ],
)
def test_a_vat_id_has_valid_check_digits(vat_id: str, is_valid: bool) -> None:
    customer = Customer(name="X", address="Y", country="DE", vat_id=vat_id)
    if is_valid:
        customer.clean()
        return
    with pytest.raises(ValidationError):
        customer.clean()


def test_a_reverse_charge_says_so_on_the_invoice(world: World) -> None:
    terms: dict[str, Any] = {"tax_rate_percent": Decimal(0), "tax_treatment": "reverse_charge"}
    with declined("contract.tax_sentence"):
        world.drafted(**terms, tax_note="No tax.")
    world.drafted(**terms, tax_note=vat.SENTENCES[vat.Treatment.REVERSE_CHARGE])
