"""The people and companies of the demonstration. All are made up, on .example addresses."""

from __future__ import annotations

import secrets
from dataclasses import dataclass

from engagements.models import Contact, Customer, Membership, Role, User


@dataclass(frozen=True)
class Cast:
    """Everybody who acts in the demonstration; they share one password, new each time."""

    consultant: User
    finance: User
    second_finance: User
    admin: User
    password: str

    def sign_ins(self) -> list[tuple[str, str]]:
        """(what the person is, email address) for everybody who can sign in."""
        house = [
            ("consultant", self.consultant.email),
            ("finance", self.finance.email),
            ("finance, second person", self.second_finance.email),
            ("admin", self.admin.email),
        ]
        customers = [
            (f"{member.rights} of {member.customer.name}", member.user.email)
            for member in Membership.objects.select_related("user", "customer").order_by("pk")
        ]
        return house + customers


@dataclass(frozen=True)
class Client:
    """A made-up customer, and who signs and who reads there."""

    name: str
    address: str
    country: str
    vat_id: str
    currency: str
    domain: str
    signatory: str
    viewer: str


LONGPROMPT = Client(
    name="Longprompt Demo GmbH",
    address="Musterallee 12\n10999 Berlin",
    country="DE",
    vat_id="DE000000000",
    currency="EUR",
    domain="longprompt.example",
    signatory="Petra Beispiel",
    viewer="Nils Muster",
)
SLIDEWELL = Client(
    name="Slidewell Demo Ltd",
    address="1 Sample Street\nBristol BS1 0AA",
    country="GB",
    vat_id="GB000000000",
    currency="GBP",
    domain="slidewell.example",
    signatory="Sam Placeholder",
    viewer="Vera Specimen",
)


def hire() -> Cast:
    """Make the people of the house."""
    password = f"twofold-{secrets.token_hex(4)}"

    def person(name: str, address: str, role: Role) -> User:
        return User.objects.create_user(
            f"{address}@twofold.example",
            password,
            name=name,
            role=role,
            is_staff=role == Role.ADMIN,
            is_superuser=role == Role.ADMIN,
        )

    return Cast(
        consultant=person("Carla Consultant", "consultant", Role.CONSULTANT),
        finance=person("Fritz Finance", "finance", Role.FINANCE),
        second_finance=person("Selma Second", "finance2", Role.FINANCE),
        admin=person("Ada Admin", "admin", Role.ADMIN),
        password=password,
    )


def welcome(client: Client, *, password: str) -> tuple[Customer, User]:
    """Make a customer with its two people; the signatory is returned beside it."""
    customer = Customer.objects.create(
        name=client.name,
        address=client.address,
        country=client.country,
        vat_id=client.vat_id,
        currency=client.currency,
    )
    people = [
        (client.signatory, "signatory", Membership.Rights.SIGNATORY),
        (client.viewer, "viewer", Membership.Rights.VIEWER),
    ]
    users = []
    for name, box, rights in people:
        user = User.objects.create_user(f"{box}@{client.domain}", password, name=name)
        Contact.objects.create(customer=customer, user=user, name=name, email=user.email)
        Membership.objects.create(customer=customer, user=user, rights=rights)
        users.append(user)
    return customer, users[0]
