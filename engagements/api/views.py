"""The read-only API: what the portal shows, as JSON.

Signed in by session. What one may not see does not exist: 404, as everywhere.
"""

from __future__ import annotations

from django.db.models import QuerySet
from django.shortcuts import get_object_or_404
from rest_framework.generics import ListAPIView, RetrieveAPIView
from rest_framework.pagination import LimitOffsetPagination

from engagements import access
from engagements.api.serializers import (
    DocumentSerializer,
    EngagementSerializer,
    RunSerializer,
)
from engagements.models import Document, Engagement, EngagementRun
from engagements.queries.portal import documents_of, runs_of


class Pages(LimitOffsetPagination):
    """Fifty at a time, at most two hundred."""

    default_limit = 50
    max_limit = 200


class Engagements(ListAPIView[Engagement]):
    """The engagements that exist for whoever asks."""

    serializer_class = EngagementSerializer
    pagination_class = Pages

    def get_queryset(self) -> QuerySet[Engagement]:
        return access.engagements_for(self.request.user).select_related("time_box")


class OneEngagement(RetrieveAPIView[Engagement]):
    """One engagement."""

    serializer_class = EngagementSerializer

    def get_object(self) -> Engagement:
        return access.engagement_for(self.request.user, self.kwargs["reference"])


class Runs(ListAPIView[EngagementRun]):
    """The acceptance runs of an engagement, newest first."""

    serializer_class = RunSerializer
    pagination_class = Pages

    def get_queryset(self) -> QuerySet[EngagementRun]:
        engagement = access.engagement_for(self.request.user, self.kwargs["reference"])
        return runs_of(engagement)


class OneRun(RetrieveAPIView[EngagementRun]):
    """One run."""

    serializer_class = RunSerializer

    def get_object(self) -> EngagementRun:
        engagement = access.engagement_for(self.request.user, self.kwargs["reference"])
        return get_object_or_404(runs_of(engagement), pk=self.kwargs["pk"])


class Documents(ListAPIView[Document]):
    """The documents issued for the customer, newest first."""

    serializer_class = DocumentSerializer
    pagination_class = Pages

    def get_queryset(self) -> QuerySet[Document]:
        engagement = access.engagement_for(self.request.user, self.kwargs["reference"])
        return documents_of(engagement)
