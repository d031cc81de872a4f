"""Form fields for amounts: 1.234,50 and 1,234.50 are accepted, ambiguous ones are rejected."""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from babel.numbers import get_currency_symbol, is_currency
from django import forms
from django.core.exceptions import ValidationError

from engagements.common.money import minor_digits

# As printed or copied from a bank's page: narrow, non-breaking and figure spaces group digits too.
SPACES = re.compile(r"[\s\u00a0\u2007\u2009\u202f]+")
GROUPING_MARKS = "'\u2019"
PLAIN = re.compile(r"[0-9]+")
GROUPED = re.compile(r"[0-9]{1,3}([.,])[0-9]{3}(?:\1[0-9]{3})*")
SHARE = re.compile(r"([0-9]{1,3}(?:[.,][0-9]{1,2})?)\s?%")
LONGEST = 24
# What DecimalField(max_digits=14, decimal_places=3) can hold.
MOST = Decimal("99999999999.999")


class AmountError(ValueError):
    """An amount that is invalid or ambiguous; the message says what to enter."""

    def __init__(self, message: str, *, code: str = "amount.invalid") -> None:
        super().__init__(message)
        self.code = code


def parse_amount(text: str, *, currency: str) -> Decimal:
    """Parse an amount in `currency` (ISO 4217), at the currency's precision.

    1.234,50 and 1,234.50 are the same amount; this currency's code is allowed before or after.
    Raises AmountError for an ambiguous text (1.234 is a thousand in Berlin and just over one in
    Boston), for more decimals than the currency has, and for anything else.
    """
    digits = _without_currency(SPACES.sub(" ", text).strip(), currency)
    if not digits:
        raise AmountError("Enter an amount.")
    if digits.startswith(("-", "\u2212")):
        raise AmountError("Enter an amount greater than 0.", code="amount.not_positive")
    whole, decimals = _split(_without_groups(digits, text), text, currency)
    return _at_precision(Decimal(f"{whole}.{decimals or 0}"), decimals, currency)


def plain_amount(amount: Decimal, *, currency: str) -> str:
    """Format `amount` so that `parse_amount` reads the same: 1234.50, without grouping."""
    places = minor_digits(currency)
    plain = f"{amount:.{places}f}"
    # 234.567 dinar could be read as thousands; a fourth decimal says that it is not.
    return f"{plain}0" if places == 3 and GROUPED.fullmatch(plain) else plain


def _without_currency(text: str, currency: str) -> str:
    symbol = get_currency_symbol(currency, locale="en")
    if not symbol.isalpha():
        text = text.removeprefix(symbol).removesuffix(symbol).strip()
    match = re.fullmatch(r"([A-Za-z]{3})? ?([^A-Za-z]*?) ?([A-Za-z]{3})?", text)
    if match is None:
        raise AmountError(
            f"\u201c{text[:LONGEST]}\u201d is not an amount. Enter one such as 1234.50."
        )
    for code in (match[1], match[3]):
        if code and code.upper() != currency:
            known = is_currency(code.upper(), locale="en")
            reason = f"Enter an amount in {currency}, not in {code.upper()}." if known else ""
            raise AmountError(
                reason or "Enter an amount, such as 1234.50.",
                code="amount.other_currency" if reason else "amount.invalid",
            )
    return match[2].strip()


def _without_groups(digits: str, text: str) -> str:
    """Remove spaces and apostrophes that group digits by three."""
    for mark in (" ", *GROUPING_MARKS):
        head, *groups = digits.split(mark)
        if not groups:
            continue
        last = re.split(r"[.,]", groups[-1])[0]
        whole_groups = [*groups[:-1], last]
        if not re.fullmatch(r"[0-9]{1,3}", head) or any(
            not re.fullmatch(r"[0-9]{3}", group) for group in whole_groups
        ):
            raise AmountError(_unreadable(text))
        digits = head + "".join(groups)
    return digits


