"""Customers, their billing details and their people.

A consultant adds a customer and invites its first signatory. From then on signatories are made by
a signatory of the customer or by an admin, so that nobody invites themselves to sign for both
sides. Every change is an event in the customer's open engagements, or in the latest one.
"""

from __future__ import annotations

from typing import Any, Final

from django.conf import settings
from django.db import transaction

from engagements import access
from engagements.common import validation
from engagements.common.errors import ApplicationError
from engagements.engagement.models import Engagement, Stage
from engagements.event_log import events
from engagements.notifications import password_mails
from engagements.people.models import Contact, Customer, Membership, User
from engagements.people.signatories import signatories_of

ENDED: Final = (Stage.CLOSED, Stage.REDIRECTED, Stage.DECLINED, Stage.CANCELLED)
# What the customer itself may change; the rest affects contracts and is the consultancy's.
BILLING_FIELDS: Final = (
    "address", "country", "vat_id", "invoice_email", "buyer_reference", "wants_e_invoice", "locale",
)  # fmt: skip
FIELDS: Final = ("name", *BILLING_FIELDS, "currency")
# No contract or order of such an engagement can have been paid.
BEFORE_TERMS: Final = (
    *(Stage.SCOPING, Stage.AUDITING, Stage.AUDITED, Stage.OFFERED, Stage.CANCELLED),
)
Rights = Membership.Rights


@transaction.atomic
def create(*, by: User, **fields: Any) -> Customer:
    """Add a customer. `fields` are those of `FIELDS`."""
    access.require_consultant(by)
    customer = Customer(**_known(fields, FIELDS))
    _save(customer)
    return customer


@transaction.atomic
def edit(*, customer: Customer, by: User, **fields: Any) -> Customer:
    """Change a customer's details; signatories change the billing details of their own.

    Idempotent.
    """
    row = Customer.objects.select_for_update(no_key=True).get(pk=customer.pk)
    if access.is_staff_member(by):
        access.require_consultant(by)
        allowed: tuple[str, ...] = FIELDS
    else:
        _require_signatory(row, by)
        allowed = BILLING_FIELDS
    before = {name: getattr(row, name) for name in allowed}
    for name, value in _known(fields, allowed).items():
        setattr(row, name, value)
    _save(row)
    changes = {
        name: [old, getattr(row, name)] for name, old in before.items() if old != getattr(row, name)
    }
    if changes:
        labels = [str(each.verbose_name) for each in Customer._meta.fields if each.name in changes]
        _record(row, "customer.edited", f"Changed for {row}: {', '.join(labels)}.", by, changes)
    return row


@transaction.atomic
def invite(
    *, customer: Customer, email: str, name: str, rights: str, by: User, position: str = ""
) -> Membership:
    """Give a person rights at a customer, and mail a new one a link to choose a password.

    Idempotent: an invited person keeps the rights that they have, and a person without a password
    is mailed another link.
    """
    row = Customer.objects.select_for_update(no_key=True).get(pk=customer.pk)
    _require_may_grant(row, rights, by)
    email = email.strip().lower()
    user = User.objects.filter(email__iexact=email).first()
    if user is not None and user.is_staff_member:
        raise ApplicationError(
            "This address belongs to the consultancy. Enter another address.",
            code="membership.staff_member",
        )
    if user is not None and not user.is_active:
        raise ApplicationError(
            "This account is closed. Ask an admin to reopen it.", code="membership.account_closed"
        )
    if user is None:
        user = User.objects.create_user(email, None, name=validation.text(name, noun="The name"))
    if not Contact.objects.filter(customer=row, email__iexact=email).exists():
        free = user if not Contact.objects.filter(user=user).exists() else None
        validation.save_validated(
            Contact(customer=row, user=free, name=user.name, email=email, position=position.strip())
        )
    membership = Membership.objects.filter(customer=row, user=user).first()
    if membership is None:
        membership = Membership(
            customer=row, user=user, rights=rights, is_independent=_is_independent(row, by)
        )
        validation.save_validated(membership)
        label = membership.get_rights_display().lower()
        _record(
            row,
            "membership.invited",
            f"{user} was invited for {row} as {label}.",
            by,
            {"user": user.pk, "rights": rights},
        )
    if not user.has_usable_password():
        password_mails.request(
            address=user.email, origin=settings.SITE_ADDRESS, inviter=str(by), party=str(row)
        )
    return membership


