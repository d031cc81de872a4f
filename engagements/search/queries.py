"""Find engagements, customers, invoices and operators by a few letters."""

from __future__ import annotations

from dataclasses import dataclass

from django.db.models import Q
from django.urls import reverse

from engagements import access
from engagements.billing.models import Invoice
from engagements.people.models import Customer
from kernels import catalogue

SHOWN = 6


@dataclass(frozen=True)
class Hit:
    """A result: what it is, its title, a note and its page."""

    kind: str
    title: str
    note: str
    url: str


def search(user: access.Person, text: str) -> list[Hit]:
    """Return what `user` may see that contains `text`, the first few of each kind."""
    text = text.strip()
    if not text:
        return []
    is_staff = access.is_staff_member(user)
    return [
        *_engagements(user, text, is_staff),
        *(_customers(text) if is_staff else []),
        *_invoices(user, text, is_staff),
        *_operators(text),
    ]


def _engagements(user: access.Person, text: str, is_staff: bool) -> list[Hit]:
    page = "engagement" if is_staff else "portal-engagement"
    rows = access.engagements_for(user).filter(
        Q(reference__icontains=text) | Q(title__icontains=text) | Q(customer__name__icontains=text)
    )
    return [
        Hit(
            "Engagement",
            row.title,
            f"{row.reference}, {row.customer}" if is_staff else row.reference,
            reverse(page, args=[row.reference]),
        )
        for row in rows.order_by("-opened_at", "-pk")[:SHOWN]
    ]


def _customers(text: str) -> list[Hit]:
    rows = Customer.objects.filter(name__icontains=text).order_by("name")[:SHOWN]
    return [
        Hit("Customer", row.name, row.country, reverse("customer", args=[row.pk])) for row in rows
    ]


def _invoices(user: access.Person, text: str, is_staff: bool) -> list[Hit]:
    """Issued invoices and credit notes by their number: for finance, and the customer's own."""
    if is_staff and not access.sees_money(user):
        return []
    rows = Invoice.objects.filter(
        engagement__in=access.engagements_for(user),
        state=Invoice.State.ISSUED,
        reference__icontains=text,
    )
    found = rows.select_related("engagement").order_by("-pk")[:SHOWN]
    return [
        Hit(
            "Invoice",
            row.reference,
            row.engagement.title,
            reverse("invoice", args=[row.pk])
            if is_staff
            else reverse("portal-invoices", args=[row.engagement.reference]),
        )
        for row in found
    ]


def _operators(text: str) -> list[Hit]:
    needle = text.casefold().replace(" ", "_")
    names = [name for name in catalogue.operators() if needle in name]
    return [
        Hit("Operator", name, "Catalogue", reverse("catalogue-operator", args=[name]))
        for name in names[:SHOWN]
    ]