def _split(digits: str, text: str, currency: str) -> tuple[str, str]:
    """Split an amount in either notation into whole part and decimals."""
    if PLAIN.fullmatch(digits):
        return digits, ""
    marks = [mark for mark in digits if mark in ".,"]
    last = max(digits.rfind("."), digits.rfind(","))
    head, tail = digits[:last], digits[last + 1 :]
    if not re.fullmatch(r"[0-9.,]+", digits) or not head or not tail:
        raise AmountError(_unreadable(text))
    if len(set(marks)) == 1 and len(marks) > 1:
        if not GROUPED.fullmatch(digits):
            raise AmountError(_unreadable(text))
        return re.sub(r"[.,]", "", digits), ""
    if len(marks) > 1:
        if not GROUPED.fullmatch(head) or digits[last] in head:
            raise AmountError(_unreadable(text))
        return re.sub(r"[.,]", "", head), tail
    if len(tail) == 3 and GROUPED.fullmatch(digits) and not head.startswith("0"):
        raise AmountError(_ambiguous(text, head, tail, currency), code="amount.ambiguous")
    return head, tail


def _at_precision(amount: Decimal, decimals: str, currency: str) -> Decimal:
    places = minor_digits(currency)
    if len(decimals.rstrip("0")) > places:
        raise AmountError(
            f"{currency} has {places} decimals, this amount has {len(decimals)}."
            if places
            else f"{currency} has no decimals: enter a whole number.",
            code="amount.too_precise",
        )
    if amount <= 0:
        raise AmountError("Enter an amount greater than 0.", code="amount.not_positive")
    if amount > MOST:
        raise AmountError("Enter an amount below 100,000,000,000.", code="amount.out_of_range")
    return amount.quantize(Decimal(1).scaleb(-places))


def _ambiguous(text: str, head: str, tail: str, currency: str) -> str:
    places = minor_digits(currency)
    thousands = f"{head}{tail}"
    small = f"{head}.{tail}"
    if places == 3:
        return (
            f"\u201c{text.strip()[:LONGEST]}\u201d could be {thousands} or {small}. Write "
            f"{thousands}.000 for the first, {small}0 for the second."
        )
    clear = thousands if places == 0 else f"{thousands}.{'0' * places}"
    return (
        f"\u201c{text.strip()[:LONGEST]}\u201d could be {thousands} or {small}. "
        f"Write {clear} if you mean {thousands}."
    )


def _unreadable(text: str) -> str:
    return (
        f"\u201c{text.strip()[:LONGEST]}\u201d is not an amount. "
        "Enter one such as 1234.50, 1,234.50 or 1.234,50."
    )


class AmountField(forms.CharField):
    """A form field for an amount in one currency; cleans to a Decimal."""

    def __init__(self, *, currency: str, **kwargs: Any) -> None:
        self.currency = currency
        kwargs.setdefault("max_length", 40)
        super().__init__(**kwargs)
        self.widget.attrs.setdefault("inputmode", "decimal")
        self.widget.attrs.setdefault("autocomplete", "off")

    def prepare_value(self, value: object) -> object:
        """Format a Decimal; keep typed text."""
        if isinstance(value, Decimal):
            return plain_amount(value, currency=self.currency)
        return value

    def to_python(self, value: Any) -> Any:
        """Return the Decimal, or None for an empty optional field."""
        text = super().to_python(value)
        if not text:
            return None
        try:
            return parse_amount(text, currency=self.currency)
        except AmountError as error:
            raise ValidationError(str(error), code=error.code) from error

    def validate(self, value: Any) -> None:
        """Require an amount in a required field."""
        if self.required and value is None:
            raise ValidationError(self.error_messages["required"], code="required")

    def run_validators(self, value: Any) -> None:
        """Skip CharField's validators, which expect text."""


@dataclass(frozen=True)
class Share:
    """A percentage of the remainder after fixed amounts: above 0, at most 100."""

    percent: Decimal

    def __str__(self) -> str:
        return f"{self.percent.normalize():f}%"


def parse_share(text: str) -> Share | None:
    """Parse a share such as 25% or 33,33 %; None for anything that is not a percentage."""
    found = SHARE.fullmatch(text.strip())
    if found is None:
        return None
    percent = Decimal(found[1].replace(",", "."))
    if not 0 < percent <= 100:
        raise AmountError("Enter a share above 0% and up to 100%.")
    return Share(percent)


class PartField(AmountField):
    """A form field for an amount or a share; cleans to a Decimal or a Share."""

    def prepare_value(self, value: object) -> object:
        """Format a share as it is typed."""
        return str(value) if isinstance(value, Share) else super().prepare_value(value)

    def to_python(self, value: Any) -> Any:
        """Return the Decimal or the Share, or None for an empty optional field."""
        try:
            share = parse_share(str(value or ""))
        except AmountError as error:
            raise ValidationError(str(error), code=error.code) from error
        return super().to_python(value) if share is None else share
