"""Read the consultancy's details for contracts and invoices from the environment."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation

from django.core.exceptions import ImproperlyConfigured

from consultancy.environment import Environment
from engagements.common.money import MOST_WRITTEN_OFF_ALONE


def consultancy(env: Environment, *, production: bool) -> dict[str, str]:
    """The consultancy's details for contracts and invoices, required in production."""
    why = "It appears on contracts, invoices and documents."
    if production:
        env.required("TWOFOLD_COMPANY_NAME", why=why)
        env.required("TWOFOLD_COMPANY_ADDRESS", why=why)
        env.required("TWOFOLD_COMPANY_VAT_ID", why="EN 16931 requires it on invoices.")
    return {
        "name": env.optional("TWOFOLD_COMPANY_NAME") or "Demo Kernel Consultancy",
        "address": (
            env.optional("TWOFOLD_COMPANY_ADDRESS") or "Beispielweg 1\\n10115 Berlin"
        ).replace("\\n", "\n"),
        "country": env.optional("TWOFOLD_COMPANY_COUNTRY") or "DE",
        "vat_id": env.optional("TWOFOLD_COMPANY_VAT_ID") or "DE136695976",
        "email": env.optional("TWOFOLD_COMPANY_EMAIL") or "",
    }


def jurisdiction(env: Environment, *, production: bool) -> dict[str, str]:
    """The law and the courts that new contract drafts name; contracts need both."""
    law, court = env.optional("TWOFOLD_LAW"), env.optional("TWOFOLD_COURT")
    return {
        "law": law or ("" if production else "Germany"),
        "court": court or ("" if production else "Berlin"),
    }


def invoice_contact(env: Environment) -> dict[str, str]:
    """The contact for questions about invoices, which XRechnung requires."""
    return {
        "name": env.optional("TWOFOLD_COMPANY_CONTACT") or "Accounts",
        "phone": env.optional("TWOFOLD_COMPANY_PHONE") or "",
        "email": env.optional("TWOFOLD_COMPANY_EMAIL") or "",
    }


def bank_account(env: Environment, *, production: bool) -> dict[str, str]:
    """The bank account for customers' payments, as printed on invoices."""
    if production:
        env.required("TWOFOLD_COMPANY_IBAN", why="Invoices ask for payment to it.")
    # The example IBAN of the standard.
    iban = env.optional("TWOFOLD_COMPANY_IBAN") or "DE89370400440532013000"
    return {
        "holder": consultancy(env, production=production)["name"],
        "iban": "".join(iban.split()).upper(),
        "bic": (env.optional("TWOFOLD_COMPANY_BIC") or "").strip().upper(),
    }


def other_bank_accounts(env: Environment) -> list[str]:
    """IBANs of the consultancy's other bank accounts; their statements can be imported too."""
    ibans = (env.optional("TWOFOLD_OTHER_IBANS") or "").split(",")
    return ["".join(iban.split()).upper() for iban in ibans if iban.strip()]


def write_off_limit(env: Environment) -> Decimal:
    """The largest amount, in an invoice's currency, that one person may write off or credit."""
    text = env.optional("TWOFOLD_WRITE_OFF_LIMIT") or "50"
    try:
        limit = Decimal(text)
    except InvalidOperation:
        limit = Decimal("NaN")
    if not limit.is_finite() or not 0 <= limit <= MOST_WRITTEN_OFF_ALONE:
        raise ImproperlyConfigured(
            f"TWOFOLD_WRITE_OFF_LIMIT={text!r}: enter an amount from 0 to {MOST_WRITTEN_OFF_ALONE}."
        )
    return limit
