"""Webhooks and the log of their deliveries."""

from __future__ import annotations

from typing import Any

import django_filters
from django.db.models import QuerySet
from django.http import Http404
from drf_spectacular.utils import extend_schema
from rest_framework import serializers, status
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from engagements.api.fields import Row, example
from engagements.api.idempotency import idempotent
from engagements.api.resources import Filter, IdFilter, Resource, UpdatedSince
from engagements.notifications.events import Topic
from engagements.notifications.webhooks import services as webhooks
from engagements.notifications.webhooks.models import WebhookDelivery, WebhookEndpoint
from engagements.people import service_accounts
from engagements.people.models import User
from engagements.people.token_models import Scope

WEBHOOK = {
    "id": 1,
    "customer": 3,
    "url": "https://example.com/hooks",
    "topics": ["runs", "money"],
    "created_at": "2026-10-01T09:00:00Z",
    "closed_at": None,
}


@example(**WEBHOOK)
class WebhookSerializer(Row):
    """An endpoint. `customer` is null for the consultancy's, which receives every event."""

    customer = serializers.IntegerField(source="customer_id", read_only=True, allow_null=True)
    topics = serializers.ListField(
        child=serializers.ChoiceField(choices=Topic.choices), read_only=True
    )

    class Meta:
        model = WebhookEndpoint
        fields: tuple[str, ...] = ("id", "customer", "url", "topics", "created_at", "closed_at")


@example(**WEBHOOK, secret="whsec_bWFkZSB1cCBmb3IgdGhlIGV4YW1wbGU=")  # noqa: S106  an example
class CreatedWebhookSerializer(WebhookSerializer):
    """An endpoint with the `secret` that signs its messages, returned once."""

    secret = serializers.SerializerMethodField()

    class Meta(WebhookSerializer.Meta):
        fields = (*WebhookSerializer.Meta.fields, "secret")

    def get_secret(self, endpoint: WebhookEndpoint) -> str:
        """Return the secret."""
        return webhooks.secret_of(endpoint)


@example(url="https://example.com/hooks", topics=["runs", "money"], customer=3)
class NewWebhookSerializer(serializers.Serializer[Any]):
    """A URL on the internet, and the topics that it receives. Signatories name their `customer`."""

    url = serializers.URLField(max_length=400)
    topics = serializers.ListField(
        child=serializers.ChoiceField(choices=Topic.choices), allow_empty=False
    )
    customer = serializers.IntegerField(required=False, min_value=1, max_value=2**63 - 1)


class WebhooksFilter(Filter):
    """Only active endpoints, or only removed ones."""

    is_closed = django_filters.BooleanFilter(
        field_name="closed_at", lookup_expr="isnull", exclude=True
    )
    updated_since = UpdatedSince("created_at", "closed_at", engagement=None)


class Webhooks(Resource):
    """Webhooks (Standard Webhooks): admins manage the consultancy's, signatories their own."""

    scope = Scope.WEBHOOKS
    serializer_class = WebhookSerializer
    filterset_class = WebhooksFilter

    def rows(self) -> QuerySet[Any]:
        assert isinstance(self.request.user, User)
        return webhooks.managed_by(self.request.user)

    @extend_schema(request=NewWebhookSerializer, responses={201: CreatedWebhookSerializer})
    @idempotent
    def create(self, request: Request) -> Response:
        """Add a webhook. Keep the secret: it is returned once."""
        assert isinstance(request.user, User)
        given = NewWebhookSerializer(data=request.data)
        given.is_valid(raise_exception=True)
        values, customer = given.validated_data, None
        if "customer" in values:
            own = service_accounts.signs_for(request.user)
            customer = own.filter(pk=values["customer"]).first()
            if customer is None:
                raise Http404("No such customer.")
        row = webhooks.create(
            url=values["url"], topics=values["topics"], customer=customer, by=request.user
        )
        return Response(CreatedWebhookSerializer(row).data, status=status.HTTP_201_CREATED)

    @extend_schema(responses={204: None})
    @idempotent
    def destroy(self, request: Request, pk: str) -> Response:
        """Remove a webhook. Its log stays."""
        assert isinstance(request.user, User)
        webhooks.close(endpoint=self.get_object(), by=request.user)
        return Response(status=status.HTTP_204_NO_CONTENT)


@example(
    id=7,
    message_id="msg_1_230",
    webhook=1,
    type="run.concluded",
    state="delivered",
    attempts=1,
    next_attempt_at=None,
    last_status=204,
    last_error="",
    created_at="2026-10-22T09:15:04Z",
    delivered_at="2026-10-22T09:15:05Z",
)
class WebhookDeliverySerializer(Row):
    """A message to an endpoint. `message_id` is its webhook-id, the same in every attempt."""

    message_id = serializers.CharField(read_only=True)
    webhook = serializers.IntegerField(source="endpoint_id", read_only=True)
    type = serializers.CharField(source="event.verb", read_only=True)

    class Meta:
        model = WebhookDelivery
        fields = (
            "id",
            "message_id",
            "webhook",
            "type",
            "state",
            "attempts",
            "next_attempt_at",
            "last_status",
            "last_error",
            "created_at",
            "delivered_at",
        )


class WebhookDeliveriesFilter(Filter):
    """By webhook and state."""

    webhook = IdFilter("endpoint_id")
    state = django_filters.MultipleChoiceFilter(choices=WebhookDelivery.State.choices)
    updated_since = UpdatedSince("created_at", "delivered_at", engagement=None)


class WebhookDeliveries(Resource):
    """The log of deliveries."""

    scope = Scope.WEBHOOKS
    serializer_class = WebhookDeliverySerializer
    filterset_class = WebhookDeliveriesFilter

    def rows(self) -> QuerySet[Any]:
        assert isinstance(self.request.user, User)
        own = webhooks.managed_by(self.request.user)
        return WebhookDelivery.objects.filter(endpoint__in=own).select_related("event")

    @extend_schema(request=None, responses={200: WebhookDeliverySerializer})
    @action(detail=True, methods=["post"], pagination_class=None, filterset_class=None)
    @idempotent
    def replay(self, request: Request, pk: str) -> Response:
        """Send a message again, with the same id."""
        assert isinstance(request.user, User)
        row = webhooks.replay(delivery=self.get_object(), by=request.user)
        return Response(self.get_serializer(self.rows().get(pk=row.pk)).data)
