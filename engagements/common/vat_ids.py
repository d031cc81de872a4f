"""Validate VAT IDs by the rules of their country, check digits included."""

from __future__ import annotations

from stdnum import get_cc_module
from stdnum.eu import vat as eu_vat

# VAT IDs of Greece and Northern Ireland do not start with their country code.
GREECE, NORTHERN_IRELAND = "EL", "XI"


def is_valid(vat_id: str) -> bool:
    """Whether `vat_id`, in capitals without spaces, has a country code and valid check digits.

    Of a country whose rules are unknown, only the code is checked.
    """
    prefix, number = vat_id[:2], vat_id[2:]
    if not number or not prefix.isalpha():
        return False
    if prefix.lower() in eu_vat.MEMBER_STATES or prefix in (GREECE, NORTHERN_IRELAND):
        return bool(eu_vat.is_valid(vat_id))
    rules = get_cc_module(prefix.lower(), "vat")
    return bool(rules.is_valid(vat_id)) if rules else number.isalnum()


def country_of(vat_id: str) -> str:
    """The country (ISO 3166) of a `vat_id`; that of Greece is GR."""
    return "GR" if vat_id.startswith(GREECE) else vat_id[:2]


def is_european(vat_id: str) -> bool:
    """Whether a valid `vat_id` is one of the European Union."""
    return bool(vat_id) and bool(eu_vat.is_valid(vat_id))
