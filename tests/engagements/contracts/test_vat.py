"""The VAT treatment follows from the customer's country and VAT ID."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import pytest
from django.conf import LazySettings
from django.core.exceptions import ValidationError

from engagements.audit.models import Audit
from engagements.contracts import vat
from engagements.contracts.forms import TermsForm
from engagements.orders import services as orders
from engagements.people.models import Customer
from tests.database_constraints import violates, write
from tests.engagements.world import World, today
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


def test_no_contract_and_no_order_is_without_tax_and_without_a_reason(world: World) -> None:
    with declined("contract.no_tax_reason"):
        world.drafted(tax_rate_percent=Decimal(0))
    contract = world.drafted()
    with violates("contract_tax_is_treated_one_way"):
        write(contract, tax_rate_percent=0)
    audit = world.auditing()
    order = orders.offer(
        engagement=audit.engagement, valid_until=today(), payment_days=14, by=world.consultant
    )
    order.pk, order.number, order.state = None, 2, "offered"
    order.tax_rate_percent = Decimal(0)
    with violates("audit_order_tax_is_treated_one_way"):
        order.save(force_insert=True)
    form = TermsForm(
        {"tax_treatment": "rate", "tax_rate_percent": "0"},
        audit=Audit.objects.get(engagement=contract.engagement),
    )
    assert form.errors["tax_rate_percent"]


def test_at_home_without_a_known_rate_an_invoice_says_that_no_vat_is_charged(
    settings: LazySettings,
) -> None:
    settings.CONSULTANCY = settings.CONSULTANCY | {"country": "US"}
    default = vat.default_for(Customer(name="X", address="Y", country="US"))
    assert (default.treatment, default.rate, default.note) == ("outside_scope", 0, vat.NO_VAT)


def test_a_reverse_charge_says_so_on_the_invoice(world: World) -> None:
    terms: dict[str, Any] = {"tax_rate_percent": Decimal(0), "tax_treatment": "reverse_charge"}
    with declined("contract.tax_sentence"):
        world.drafted(**terms, tax_note="No tax.")
    world.drafted(**terms, tax_note=vat.SENTENCES[vat.Treatment.REVERSE_CHARGE])
