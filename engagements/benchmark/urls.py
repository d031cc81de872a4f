"""Addresses of a customer's own benchmark, for each side."""

from __future__ import annotations

from django.urls import URLPattern, path

from engagements.benchmark import views
from engagements.benchmark.models import Side
from engagements.benchmark.reading import ROUTES
from engagements.page_access import consultant_page, portal_page

_GUARDS = {Side.CONSULTANCY: consultant_page, Side.CUSTOMER: portal_page}


def urls_of(side: Side) -> list[URLPattern]:
    """The pages of one side, below its engagement."""
    guard, page, given = _GUARDS[side], ROUTES[side], {"side": side}
    of_version = "benchmark/<int:number>/"
    return [
        path("benchmark/", guard(views.show), given, name=page),
        path("benchmark/upload/", guard(views.upload), given, name=f"{page}-upload"),
        path(
            "benchmark/starter/<slug:kind>.zip", guard(views.starter), given, name=f"{page}-starter"
        ),
        path("benchmark/drafts/<int:pk>.toml", guard(views.draft), given, name=f"{page}-draft"),
        path(f"{of_version}live/", guard(views.live), given, name=f"{page}-live"),
        path(f"{of_version}check/", guard(views.check), given, name=f"{page}-check"),
        path(f"{of_version}cancel/", guard(views.cancel), given, name=f"{page}-cancel"),
        path(f"{of_version}comment/", guard(views.comment), given, name=f"{page}-comment"),
        path(f"{of_version}approve/", guard(views.approve), given, name=f"{page}-approve"),
        path(f"{of_version}archive/", guard(views.archive), given, name=f"{page}-archive"),
        path(
            f"{of_version}template-<slug:language>",
            guard(views.template),
            given,
            name=f"{page}-template",
        ),
        path(f"{of_version}benchmark.json", guard(views.document), given, name=f"{page}-document"),
    ]
