"""Context of the page of a customer's own benchmark."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Any

from django.conf import settings
from django.urls import reverse

from benchmarks.jobs import JobState
from benchmarks.models import BenchmarkCheck
from engagements import access
from engagements.benchmark import drafts, sources
from engagements.benchmark import services as benchmark
from engagements.benchmark.forms import CommentForm, UploadForm
from engagements.benchmark.models import BenchmarkVersion, Side
from engagements.benchmark.queries import workload_rows
from engagements.candidates.writing import writing_of
from engagements.common.errors import ApplicationError
from engagements.engagement.models import Engagement
from engagements.people.models import User

# The page of each side; its other routes begin with this name.
ROUTES = {Side.CONSULTANCY: "engagement-benchmark", Side.CUSTOMER: "portal-benchmark"}
OF_VERSION = ("live", "check", "cancel", "comment", "approve", "archive", "document")
# Folders of `twofold init`.
STARTERS = {
    "elementwise": "An element-wise or routing operator",
    "matmul": "A matrix product",
    "attention": "An attention",
    "module": "A module whose submodule is replaced",
}


def page_context(
    engagement: Engagement,
    side: Side,
    *,
    by: User,
    version: BenchmarkVersion | None,
    against: str,
    forms: Mapping[str, Any],
) -> dict[str, Any]:
    """Everything on the page of a version, the newest without one."""
    versions = list(engagement.benchmark_versions.select_related("uploaded_by"))
    shown = version or (versions[0] if versions else None)
    context = {
        "engagement": engagement,
        "urls": _urls(engagement, side, shown),
        "starters": [
            (label, reverse(f"{ROUTES[side]}-starter", args=[engagement.reference, kind]))
            for kind, label in STARTERS.items()
        ],
        "versions": versions,
        "version": shown,
        "may_act": may_act(engagement, side, by),
        "drafts": [
            (name, reverse(f"{ROUTES[side]}-draft", args=[engagement.reference, pk]))
            for pk, name in drafts.logs_of(engagement)
        ],
        "may_comment": access.is_staff_member(by) is (side == Side.CONSULTANCY),
        "upload_form": forms.get("upload") or UploadForm(),
    }
    if shown is None:
        return context
    shown.engagement = engagement
    return context | _version_context(shown, side, versions, against, forms)


def _urls(engagement: Engagement, side: Side, version: BenchmarkVersion | None) -> dict[str, str]:
    """The addresses of what may be done, by name."""
    found = {"upload": reverse(f"{ROUTES[side]}-upload", args=[engagement.reference])}
    if version is not None:
        key = [engagement.reference, version.number]
        found |= {act: reverse(f"{ROUTES[side]}-{act}", args=key) for act in OF_VERSION}
    return found


def may_act(engagement: Engagement, side: Side, by: User) -> bool:
    """Whether to show the buttons of a consultant or signatory."""
    if engagement.stage not in benchmark.STAGES:
        return False
    if side == Side.CONSULTANCY:
        return access.is_consultant(by)
    return access.may_sign(by, engagement.customer)


def _version_context(
    version: BenchmarkVersion,
    side: Side,
    versions: list[BenchmarkVersion],
    against: str,
    forms: Mapping[str, Any],
) -> dict[str, Any]:
    try:
        files, damage = benchmark.files_of(version), ""
    except ApplicationError as error:
        files, damage = {}, error.message
    comments = list(version.comments.select_related("author"))
    other = next((each for each in versions if str(each.number) == against), None)
    if other is not None:
        other.engagement = version.engagement
    checked = benchmark.passed_check(version)
    digest = checked.checked_digest if checked else ""
    approvals = {
        each.side: each
        for each in version.approvals.select_related("user")
        if each.digest == digest and digest
    }
    return {
        **check_context(version, side),
        "damage": damage,
        "files": sources.source_files(files, comments),
        "remarks": [each for each in comments if not each.path],
        "against": other,
        "differences": sources.differences(benchmark.files_of(other), files) if other else [],
        "comment_form": forms.get("comment") or CommentForm(paths=list(files)),
        "checked": checked,
        **(_writing(version, side, checked.benchmark) if checked else {}),
        "sides": [(each, approvals.get(each)) for each in Side],
        "approved": side in approvals,
        "sealed": version.seals.select_related("benchmark").first(),
    }


def _writing(version: BenchmarkVersion, side: Side, document: Mapping[str, Any]) -> dict[str, Any]:
    reference, number = version.engagement.reference, version.number
    page = ROUTES[side]

    def url_of(language: str) -> str:
        return reverse(f"{page}-template", args=[reference, number, language])

    submits = [f"twofold submit {reference} FILE --site {settings.SITE_ADDRESS}"]
    return {
        "definition": document["definition"],
        "writing": writing_of(
            document, url_of=url_of, after=submits if side == Side.CONSULTANCY else ()
        ),
    }


def check_context(version: BenchmarkVersion, side: Side) -> dict[str, Any]:
    """The newest check of a version with its log, and what is to be measured."""
    newest = version.checks.select_related("check_job", "requested_by").first()
    job: BenchmarkCheck | None = newest.check_job if newest else None
    progress = job.progress if job is not None and job.state == JobState.RUNNING else {}
    document = job.benchmark if job else None
    return {
        "engagement": version.engagement,
        "urls": _urls(version.engagement, side, version),
        "version": version,
        "check": job,
        "trials": (job.results or progress.get("results", [])) if job else [],
        "trying": progress.get("trying", ""),
        "document": document,
        "workloads": workload_rows(document) if document else [],
        "request_key": uuid.uuid4(),
    }


def paths_of(version: BenchmarkVersion) -> list[str]:
    """The files of a version."""
    return sorted(benchmark.files_of(version))
