"""Addresses of the API, under /api/v1/."""

from django.urls import path

from engagements.api import views

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
]
