"""Addresses of finance."""

from django.urls import path

from engagements.views.finance import milestones, overview, settlements
from engagements.views.finance.words import FORMS

urlpatterns = [
    path("", overview.overview, name="finance"),
    path("milestones/<int:pk>/bill/", milestones.bill, name="milestone-bill"),
    path("milestones/<int:pk>/payment/", milestones.record_payment, name="payment-record"),
    path("engagements/<slug:reference>/settle/", settlements.propose, name="settlement-propose"),
    path("settlements/<int:pk>/", settlements.settlement_page, name="settlement"),
    *(
        path(
            f"settlements/<int:pk>/{step}/",
            settlements.act,
            {"step": step},
            name=f"settlement-{step}",
        )
        for step in FORMS
    ),
]
