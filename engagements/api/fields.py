"""Serializers that the resources share, and the examples in the schema."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any, ClassVar, TypeVar

from django.db.models import Model
from drf_spectacular.utils import OpenApiExample, extend_schema_serializer
from rest_framework import serializers

from engagements.common import money

Kind = TypeVar("Kind", bound=type[serializers.BaseSerializer[Any]])


class Row(serializers.ModelSerializer[Any]):
    """A row of the database. Amounts have the decimals of the row's currency, as text."""

    amounts: ClassVar[tuple[str, ...]] = ()

    def to_representation(self, instance: Model) -> dict[str, Any]:
        data: dict[str, Any] = super().to_representation(instance)
        for name in self.amounts:
            if data.get(name) is not None:
                data[name] = str(money.quantize(Decimal(data[name]), self.currency_of(instance)))
        return data

    def currency_of(self, row: Any) -> str:
        """The currency of the row's amounts."""
        return str(row.currency)


class Reference(serializers.CharField):
    """The reference of the engagement that a row belongs to."""

    def __init__(self, source: str = "engagement.reference", **kwargs: Any) -> None:
        super().__init__(source=source, read_only=True, **kwargs)


def example(**value: Any) -> Callable[[Kind], Kind]:
    """Give a serializer an example in the schema."""

    def with_example(serializer: Kind) -> Kind:
        decorate = extend_schema_serializer(examples=[OpenApiExample("Example", value=value)])
        return decorate(serializer)

    return with_example


DIGEST = "sha256:" + "5f" * 32
