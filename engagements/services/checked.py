"""Rows that are checked against their model's own constraints before they are saved."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from django.core.exceptions import NON_FIELD_ERRORS, ValidationError
from django.db import models

from engagements import money
from engagements.errors import Refused

# What a column of 14 digits, three of them decimals, holds.
LIMIT = Decimal(10) ** 11


def save(row: models.Model) -> None:
    """Save `row`; what its fields or constraints do not allow is Refused, in their words."""
    valid(row)
    row.save()


def valid(row: models.Model) -> None:
    """What `save` checks, without saving."""
    # Where nothing is known None is right, though a form would have to fill the field in.
    unknown = {field.name for field in row._meta.fields if field.null and _is_none(row, field)}
    try:
        row.clean_fields(exclude=unknown)
        row.validate_unique()
        row.validate_constraints()
    except ValidationError as error:
        raise Refused(_sentence(row, error)) from error


def _is_none(row: models.Model, field: models.Field[Any, Any]) -> bool:
    return getattr(row, field.attname) is None


def _sentence(row: models.Model, error: ValidationError) -> str:
    labels = {field.name: str(field.verbose_name) for field in row._meta.fields}
    sentences = []
    for name, messages in error.message_dict.items():
        label = f"{labels[name]}: " if name != NON_FIELD_ERRORS else ""
        sentences += [label[:1].upper() + label[1:] + message for message in messages]
    return " ".join(sentences)


def amount(value: Decimal, currency: str, *, noun: str) -> Decimal:
    """`value` as an exact amount of `currency`. Refused when it would have to be rounded."""
    if not value.is_finite() or abs(value) >= LIMIT:
        raise Refused(f"{noun}: {value} is no amount that can be kept.")
    try:
        if not money.is_exact(value, currency):
            raise Refused(f"{noun}: {value} is not an exact amount of {currency}.")
    except money.UnknownCurrency as error:
        raise Refused(str(error)) from error
    return money.quantize(value, currency)


def text(value: str, *, noun: str) -> str:
    """`value` trimmed. Refused when nothing is left of it."""
    trimmed = value.strip()
    if not trimmed:
        raise Refused(f"{noun} is missing.")
    return trimmed