@transaction.atomic
def change_rights(*, membership: Membership, rights: str, by: User) -> Membership:
    """Change a person's rights at a customer. Idempotent."""
    row = _locked(membership)
    if row.rights == rights:
        return row
    _require_may_grant(row.customer, rights, by)
    _require_may_reduce(row, by)
    before, row.rights = row.rights, rights
    row.is_independent = _is_independent(row.customer, by)
    validation.save_validated(row)
    _record(
        row.customer,
        "membership.changed",
        f"{row.user} is now {row.get_rights_display().lower()} of {row.customer}.",
        by,
        {"user": row.user_id, "rights": [before, rights]},
    )
    return row


@transaction.atomic
def remove(*, membership: Membership, by: User) -> None:
    """End a person's access to a customer, and with it their sessions. Idempotent."""
    if not Membership.objects.filter(pk=membership.pk).exists():
        return
    row = _locked(membership)
    _require_may_reduce(row, by)
    customer, person = row.customer, row.user
    row.delete()
    _record(
        customer,
        "membership.removed",
        f"{person} no longer has access to {customer}.",
        by,
        {"user": person.pk, "rights": [row.rights, ""]},
    )


def may_manage_people(user: access.Person, customer: Customer) -> bool:
    """Whether `user` may invite people to `customer`."""
    return access.is_consultant(user) or access.may_sign(user, customer)


def grantable(user: access.Person, customer: Customer) -> list[tuple[str, str]]:
    """The rights that `user` may give at `customer`, as choices."""
    if may_grant_signatory(user, customer):
        return list(Rights.choices)
    return [(Rights.VIEWER.value, str(Rights.VIEWER.label))]


def may_grant_signatory(user: access.Person, customer: Customer) -> bool:
    """Whether `user` may make somebody a signatory of `customer`."""
    if access.is_admin(user) or access.may_sign(user, customer):
        return True
    has_none = not customer.memberships.filter(rights=Rights.SIGNATORY).exists()
    return access.is_consultant(user) and has_none


def _is_independent(customer: Customer, by: User) -> bool:
    """Whether a person whom `by` gives rights is independent of us: see `Membership`."""
    if access.is_staff_member(by):
        return not customer.engagements.exclude(stage__in=BEFORE_TERMS).exists()
    given = Membership.objects.filter(customer=customer, user=by, rights=Rights.SIGNATORY).first()
    return given is not None and given.is_independent


def _require_may_grant(customer: Customer, rights: str, by: User) -> None:
    if rights not in Rights.values:
        raise ApplicationError("Choose viewer or signatory.", code="membership.rights")
    if not may_manage_people(by, customer):
        raise ApplicationError(
            f"Only a signatory of {customer} or a consultant may do this.",
            code="membership.not_permitted",
        )
    if rights == Rights.SIGNATORY and not may_grant_signatory(by, customer):
        raise ApplicationError(
            f"{customer} has a signatory: a signatory of the customer or an admin adds another.",
            code="membership.signatory_by_customer",
        )


def _require_may_reduce(membership: Membership, by: User) -> None:
    """Require the right to take rights away, and leave a customer its last signatory."""
    customer = membership.customer
    if not (access.is_admin(by) or access.may_sign(by, customer)) and (
        membership.rights == Rights.SIGNATORY or not access.is_consultant(by)
    ):
        raise ApplicationError(
            f"Only a signatory of {customer} or an admin may do this.",
            code="membership.not_permitted",
        )
    is_last = [membership.user] == signatories_of(customer)
    if is_last and not access.is_admin(by):
        raise ApplicationError(
            f"{membership.user} is the only signatory. Add another signatory first.",
            code="membership.last_signatory",
        )


def _require_signatory(customer: Customer, by: User) -> None:
    if not access.may_sign(by, customer):
        raise ApplicationError(
            f"Only a signatory of {customer} may do this.", code="access.signatories_only"
        )


def _locked(membership: Membership) -> Membership:
    Customer.objects.select_for_update(no_key=True).get(pk=membership.customer_id)
    return Membership.objects.select_related("customer", "user").get(pk=membership.pk)


def _known(fields: dict[str, Any], allowed: tuple[str, ...]) -> dict[str, Any]:
    return {name: fields[name] for name in allowed if name in fields}


def _save(customer: Customer) -> None:
    customer.clean()
    validation.save_validated(customer)


def _record(customer: Customer, verb: str, summary: str, by: User, changes: dict[str, Any]) -> None:
    """Record the change in each open engagement, in the order of their keys, else in the latest."""
    rows = Engagement.objects.filter(customer=customer)
    for engagement in [*rows.exclude(stage__in=ENDED).order_by("pk")] or rows.order_by("-pk")[:1]:
        events.record(
            engagement=engagement,
            verb=verb,
            summary=summary,
            actor=by,
            changes=changes,
            for_customer=True,
        )
