"""API: the portal's data as JSON, and upload of evidence by consultants.

Session authentication; evidence also accepts tokens. Invisible objects are 404.
"""

from __future__ import annotations

from django.db.models import QuerySet
from django.shortcuts import get_object_or_404
from rest_framework import status
from rest_framework.authentication import SessionAuthentication
from rest_framework.generics import ListAPIView, RetrieveAPIView
from rest_framework.pagination import LimitOffsetPagination
from rest_framework.parsers import MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response

from engagements import access
from engagements.api.serializers import (
    DocumentSerializer,
    EngagementSerializer,
    EvidenceSerializer,
    OneEvidenceSerializer,
    RunSerializer,
)
from engagements.common.errors import ApplicationError
from engagements.documents.models import Document
from engagements.engagement.models import Engagement
from engagements.evidence import services as evidence
from engagements.evidence.models import Evidence
from engagements.people.api_tokens import TokenAuthentication
from engagements.people.models import User
from engagements.portal.queries import documents_of, runs_of
from engagements.runs.models import EngagementRun

# The session first, so that a request without credentials is 403, not 401.
SESSION_OR_TOKEN = (SessionAuthentication, TokenAuthentication)


class Pages(LimitOffsetPagination):
    """50 rows a page, at most 200."""

    default_limit = 50
    max_limit = 200


class Engagements(ListAPIView[Engagement]):
    """The engagements that the user may see."""

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


class AllEvidence(ListAPIView[Evidence]):
    """The evidence of an engagement, newest first; consultants add to it.

    POST one file as `file` (multipart/form-data): 201 with the row, which a worker reads
    afterwards, or 422 with the reason.
    """

    serializer_class = EvidenceSerializer
    pagination_class = Pages
    parser_classes = (MultiPartParser,)
    authentication_classes = SESSION_OR_TOKEN

    def get_queryset(self) -> QuerySet[Evidence]:
        access.admit_staff(self.request.user)
        engagement = access.engagement_for(self.request.user, self.kwargs["reference"])
        return Evidence.objects.filter(engagement=engagement).select_related("engagement")

    def post(self, request: Request, reference: str) -> Response:
        """Store an uploaded file."""
        access.admit_consultant(request.user)
        engagement = access.engagement_for(request.user, reference)
        upload, *others = request.FILES.getlist("file") or [None]
        if upload is None or others:
            raise ApplicationError("Send one file as “file”.", code="evidence.one_file")
        assert isinstance(request.user, User)
        row = evidence.add(
            engagement=engagement, name=upload.name or "", content=upload, by=request.user
        )
        return Response(self.get_serializer(row).data, status=status.HTTP_201_CREATED)


class OneEvidence(RetrieveAPIView[Evidence]):
    """One file with its reading progress and summary."""

    serializer_class = OneEvidenceSerializer
    authentication_classes = SESSION_OR_TOKEN

    def get_object(self) -> Evidence:
        access.admit_staff(self.request.user)
        engagement = access.engagement_for(self.request.user, self.kwargs["reference"])
        return get_object_or_404(Evidence, engagement=engagement, pk=self.kwargs["pk"])
