"""Customers' bank accounts for refunds: proposed by us or the payer's bank, confirmed by them.

The newest confirmed account is in use, from `REFUND_ACCOUNT_WAIT` after its confirmation. The
person of finance who set it neither approves nor sends a refund to it.
"""

from __future__ import annotations

from django.conf import settings
from django.db import transaction
from django.utils import timezone
from schwifty import BIC, IBAN
from schwifty.exceptions import SchwiftyException

from engagements import access
from engagements.access import require_finance
from engagements.billing.bank_models import BankLine
from engagements.common import links, validation
from engagements.common.dates import in_words
from engagements.common.errors import ApplicationError
from engagements.engagement import stages
from engagements.engagement.models import Engagement, Stage
from engagements.event_log import events
from engagements.notifications import mails
from engagements.people import bank_accounts, second_person
from engagements.people.bank_accounts import BankAccount, BankAccountConfirmation
from engagements.people.models import Customer, Membership, Role, User
from engagements.people.signatories import signatories_of

FIELDS = ("holder", "iban", "bic")
ENDED = (Stage.CLOSED, Stage.CANCELLED)


def valid_iban(text: str) -> str:
    """Return `text` as an IBAN without spaces, its check digits and national format verified."""
    try:
        return str(IBAN(text, validate_bban=True))
    except SchwiftyException as error:
        raise ApplicationError(
            f"{text.strip()[:40]} is not a valid IBAN: check every digit.",
            code="refund_account.invalid_iban",
        ) from error


def valid_bic(text: str) -> str:
    """Return `text` as a BIC, or "" for an empty one."""
    if not text.strip():
        return ""
    try:
        return str(BIC(text))
    except SchwiftyException as error:
        raise ApplicationError(
            f"{text.strip()[:20]} is not a valid BIC: enter 8 or 11 characters.",
            code="refund_account.invalid_bic",
        ) from error


def proposed(customer: Customer) -> BankAccount | None:
    """Return the newest account, if the customer has not confirmed it."""
    newest = customer.bank_accounts.select_related("confirmation", "bank_line").first()
    return None if newest is None or hasattr(newest, "confirmation") else newest


def blocking_reason(customer: Customer) -> str:
    """Return why no refund can be sent to the customer's account, or ""."""
    account = bank_accounts.current(customer)
    if account is None:
        if proposed(customer):
            return "The customer has not confirmed its bank account."
        return "The customer has no bank account on file."
    usable_from = account.confirmation.usable_from
    if usable_from > timezone.now():
        day = in_words(timezone.localdate(usable_from))
        return f"The account is new: refunds can be sent to it from {day}."
    return ""


def account_for(
    customer: Customer, *, by: User, approver: User | None, subject: str
) -> BankAccount | None:
    """Return the account for a refund that `by` sends; None where none is on file.

    Raises ApplicationError where the account waits, or `by` or the approver set it.
    """
    account = bank_accounts.current(customer)
    require_other_people(customer, account=account, by=by, approver=approver, subject=subject)
    reason = blocking_reason(customer)
    if reason and customer.bank_accounts.exists():
        raise ApplicationError(reason, code="refund_account.waiting")
    return account


def require_other_people(
    customer: Customer,
    *,
    account: BankAccount | None,
    by: User,
    approver: User | None,
    subject: str,
) -> None:
    """Require that neither `by` nor the approver set the account in use or the newest one."""
    newest = customer.bank_accounts.first()
    setters = {key for row in (account, newest) if row is not None for key in row.setters}
    for person in (by, approver):
        if person is not None:
            second_person.require(
                by=person,
                others=setters,
                subject=subject,
                code="refund_account.same_person",
                message="You entered the refund account: other people approve and send the refund.",
            )


@transaction.atomic
def add(*, customer: Customer, holder: str, iban: str, bic: str, by: User) -> BankAccount:
    """Set the account of the customer's future refunds. Idempotent for the newest account.

    Finance proposes an account, which a signatory confirms; one that a signatory enters is
    confirmed at once.
    """
    is_signatory = access.may_sign(by, customer)
    if not is_signatory:
        require_finance(by)
    engagements = _locked(customer)
    account = BankAccount(
        customer=customer,
        holder=validation.text(holder, noun="The account holder"),
        iban=valid_iban(iban),
        bic=valid_bic(bic),
        added_by=by,
    )
    newest = customer.bank_accounts.first()
    if newest and all(getattr(newest, name) == getattr(account, name) for name in FIELDS):
        account = newest
    else:
        validation.save_validated(account)
        _announce(account, engagements, "proposed", by)
    return confirm(account=account, by=by) if is_signatory else account


