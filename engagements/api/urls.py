"""URLs of the API, under /api/v1/."""

from django.urls import path

from engagements import access
from engagements.api import views
from engagements.common.uploads import takes_files
from engagements.evidence.services import LARGEST_FILE_BYTES

evidence = takes_files(up_to_bytes=LARGEST_FILE_BYTES, of=access.is_consultant)

urlpatterns = [
    path("engagements/", views.Engagements.as_view(), name="api-engagements"),
    path("engagements/<slug:reference>/", views.OneEngagement.as_view(), name="api-engagement"),
    path("engagements/<slug:reference>/runs/", views.Runs.as_view(), name="api-runs"),
    path("engagements/<slug:reference>/runs/<int:pk>/", views.OneRun.as_view(), name="api-run"),
    path(
        "engagements/<slug:reference>/documents/",
        views.Documents.as_view(),
        name="api-documents",
    ),
    path(
        "engagements/<slug:reference>/evidence/",
        evidence(views.AllEvidence.as_view()),
        name="api-evidence",
    ),
    path(
        "engagements/<slug:reference>/evidence/<int:pk>/",
        views.OneEvidence.as_view(),
        name="api-one-evidence",
    ),
]
