"""URLs of the API, under /api/v1/."""

from django.urls import URLPattern, URLResolver, include, path
from rest_framework.routers import SimpleRouter

from engagements import access
from engagements.api import (
    audit_resources,
    benchmark_resources,
    billing_resources,
    contract_resources,
    engagement_resources,
    ledger_resources,
    run_resources,
    runner_resources,
    schema,
    settlement_resources,
    webhook_resources,
)
from engagements.common.uploads import takes_files
from engagements.evidence.services import LARGEST_FILE_BYTES

RESOURCES = {
    "customers": engagement_resources.Customers,
    "engagements": engagement_resources.Engagements,
    "audits": audit_resources.Audits,
    "evidence": audit_resources.AllEvidence,
    "benchmarks": benchmark_resources.Benchmarks,
    "candidates": benchmark_resources.Candidates,
    "runs": run_resources.Runs,
    "records": run_resources.Records,
    "contracts": contract_resources.Contracts,
    "milestones": contract_resources.Milestones,
    "invoices": billing_resources.Invoices,
    "payments": billing_resources.Payments,
    "settlements": settlement_resources.Settlements,
    "documents": engagement_resources.Documents,
    "entries": ledger_resources.Entries,
    "webhooks": webhook_resources.Webhooks,
    "webhook-deliveries": webhook_resources.WebhookDeliveries,
}

router = SimpleRouter()
for name, resource in RESOURCES.items():
    router.register(name, resource, basename=f"api-{name}")

uploads = takes_files(up_to_bytes=LARGEST_FILE_BYTES, of=access.is_consultant)
add_evidence = uploads(
    audit_resources.AllEvidence.as_view({"get": "list", "post": "create"}, detail=False)
)

runner = runner_resources.Runners.as_view
attempt = runner_resources.RunnerAttempts.as_view
of_a_runner: list[URLPattern | URLResolver] = [
    path("", runner({"get": "retrieve", "put": "update"}), name="api-runner"),
    path("claim/", runner({"post": "claim"}), name="api-runner-claim"),
    path("attempts/<int:pk>/benchmark/", attempt({"get": "benchmark"})),
    path("attempts/<int:pk>/candidate/", attempt({"get": "candidate"})),
    path("attempts/<int:pk>/captured/<slug:digest>/", attempt({"get": "captured"})),
    path("attempts/<int:pk>/progress/", attempt({"put": "progress"})),
    path(
        "attempts/<int:pk>/record/",
        attempt({"put": "record"}, parser_classes=[runner_resources.RecordParser]),
    ),
    path("attempts/<int:pk>/failure/", attempt({"put": "failure"})),
    path("attempts/<int:pk>/release/", attempt({"post": "release"})),
]

urlpatterns: list[URLPattern | URLResolver] = [
    path("schema/", schema.show, name="api-schema"),
    path("docs/", schema.docs, name="api-docs"),
    # Before the router's: its uploads are larger than those of other pages.
    path("evidence/", add_evidence, name="api-evidence-list"),
    path("runner/", include(of_a_runner)),
    *router.urls,
]