@transaction.atomic
def propose_from(*, line: BankLine, engagement: Engagement) -> BankAccount | None:
    """Propose the payer's account of a bank line, where the customer has no account yet.

    The caller holds the engagement's lock.
    """
    customer = Customer.objects.select_for_update(no_key=True).get(pk=engagement.customer_id)
    if customer.bank_accounts.exists():
        return None
    try:
        iban = valid_iban(line.payer_account)
    except ApplicationError:
        return None
    account = BankAccount(
        customer=customer, holder=(line.payer or customer.name)[:70], iban=iban, bank_line=line
    )
    validation.save_validated(account)
    _announce(account, [engagement], "proposed", None)
    return account


@transaction.atomic
def confirm(*, account: BankAccount, by: User) -> BankAccount:
    """Confirm the newest account as a signatory of its customer. Idempotent.

    Refunds are sent to it once `REFUND_ACCOUNT_WAIT` has passed.
    """
    customer = account.customer
    if not access.may_sign(by, customer):
        raise ApplicationError(
            f"Only a signatory of {customer} may do this.", code="access.signatories_only"
        )
    engagements = _locked(customer)
    if BankAccountConfirmation.objects.filter(account=account).exists():
        return account
    _require_independent(account, by)
    if customer.bank_accounts.first() != account:
        raise ApplicationError(
            "The account changed while you were looking; review it again.",
            code="refund_account.changed",
        )
    now = timezone.now()
    confirmation = BankAccountConfirmation(
        account=account,
        confirmed_by=by,
        confirmed_at=now,
        usable_from=now + settings.REFUND_ACCOUNT_WAIT,
    )
    validation.save_validated(confirmation)
    _announce(account, engagements, "confirmed", by)
    return account


def _require_independent(account: BankAccount, by: User) -> None:
    """Require finance to propose the account to a signatory whom the consultancy appointed.

    Otherwise an admin could appoint a person of straw, who enters an account of the thief's.
    """
    membership = Membership.objects.get(customer=account.customer_id, user=by)
    adder = account.added_by
    if adder is not None and not adder.is_staff_member and not membership.is_independent:
        raise ApplicationError(
            "Send us the account by letter: finance enters it, and you confirm it here.",
            code="refund_account.appointed_signatory",
        )


def _locked(customer: Customer) -> list[Engagement]:
    """Lock the customer's open engagements in the order of their keys, then the customer.

    Where all have ended, the newest is locked: money may still be owed, so its log and mails
    have the change.
    """
    keys = Engagement.objects.filter(customer=customer).values_list("pk", flat=True)
    open_keys = list(keys.exclude(stage__in=ENDED).order_by("pk"))
    rows = [stages.locked(key) for key in open_keys or keys.order_by("-pk")[:1]]
    Customer.objects.select_for_update(no_key=True).get(pk=customer.pk)
    return rows


def _announce(
    account: BankAccount, engagements: list[Engagement], outcome: str, by: User | None
) -> None:
    """Record the change in each open engagement, and mail it to signatories and finance."""
    summary = f"Refund account {outcome}: {account.masked}."
    for engagement in engagements:
        events.record(
            engagement=engagement,
            verb=f"refund_account.{outcome}",
            summary=summary,
            actor=by,
            changes={"account": account.pk, "iban": account.iban, "holder": account.holder},
            for_customer=True,
        )
    if not engagements:
        return
    newest = engagements[-1]
    finance = User.objects.filter(role=Role.FINANCE, is_active=True)
    portal = links.to_page("portal-refund-account", newest.reference)
    page = links.to_page("bank-account", account.customer_id)
    for person in (*signatories_of(account.customer), *finance):
        url = page if access.is_finance(person) else portal
        mails.write(
            key=f"account:{account.pk}:{outcome}",
            engagement=newest,
            recipient=person.email,
            subject=f"Refund account {outcome}: {account.customer}",
            body=f"{summary}\n\nIf you do not recognise it, check the account now: {url}\n",
        )
