"""Pages of the kernel catalogue, which are public."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_safe

from benchmarks.published.reports import Report
from engagements.candidates.writing import template_response, writing_of
from engagements.catalogue import charts as catalogue_charts
from engagements.catalogue import queries as catalogue
from engagements.catalogue.charts import texts
from engagements.charts import responses
from engagements.charts.responses import addresses, known_theme
from engagements.common.markdown import as_html
from kernels import catalogue as kernels

# The sortable columns of the table: the name in the address, and the heading.
COLUMNS = (
    ("verdict", "Verdict"),
    ("ratio", "Ratio"),
    ("alone", "Operator alone"),
    ("roofline", "Of the roofline"),
    ("baseline", "Baseline"),
)

_PICTURES: dict[str, tuple[Callable[..., str], Callable[[Sequence[Report]], str], str, str]] = {
    "roofline": (
        catalogue_charts.catalogue_roofline,
        texts.roofline,
        "Every kernel on the roofline",
        "The operator alone, at the workload with most traffic. The roof is the speed of a copy "
        "and of a matrix product on the same device in the same runs. Operators without arithmetic "
        "are in the table only.",
    ),
    "ratios": (
        catalogue_charts.catalogue_ratios,
        texts.ratios,
        "End-to-end ratios",
        "Ratios with intervals, over the baseline of the record. An open diamond is the ratio over "
        "a stronger baseline, by the survey's medians.",
    ),
}


@require_safe
def show(request: HttpRequest) -> HttpResponse:
    """Show all operators, charts, claims and library coverage; `sort` names one of COLUMNS."""
    drawn, entries = catalogue.sound(), catalogue.entries()
    sort = request.GET.get("sort", "")
    context = {
        "entries": catalogue.in_order(entries, sort),
        "columns": [(name, title, name == sort) for name, title in COLUMNS],
        "unmeasured": any(entry.first is None for entry in entries),
        "claims": catalogue.judged(),
        "libraries": catalogue.libraries(),
        "pictures": pictures(drawn),
        "device": texts.device_of(drawn),
    }
    return render(request, "catalogue/catalogue.html", context)


@require_safe
def operator(request: HttpRequest, name: str) -> HttpResponse:
    """Show an operator: README, Definition, workloads, Solutions, measurements, coverage."""
    page = catalogue.page(name)
    if page is None:
        raise Http404("No such operator.")
    texts = {
        "readme": as_html(page.readme),
        "summary": as_html(page.entry.definition.summary),
    }
    preset = request.GET.get("preset") or next(iter(page.presets))
    document = _document(name, preset)
    context = {
        "page": page,
        **texts,
        "preset": preset,
        "definition": document["definition"],
        "writing": writing_of(
            document,
            url_of=lambda language: reverse("catalogue-template", args=[name, preset, language]),
            before=[f"twofold new {name} --preset {preset} --out benchmark.json"],
        ),
    }
    return render(request, "catalogue/operator.html", context)


@require_safe
def template(request: HttpRequest, name: str, preset: str, language: str) -> HttpResponse:
    """Download a candidate that runs as it is, in a language."""
    return template_response(_document(name, preset), language, public=True)


def _document(operator: str, preset: str) -> dict[str, Any]:
    try:
        return kernels.benchmark_document(operator, preset)
    except kernels.CatalogueError as error:
        raise Http404(str(error)) from error


@require_safe
def record(request: HttpRequest, name: str, record: str) -> HttpResponse:
    """Download a committed record."""
    found = catalogue.measured(name, record)
    if found is None:
        raise Http404("No such record.")
    response = HttpResponse(catalogue.content(found), content_type="application/json")
    response["Content-Disposition"] = f'attachment; filename="{name}-{record}.record.json"'
    response["X-Content-Type-Options"] = "nosniff"
    return response


@require_safe
def source(request: HttpRequest, name: str, record: str) -> HttpResponse:
    """Show the kernel's source that a committed record measured, as text."""
    found = catalogue.measured(name, record)
    if found is None:
        raise Http404("No such record.")
    response = HttpResponse(found.source, content_type="text/plain; charset=utf-8")
    response["X-Content-Type-Options"] = "nosniff"
    return response


@require_safe
def public_key(request: HttpRequest, key_id: str) -> HttpResponse:
    """Return a signer's public key as PEM."""
    pem = catalogue.public_key(key_id)
    if pem is None:
        raise Http404("No such key.")
    response = HttpResponse(pem, content_type="text/plain; charset=utf-8")
    response["X-Content-Type-Options"] = "nosniff"
    return response


@require_safe
def picture(request: HttpRequest, name: str, theme: str) -> HttpResponseBase:
    """Draw a chart as SVG; its ETag changes with the committed files."""
    if name not in _PICTURES:
        raise Http404("No such chart.")
    in_theme = known_theme(theme)
    return responses.as_file(
        request,
        of=f"{catalogue.stamp()}/{name}/{theme}",
        draw=lambda: _PICTURES[name][0](catalogue.sound(), theme=in_theme),
    )


def pictures(drawn: Sequence[Report]) -> list[dict[str, str]]:
    """Return the charts with data, as contexts of the fragment, with their `name`."""
    has_points, has_ratios = texts.points(drawn), texts.rows(drawn)
    wanted = [name for name, has in (("ratios", has_ratios), ("roofline", has_points)) if has]
    return [
        {
            **addresses("catalogue-picture", name),
            "name": name,
            "alt": _PICTURES[name][1](drawn),
            "title": _PICTURES[name][2],
            "caption": _PICTURES[name][3],
        }
        for name in wanted
    ]
