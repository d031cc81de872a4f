"""The board of engagements and the form for a new one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.contrib import messages
from django.core.paginator import Page, Paginator
from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from engagements.access import actor, may_act
from engagements.common.pages import UNPROCESSABLE, errors_shown, query_of
from engagements.common.text import strip_invisible
from engagements.engagement.forms import EngagementForm
from engagements.engagement.models import Stage
from engagements.page_access import consultant_page, staff_page
from engagements.workbench import board_queries as boards
from engagements.workbench import opening as engagements
from engagements.workbench.board_queries import Group
from engagements.workbench.models import SavedFilter
from engagements.workbench.next_step import next_step
from engagements.workbench.summary import EngagementSummary

if TYPE_CHECKING:
    from engagements.workbench.summary import EngagementWithMoney

DECIDED = (Stage.MET, Stage.MISSED, Stage.TERMINATED, Stage.CLOSED, Stage.CANCELLED)
PER_PAGE = 50
MAX_NAME, MAX_QUERY = 60, 300


@consultant_page
@require_safe
def board(request: HttpRequest) -> HttpResponse:
    """List engagements by stage. Filters: `q`, `lead=me`, `done=yes`, `stage` (paginated)."""
    user, text = actor(request), request.GET.get("q", "").strip()
    lead = user if request.GET.get("lead") == "me" else None
    stage, shows_done = request.GET.get("stage", ""), request.GET.get("done") == "yes"
    if stage and stage not in Stage.values:
        raise Http404("No such stage.")
    listed = None
    if stage:
        found = boards.in_stage(user, Stage(stage), text=text, lead=lead)
        listed = Paginator(found, PER_PAGE).get_page(request.GET.get("page"))
        groups = _one_group(Stage(stage), listed)
    else:
        read = boards.done if shows_done else boards.board
        groups = read(user, text=text, lead=lead)
    context = {
        "groups": [_with_next(group) for group in groups],
        "listed": listed,
        "query": query_of(request),
        "all_stages": query_of(request, without=("page", "stage")),
        "text": text,
        "is_mine": lead is not None,
        "shows_done": shows_done,
        "is_narrowed": bool(text or lead or shows_done or stage),
        "may_act": may_act(request),
        "saved": SavedFilter.objects.filter(person=user),
    }
    template = "workbench/_board.html" if request.headers.get("HX-Request") else None
    return render(request, template or "workbench/board.html", context)


@staff_page
@require_POST
def save_filter(request: HttpRequest) -> HttpResponse:
    """Save the board's filter `query` under `name`, or replace the one of this name."""
    name = strip_invisible(request.POST.get("name", ""))[:MAX_NAME]
    kept = QueryDict(request.POST.get("query", ""), mutable=True)
    for key in set(kept) - {"q", "lead", "done", "stage"}:
        del kept[key]
    if name and kept:
        SavedFilter.objects.update_or_create(
            person=actor(request), name=name, defaults={"query": kept.urlencode()[:MAX_QUERY]}
        )
    else:
        messages.error(request, "Nothing was saved. Set a filter and enter a name.")
    return redirect(f"{reverse('board')}?{kept.urlencode()}")


@staff_page
@require_POST
def delete_filter(request: HttpRequest, pk: int) -> HttpResponse:
    """Delete a saved filter of the user."""
    get_object_or_404(SavedFilter, person=actor(request), pk=pk).delete()
    return redirect("board")


def _one_group(stage: Stage, listed: Page[EngagementWithMoney]) -> list[Group]:
    summaries = [EngagementSummary(engagement) for engagement in listed]
    return [Group(stage, summaries, listed.paginator.count)] if summaries else []


def _with_next(group: Group) -> dict[str, object]:
    is_decided = group.stage in DECIDED
    rows = [
        {"summary": row, "next": next_step(row), "is_decided": is_decided}
        for row in group.summaries
    ]
    return {
        "stage": group.stage,
        "rows": rows,
        "count": group.count,
        "has_more": group.has_more,
    }


@consultant_page
@require_http_methods(["GET", "HEAD", "POST"])
def open_new(request: HttpRequest) -> HttpResponse:
    """Open an engagement in scoping."""
    user = actor(request)
    initial = {"lead": user.pk, "customer": request.GET.get("customer", "")}
    form = EngagementForm(request.POST or None, initial=initial)
    status = 200
    if request.method == "POST":
        status = UNPROCESSABLE
        if form.is_valid():
            with errors_shown(request, form):
                opened = engagements.open_engagement(**form.cleaned_data, by=user)
                messages.success(request, f"{opened.reference} is open.")
                return redirect("engagement", opened.reference)
    return render(
        request,
        "workbench/new.html",
        {"form": form, "may_act": may_act(request)},
        status=status,
    )
