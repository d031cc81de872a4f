"""People and companies of the demonstration, all made up, on .example addresses."""

from __future__ import annotations

import secrets
from dataclasses import dataclass

from django.contrib.auth.hashers import make_password

from engagements.people.models import Contact, Customer, Membership, Role, User


@dataclass(frozen=True)
class DemoUsers:
    """The consultancy's staff. All users of a demonstration share one random password."""

    consultant: User
    finance: User
    second_finance: User
    admin: User
    password: str
    # Hashed once: a hash takes a third of a second.
    password_hash: str

    def sign_ins(self) -> list[tuple[str, str]]:
        """(role, email address) of every user, customers included."""
        staff = [
            ("consultant", self.consultant.email),
            ("finance", self.finance.email),
            ("finance, second approver", self.second_finance.email),
            ("admin", self.admin.email),
        ]
        customers = [
            (f"{member.rights} of {member.customer.name}", member.user.email)
            for member in Membership.objects.select_related("user", "customer").order_by("pk")
        ]
        return staff + customers


@dataclass(frozen=True)
class DemoCustomer:
    """A made-up customer with a signatory and a viewer."""

    name: str
    address: str
    country: str
    vat_id: str
    currency: str
    domain: str
    signatory: str
    viewer: str


LONGPROMPT = DemoCustomer(
    name="Longprompt Demo GmbH",
    address="Musterallee 12\n10999 Berlin",
    country="DE",
    vat_id="DE123456788",
    currency="EUR",
    domain="longprompt.example",
    signatory="Petra Beispiel",
    viewer="Nils Muster",
)
SLIDEWELL = DemoCustomer(
    name="Slidewell Demo Ltd",
    address="1 Sample Street\nBristol BS1 0AA",
    country="GB",
    vat_id="GB123456782",
    currency="GBP",
    domain="slidewell.example",
    signatory="Sam Placeholder",
    viewer="Vera Specimen",
)


def create_staff() -> DemoUsers:
    """Create one consultant, two people in finance and one administrator."""
    password = f"twofold-{secrets.token_hex(4)}"
    hashed = make_password(password)

    def person(name: str, address: str, role: Role) -> User:
        return User.objects.create(
            email=f"{address}@twofold.example",
            password=hashed,
            name=name,
            role=role,
            is_staff=role == Role.ADMIN,
            is_superuser=role == Role.ADMIN,
        )

    return DemoUsers(
        consultant=person("Carla Consultant", "consultant", Role.CONSULTANT),
        finance=person("Fritz Finance", "finance", Role.FINANCE),
        second_finance=person("Selma Second", "finance2", Role.FINANCE),
        admin=person("Ada Admin", "admin", Role.ADMIN),
        password=password,
        password_hash=hashed,
    )


def create_customer(given: DemoCustomer, *, users: DemoUsers) -> tuple[Customer, User]:
    """Create a customer with its signatory and viewer; return it with the signatory.

    A customer of an earlier engagement is returned as it is.
    """
    customer, is_new = Customer.objects.get_or_create(
        name=given.name,
        defaults={
            "address": given.address,
            "country": given.country,
            "vat_id": given.vat_id,
            "currency": given.currency,
        },
    )
    people = [
        (given.signatory, "signatory", Membership.Rights.SIGNATORY),
        (given.viewer, "viewer", Membership.Rights.VIEWER),
    ]
    for name, mailbox, rights in people if is_new else ():
        user = User.objects.create(
            email=f"{mailbox}@{given.domain}", password=users.password_hash, name=name
        )
        Contact.objects.create(customer=customer, user=user, name=name, email=user.email)
        Membership.objects.create(customer=customer, user=user, rights=rights)
    return customer, User.objects.get(email=f"signatory@{given.domain}")
