"""Behaviour shared by all resources of the API: visibility, pages, filters, headers."""

from __future__ import annotations

from datetime import MINYEAR, UTC
from typing import Any, ClassVar

import django_filters
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.http import Http404
from django.views.decorators.http import conditional_page
from django_filters.rest_framework import DjangoFilterBackend
from rest_framework import exceptions
from rest_framework.pagination import CursorPagination
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.throttling import BaseThrottle
from rest_framework.viewsets import GenericViewSet, ReadOnlyModelViewSet

from engagements import access
from engagements.event_log.models import Event
from engagements.people.token_models import ApiToken, Scope


class Pages(CursorPagination):
    """Pages by cursor: rows that are added meanwhile move no page. 50 rows, at most 200."""

    page_size = 50
    max_page_size = 200
    page_size_query_param = "page_size"
    ordering = ("-pk",)


PAGE_PARAMETERS = frozenset({Pages.cursor_query_param, Pages.page_size_query_param})


class EngagementFilter(django_filters.CharFilter):
    """Rows of one engagement, by its reference. 404 for one that the user may not see."""

    def __init__(self, path: str = "engagement") -> None:
        super().__init__(help_text="Reference of an engagement, such as TF-2026-0001.")
        self.path = path

    def filter(self, qs: QuerySet[Any], value: str) -> QuerySet[Any]:
        if not value:
            return qs
        found = access.engagement_for(self.parent.request.user, value)
        return qs.filter(**{self.path: found})


class IdFilter(django_filters.NumberFilter):
    """Rows that refer to another row by its id."""

    def __init__(self, field_name: str) -> None:
        super().__init__(field_name=field_name, min_value=1, max_value=2**63 - 1, decimal_places=0)


class UpdatedSince(django_filters.IsoDateTimeFilter):
    """Rows that may have changed since a moment.

    Every change of an engagement is an event in its log. So a row counts as updated when its
    engagement had an event since, or one of its own `moments` lies after it.
    """

    def __init__(self, *moments: str, engagement: str | None = "engagement") -> None:
        super().__init__(
            help_text="Rows that may have changed since this moment (ISO 8601), and no row that "
            "changed is left out. Ask again from a minute before your last request."
        )
        self.moments, self.engagement = moments, engagement

    def filter(self, qs: QuerySet[Any], value: Any) -> QuerySet[Any]:
        if value is None:
            return qs
        try:
            # PostgreSQL knows fewer time zones than ISO 8601.
            value = value.astimezone(UTC)
        except OverflowError:
            return qs if value.year == MINYEAR else qs.none()
        changed = Q()
        for moment in self.moments:
            changed |= Q(**{f"{moment}__gte": value})
        if self.engagement is not None:
            happened = Event.objects.filter(
                engagement=OuterRef(self.engagement), happened_at__gte=value
            )
            changed |= Q(Exists(happened))
        return qs.filter(changed)


class Filters(DjangoFilterBackend):
    """The filters that a resource declares. Unknown and invalid ones are refused."""

    def filter_queryset(self, request: Request, queryset: Any, view: Any) -> Any:
        known = {*(self.get_filterset_class(view, queryset) or Filter).base_filters}
        for name in request.query_params:
            if name not in known | PAGE_PARAMETERS:
                names = ", ".join(sorted(known | PAGE_PARAMETERS))
                raise exceptions.ValidationError(
                    {name: [f"Unknown filter. This list has: {names}."]}, code="filter.unknown"
                )
        return super().filter_queryset(request, queryset, view)


class Filter(django_filters.FilterSet):
    """The base of all filters."""


class Api(GenericViewSet[Any]):
    """The base of all views: headers of caches and rate limits."""

    scope: ClassVar[str] = Scope.READ

    def get_throttles(self) -> list[BaseThrottle]:
        """Keep the throttles of this request: the response states what they counted."""
        self.throttles = super().get_throttles()
        return self.throttles

    def finalize_response(
        self, request: Request, response: Any, *args: Any, **kwargs: Any
    ) -> Response:
        """State the rate limit, and let a program keep the response for its ETag.

        Browsers keep nothing of a session's, as of the site's pages.
        """
        response = super().finalize_response(request, response, *args, **kwargs)
        if isinstance(request.auth, ApiToken):
            response.headers.setdefault("Cache-Control", "private, no-cache")
        response.headers.setdefault("Vary", "Authorization, Cookie")
        for throttle in getattr(self, "throttles", ()):
            for name, value in getattr(throttle, "headers", dict)().items():
                response[name] = value
        return response

    @classmethod
    def as_view(cls, actions: Any = None, **initkwargs: Any) -> Any:
        """Answer `If-None-Match` by 304 where nothing changed."""
        return conditional_page(super().as_view(actions, **initkwargs))


class Resource(Api, ReadOnlyModelViewSet[Any]):
    """A list and its rows, as `rows` has them for the user."""

    lookup_value_regex = r"[1-9][0-9]{0,17}"
    pagination_class = Pages
    filter_backends = [Filters]
    filterset_class: ClassVar[type[Filter]] = Filter

    def rows(self) -> QuerySet[Any]:
        """The rows that exist for the user."""
        raise NotImplementedError

    def get_queryset(self) -> QuerySet[Any]:
        """The user's rows; none while the schema is generated."""
        if getattr(self, "swagger_fake_view", False):
            serializer: Any = self.serializer_class
            return serializer.Meta.model._default_manager.none()
        return self.rows()

    def get_object(self) -> Any:
        """The row in the URL. Raises NotFound without the name of a model."""
        try:
            return super().get_object()
        except Http404:
            raise exceptions.NotFound from None

    def retrieve(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """Return one row. Filters belong to lists."""
        return Response(self.get_serializer(self.get_object()).data)

    def filter_queryset(self, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """Filter lists only."""
        return super().filter_queryset(queryset) if self.action == "list" else queryset
