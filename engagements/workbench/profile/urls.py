"""Addresses of the workbench, under an engagement's own."""

from django.urls import path

from engagements.workbench.profile import acts, page, pictures

urlpatterns = [
    path("", page.show, name="engagement-workbench"),
    path("live/", page.live, name="workbench-live"),
    path("files/", acts.add, name="workbench-add"),
    path("compute/", acts.compute, name="workbench-compute"),
    path("forget/", acts.forget, name="workbench-forget"),
    path("set/<slug:what>/", acts.put, name="workbench-set"),
    path("pictures/<slug:name>-<slug:theme>.svg", pictures.show, name="workbench-picture"),
]
